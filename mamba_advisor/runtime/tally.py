"""The batch lines of one worker, in tables of a size that stays as it is."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from mamba_advisor.runtime.bins import bin_middle, bin_of, percentile
from mamba_advisor.runtime.cell import FULL, NEARLY_FULL, Cell
from mamba_advisor.runtime.lines import COUNTS, MAX_TEXTS, PERCENTS, Line

QUIET_SHARE = 0.25
"""Share of the typical number of running requests below which a line is left out.

Means are weighted by requests, so that few running ones weigh little anyway.  Where
load merely varies, leaving out more would favour what many requests at a time have
in common; at a quarter, idle phases, warm-up and the ends of a benchmark are gone.
"""


class Tally:
    """The batch lines of one worker, by running requests."""

    __slots__ = ("_cells", "_found", "idle", "longest_queue", "peak")

    def __init__(self) -> None:
        self._cells: defaultdict[tuple[int, bool], Cell] = defaultdict(Cell)

        self.idle = 0
        """Lines without a running request."""

        self.peak = 0
        """Most requests that ran at once."""

        self.longest_queue = 0
        """Most requests that waited."""

        self._found: dict[bytes, tuple[int, Cell, Cell]] = {}
        """Printed running requests -> number, cells with room in KV and without."""

    def count(self, line: Line, weight: int = 1) -> None:
        """Count a line that stands for *weight* lines."""
        if line.running < 1:
            self.idle += weight
        else:
            nearly_full = (line.kv_percent or 0) >= NEARLY_FULL
            self._cells[bin_of(line.running), nearly_full].count(line, weight)

    def count_columns(
        self, columns: Sequence[Sequence[bytes]], weight: int = 1
    ) -> None:
        """Count lines as a scan has matched them, each for *weight* lines.

        What is here for each of a million lines is kept short: printed values are
        looked up, not converted.

        Raises:
            ValueError: A value is no number.
        """
        running, queued, kv, state, slots, resident = columns
        percents, counts, known = PERCENTS, COUNTS, self._found
        for text, waiting, usage, state_usage, held, tokens in zip(
            running, queued, kv, state, slots, resident, strict=True
        ):
            found = known.get(text)
            if found is None:
                found = self._find(text)
            requests, roomy, tight = found
            if not requests:
                self.idle += weight
                continue
            kv_percent, state_percent = percents[usage], percents[state_usage]
            cell, is_full = roomy, False
            if kv_percent is not None:
                if kv_percent >= NEARLY_FULL:
                    cell, is_full = tight, kv_percent >= FULL
                cell.kv.add(kv_percent, weight)
            cell.lines += weight
            cell.running += requests * weight
            if state_percent is not None:
                cell.state.add(state_percent, weight)
            if held:
                cell.slots += (counts[held] or 0) * weight
                cell.slot_running += requests * weight
            queue = counts[waiting] or 0
            if queue or is_full:
                cell.queued += queue * weight
                cell.press(queue > 0, kv_percent, state_percent, weight)
            if tokens:
                cell.add_tokens(int(tokens), requests, weight)

    def _find(self, running: bytes) -> tuple[int, Cell, Cell]:
        """Return the requests of a printed number, and the cells of such lines."""
        requests = COUNTS[running] or 0
        code = bin_of(requests)
        if len(self._found) >= MAX_TEXTS:
            self._found.clear()
        cells = self._cells if requests else defaultdict(Cell)
        found = requests, cells[code, False], cells[code, True]
        self._found[running] = found
        return found

    def note_extremes(self, running: int, queued: int) -> None:
        """Note the largest numbers of some lines, or those of one line."""
        self.peak = max(self.peak, running)
        self.longest_queue = max(self.longest_queue, queued)

    def add(self, other: Tally) -> None:
        """Add the sums of *other*."""
        self.idle += other.idle
        self.peak = max(self.peak, other.peak)
        self.longest_queue = max(self.longest_queue, other.longest_queue)
        for key, cell in other.cells.items():
            self._cells[key].add(cell)

    @property
    def cells(self) -> dict[tuple[int, bool], Cell]:
        """(Bin of running requests, KV nearly full) -> sums, where there are lines."""
        return {key: cell for key, cell in self._cells.items() if cell.lines}

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
