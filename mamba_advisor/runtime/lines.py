"""Batch lines as numbers, from readings or from the bytes that a scan matched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mamba_advisor.facts import Value
from mamba_advisor.record import Record

MAX_PERCENT = 200
"""Usages above are cut to this; SGLang can print a little above 1.00."""

MAX_TEXTS = 4096
"""Distinct printed numbers that are remembered with their values at a time."""

FACTS = (
    "running",
    "queued",
    "full_usage",
    "state_usage",
    "state_slots_used",
    "full_tokens",
)
"""Facts of a line, in the order of the fields of `Line`."""


class Line(Record):
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


class _Converted(dict[bytes, "int | None"]):
    """Printed text -> number, each text converted once; empty is None."""

    def __init__(self, convert: Callable[[bytes], int]) -> None:
        super().__init__()
        self._convert = convert

    def __missing__(self, text: bytes) -> int | None:
        if len(self) >= MAX_TEXTS:
            self.clear()
        number = self[text] = self._convert(text) if text else None
        return number


COUNTS = _Converted(int)
"""Printed count -> its value, None for none."""

PERCENTS = _Converted(lambda text: percent_of(float(text)))
"""Printed usage -> percent, None for none."""


class RowReader:
    """Turns rows of matched bytes of one shape into lines."""

    __slots__ = ("_fields", "_places")

    def __init__(self, fields: Sequence[str]) -> None:
        """Make a reader for rows whose places state *fields*, in this order."""
        self._fields = fields
        self._places = tuple(
            fields.index(name) if name in fields else None for name in FACTS
        )

    def numbers(self, rows: Sequence[Sequence[bytes]], fact: str) -> list[int]:
        """Return the count *fact* of each row, 0 where a row does not state it.

        Raises:
            ValueError: A value is no number.
        """
        if fact not in self._fields:
            return [0] * len(rows)
        place = self._fields.index(fact)
        return [int(row[place] or 0) for row in rows]

    def usage(self, rows: Sequence[Sequence[bytes]]) -> tuple[list[int], ...]:
        """Return what rows say about the pools, for `Slice.add_decodes`.

        Raises:
            ValueError: A value is no number.
        """
        running, queued, kv, state, _, _ = self.columns(rows)
        counts, percents = COUNTS, PERCENTS
        return (
            [counts[text] or 0 for text in running],
            [counts[text] or 0 for text in queued],
            [number for text in kv if (number := percents[text]) is not None],
            [number for text in state if (number := percents[text]) is not None],
        )

    def columns(self, rows: Sequence[Sequence[bytes]]) -> list[Sequence[bytes]]:
        """Return the printed values of *rows* by fact, in the order of `FACTS`."""
        columns = list(zip(*rows, strict=True))
        nothing = (b"",) * len(rows)
        return [nothing if at is None else columns[at] for at in self._places]
