"""Reading a log that still grows, through rotation, as ``tail -F`` does."""

from __future__ import annotations

import os
import select
import stat
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from mamba_advisor.errors import InputError

POLL_S = 0.25
"""Seconds between two looks at a file that has not grown."""

FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
"""How a file is opened: a pipe without a writer must not keep a signal from us."""

HEAD = 256
"""Bytes at the start of a file by which it is known again after a truncation."""


class Follower:
    """A raw byte source that blocks at the end of a file until it grows.

    It begins with what the file holds already.  A file that was moved away is read
    to its end before the new one at the path is opened; a file that was copied and
    truncated is read from its start again.  Where the old content ended within a
    line, a line feed is put between.
    """

    def __init__(
        self, path: str, stop: Callable[[], bool], *, poll_s: float = POLL_S
    ) -> None:
        """Open *path*.

        Args:
            path: The log; a pipe is read to its end.
            stop: Returns whether to end: what is there by then is still read.
            poll_s: Seconds between two looks.

        Raises:
            InputError: The file cannot be opened.
        """
        self._path = path
        self._stop = stop
        self._poll_s = poll_s
        self._end: int | None = None
        self._last = b"\n"
        self._moved = False
        try:
            self._fd = os.open(path, FLAGS)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from error
        self._begin()

    def _begin(self) -> None:
        """Note what a newly opened or truncated file looks like."""
        self._position = 0
        self._head = b""
        self._moved = False
        self._regular = stat.S_ISREG(os.fstat(self._fd).st_mode)

    def readinto(self, view: memoryview) -> int:
        """Fill the start of *view* with the next bytes.

        Returns:
            How many; 0 only at the end: after `stop`, or of a pipe.

        Raises:
            InputError: The file cannot be read.
        """
        if not len(view):
            return 0
        try:
            return self._next(view)
        except OSError as error:
            raise InputError(f"{self._path}: {error.strerror}") from error

    def _next(self, view: memoryview) -> int:
        """Return what `readinto` does."""
        while True:
            if not self._regular:
                return self._from_pipe(view)
            if self._end is None and self._stop():
                self._end = os.fstat(self._fd).st_size
            room = view if self._end is None else view[: self._left()]
            count = os.readv(self._fd, [room]) if len(room) else 0
            if count:
                return self._took(view, count)
            if self._end is None:
                time.sleep(self._poll_s)
                is_other = self._is_rewritten() or self._is_replaced()
            else:
                is_other = self._is_elsewhere() and self._reopen()
                if not is_other:
                    return 0
                self._end = os.fstat(self._fd).st_size
            if is_other and self._last != b"\n":
                self._last = view[:1] = b"\n"
                return 1

    def _from_pipe(self, view: memoryview) -> int:
        """Return what `readinto` does for what cannot grow: a pipe, a terminal."""
        waits = select.poll()
        waits.register(self._fd, select.POLLIN)
        while not self._stop():
            if waits.poll(self._poll_s * 1000):
                return os.readv(self._fd, [view])
        return 0

    def _left(self) -> int:
        """Return how many bytes are still to be read after `stop`."""
        if self._end is None:
            return 0
        return max(0, self._end - self._position)

    def _took(self, view: memoryview, count: int) -> int:
        self._position += count
        self._last = bytes(view[count - 1 : count])
        if self._regular and len(self._head) < HEAD:
            self._head = os.pread(self._fd, min(HEAD, self._position), 0)
        return count

    def _is_rewritten(self) -> bool:
        """Turn to the start of a file that was truncated, or written anew."""
        size = os.fstat(self._fd).st_size
        if size >= self._position and (
            os.pread(self._fd, len(self._head), 0) == self._head
        ):
            return False
        os.lseek(self._fd, 0, os.SEEK_SET)
        self._begin()
        return True

    def _is_replaced(self) -> bool:
        """Turn to the file that took the place of one read to its end."""
        if os.fstat(self._fd).st_size > self._position:
            return False
        if not self._is_elsewhere():
            self._moved = False
            return False
        if not self._moved:
            # Its writer may hold on to the old file for a moment: look once more.
            self._moved = True
            return False
        return self._reopen()

    def _is_elsewhere(self) -> bool:
        """Return whether another file stands at the path."""
        try:
            found = os.stat(self._path)
        except OSError:
            return False
        known = os.fstat(self._fd)
        return (found.st_dev, found.st_ino) != (known.st_dev, known.st_ino)

    def _reopen(self) -> bool:
        """Open the file that is at the path now, return whether that worked."""
        try:
            fd = os.open(self._path, FLAGS)
        except OSError:
            return False
        os.close(self._fd)
        self._fd = fd
        self._begin()
        return True

    def close(self) -> None:
        """Close the file; further calls do nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
