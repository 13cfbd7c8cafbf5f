"""The filter core: every byte, in order, at once, whatever the reader does."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Talk

Start = Callable[..., "Talk"]

PATIENCE_S = 20.0
"""Longest wait for something that takes milliseconds on an idle machine."""


@pytest.mark.parametrize("seed", range(4))
def test_bytes_are_the_same(start_relay: Start, seed: int) -> None:
    """Any bytes in pieces of any size come out unchanged, and stdout has no more."""
    rng = random.Random(seed)
    pieces = [
        rng.randbytes(rng.choice((1, 3, 100, 4095, 4097, 70_000))) for _ in range(300)
    ]
    pieces += [b"\xff\xfe\x00 half a line", b"\r 50%|##", b"\r\n", b"no end"]
    process = start_relay()

    def feed() -> None:
        for piece in pieces:
            process.put(piece)
        assert process.stdin is not None
        process.stdin.close()

    writer = threading.Thread(target=feed)
    writer.start()
    assert process.stdout is not None
    assert process.stderr is not None
    out = process.stdout.read()
    said = process.stderr.read()
    writer.join()

    data = b"".join(pieces)
    assert data == out
    assert f"\nended after {len(data)}\n".encode() == said
    assert 0 == process.wait(PATIENCE_S)


def test_partial_line_passes_at_once(start_relay: Start) -> None:
    """A progress bar without newline is not held back."""
    process = start_relay()

    process.put(b"Loading:  50%|##")

    assert b"Loading:  50%|##" == process.read_stdout(b"##")


def test_stalled_reader_does_not_block_the_server(start_relay: Start) -> None:
    """16 MiB go in while nobody reads, and all of it comes out afterwards."""
    process = start_relay()
    line = b"[2026-03-07 04:31:24 TP0] Decode batch, #running-req: 8\n"
    data = line * ((16 << 20) // len(line))

    began = time.monotonic()
    process.put(data)
    took = time.monotonic() - began
    assert process.stdin is not None
    process.stdin.close()
    assert process.stdout is not None

    assert took < PATIENCE_S
    assert data == process.stdout.read()


def test_flood_does_not_run_away_from_a_reader(start_relay: Start) -> None:
    """The server waits for a reader that goes on reading; little is kept for it."""
    process = start_relay()
    assert process.stdout is not None
    written = [0]
    piece = b"x" * 65_535 + b"\n"

    def feed() -> None:
        for _ in range(512):
            process.put(piece)
            written[0] += len(piece)
        assert process.stdin is not None
        process.stdin.close()

    writer = threading.Thread(target=feed)
    writer.start()
    read, lag = 0, 0
    while part := os.read(process.stdout.fileno(), 1 << 16):
        read += len(part)
        lag = max(lag, written[0] - read)
        time.sleep(0.001)
    writer.join()

    assert len(piece) * 512 == read
    # What it keeps, one read more, and what the two pipes hold.
    assert lag < 8 << 20


def test_reader_that_stops_halfway_does_not_block_the_server(
    start_relay: Start,
) -> None:
    """Once it reads no more, nobody waits for it, however far it is behind."""
    process = start_relay()
    assert process.stdout is not None
    process.put(b"x" * (8 << 20))
    taken = len(process.stdout.read(2 << 20))
    written = threading.Event()

    def feed() -> None:
        process.put(b"x" * (8 << 20))
        written.set()
        assert process.stdin is not None
        process.stdin.close()

    writer = threading.Thread(target=feed)
    writer.start()
    was_written = written.wait(PATIENCE_S)
    taken += len(process.stdout.read())
    writer.join()

    assert was_written
    assert 16 << 20 == taken


def test_full_backlog_waits_and_loses_nothing(start_relay: Start) -> None:
    """Beyond the bound the server waits, which is said once; nothing is lost."""
    process = start_relay(options="{'backlog': 1 << 20}")
    data = random.Random(1).randbytes(6 << 20)
    done = threading.Event()

    def feed() -> None:
        process.put(data)
        assert process.stdin is not None
        process.stdin.close()
        done.set()

    writer = threading.Thread(target=feed)
    writer.start()
    said = process.read_stderr(b"waits now")
    was_done = done.wait(0.5)
    assert process.stdout is not None
    out = process.stdout.read()
    writer.join()
    assert process.stderr is not None
    said += process.stderr.read()

    assert not was_done
    assert data == out
    assert 1 == said.count(b"1 MiB of log wait")


def test_stalled_terminal_does_not_block_the_server(start_relay: Start) -> None:
    """A terminal with a slow reader takes part of a write: we do not wait there."""
    leader, follower = os.openpty()
    process = start_relay(stdout=follower)
    os.close(follower)
    data = b"x" * 99 + b"\n"

    process.put(data * 40_000)
    assert process.stdin is not None
    process.stdin.close()
    got = b""
    while len(got.replace(b"\r", b"")) < 100 * 40_000:
        got += os.read(leader, 1 << 16)
    os.close(leader)

    assert data * 40_000 == got.replace(b"\r", b"")


@pytest.mark.parametrize("kind", ["pipe", "full", "closed"])
def test_dead_output_does_not_kill_the_server(start_relay: Start, kind: str) -> None:
    """When the log cannot be written on, it is read to its end, and advice given."""
    body = ""
    if kind == "full":
        with Path("/dev/full").open("wb") as full:
            process = start_relay(stdout=full)
    elif kind == "closed":
        body = "os.close(1)"
        process = start_relay(body)
    else:
        process = start_relay()
        process.put(b"first\n")
        process.read_stdout(b"first\n")
        assert process.stdout is not None
        process.stdout.close()

    process.put(b"more\n" * 1_000_000)
    assert process.stdin is not None
    process.stdin.close()
    assert process.stderr is not None
    said = process.stderr.read()

    assert 1 == said.count(b"cannot write the log on")
    assert said.endswith(f"ended after {5_000_000 + 6 * (kind == 'pipe')}\n".encode())
    assert 0 == process.wait(PATIENCE_S)


def test_dead_stderr_is_silent(start_relay: Start) -> None:
    """When nobody reads the advice, the log goes on all the same."""
    process = start_relay()
    assert process.stderr is not None
    process.stderr.close()

    out, _ = process.communicate(b"line\n" * 1000, PATIENCE_S)

    assert b"line\n" * 1000 == out
    assert 0 == process.returncode


def test_stalled_stderr_holds_nothing_up(start_relay: Start) -> None:
    """Advice that nobody reads waits in its own backlog; the log passes."""
    body = """
        if moment is Moment.FED:
            return lambda: b"advice " * 40_000
