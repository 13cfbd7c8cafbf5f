"""Rendering in a forked child, so that the stream does not wait for it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from mamba_advisor.patience import WATCHED, hold_signals, obey_signals

FAILED = 70
"""Exit status of a child whose rendering raised (``EX_SOFTWARE``)."""


class Rendering:
    """Bytes that a child process is making.

    Imports, tables and all the arithmetic happen in the child: this process neither
    stalls nor grows.  Where no process can be forked, the bytes are made at once.
    """

    def __init__(self, render: Callable[[], bytes]) -> None:
        self.fd = -1
        """Gets ready when there is something to `read`."""

        self.failed = False
        """Whether the child failed: its `text` is the reason then."""

        self._parts: list[bytes] = []
        self._pid = 0
        source, sink = os.pipe()
        # A signal between fork and the child's own settings would be counted twice:
        # both processes share the wake-up descriptor.
        hold_signals()
        try:
            self._pid = os.fork()
        except OSError:
            os.close(source)
            os.close(sink)
            # Nobody can be forked: the stream waits for once.
            self._parts.append(render())
        else:
            if self._pid == 0:
                _run(render, sink)
            os.close(sink)
            self.fd = source
        finally:
            obey_signals()

    @property
    def text(self) -> bytes:
        """What has been made so far."""
        return b"".join(self._parts)

    def read(self) -> bool:
        """Take what the child has made; return whether that was all."""
        if self.fd < 0:
            return True
        if part := os.read(self.fd, 1 << 16):
            self._parts.append(part)
            return False
        self._reap()
        return True

    def stop(self) -> None:
        """End the child now, whatever it is at."""
        if self.fd >= 0:
            os.kill(self._pid, signal.SIGKILL)
            self._reap()

    def _reap(self) -> None:
        os.close(self.fd)
        self.fd = -1
        _, status = os.waitpid(self._pid, 0)
        self.failed = os.waitstatus_to_exitcode(status) != 0


def _run(render: Callable[[], bytes], sink: int) -> None:
    """Be the child: render, hand over, end; never return."""
    status = FAILED
    try:
        signal.set_wakeup_fd(-1)
        for number in WATCHED:
            signal.signal(number, signal.SIG_IGN)
        obey_signals()
        try:
            text = render()
            status = 0
        except Exception as error:
            text = f"{type(error).__name__}: {error}".encode(errors="replace")
        rest = memoryview(text)
        while rest:
            rest = rest[os.write(sink, rest) :]
    finally:
        # No clean-up that belongs to the parent: no atexit, no flush of its buffers.
        os._exit(status)
