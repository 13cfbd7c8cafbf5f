"""Sums over batch lines that have about the same number of running requests."""

from __future__ import annotations

from collections.abc import Iterable

from mamba_advisor.record import Record, field
from mamba_advisor.runtime.bins import Counts, bin_of
from mamba_advisor.runtime.lines import MAX_PERCENT, Line

KV_STEPS = (80, 90, 95)
"""Percents at which KV is tight, nearly full and full; the reasons are in `verdict`."""

NEARLY_FULL, FULL = KV_STEPS[1:]

STATE_STEPS = (65, 95)
"""Percents at which the state pool is well filled and full."""

UNKNOWN = -1
"""Level of a pool whose usage the lines do not state."""


_KV_LEVELS, _STATE_LEVELS = (
    tuple(sum(percent >= step for step in steps) for percent in range(MAX_PERCENT + 1))
    for steps in (KV_STEPS, STATE_STEPS)
)
"""Percent -> how many of the steps it has reached."""


class Pressure(Record, frozen=False):
    """Sums over lines that agree in what was short."""

    lines: int = 0
    kv_percent: int = 0
    state_percent: int = 0

    def add(self, other: Pressure) -> None:
        """Add the sums of *other*."""
        self.lines += other.lines
        self.kv_percent += other.kv_percent
        self.state_percent += other.state_percent


class Cell(Record, frozen=False):
    """Sums over lines with about the same number of running requests."""

    lines: int = 0
    running: int = 0
    queued: int = 0
    slots: int = 0
    slot_running: int = 0
    """Running requests of the lines that state held slots."""

    kv: Counts = field(default_factory=Counts)
    """KV usage in percent -> lines."""

    state: Counts = field(default_factory=Counts)
    """State usage in percent -> lines."""

    pressures: dict[tuple[bool, int, int], Pressure] = field(default_factory=dict)
    """(Queue, KV level, state level) -> sums; lines with a queue or full KV only."""

    tokens: int = 0
    token_running: int = 0
    """Running requests of the lines that state tokens."""

    max_context: float = 0.0
    """Most tokens per running request."""

    contexts: Counts = field(default_factory=Counts)
    """Bin of tokens per running request -> requests."""

    def add(self, other: Cell) -> None:
        """Add the sums of *other*."""
        self.lines += other.lines
        self.running += other.running
        self.queued += other.queued
        self.slots += other.slots
        self.slot_running += other.slot_running
        self.kv.add_all(other.kv)
        self.state.add_all(other.state)
        for key, pressure in other.pressures.items():
            self.pressures.setdefault(key, Pressure()).add(pressure)
        self.tokens += other.tokens
        self.token_running += other.token_running
        self.max_context = max(self.max_context, other.max_context)
        self.contexts.add_all(other.contexts)

    def count(self, line: Line, weight: int = 1) -> None:
        """Count a line that stands for *weight* lines."""
        self.lines += weight
        self.running += line.running * weight
        if line.slots is not None:
            self.slots += line.slots * weight
            self.slot_running += line.running * weight
        if line.kv_percent is not None:
            self.kv.add(line.kv_percent, weight)
        if line.state_percent is not None:
            self.state.add(line.state_percent, weight)
        if line.tokens is not None:
            self.add_tokens(line.tokens, line.running, weight)
        self.queued += line.queued * weight
        if line.queued or (line.kv_percent or 0) >= FULL:
            self.press(line.queued > 0, line.kv_percent, line.state_percent, weight)

    def add_tokens(self, tokens: int, running: int, weight: int) -> None:
        """Add the resident tokens of a line with at least one running request."""
        context = tokens / running
        self.tokens += tokens * weight
        self.token_running += running * weight
        self.max_context = max(self.max_context, context)
        self.contexts.add(bin_of(round(context)), running * weight)

    def press(
        self,
        waiting: bool,
        kv_percent: int | None,
        state_percent: int | None,
        weight: int,
    ) -> None:
        """Count a line with a queue or with full KV by what was short."""
        kv = UNKNOWN if kv_percent is None else _KV_LEVELS[kv_percent]
        state = UNKNOWN if state_percent is None else _STATE_LEVELS[state_percent]
        pressure = self.pressures.get((waiting, kv, state))
        if pressure is None:
            pressure = self.pressures[waiting, kv, state] = Pressure()
        pressure.lines += weight
        pressure.kv_percent += (kv_percent or 0) * weight
        pressure.state_percent += (state_percent or 0) * weight


def sum_cells(cells: Iterable[Cell]) -> Cell:
    """Return the sums over all *cells*."""
    total = Cell()
    for cell in cells:
        total.add(cell)
    return total
