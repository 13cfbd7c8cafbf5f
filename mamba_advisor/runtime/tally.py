"""Sums over batch lines in tables whose size does not depend on their number."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from mamba_advisor.runtime.bins import bin_middle, bin_of, percentile
from mamba_advisor.runtime.lines import MAX_PERCENT, Line

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

    def count(self, line: Line, lines: int) -> None:
        """Count *lines* lines that say the same."""
        running, _, kv_percent, state_percent, slots, _ = line
        running *= lines
        self.lines += lines
        self.running += running
        if slots is not None:
            self.slots += slots * lines
            self.slot_running += running
        kv = state = UNKNOWN
        if kv_percent is not None:
            self.kv[kv_percent] += lines
            kv = _KV_LEVELS[kv_percent]
        if state_percent is not None:
            self.state[state_percent] += lines
            state = _STATE_LEVELS[state_percent]
        if line.queued or kv == len(KV_STEPS):
            key = (line.queued > 0, kv, state)
            pressure = self.pressures.get(key)
            if pressure is None:
                pressure = self.pressures[key] = Pressure()
            pressure.lines += lines
            pressure.kv_percent += (kv_percent or 0) * lines
            pressure.state_percent += (state_percent or 0) * lines


class Tally:
    """The batch lines of one worker, by running requests."""

    __slots__ = ("cells", "idle", "longest_queue", "peak")

    def __init__(self) -> None:
        self.cells: defaultdict[tuple[int, bool], Cell] = defaultdict(Cell)
        """(Bin of running requests, KV nearly full) -> sums."""

        self.idle = 0
        """Lines without a running request."""

        self.peak = 0
        """Most requests that ran at once."""

        self.longest_queue = 0
        """Most requests that waited, on the sampled lines."""

    def count(self, line: Line, lines: int = 1) -> None:
        """Count *lines* lines that say the same about everything but tokens."""
        if line.running < 1:
            self.idle += lines
            return
        self.peak = max(self.peak, line.running)
        self._cell(line).count(line, lines)

    def sample(self, line: Line, weight: int = 1) -> None:
        """Look at tokens and queue of a counted line, which stands for *weight*."""
        if line.running:
            self.longest_queue = max(self.longest_queue, line.queued)
            self._cell(line).sample.count(line, weight)

    def _cell(self, line: Line) -> Cell:
        """Return the cell that *line* belongs to."""
        nearly_full = (line.kv_percent or 0) >= KV_STEPS[1]
        return self.cells[bin_of(line.running), nearly_full]

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
