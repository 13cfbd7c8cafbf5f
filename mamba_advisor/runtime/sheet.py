"""A flat list of counts: what is cheapest to add a million lines to.

A sheet holds the lines with about the same number of running requests.  What a line
prints is looked up as places in it, never converted, and the places are counted up.
Afterwards a sheet becomes the two cells that people can read: lines with KV nearly
full, and all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from mamba_advisor.runtime.cell import (
    KV_STEPS,
    STATE_STEPS,
    UNKNOWN,
    Cell,
    Pressure,
    levels,
)
from mamba_advisor.runtime.lines import MAX_PERCENT

Sheet: TypeAlias = list[int]

_KV_LEVELS, _STATE_LEVELS = levels(KV_STEPS), levels(STATE_STEPS)
_USAGES = MAX_PERCENT + 2
"""Places of a usage: each percent, and one for lines that do not state it."""

_KV = 0
_STATE = _KV + _USAGES
"""States of lines with room in KV, then those of lines with KV nearly full."""

_PRESSURES = _STATE + 2 * _USAGES
_KV_CODES, _STATE_CODES = len(KV_STEPS) + 2, len(STATE_STEPS) + 2
_SUMS = 3
"""Lines, KV percents and state percents of a pressure."""

RUNNING = _PRESSURES + 2 * _KV_CODES * _STATE_CODES * _SUMS
"""Sums for lines with room in KV; those for nearly full KV stand one place later."""

SLOTS = RUNNING + 2
SLOT_RUNNING = SLOTS + 2
SIZE = SLOT_RUNNING + 2


class Places(NamedTuple):
    """Where a line with certain usages is counted."""

    kv: int
    state: int
    is_nearly_full: int
    """0 or 1: offset of its sums."""

    presses: bool
    """KV is full: its pressure counts also without a queue."""

    pressure: int
    """Where the pressure of such lines without a queue is."""

    kv_percent: int
    state_percent: int


QUEUE = _KV_CODES * _STATE_CODES * _SUMS
"""Distance from a pressure without a queue to the same one with a queue."""


def places_of(kv_percent: int | None, state_percent: int | None) -> Places:
    """Return where lines with these usages are counted, None: not stated."""
    kv = UNKNOWN if kv_percent is None else _KV_LEVELS[kv_percent]
    state = UNKNOWN if state_percent is None else _STATE_LEVELS[state_percent]
    is_nearly_full = int((kv_percent or 0) >= KV_STEPS[1])
    row = _USAGES - 1 if state_percent is None else state_percent
    return Places(
        _KV + (_USAGES - 1 if kv_percent is None else kv_percent),
        _STATE + is_nearly_full * _USAGES + row,
        is_nearly_full,
        kv == len(KV_STEPS),
        _pressure(False, kv, state),
        kv_percent or 0,
        state_percent or 0,
    )


def press(sheet: Sheet, places: Places, waiting: bool) -> None:
    """Count a line with a queue, or with full KV, by what was short."""
    at = places.pressure + QUEUE * waiting
    sheet[at] += 1
    sheet[at + 1] += places.kv_percent
    sheet[at + 2] += places.state_percent


def cells_of(sheet: Sheet) -> Iterator[tuple[bool, Cell]]:
    """Yield (KV nearly full, its lines) for the lines of a sheet, if there are any."""
    unstated = sheet[_KV + _USAGES - 1]
    printed = _counted(sheet, _KV)
    for is_nearly_full in (False, True):
        kv = Counter({p: n for p, n in printed if (p >= KV_STEPS[1]) == is_nearly_full})
        lines = kv.total() + (0 if is_nearly_full else unstated)
        if not lines:
            continue
        state = Counter(dict(_counted(sheet, _STATE + is_nearly_full * _USAGES)))
        cell = Cell(
            lines,
            sheet[RUNNING + is_nearly_full],
            sheet[SLOTS + is_nearly_full],
            sheet[SLOT_RUNNING + is_nearly_full],
            kv,
            state,
        )
        for (waiting, kv_level, state_level), at in _PRESSED.items():
            if sheet[at] and (kv_level >= NEARLY_FULL) == is_nearly_full:
                pressure = Pressure(*sheet[at : at + _SUMS])
                cell.pressures[waiting, kv_level, state_level] = pressure
        yield is_nearly_full, cell


def _counted(sheet: Sheet, start: int) -> list[tuple[int, int]]:
    """Return (percent, lines) of a usage, where there are lines."""
    places = sheet[start : start + _USAGES - 1]
    return [(percent, lines) for percent, lines in enumerate(places) if lines]


NEARLY_FULL = _KV_LEVELS[KV_STEPS[1]]
"""KV level from which lines belong to the cell of nearly full KV."""


def _pressure(waiting: bool, kv: int, state: int) -> int:
    code = (kv - UNKNOWN) * _STATE_CODES + state - UNKNOWN
    return _PRESSURES + waiting * QUEUE + code * _SUMS


_PRESSED = {
    (waiting, kv, state): _pressure(waiting, kv, state)
    for waiting in (False, True)
    for kv in range(UNKNOWN, len(KV_STEPS) + 1)
    for state in range(UNKNOWN, len(STATE_STEPS) + 1)
}
"""(Queue, KV level, state level) -> where the sums of its lines are."""
