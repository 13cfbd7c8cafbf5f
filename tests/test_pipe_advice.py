"""What the filter says beside the log, and how signals end it."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Talk

Start = Callable[..., "Talk"]

PATIENCE_S = 20.0


ON_READY = """
    def due(self, moment):
        if moment is Moment.FED and self.fed and not hasattr(self, "done"):
            self.done = True
            return RENDER
"""
"""A listener that has something to say after the first bytes."""


def test_advice_while_the_log_runs(start_relay: Start) -> None:
    """What is due is said at once, on stderr, while the input stays open."""
    process = start_relay(ON_READY.replace("RENDER", "lambda: b'advice\\n'"))

    process.put(b"ready\n")

    assert b"advice\n" == process.read_stderr(b"\n")
    assert (b"ready\n", b"", 0) == process.end()


def test_advice_begins_a_line(start_relay: Start) -> None:
    """After half a line the advice begins with a newline, on stderr only."""
    process = start_relay(ON_READY.replace("RENDER", "lambda: b'advice\\n'"))

    process.put(b"50%|##")

    assert b"\nadvice\n" == process.read_stderr(b"advice\n")
    assert (b"50%|##", b"", 0) == process.end()


def test_rendering_does_not_stall_the_stream(start_relay: Start) -> None:
    """While advice takes 2 s to render, lines pass in a small part of that."""
    render = "lambda: __import__('time').sleep(2) or b'advice\\n'"
    process = start_relay(ON_READY.replace("RENDER", render))
    process.put(b"ready\n")
    process.read_stdout(b"ready\n")
    time.sleep(0.1)

    began = time.monotonic()
    for number in range(50):
        process.put(f"line {number}\n".encode())
        process.read_stdout(f"line {number}\n".encode())
    took = time.monotonic() - began

    assert process.stderr is not None
    assert not select.select([process.stderr], [], [], 0)[0]
    assert took < 1.5
    assert b"advice\n" == process.end()[1]


def test_advice_does_not_queue_up(tmp_path: Path, start_relay: Start) -> None:
    """The newest advice takes the place of one that waits: a log may boot for ever."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    body = f"""
    def due(self, moment):
        if moment is Moment.ENDED:
            return lambda: b"ended\\n"
        if self.fed == 2:
            return lambda: open({str(gate)!r}, "rb").read()
        return lambda: b"advice\\n"
"""
    process = start_relay(body)
    for _ in range(9):
        process.put(b"x\n")
        process.read_stdout(b"x\n")
        time.sleep(0.05)

    gate.write_bytes(b"first\n")
    _, said, _ = process.end()

    assert said.startswith(b"first\n")
    assert said.endswith(b"ended\n")
    assert said.count(b"advice\n") <= 2


@pytest.mark.parametrize(
    ("render", "reason"),
    [
        ("lambda: 1 / 0", b"ZeroDivisionError: division by zero"),
        ("lambda: os.kill(os.getpid(), 9)", b"its process died"),
    ],
)
def test_failed_rendering_is_said(
    start_relay: Start, render: str, reason: bytes
) -> None:
    """A renderer that raises or dies costs one line on stderr, and no byte."""
    process = start_relay(ON_READY.replace("RENDER", render))
    process.put(b"ready\n")

    said = process.read_stderr(b"\n")
    process.put(b"more\n")
    out, _, status = process.end()

    assert b"mamba-advisor: the advice could not be shown: " + reason + b"\n" == said
    assert (b"ready\nmore\n", 0) == (out, status)


@pytest.mark.parametrize("missing", ["fork", "pipe"])
def test_no_process_for_the_rendering(start_relay: Start, missing: str) -> None:
    """Where neither process nor pipe is left, a failed rendering costs no byte."""
    render = f"setattr(os, {missing!r}, refuse) or (lambda: 1 / 0)"
    body = (
        ON_READY.replace("RENDER", render)
        + """
def refuse():
    raise OSError(24, "nothing left")
"""
    )
    process = start_relay(body)
    process.put(b"ready\n")

    said = process.read_stderr(b"\n")
    process.put(b"more\n")
    out, _, status = process.end()

    assert b"mamba-advisor: the advice could not be shown: " in said
    assert (b"ready\nmore\n", 0) == (out, status)


def test_failed_listener_is_said_once(start_relay: Start) -> None:
    """When our own reading fails, we say so once and pass on."""
    body = """
    def feed(self, block):
        raise RuntimeError("what a line")
"""
    process = start_relay(body)

    for _ in range(5):
        process.put(b"line\n")
        process.read_stdout(b"line\n")
        time.sleep(0.01)
    _, said, status = process.end()

    note = (
        b"mamba-advisor: cannot read on: RuntimeError: what a line; the log is still"
        b" passed through\n"
    )
    assert note + b"ended after 0\n" == said
    assert 0 == status


def test_failed_question_is_said_once(start_relay: Start) -> None:
    """So it is when what fails is not reading but asking for something to say."""
    body = """
    def due(self, moment):
        raise ValueError("nothing\\x07 to say")
