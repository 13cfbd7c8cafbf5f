"""What the filter's pipes, processes and signals do at odd moments."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mamba_advisor.pipe.outlet import Outlet

if TYPE_CHECKING:
    from tests.conftest import Talk

Start = Callable[..., "Talk"]

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_S = 20.0
LIMITS = "sys.modules['mamba_advisor.pipe.relay']"
"""Where the relay keeps its times, for a program of `start_relay`."""

PIPE = 65536
"""Bytes that a pipe holds, as it comes."""


def test_input_that_another_reader_took(start_relay: Start) -> None:
    """Bytes that were announced and are gone again are no end of the input."""
    body = """
real, calls = os.readv, []
def readv(fd, views):
    calls.append(fd)
    if len(calls) == 1:
        raise BlockingIOError
    return real(fd, views)
os.readv = readv
"""
    process = start_relay(body)
    process.put(b"line\n")

    assert (b"line\n", b"ended after 5\n", 0) == process.end()


def test_terminal_that_goes_away_is_an_end(start_relay: Start) -> None:
    """A terminal that hangs up gives EIO: the log ends, and the advice comes."""
    leader, follower = os.openpty()
    process = start_relay(stdin=leader)
    os.close(leader)
    os.write(follower, b"line\n")
    process.read_stdout(b"line\r\n")
    os.close(follower)

    assert b"ended after 6\n" == process.read_stderr(b"\n")
    assert 0 == process.wait(PATIENCE_S)


@pytest.mark.parametrize("room", [8192, 0])
def test_write_of_more_than_fits_does_not_wait(
    room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a pipe cannot be opened anew, no more is written than it surely takes."""
    monkeypatch.setattr(Outlet, "_reopen", lambda _: None)
    source, sink = os.pipe()
    os.write(sink, b"x" * (PIPE - room))
    outlet = Outlet(sink)
    data = b"y" * 70_001
    thread = threading.Thread(target=outlet.put, args=(data, 0, len(data)), daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    waits = thread.is_alive()
    while thread.is_alive():
        os.read(source, PIPE)

    assert not waits
    assert room == outlet.written
    assert len(data) - room == outlet.pending
    os.close(source)
    os.close(sink)


def test_lines_are_not_broken_by_advice(start_relay: Start) -> None:
    """With both streams in one slow pipe, what is said stands between two lines."""
    source, sink = os.pipe()
    process = start_relay(stdout=sink, stderr=sink)
    os.close(sink)
    line = b"x" * 98 + b"\n"
    lines = 40_000  # more than a pipe holds, and no multiple of its size
    process.put(line * lines)
    time.sleep(0.5)
    process.send_signal(signal.SIGUSR1)
    time.sleep(0.5)
    assert process.stdin is not None
    process.stdin.close()
    got = b""
    while part := os.read(source, 1 << 16):
        got += part
    os.close(source)
    said = [one for one in got.splitlines(keepends=True) if one != line]

    assert got.count(line) == lines
    assert b"asked after 3960000\nended after 3960000\n" == b"".join(said)


def test_reader_that_leaves_a_backlog(start_relay: Start) -> None:
    """What waits for a reader goes with it, and nobody waits for that any more."""
    process = start_relay()
    process.put(b"x" * (8 << 20))
    assert process.stdout is not None
    process.stdout.close()
    assert process.stdin is not None
    process.stdin.close()

    process.read_stderr(b"ended after 8388608\n")
    assert 0 == process.wait(PATIENCE_S)


def test_broken_listener_is_left_alone(start_relay: Start) -> None:
    """After its first error a listener gets nothing more, and is asked at the end."""
    body = """
    asked = 0
    def feed(self, block):
        self.calls += 1
        raise RuntimeError(f"error {self.calls}")
    def due(self, moment):
        self.asked += 1
        if moment is Moment.ENDED:
            return lambda: f"{self.calls} {self.asked}\\n".encode()
"""
    process = start_relay(body)
    for _ in range(5):
        process.put(b"line\n")
        process.read_stdout(b"line\n")
        time.sleep(0.03)
    _, said, _ = process.end()

    assert 1 == said.count(b"cannot read on")
    assert said.endswith(b"\n1 1\n")


def test_of_errors_that_differ_the_first_is_said(start_relay: Start) -> None:
    """A listener that breaks again, and otherwise, has been given up already."""
    body = """
    def due(self, moment):
        self.calls += 1
        raise ValueError(f"error {self.calls}")
"""
    process = start_relay(body)
    process.put(b"line\n")
    process.read_stdout(b"line\n")
    time.sleep(0.05)
    process.send_signal(signal.SIGUSR1)
    _, said, _ = process.end()

    assert 1 == said.count(b"cannot read on")


@pytest.mark.parametrize(
    ("limits", "signals"),
    [
        (f"{LIMITS}.TERM_S = 600", 1),
        (f"{LIMITS}.SILENCE_S = 600; {LIMITS}.TERM_S = 0.5", 1),
        (f"{LIMITS}.SILENCE_S = {LIMITS}.TERM_S = 600", 2),
    ],
    ids=["silence", "longest", "twice"],
)
def test_termination_comes_to_an_end(
    start_relay: Start, limits: str, signals: int
) -> None:
    """It ends with silence, after a while, or at the second SIGTERM: each alone."""
    process = start_relay(limits)
    process.put(b"running\n")
    process.read_stdout(b"running\n")
    for _ in range(signals):
        process.send_signal(signal.SIGTERM)
        time.sleep(0.05)

    assert 143 == process.wait(PATIENCE_S)


def test_server_that_still_speaks_is_heard(start_relay: Start) -> None:
    """Each line after SIGTERM starts the silence anew."""
    process = start_relay(f"{LIMITS}.SILENCE_S = 1.2; {LIMITS}.TERM_S = 600")
    process.put(b"running\n")
    process.read_stdout(b"running\n")
    process.send_signal(signal.SIGTERM)
    for number in range(3):
        time.sleep(0.5)
        process.put(b"%d\n" % number)
        process.read_stdout(b"%d\n" % number)

    assert 143 == process.wait(PATIENCE_S)


def test_rendering_ends_with_us(start_relay: Start) -> None:
    """A rendering without end is not left behind, with our stderr in its hands."""
    body = f"""
    def due(self, moment):
        if moment is Moment.ENDED:
            import time
            return lambda: time.sleep(600)
{LIMITS}.LEAVE_S = 0.5
"""
    process = start_relay(body)
    process.put(b"running\n")
    process.read_stdout(b"running\n")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE_S)

    assert 143 == process.returncode