"""
    process = start_relay(body)

    for number in range(20):
        line = f"line {number}\n".encode()
        process.put(line)
        process.read_stdout(line)
        time.sleep(0.01)


def test_closed_input_is_an_end(start_relay: Start) -> None:
    """A closed stdin ends at once, and its number goes to no other file."""
    process = start_relay("os.close(0)")

    assert process.stderr is not None
    assert b"ended after 0\n" == process.stderr.read()
    assert 0 == process.wait(PATIENCE_S)


def test_nonblocking_output_loses_nothing(start_relay: Start) -> None:
    """An output somebody made non-blocking gets every byte, and keeps its flag."""
    source, sink = os.pipe()
    os.set_blocking(sink, False)
    process = start_relay(stdout=sink)
    data = random.Random(2).randbytes(3 << 20)

    process.put(data)
    assert process.stdin is not None
    process.stdin.close()
    got = b""
    while len(got) < len(data):
        got += os.read(source, 1 << 16)
    process.wait(PATIENCE_S)

    assert data == got
    assert not os.get_blocking(sink)
    os.close(source)
    os.close(sink)


def test_output_stays_blocking_for_others(start_relay: Start) -> None:
    """We set no flag on a pipe that other processes write to as well."""
    source, sink = os.pipe()
    process = start_relay(stdout=sink)

    process.put(b"line\n")

    assert b"line\n" == os.read(source, 100)
    assert os.get_blocking(sink)
    os.close(source)
    os.close(sink)


def test_without_proc_it_asks_before_writing(start_relay: Start) -> None:
    """Where a pipe cannot be opened anew, small writes on request do the same."""
    body = """
from mamba_advisor.pipe.outlet import Outlet
Outlet._reopen = lambda self: None
"""
    process = start_relay(body)
    data = random.Random(3).randbytes(16 << 20)

    process.put(data)
    assert process.stdin is not None
    process.stdin.close()
    assert process.stdout is not None

    assert data == process.stdout.read()


def test_regular_file(tmp_path: Path, start_relay: Start) -> None:
    """From file to file works like a pipe."""
    data = random.Random(4).randbytes(1 << 20)
    (tmp_path / "in").write_bytes(data)

    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as sink:
        process = start_relay(stdin=source, stdout=sink)
        process.wait(PATIENCE_S)

    assert data == (tmp_path / "out").read_bytes()


def test_endless_line_needs_no_memory(start_relay: Start) -> None:
    """A line of 64 MB, never ended, leaves the process as small as it was."""
    body = """
    def due(self, moment):
        if moment is Moment.ENDED:
            lines = open("/proc/self/status").read().splitlines()
            used = next(line for line in lines if line.startswith("VmHWM"))
            return lambda: used.encode()
"""
    process = start_relay(body, stdout=subprocess.DEVNULL)
    chunk = b"x" * (1 << 20)

    for _ in range(64):
        process.put(chunk)
    assert process.stdin is not None
    process.stdin.close()
    assert process.stderr is not None
    said = process.stderr.read()

    assert int(said.split()[1]) < 24 << 10


def test_streams_of_python_are_untouched() -> None:
    """The filter works on descriptors: importing it opens and loads nothing heavy."""
    program = (
        "import sys, mamba_advisor.pipe; print({'rich', 'click'} & {*sys.modules})"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True
    )

    assert b"set()\n" == done.stdout
