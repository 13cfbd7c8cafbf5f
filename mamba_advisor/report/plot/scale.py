"""From values to places: linear and logarithmic axes, and their ticks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Literal

from mamba_advisor.record import Record

Kind = Literal["linear", "count", "bytes", "log", "binary", "time"]
"""How an axis runs: ``count`` is linear with whole ticks, ``bytes`` linear with ticks
in GiB, ``time`` linear in seconds, ``binary`` logarithmic with powers of two."""

LETTER_WIDTH = 0.57
"""Width of a letter ÷ its size, on the safe side for sans-serif letters."""

TICK_SIZE = 11.5
MOST_TICKS = 7

SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600)
DAY_S = 86_400
GIB = 1 << 30


class Axis(Record):
    """What one direction of a picture means."""

    name: str
    """A word for it, for tables."""

    title: str
    """What is written beside it."""

    low: float
    high: float
    kind: Kind = "linear"
    write: Callable[[float], str] = "{:,.0f}".format
    """How a value of it reads in full."""

    @property
    def is_log(self) -> bool:
        """Whether equal steps are equal factors."""
        return self.kind in {"log", "binary"}

    def place(self, value: float) -> float:
        """Return where *value* lies: 0 at `low`, 1 at `high`.

        Values that a logarithm does not know lie far below.
        """
        if not self.is_log:
            return (value - self.low) / (self.high - self.low)
        if value <= 0:
            return -1.0
        return math.log(value / self.low) / math.log(self.high / self.low)

    def ticks(self, room: float, *, upright: bool = False) -> list[tuple[float, str]]:
        """Return values to mark, with their labels.

        Args:
            room: Length of the axis in pixels.
            upright: Whether labels stand above one another, so that only their
                height counts.
        """
        best: list[tuple[float, str]] = []
        for values in self._candidates():
            best = [(value, self._label(value)) for value in values]
            widths = (text_width(label, TICK_SIZE) for _, label in best)
            each = TICK_SIZE * 1.6 if upright else max(widths, default=0) + 10
            if len(best) <= MOST_TICKS * 2 and self._gap(best) * room >= each:
                break
        return best

    def _gap(self, ticks: Sequence[tuple[float, str]]) -> float:
        places = [self.place(value) for value, _ in ticks]
        return min((after - before for before, after in pairwise(places)), default=1)

    def _candidates(self) -> Iterable[list[float]]:
        """Yield sets of ticks, the densest first."""
        if self.kind == "binary":
            first, last = math.log2(self.low), math.log2(self.high)
            for step in (1, 2, 3, 4, 6, 8):
                start = math.ceil(first - 1e-9)
                powers = range(start + -start % step, math.floor(last + 1e-9) + 1, step)
                yield [2.0**power for power in powers]
        elif self.kind == "log":
            for digits in ((1, 2, 5), (1, 3), (1,)):
                yield self._decades(digits)
        else:
            span = self.high - self.low
            for apart in self._steps(span):
                start = math.ceil(self.low / apart - 1e-9)
                end = math.floor(self.high / apart + 1e-9)
                yield [n * apart for n in range(start, end + 1)]

    def _decades(self, digits: Sequence[int]) -> list[float]:
        first = math.floor(math.log10(self.low))
        last = math.ceil(math.log10(self.high))
        return [
            value
            for power in range(first, last + 1)
            for digit in digits
            if self.low * 0.999 <= (value := digit * 10.0**power) <= self.high * 1.001
        ]

    def _steps(self, span: float) -> Iterable[float]:
        """Yield round steps that cut *span* into at most `MOST_TICKS` parts."""
        if self.kind == "time":
            fitting = [float(step) for step in SECONDS if span / step <= MOST_TICKS]
            yield from fitting
            days = max(1, math.ceil(span / DAY_S / MOST_TICKS))
            yield from (days * DAY_S * factor for factor in (1, 2, 4))
            return
        unit = GIB if self.kind == "bytes" else 1
        power = 10.0 ** math.floor(math.log10(span / unit / MOST_TICKS))
        least = 1.0 if self.kind == "count" else 0.0
        for factor in (1, 2, 5, 10, 20, 50, 100):
            step = factor * power * unit
            if span / step <= MOST_TICKS and step >= least:
                yield step

    def _label(self, value: float) -> str:
        if self.kind == "binary":
            return short_tokens(value)
        if self.kind == "bytes":
            return f"{value / GIB:g} GiB"
        if self.kind == "log":
            return f"{value:,.10g}"
        return self.write(value)


def short_tokens(value: float) -> str:
    """Return a power of two as options spell it: ``8k`` is 8192."""
    for unit, size in (("M", 1 << 20), ("k", 1 << 10)):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def duration(seconds: float) -> str:
    """Return a time span for a tick: ``90 s`` is ``1:30 min``."""
    whole = round(seconds)
    hours, minutes, left = whole // 3600, whole // 60 % 60, whole % 60
    if whole < 60:  # noqa: PLR2004 -- a minute
        return f"{whole} s"
    if hours:
        return f"{hours}:{minutes:02} h"
    return f"{minutes}:{left:02} min" if left else f"{minutes} min"


def text_width(text: str, size: float) -> float:
    """Return the width of *text* in pixels, estimated on the safe side."""
    return len(text) * size * LETTER_WIDTH
