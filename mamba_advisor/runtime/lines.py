"""Batch lines as numbers, from readings or from the bytes that a scan matched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from mamba_advisor.facts import Value

MAX_PERCENT = 200
"""Usages above are cut to this; SGLang can print a little above 1.00."""

MAX_KEYS = 2048
"""Distinct combinations of small numbers that a table keeps before it is drained.

A key with its bytes takes some 400 bytes of memory: 0.8 MiB.
"""

MAX_QUEUES = 4096
"""Distinct printed queue lengths remembered as "0 or not"."""

KEYED = ("running", "full_usage", "state_usage", "state_slots_used", "queued")
"""Facts that lines are counted by; of the queue only whether there is one."""


class Line(NamedTuple):
    """What a decode or prefill line says about the pools."""

    running: int
    queued: int
    kv_percent: int | None = None
    """KV usage, 0 to `MAX_PERCENT`; None: not stated."""

    state_percent: int | None = None
    slots: int | None = None
    """State slots held."""

    tokens: int | None = None
    """Resident KV tokens."""


def percent_of(fraction: float) -> int:
    """Return a usage of 0 to 1 in whole percent, from 0 to `MAX_PERCENT`."""
    return min(max(0, round(100 * fraction)), MAX_PERCENT)


def number_of(facts: Mapping[str, Value], name: str) -> int | None:
    """Return the count *name*, None where the facts do not state it."""
    value = facts.get(name)
    return int(value) if isinstance(value, int | float) else None


def line_of(facts: Mapping[str, Value]) -> Line | None:
    """Return a reading's facts as a line.

    Returns:
        The line; None where it does not say how many requests run, as prefill
        lines of disaggregated servers of 0.5.2.
    """
    running = number_of(facts, "running")
    if running is None:
        return None
    kv, state = facts.get("full_usage"), facts.get("state_usage")
    return Line(
        running,
        number_of(facts, "queued") or 0,
        percent_of(kv) if isinstance(kv, int | float) else None,
        percent_of(state) if isinstance(state, int | float) else None,
        number_of(facts, "state_slots_used"),
        number_of(facts, "full_tokens"),
    )


def line_of_row(row: Sequence[bytes], fields: Sequence[str]) -> Line:
    """Return one row of matched bytes as a line.

    Args:
        row: Printed values; empty ones are not stated.
        fields: The fact that each place of the row states.

    Raises:
        ValueError: A value is no number, or row and fields differ in length.
    """
    texts = dict(zip(fields, row, strict=True))
    kv, state = texts.get("full_usage"), texts.get("state_usage")
    slots, tokens = texts.get("state_slots_used"), texts.get("full_tokens")
    return Line(
        int(texts.get("running") or 0),
        int(texts.get("queued") or 0),
        percent_of(float(kv)) if kv else None,
        percent_of(float(state)) if state else None,
        int(slots) if slots else None,
        int(tokens) if tokens else None,
    )


class _Waits(dict[bytes, bytes]):
    """Printed queue length -> ``b"1"`` with a queue, ``b"0"`` without."""

    def __missing__(self, text: bytes) -> bytes:
        waits = b"1" if int(text or 0) else b"0"
        if len(self) < MAX_QUEUES:
            self[text] = waits
        return waits


class RowTable:
    """Counts rows of matched bytes; numbers are made of them when drained.

    Running requests, usages and held slots take few values and change slowly, so
    that most lines only add to a count, without any conversion.
    """

    __slots__ = ("_counts", "_places", "_waits", "fields")

    def __init__(self, fields: tuple[str, ...]) -> None:
        """Make a table for rows whose places state *fields*, in this order."""
        self.fields = fields
        self._places = tuple(
            fields.index(name) if name in fields else None for name in KEYED
        )
        self._waits = _Waits()
        self._counts: Counter[tuple[bytes, ...]] = Counter()

    def add(self, rows: Sequence[tuple[bytes, ...]]) -> None:
        """Count *rows*; drain the table when it `is_full`."""
        columns = list(zip(*rows, strict=True))
        nothing = (b"",) * len(rows)
        *known, queued = (
            nothing if place is None else columns[place] for place in self._places
        )
        waits = map(self._waits.__getitem__, queued)
        self._counts.update(zip(*known, waits, strict=True))

    @property
    def is_full(self) -> bool:
        """Whether it is time to drain."""
        return len(self._counts) > MAX_KEYS

    def drain(self) -> Iterator[tuple[Line, int]]:
        """Yield each distinct line and how often it came; `Line.queued` is 0 or 1."""
        counts, self._counts = self._counts, Counter()
        for key, count in counts.items():
            yield line_of_row(key, KEYED), count