"""
    process = start_relay(body)

    for _ in range(5):
        process.put(b"line\n")
        process.read_stdout(b"line\n")
        time.sleep(0.03)
    process.send_signal(signal.SIGUSR1)
    _, said, status = process.end()

    note = (
        b"mamba-advisor: cannot read on: ValueError: nothing\\x07 to say; the log is"
        b" still passed through\n"
    )
    assert (note, 0) == (said, status)


def test_advice_that_nobody_reads_is_bounded(start_relay: Start) -> None:
    """Of 6 MB of advice for a stderr that nobody reads, less than 3 are kept."""
    body = """
    def due(self, moment):
        return lambda: b"a" * 600_000
"""
    process = start_relay(body)
    for _ in range(10):
        process.put(b"line\n")
        process.read_stdout(b"line\n")
        process.send_signal(signal.SIGUSR1)
        time.sleep(0.1)

    _, said, status = process.end()

    assert 0 == status
    assert 600_000 <= len(said) < 3_000_000


def test_advice_is_not_broken_by_lines(start_relay: Start) -> None:
    """With both streams in one slow pipe, a long advice comes out in one piece."""
    source, sink = os.pipe()
    render = "lambda: b'<' + b'a' * 3_000_000 + b'>'"
    process = start_relay(ON_READY.replace("RENDER", render), stdout=sink, stderr=sink)
    os.close(sink)
    process.put(b"ready\n")
    got = b""
    while b"<a" not in got:
        got += os.read(source, 1000)
    time.sleep(0.1)
    # The pipe is full of advice.  Now there is room, and a line, at the same moment.
    process.send_signal(signal.SIGSTOP)
    process.put(b"line\n" * 100)
    got += os.read(source, 40_000)
    process.send_signal(signal.SIGCONT)
    assert process.stdin is not None
    process.stdin.close()
    while part := os.read(source, 1 << 16):
        got += part
    os.close(source)

    start, end = got.index(b"<"), got.index(b">")
    assert b"a" * 3_000_000 == got[start + 1 : end]
    assert b"ready\n" + b"line\n" * 100 == got[:start] + got[end + 1 :]


def test_slow_feeding_is_cut_into_slices(start_relay: Start) -> None:
    """Looking at a block is interrupted for new lines when it takes long."""
    body = """
    def feed(self, block):
        import time
        self.fed += len(block)
        time.sleep(len(block) * 20e-6)
"""
    process = start_relay(body)
    process.put(b"x" * 99 + b"\n")
    time.sleep(0.05)
    process.put((b"x" * 99 + b"\n") * 600)
    read = 0
    assert process.stdout is not None
    while read < 100 * 601:
        read += len(os.read(process.stdout.fileno(), 1 << 16))
    time.sleep(0.1)

    began = time.monotonic()
    process.put(b"urgent\n")
    process.read_stdout(b"urgent\n")
    took = time.monotonic() - began

    assert took < 0.5
    assert b"ended after 60107\n" == process.end()[1]


def test_usr1_asks_for_everything(start_relay: Start) -> None:
    """SIGUSR1 brings the advice of this moment."""
    process = start_relay()
    process.put(b"12345\n")
    process.read_stdout(b"12345\n")
    time.sleep(0.05)

    process.send_signal(signal.SIGUSR1)

    assert b"asked after 6\n" == process.read_stderr(b"\n")
    assert 0 == process.end()[2]


def test_interrupt_waits_for_the_server(start_relay: Start) -> None:
    """After Ctrl-C the server's last words pass, then advice, then status 130."""
    process = start_relay()
    process.put(b"running\n")
    process.read_stdout(b"running\n")

    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    process.put(b"Gracefully exiting\n")

    assert (b"Gracefully exiting\n", b"ended after 27\n", 130) == process.end()


def test_third_interrupt_leaves(start_relay: Start) -> None:
    """Children of a dead server may hold the pipe: the third Ctrl-C leaves."""
    process = start_relay()
    process.put(b"running\n")
    process.read_stdout(b"running\n")

    process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    hint = process.read_stderr(b"\n")
    process.send_signal(signal.SIGINT)

    assert b"once more to leave at once" in hint
    assert b"ended after 8\n" == process.read_stderr(b"ended after 8\n")
    assert 130 == process.wait(PATIENCE_S)


def test_termination_advises_and_leaves(start_relay: Start) -> None:
    """SIGTERM: what the server still says, the advice, status 143."""
    process = start_relay()
    process.put(b"running\n")
    process.read_stdout(b"running\n")

    process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    process.put(b"last words\n")

    assert b"last words\n" == process.read_stdout(b"words\n")
    assert b"ended after 19\n" == process.read_stderr(b"\n")
    assert 143 == process.wait(PATIENCE_S)


def test_hangup_is_ignored(start_relay: Start) -> None:
    """A closed terminal ends the server, not us."""
    process = start_relay()
    process.put(b"before\n")
    process.read_stdout(b"before\n")

    process.send_signal(signal.SIGHUP)
    time.sleep(0.05)
    process.put(b"after\n")

    assert (b"after\n", b"ended after 13\n", 0) == process.end()


def test_leaving_does_not_wait_for_a_stalled_reader(start_relay: Start) -> None:
    """SIGTERM leaves in seconds even when nobody reads the output; it says so."""
    process = start_relay("sys.modules['mamba_advisor.pipe.relay'].LEAVE_S = 0.5")
    process.put(b"x" * (3 << 20))

    process.send_signal(signal.SIGTERM)
    said = process.read_stderr(b"were never read\n")

    assert 143 == process.wait(PATIENCE_S)
    assert b"ended after 3145728\n" in said
