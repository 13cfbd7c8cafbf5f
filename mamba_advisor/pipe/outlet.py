"""A descriptor that is written to without ever waiting for its reader."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import stat
from collections import deque

ATOMIC = 4096
"""Bytes that a pipe takes without blocking when ``poll`` calls it writable
(``PIPE_BUF`` on Linux)."""

MERGE = 64 << 10
"""Backlog pieces are merged up to this many bytes, so that short lines cost little."""


PIPE_BYTES = 1 << 20
"""Wanted capacity of a pipe: some 5000 lines, and a whole block of the relay."""


def widen(fd: int) -> None:
    """Let a pipe hold `PIPE_BYTES`, where the system allows it."""
    with contextlib.suppress(OSError, AttributeError):
        if fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ) < PIPE_BYTES:
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def hold(fd: int) -> OSError | None:
    """Put ``/dev/null`` where *fd* is closed, lest another file get its number.

    Returns:
        What is wrong with the descriptor, None when it is open.
    """
    try:
        os.fstat(fd)
    except OSError as error:
        _put_null(fd)
        return error
    return None


def _put_null(fd: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    if null != fd:
        os.dup2(null, fd)
        os.close(null)


class Outlet:
    """Ordered output to one descriptor, and the backlog that its reader left.

    Pipes and terminals are opened anew through ``/proc`` where that works: the new
    description has ``O_NONBLOCK`` of its own, while the flag of the inherited one,
    which belongs to everybody who shares the terminal, stays as it is.  Where it does
    not work, ``poll`` is asked before every write of at most `ATOMIC` bytes.
    """

    def __init__(self, fd: int, error: OSError | None = None) -> None:
        self.error = error
        """Why nothing can be written any more; None while it can."""

        self.fd = fd
        """What to poll for writing."""

        self.pending = 0
        """Bytes in the backlog."""

        self.written = 0
        """Bytes that the descriptor has taken."""

        self.identity: tuple[int, int] | None = None
        """Device and inode: two outlets with the same write to one place."""

        self._inherited = fd
        self._backlog: deque[bytearray] = deque()
        self._offset = 0
        self._is_file = False
        self._asks = True
        self._poll = select.poll()
        status = os.fstat(fd)
        self.identity = (status.st_dev, status.st_ino)
        self._is_file = stat.S_ISREG(status.st_mode)
        if stat.S_ISFIFO(status.st_mode) or os.isatty(fd):
            self._reopen()
        self._poll.register(self.fd, select.POLLOUT)

    def _reopen(self) -> None:
        """Get a description of our own, which may be non-blocking."""
        flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        try:
            self.fd = os.open(f"/proc/self/fd/{self._inherited}", flags)
        except OSError:
            return
        self._asks = False

    @property
    def alive(self) -> bool:
        """Whether something can still be written."""
        return self.error is None

    @property
    def is_owned(self) -> bool:
        """Whether the descriptor was opened anew."""
        return self.fd != self._inherited

    def widen(self) -> None:
        """Let a pipe take more at a time: then its reader is waited for less often."""
        widen(self.fd)

    def put(
        self, data: bytes | memoryview, start: int, end: int, *, hold: bool = False
    ) -> None:
        """Write ``data[start:end]`` as far as the reader takes it, keep the rest.

        With *hold* all of it is kept, to be written by a later `drain`.
        """
        if self.error is not None:
            return
        if not self._backlog and not hold:
            start = self._write(data, start, end)
        if start < end and self.alive:
            self._keep(data[start:end])

    def drain(self) -> None:
        """Write as much of the backlog as the reader takes now."""
        while self._backlog and self.alive:
            piece = self._backlog[0]
            before = self._offset
            self._offset = self._write(piece, before, len(piece))
            if self.error is not None:
                return  # the backlog went with the reader
            self.pending -= self._offset - before
            if self._offset < len(piece):
                return
            self._backlog.popleft()
            self._offset = 0

    def close(self) -> None:
        """Give up the backlog, and put ``/dev/null`` in place of a dead descriptor.

        The interpreter flushes its own standard streams when it exits, and a failure
        there would change the exit status.
        """
        if self.is_owned:
            os.close(self.fd)
        if self.error is not None:
            _put_null(self._inherited)

    def _keep(self, rest: bytes | memoryview) -> None:
        self.pending += len(rest)
        if self._backlog and len(self._backlog[-1]) + len(rest) <= MERGE:
            self._backlog[-1] += rest
        else:
            self._backlog.append(bytearray(rest))

    def _write(self, data: bytes | bytearray | memoryview, start: int, end: int) -> int:
        """Write until the reader takes no more; return where that was."""
        with memoryview(data) as view:
            return self._write_view(view, start, end)

    def _write_view(self, view: memoryview, start: int, end: int) -> int:
        while start < end:
            stop = end
            if self._asks and not self._is_file:
                if not self._poll.poll(0):
                    break
                stop = min(end, start + ATOMIC)
            try:
                count = os.write(self.fd, view[start:stop])
            except BlockingIOError:
                break
            except OSError as error:
                self._die(error)
                return end
            start += count
            self.written += count
        return start

    def _die(self, error: OSError) -> None:
        self.error = error
        self.pending = 0
        self._backlog.clear()

    def __str__(self) -> str:
        if self.error is None:
            return "open"
        names = {errno.EPIPE: "its reader is gone", errno.EBADF: "it is closed"}
        number = self.error.errno or 0
        return names.get(number, os.strerror(number))
