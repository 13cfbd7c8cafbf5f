"""Sums over batch lines in tables whose size does not depend on their number."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from mamba_advisor.runtime.bins import bin_middle, bin_of, percentile
from mamba_advisor.runtime.lines import MAX_PERCENT, MAX_TEXTS, Line, RowReader

KV_STEPS = (80, 90, 95)
"""Percents at which KV is tight, nearly full and full; the reasons are in `verdict`."""

STATE_STEPS = (65, 95)
"""Percents at which the state pool is well filled and full."""

QUIET_SHARE = 0.25
"""Share of the typical number of running requests below which a line is left out.

Means are weighted by requests, so that few running ones weigh little anyway.  Where
load merely varies, leaving out more would favour what many requests at a time have
in common; at a quarter, idle phases, warm-up and the ends of a benchmark are gone.
"""

NONE_WAITING = (b"0", b"")
"""How an empty queue, or none at all, is printed."""

UNKNOWN = -1
"""Level of a pool whose usage the lines do not state."""

_KV_LEVELS, _STATE_LEVELS = (
    tuple(sum(percent >= step for step in steps) for percent in range(MAX_PERCENT + 1))
    for steps in (KV_STEPS, STATE_STEPS)
)
"""Percent -> how many of the steps it has reached."""


@dataclass(slots=True)
class Pressure:
    """Sums over lines that agree in what was short."""

    lines: int = 0
    kv_percent: int = 0
    state_percent: int = 0

    def add(self, other: Pressure) -> None:
        """Add the sums of *other*."""
        self.lines += other.lines
        self.kv_percent += other.kv_percent
        self.state_percent += other.state_percent


@dataclass(slots=True)
class Sample:
    """Sums over the lines that are looked at one by one."""

    lines: int = 0
    queued: int = 0
    tokens: int = 0
    running: int = 0
    """Running requests of the lines that state tokens."""

    max_context: float = 0.0
    """Most tokens per running request."""

    contexts: Counter[int] = field(default_factory=Counter)
    """Bin of tokens per running request -> requests."""

    def count(self, line: Line, weight: int) -> None:
        """Count one line with running requests, which stands for *weight* lines."""
        self.lines += weight
        self.queued += line.queued * weight
        if line.tokens is not None:
            context = line.tokens / line.running
            self.tokens += line.tokens * weight
            self.running += line.running * weight
            self.max_context = max(self.max_context, context)
            self.contexts[bin_of(round(context))] += line.running * weight

    def add(self, other: Sample) -> None:
        """Add the sums of *other*."""
        self.lines += other.lines
        self.queued += other.queued
        self.tokens += other.tokens
        self.running += other.running
        self.max_context = max(self.max_context, other.max_context)
        self.contexts.update(other.contexts)


@dataclass(slots=True)
class Cell:
    """Sums over lines with about the same number of running requests."""

    lines: int = 0
    running: int = 0
    slots: int = 0
    slot_running: int = 0
    """Running requests of the lines that state held slots."""

    kv: Counter[int] = field(default_factory=Counter)
    """KV usage in percent -> lines."""

    state: Counter[int] = field(default_factory=Counter)
    """State usage in percent -> lines."""

    pressures: dict[tuple[bool, int, int], Pressure] = field(default_factory=dict)
    """(Queue, KV level, state level) -> sums; lines with a queue or full KV only."""

    sample: Sample = field(default_factory=Sample)

    def add(self, other: Cell) -> None:
        """Add the sums of *other*."""
        self.lines += other.lines
        self.running += other.running
        self.slots += other.slots
        self.slot_running += other.slot_running
        self.kv.update(other.kv)
        self.state.update(other.state)
        for key, pressure in other.pressures.items():
            self.pressures.setdefault(key, Pressure()).add(pressure)
        self.sample.add(other.sample)

    def count(self, line: Line) -> None:
        """Count one line."""
        self.lines += 1
        self.running += line.running
        if line.slots is not None:
            self.slots += line.slots
            self.slot_running += line.running
        if line.kv_percent is not None:
            self.kv[line.kv_percent] += 1
        if line.state_percent is not None:
            self.state[line.state_percent] += 1
        if line.queued or (line.kv_percent or 0) >= KV_STEPS[-1]:
            self.press(line.queued > 0, line.kv_percent, line.state_percent)

    def press(
        self, waiting: bool, kv_percent: int | None, state_percent: int | None
    ) -> None:
        """Count a line with a queue or with full KV by what was short."""
        kv = UNKNOWN if kv_percent is None else _KV_LEVELS[kv_percent]
        state = UNKNOWN if state_percent is None else _STATE_LEVELS[state_percent]
        pressure = self.pressures.get((waiting, kv, state))
        if pressure is None:
            pressure = self.pressures[waiting, kv, state] = Pressure()
        pressure.lines += 1
        pressure.kv_percent += kv_percent or 0
        pressure.state_percent += state_percent or 0


class Tally:
    """The batch lines of one worker, by running requests."""

    __slots__ = ("_found", "cells", "idle", "longest_queue", "peak")

    def __init__(self) -> None:
        self.cells: defaultdict[tuple[int, bool], Cell] = defaultdict(Cell)
        """(Bin of running requests, KV nearly full) -> sums."""

        self.idle = 0
        """Lines without a running request."""

        self.peak = 0
        """Most requests that ran at once."""

        self.longest_queue = 0
        """Most requests that waited, on the sampled lines."""

        self._found: dict[tuple[bytes, bytes], tuple[Cell | None, int, int | None]] = {}

    def count(self, line: Line) -> None:
        """Count one line."""
        if line.running < 1:
            self.idle += 1
            return
        self.peak = max(self.peak, line.running)
        self._cell(line.running, line.kv_percent).count(line)

    def count_rows(self, reader: RowReader, rows: Sequence[Sequence[bytes]]) -> None:
        """Count lines as a scan has matched them.

        What is here for each of a million lines is kept short: printed values are
        looked up, not converted, and running requests and KV usage find their cell
        together.

        Raises:
            ValueError: A value is no number.
        """
        running, queued, kv, state, slots, _ = reader.columns(rows)
        percents, counts, known = reader.percents, reader.counts, self._found
        full = KV_STEPS[-1]
        for pair, waiting, usage, held in zip(
            zip(running, kv, strict=True), queued, state, slots, strict=True
        ):
            found = known.get(pair)
            if found is None:
                found = self._find(reader, *pair)
            cell, requests, kv_percent = found
            if cell is None:
                self.idle += 1
                continue
            cell.lines += 1
            cell.running += requests
            if kv_percent is not None:
                cell.kv[kv_percent] += 1
            state_percent = percents[usage]
            if state_percent is not None:
                cell.state[state_percent] += 1
            if held:
                cell.slots += counts[held] or 0
                cell.slot_running += requests
            is_waiting = waiting not in NONE_WAITING and counts[waiting] != 0
            if is_waiting or (kv_percent or 0) >= full:
                cell.press(is_waiting, kv_percent, state_percent)

    def _find(
        self, reader: RowReader, running: bytes, kv: bytes
    ) -> tuple[Cell | None, int, int | None]:
        """Return the cell of lines with these printed values, and their numbers."""
        requests, kv_percent = reader.counts[running] or 0, reader.percents[kv]
        self.peak = max(self.peak, requests)
        cell = self._cell(requests, kv_percent) if requests else None
        if len(self._found) >= MAX_TEXTS:
            self._found.clear()
        found = self._found[running, kv] = cell, requests, kv_percent
        return found

    def sample(self, line: Line, weight: int = 1) -> None:
        """Look at tokens and queue of a counted line, which stands for *weight*."""
        if line.running:
            self.longest_queue = max(self.longest_queue, line.queued)
            self._cell(line.running, line.kv_percent).sample.count(line, weight)

    def _cell(self, running: int, kv_percent: int | None) -> Cell:
        """Return the cell of lines with so many requests and such KV usage."""
        return self.cells[bin_of(running), (kv_percent or 0) >= KV_STEPS[1]]

    def add(self, other: Tally) -> None:
        """Add the sums of *other*."""
        self.idle += other.idle
        self.peak = max(self.peak, other.peak)
        self.longest_queue = max(self.longest_queue, other.longest_queue)
        for key, cell in other.cells.items():
            self.cells[key].add(cell)

    @property
    def lines(self) -> int:
        """All lines counted."""
        return self.idle + sum(cell.lines for cell in self.cells.values())

    @property
    def typical(self) -> int:
        """The number of running requests that half of all work ran at or below.

        Lines are weighted by their running requests, so that days of a single
        request do not outweigh an hour of a hundred, nor one burst the rest.
        0 without lines.
        """
        weights: Counter[int] = Counter()
        lines: Counter[int] = Counter()
        for (code, _), cell in self.cells.items():
            weights[code] += cell.running
            lines[code] += cell.lines
        if not weights:
            return 0
        middle = percentile(weights, 0.5)
        return round(weights[middle] / lines[middle])

    @property
    def floor(self) -> int:
        """Fewest running requests of a line that counts whatever KV does."""
        return math.ceil(QUIET_SHARE * self.typical)

    def busy(self) -> list[Cell]:
        """Return the cells that tell of a busy server.

        These are the ones with at least `floor` running requests, and those with
        nearly full KV whatever their number: a pool full of few long requests is
        as busy as one full of many short ones, and leaving it out would make the
        average context too small.
        """
        floor = self.floor
        return [
            cell
            for (code, is_full), cell in sorted(self.cells.items())
            if is_full or bin_middle(code) >= floor
        ]


def sum_cells(cells: Iterable[Cell]) -> Cell:
    """Return the sums over all *cells*."""
    total = Cell()
    for cell in cells:
        total.add(cell)
    return total
