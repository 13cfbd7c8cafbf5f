"""The signals that a filter gets, as bytes on a descriptor."""

from __future__ import annotations

import contextlib
import os
import signal
from types import FrameType, TracebackType

from mamba_advisor.patience import WATCHED, obey_signals


def _ignore(number: int, frame: FrameType | None) -> None:
    """Do nothing: the wake-up descriptor has the number."""


class Signals:
    """Collects `WATCHED` signals while it is entered; then everything is as before.

    Those that were held back until now come first.  Outside the main thread nothing
    can be caught: `fd` then never gets ready.
    """

    def __init__(self) -> None:
        self.fd, self._wake = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._wake, False)
        self._before: dict[int, object] = {}
        self._old_wake = -1

    def __enter__(self) -> Signals:
        with contextlib.suppress(ValueError):
            self._old_wake = signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
            for number in WATCHED:
                self._before[number] = signal.signal(number, _ignore)
            obey_signals()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before:
            signal.set_wakeup_fd(self._old_wake)
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # as it was given
        os.close(self.fd)
        os.close(self._wake)

    def read(self) -> list[int]:
        """Return the signal numbers that came since the last call, in order."""
        try:
            return list(os.read(self.fd, 512))
        except BlockingIOError:
            return []