def test_advice_without_a_process(start_relay: Start) -> None:
    """Where nobody can be forked, the advice is made here, and is as good."""
    body = """
    def due(self, moment):
        if moment is Moment.FED and self.fed and not hasattr(self, "done"):
            self.done = True
            return lambda: b"advice\\n"
def refuse():
    raise OSError(11, "no more processes")
os.fork = refuse
"""
    process = start_relay(body)
    process.put(b"ready\n")

    assert b"advice\n" == process.read_stderr(b"\n")
    assert (b"ready\n", b"", 0) == process.end()


def test_signal_before_anything_is_said(started_filter: Talk) -> None:
    """Signals reach the filter as soon as it relays, not with its first advice."""
    started_filter.put(b"line\n")
    assert b"line\n" == started_filter.read_stdout(b"\n")
    started_filter.send_signal(signal.SIGTERM)

    assert 143 == started_filter.wait(PATIENCE_S)


AS_A_LIBRARY = """
import signal, sys, threading
from mamba_advisor.pipe import relay

class Listener:
    def feed(self, block): pass
    def due(self, moment): return None

numbers = signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGTERM
before = [*map(signal.getsignal, numbers)]
run = threading.Thread(target=relay, args=(0, 1, 2, Listener()))
if sys.argv[1] == "thread":
    run.start()
    run.join()
else:
    run.run()
assert before == [*map(signal.getsignal, numbers)]
"""


@pytest.mark.parametrize("where", ["thread", "main"])
def test_relay_as_a_library(where: str) -> None:
    """It runs in any thread, and leaves the signals' handlers as they were."""
    done = subprocess.run(
        [sys.executable, "-c", AS_A_LIBRARY, where],
        cwd=ROOT,
        input=b"line\n",
        capture_output=True,
        check=False,
    )

    assert (0, b"line\n", b"") == (done.returncode, done.stdout, done.stderr)
