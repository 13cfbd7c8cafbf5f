"""When things happened: the log's clock, the timeline, and a few line numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from mamba_advisor.runtime.clock import Clock
from mamba_advisor.runtime.lines import Line
from mamba_advisor.runtime.timeline import Slice, Timeline

TENS_FROM_S = 16
"""Width of a slice from which moments are tens of seconds."""

MINUTES_FROM_S = 128
"""Width of a slice from which moments are minutes."""

TEN_MINUTES_FROM_S = 2048
"""Width of a slice from which moments are ten minutes."""

MAX_LOOKS = 256
"""Lines of a moment that are looked at: its first ones, of hundreds of workers."""


class Diary:
    """Notes at most one line of a kind per worker and moment.

    A moment is a second while the slices of the timeline are short, then ten, then a
    minute, then ten: a slice is always the mean of several lines, never of all of them.
    Whether a line is noted depends on the lines before it only, so that it does not
    matter in which portions a log is read.
    """

    __slots__ = (
        "_first_line",
        "_last_line",
        "_looked",
        "_noted",
        "_peak_line",
        "_slice",
        "clock",
        "moment",
        "peak",
        "second",
        "timeline",
    )

    def __init__(self) -> None:
        self.clock = Clock()
        self.timeline = Timeline()
        self.moment: bytes | None = None
        """Start of the stamps that belong to the present moment."""

        self.second = 0.0
        """The present moment, in seconds of the run."""

        self.peak = 0
        """Most running requests of a noted line number."""

        self._slice: Slice | None = None
        self._looked = 0
        self._noted: set[tuple[str, str]] = set()
        self._first_line = self._last_line = self._peak_line = 0

    def turn_to(self, stamp: bytes) -> None:
        """Begin the moment of *stamp*; lines without any are one moment."""
        self._noted.clear()
        self._slice = None
        self._looked = 0
        self.second = self.clock.advance(stamp.decode("ascii", "replace"))
        self.timeline.reach(self.second)
        self.moment = stamp[: self._digits(stamp)] if stamp else b""

    def is_over(self, stamp: bytes) -> bool:
        """Return whether *stamp* is outside the present moment."""
        moment = self.moment
        return stamp != moment if not moment else not stamp.startswith(moment)

    def end_of_moment(
        self, stamps: Sequence[bytes], start: int, *, is_sorted: bool
    ) -> int:
        """Return which of *stamps*, from *start* on, is the first of another moment."""
        moment = self.moment or b""
        if is_sorted:
            return (
                bisect_left(stamps, moment + b"\xff", start) if moment else len(stamps)
            )
        for at in range(start, len(stamps)):
            if not stamps[at].startswith(moment):
                return at
        return len(stamps)

    def _digits(self, stamp: bytes) -> int:
        whole = len(stamp.replace(b",", b".").split(b".")[0])
        if self.timeline.width_s < TENS_FROM_S:
            return whole
        if self.timeline.width_s < MINUTES_FROM_S:
            return whole - 1
        return whole - (3 if self.timeline.width_s < TEN_MINUTES_FROM_S else 4)

    def take(self, lines: int) -> int:
        """Pass over *lines* lines of this moment; return how many to look at."""
        room = max(0, MAX_LOOKS - self._looked)
        self._looked += lines
        return min(room, lines)

    def missing(self, pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
        """Return those of (worker, event) that have no line of this moment yet."""
        return pairs - self._noted

    def is_new(self, worker: str, event: str) -> bool:
        """Return whether *worker* has no such line yet at this moment; note it."""
        key = (worker, event)
        if key in self._noted:
            return False
        self._noted.add(key)
        return True

    def note_decode(self, stamp: bytes, line: Line) -> None:
        """Put a decode line on the timeline."""
        (self._slice or self._begin_slice(stamp)).add_decode(line)

    def note_prefill(self, stamp: bytes, new: int, cached: int) -> None:
        """Put a prefill line's prompt tokens on the timeline."""
        (self._slice or self._begin_slice(stamp)).add_prefill(new, cached)

    def _begin_slice(self, stamp: bytes) -> Slice:
        """Return the slice of the present moment."""
        text = stamp.decode("ascii", "replace")
        self._slice = self.timeline.slice_at(self.second, text)
        return self._slice

    def note_line(self, number: int, running: int = 0) -> None:
        """Keep the first and the last line, and the first one at the peak."""
        if number < 1:
            return
        self._first_line = min(self._first_line or number, number)
        self._last_line = max(self._last_line, number)
        if running > self.peak:
            self.peak, self._peak_line = running, number

    @property
    def lines(self) -> tuple[int, ...]:
        """First, peak and last line, sorted, each once."""
        numbers = {self._first_line, self._peak_line, self._last_line}
        return tuple(sorted(numbers - {0}))

    def begin_timeline(self) -> None:
        """Forget what was drawn so far."""
        self.timeline = Timeline()
        self._slice = None
        self._noted.clear()

    def merge(self, other: Diary) -> None:
        """Add what *other* noted in a later part of the same run."""
        offset_s = self.clock.advance(other.clock.first_stamp)
        self.timeline.merge(other.timeline, offset_s)
        self.clock.advance(other.clock.last_stamp)
        self.moment = self._slice = None
        self.note_line(other._first_line)
        self.note_line(other._last_line)
        self.note_line(other._peak_line, other.peak)
