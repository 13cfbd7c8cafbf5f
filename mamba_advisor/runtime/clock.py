"""Time as the log prints it, turned into seconds of the run."""

from __future__ import annotations

from datetime import UTC, datetime

DAY_S = 86_400
"""Seconds of a day: what a stamp without a date loses at midnight."""


def parse_stamp(stamp: str) -> float | None:
    """Return a printed time in seconds since some fixed point.

    Args:
        stamp: ``"2026-02-27 17:10:28"``, with ``T`` or a fraction of a second as
            well, or a time alone, ``"17:10:28"``.

    Returns:
        Seconds; None where *stamp* is no time.  Zones are left out of account: a
        log keeps to one.
    """
    text = stamp.replace(",", ".")
    dated = text if "-" in text else f"1970-01-01 {text}"
    try:
        return datetime.fromisoformat(dated).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


class Clock:
    """Seconds since the first stamp, which only ever grow.

    Ranks interleave, hosts set their clocks and people paste runs one after the
    other: a stamp earlier than the last one counts as the same moment.  A time
    without a date that falls by more than half a day has passed midnight.
    """

    __slots__ = ("_last", "_stamp", "first_stamp", "last_stamp", "seconds")

    def __init__(self) -> None:
        self.first_stamp = ""
        self.last_stamp = ""
        self.seconds = 0.0
        self._stamp = ""
        self._last: float | None = None

    def advance(self, stamp: str) -> float:
        """Return the seconds of the run at *stamp*, the latest ones without one."""
        if stamp == self._stamp:
            return self.seconds
        now = parse_stamp(stamp)
        if now is None:
            return self.seconds
        if self._last is None:
            self.first_stamp = stamp
        else:
            step = now - self._last
            if step < -DAY_S / 2 and "-" not in stamp:
                step += DAY_S
            self.seconds += max(0.0, step)
        self._last = now
        self._stamp = self.last_stamp = stamp
        return self.seconds
