"""Time as the log prints it, turned into seconds of the run."""

from __future__ import annotations

from datetime import UTC, datetime

DAY_S = 86_400
"""Seconds of a day: what a stamp without a date loses at midnight."""

JITTER_S = 300
"""Seconds by which an interleaved rank may lag behind; an earlier stamp is a jump."""


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

    Ranks interleave, so that a stamp may be a little earlier than the one before:
    it counts as the same moment.  A stamp that is much earlier, because a clock was
    set or runs were pasted one after the other, goes on from there.  A time without
    a date that falls by more than half a day has passed midnight.
    """

    __slots__ = ("_latest", "first_stamp", "last_stamp", "seconds")

    def __init__(self) -> None:
        self.first_stamp = ""
        self.last_stamp = ""
        self.seconds = 0.0
        self._latest = 0.0

    def advance(self, stamp: str) -> float:
        """Return the seconds of the run at *stamp*, the latest ones without one."""
        if stamp == self.last_stamp:
            return self.seconds
        now = parse_stamp(stamp)
        if now is None:
            return self.seconds
        if not self.first_stamp:
            self.first_stamp = self.last_stamp = stamp
            self._latest = now
            return self.seconds
        step = now - self._latest
        if step < -DAY_S / 2 and "-" not in stamp:
            step += DAY_S
        if step >= 0 or step < -JITTER_S:
            self.seconds += max(0.0, step)
            self._latest = now
            self.last_stamp = stamp
        return self.seconds
