"""When a filter beside a live server may say that the verdict has changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from mamba_advisor.record import Record
from mamba_advisor.runtime.model import Evidence

MIN_SAMPLES = 60
"""Decode lines before anything is said: 2400 steps, a minute or more of full load.

Below it the first requests after the boot, which all began together, would speak.
"""

INTERVAL_S = 600.0
"""Seconds between two lines: who watches a log wants the log."""

SAME_VALUE = 0.1
"""Relative change up to which a flag's number counts as the same advice.

The measured context moves by some percent all day, and the numbers with it.
"""

NAMES = {"state": "the state pool is short", "kv": "the KV pool is short"}
"""Hot pool -> how it is said."""


class _Said(Record):
    """What the user was told last."""

    hot_pool: str | None = None
    flags: tuple[str, ...] = ()


class VerdictWatch:
    """Compares what the evidence says now with what was said last."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with nothing said.

        Args:
            clock: Returns seconds that only grow.
        """
        self._clock = clock
        self._said = _Said()
        self._when: float | None = None

    def told(self, evidence: Evidence | None, flags: Sequence[str] = ()) -> None:
        """Note that the full advice was shown, at the boot or on demand.

        Args:
            evidence: What it rested on, None before the first batch line.
            flags: The launch flags that it recommended.
        """
        hot_pool = evidence.total.hot_pool if evidence else None
        self._said = _Said(hot_pool, tuple(flags))

    def line(self, evidence: Evidence | None, flags: Sequence[str] = ()) -> str | None:
        """Return the line to show now, None for silence.

        A line is due when the short pool or the advised flags are other than was
        said last, there are at least `MIN_SAMPLES` decode lines, and the last line
        is `INTERVAL_S` ago or more.  A returned line counts as said.

        Args:
            evidence: The run so far.
            flags: The launch flags that the advice recommends on this evidence.
        """
        if evidence is None or evidence.total.samples < MIN_SAMPLES:
            return None
        hot_pool = evidence.total.hot_pool
        is_same = hot_pool == self._said.hot_pool
        if is_same and same_advice(flags, self._said.flags):
            return None
        now = self._clock()
        if self._when is not None and now - self._when < INTERVAL_S:
            return None
        self._when = now
        before, self._said = self._said, _Said(hot_pool, tuple(flags))
        return _sentence(evidence, flags, before)


def same_advice(flags: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether two lists of launch flags amount to the same advice.

    Names must be equal, numbers within `SAME_VALUE` of each other.
    """
    return len(flags) == len(others) and all(
        _same_argument(one, two) for one, two in zip(flags, others, strict=True)
    )


def _same_argument(one: str, two: str) -> bool:
    try:
        first, second = float(one), float(two)
    except ValueError:
        return one == two
    return abs(first - second) <= SAME_VALUE * max(abs(first), abs(second))


def _sentence(evidence: Evidence, flags: Sequence[str], before: _Said) -> str:
    """Say the verdict, what it rests on and what to set."""
    total = evidence.total
    if total.hot_pool is not None:
        verdict = f"{NAMES[total.hot_pool]}: {total.hot_why}"
    elif before.hot_pool is not None:
        verdict = f"neither pool is short any more: {total.hot_why}"
    else:
        verdict = "the run has shown what to set"
    basis = f"{total.samples:,} decode lines"
    if evidence.seconds:
        basis += f" in {duration(evidence.seconds)}"
    if total.avg_context is not None:
        basis += f", {total.avg_context:,} tokens of context per request"
    words = f"{verdict} ({basis})"
    if flags:
        return f"{words}; advised now: {' '.join(flags)}"
    if before.flags:
        return f"{words}; nothing to change any more"
    return words


def duration(seconds: float) -> str:
    """Return a span of time in two units at most: ``2 h 5 min``."""
    minutes = round(seconds / 60)
    if not minutes:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
