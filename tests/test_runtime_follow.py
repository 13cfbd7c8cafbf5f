"""A growing file is followed through everything that log rotation does to it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mamba_advisor.errors import InputError
from mamba_advisor.runtime.follow import Follower

POLL_S = 0.01
PATIENCE_S = 10.0


class Tail:
    """A follower in a thread of its own, and what it has read."""

    def __init__(self, path: Path, size: int = 4096) -> None:
        self.read = bytearray()
        self._stop = threading.Event()
        self._follower = Follower(str(path), self._stop.is_set, poll_s=POLL_S)
        self._size = size
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        buffer = memoryview(bytearray(self._size))
        with self._follower:
            while count := self._follower.readinto(buffer):
                self.read += buffer[:count]

    def has(self, content: bytes) -> bool:
        """Wait until everything read is *content*; return whether it came to that."""
        end = time.monotonic() + PATIENCE_S
        while self.read != content and time.monotonic() < end:
            time.sleep(POLL_S / 4)
        return self.read == content

    def stop(self) -> bytes:
        """End the following and return all that was read."""
        self._stop.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        return bytes(self.read)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return the path of a log with one line."""
    path = tmp_path / "server.log"
    path.write_bytes(b"one\n")
    return path


@pytest.fixture
def tail(log: Path) -> Iterator[Tail]:
    """Follow the log and stop after the test."""
    following = Tail(log)
    yield following
    following.stop()


def append(path: Path, content: bytes) -> None:
    """Write at the end of *path*."""
    with path.open("ab") as stream:
        stream.write(content)


def test_growth(log: Path, tail: Tail) -> None:
    """What is there comes first, then what is added, half lines at once."""
    assert tail.has(b"one\n")
    append(log, b"tw")
    assert tail.has(b"one\ntw")
    append(log, b"o\n")
    assert tail.has(b"one\ntwo\n")


def test_rename_and_create(log: Path, tail: Tail) -> None:
    """The new file is read from its start once the old one is at its end."""
    assert tail.has(b"one\n")
    log.rename(log.with_suffix(".log.1"))
    log.write_bytes(b"two\n")
    assert tail.has(b"one\ntwo\n")
    append(log, b"three\n")
    assert tail.has(b"one\ntwo\nthree\n")


def test_writer_that_lags_behind(log: Path, tail: Tail) -> None:
    """Lines that still go to the moved file are read before the new one."""
    with log.open("ab", buffering=0) as old:
        assert tail.has(b"one\n")
        log.rename(log.with_suffix(".log.1"))
        old.write(b"late\n")
        log.write_bytes(b"two\n")

        assert tail.has(b"one\nlate\ntwo\n")


def test_nothing_at_the_path_for_a_while(log: Path, tail: Tail) -> None:
    """Between rename and create there is no file: the follower waits."""
    assert tail.has(b"one\n")
    log.rename(log.with_suffix(".log.1"))
    time.sleep(5 * POLL_S)
    log.write_bytes(b"two\n")

    assert tail.has(b"one\ntwo\n")


def test_copy_and_truncate(log: Path, tail: Tail) -> None:
    """A file that shrinks is read from its start again."""
    append(log, b"a longer line\n")
    assert tail.has(b"one\na longer line\n")
    os.truncate(log, 0)
    append(log, b"two\n")

    assert tail.has(b"one\na longer line\ntwo\n")


def test_truncated_and_grown_past_the_old_end(log: Path, tail: Tail) -> None:
    """A file that is longer than before but begins otherwise was truncated, too."""
    assert tail.has(b"one\n")
    with log.open("r+b") as stream:
        stream.truncate(0)
        stream.write(b"another first line\nand one more\n")

    assert tail.has(b"one\nanother first line\nand one more\n")


def test_half_line_before_a_rotation(log: Path, tail: Tail) -> None:
    """A line feed is put in, so that two files' lines never become one."""
    append(log, b"cut")
    assert tail.has(b"one\ncut")
    log.rename(log.with_suffix(".log.1"))
    log.write_bytes(b"two\n")

    assert tail.has(b"one\ncut\ntwo\n")


def test_stop_reads_what_is_there(log: Path) -> None:
    """Everything written before the stop is read, also behind a rotation."""
    following = Tail(log, size=7)
    append(log, b"x" * 1000 + b"\n")
    log.rename(log.with_suffix(".log.1"))
    log.write_bytes(b"two\n")

    assert b"one\n" + b"x" * 1000 + b"\ntwo\n" == following.stop()


def test_endless_writer_cannot_prevent_the_stop(log: Path) -> None:
    """After the stop nothing that is written later is waited for."""
    done = threading.Event()

    def write() -> None:
        while not done.is_set():
            append(log, b"more\n" * 20)
            time.sleep(POLL_S / 10)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        following = Tail(log, size=50)
        time.sleep(5 * POLL_S)
        following.stop()
    finally:
        done.set()
        writer.join()

    assert following.read.startswith(b"one\nmore\n")


def test_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    """A named pipe ends when its writer does."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"one\n",))
    writer.start()
    with Follower(str(path), lambda: False) as follower:
        buffer = memoryview(bytearray(64))
        count = follower.readinto(buffer)
        end = follower.readinto(buffer)
    writer.join()

    assert (b"one\n", 0) == (bytes(buffer[:count]), end)


@pytest.mark.parametrize("has_writer", [False, True])
def test_silent_pipe_cannot_prevent_the_stop(tmp_path: Path, has_writer: bool) -> None:
    """Neither opening a pipe that nobody writes to nor reading it waits for ever."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = os.open(path, os.O_RDWR) if has_writer else -1
    rescue = threading.Timer(PATIENCE_S / 2, os.open, (path, os.O_RDWR))
    rescue.start()
    began = time.monotonic()
    following = Tail(path)
    rescue.cancel()

    assert b"" == following.stop()
    assert time.monotonic() - began < PATIENCE_S / 2
    if has_writer:
        os.close(writer)


def test_no_such_file(tmp_path: Path) -> None:
    """A wrong path is told at once, not waited for."""
    with pytest.raises(InputError, match="No such file"):
        Follower(str(tmp_path / "none"), lambda: True)


def test_no_room(log: Path) -> None:
    """An empty buffer takes nothing and does not block."""
    with Follower(str(log), lambda: False) as follower:
        assert 0 == follower.readinto(memoryview(b""))
