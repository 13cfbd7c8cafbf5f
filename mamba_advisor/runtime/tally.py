"""The batch lines of one worker in lists whose size does not depend on their number."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from mamba_advisor.runtime.bins import bin_middle, bin_of, percentile
from mamba_advisor.runtime.cell import KV_STEPS, Cell, Sample
from mamba_advisor.runtime.lines import MAX_TEXTS, Line, RowReader
from mamba_advisor.runtime.sheet import (
    RUNNING,
    SIZE,
    SLOT_RUNNING,
    SLOTS,
    Places,
    Sheet,
    cells_of,
    places_of,
    press,
)

QUIET_SHARE = 0.25
"""Share of the typical number of running requests below which a line is left out.

Means are weighted by requests, so that few running ones weigh little anyway.  Where
load merely varies, leaving out more would favour what many requests at a time have
in common; at a quarter, idle phases, warm-up and the ends of a benchmark are gone.
"""


class Tally:
    """The batch lines of one worker, by running requests."""

    __slots__ = (
        "_cells",
        "_places",
        "_samples",
        "_sheets",
        "_shown",
        "longest_queue",
        "peak",
    )

    def __init__(self) -> None:
        self.peak = 0
        """Most requests that ran at once."""

        self.longest_queue = 0
        """Most requests that waited, on the sampled lines."""

        self._sheets: dict[int, Sheet] = {}
        """Bin of running requests -> sums; the first one is of idle lines."""

        self._samples: defaultdict[tuple[int, bool], Sample] = defaultdict(Sample)
        self._shown: dict[bytes, Sheet] = {}
        """Printed running requests -> the sheet of their bin."""

        self._places: dict[tuple[bytes, bytes], Places] = {}
        """Printed usages -> where they are counted."""

        self._cells: dict[tuple[int, bool], Cell] | None = None
        """What `cells` returns, until something is added."""

    def count(self, line: Line) -> None:
        """Count one line."""
        self._cells = None
        self.peak = max(self.peak, line.running)
        sheet = self._sheet(line.running)
        places = places_of(line.kv_percent, line.state_percent)
        sheet[places.kv] += 1
        sheet[places.state] += 1
        sheet[RUNNING + places.is_nearly_full] += line.running
        if line.slots is not None:
            sheet[SLOTS + places.is_nearly_full] += line.slots
            sheet[SLOT_RUNNING + places.is_nearly_full] += line.running
        if line.queued or places.presses:
            press(sheet, places, line.queued > 0)

    def count_rows(self, reader: RowReader, rows: Sequence[Sequence[bytes]]) -> None:
        """Count lines as a scan has matched them.

        What is done here for each of a million lines is kept short: printed values
        are looked up, and the looked-up places are counted up.

        Raises:
            ValueError: A value is no number.
        """
        self._cells = None
        running, queued, kv, state, slots, _ = reader.columns(rows)
        counts, shown = reader.counts, self._shown
        for text in set(running) - shown.keys():
            requests = counts[text] or 0
            self.peak = max(self.peak, requests)
            if len(shown) < MAX_TEXTS:
                shown[text] = self._sheet(requests)
        usages = list(zip(kv, state, strict=True))
        known = self._places
        needed = set(usages)
        new = needed - known.keys()
        if len(known) + len(new) > MAX_TEXTS:
            known.clear()
            new = needed
        for pair in new:
            known[pair] = places_of(*map(reader.percents.__getitem__, pair))
        get = counts.__getitem__
        for text, number, places, waiting, held in zip(
            running,
            map(get, running),
            map(known.__getitem__, usages),
            map(get, queued),
            map(get, slots),
            strict=True,
        ):
            sheet = shown.get(text) or self._sheet(number or 0)
            at_kv, at_state, nearly_full, presses = places[:4]
            sheet[at_kv] += 1
            sheet[at_state] += 1
            sheet[RUNNING + nearly_full] += number or 0
            if held is not None:
                sheet[SLOTS + nearly_full] += held
                sheet[SLOT_RUNNING + nearly_full] += number or 0
            if waiting or presses:
                press(sheet, places, bool(waiting))

    def sample(self, line: Line, weight: int = 1) -> None:
        """Look at tokens and queue of a counted line, which stands for *weight*."""
        self._cells = None
        if line.running:
            self.longest_queue = max(self.longest_queue, line.queued)
            nearly_full = (line.kv_percent or 0) >= KV_STEPS[1]
            self._samples[bin_of(line.running), nearly_full].count(line, weight)

    def _sheet(self, running: int) -> Sheet:
        """Return the sheet of lines with so many running requests."""
        code = bin_of(running)
        sheet = self._sheets.get(code)
        if sheet is None:
            sheet = self._sheets[code] = [0] * SIZE
        return sheet

    def add(self, other: Tally) -> None:
        """Add the sums of *other*."""
        self._cells = None
        self.peak = max(self.peak, other.peak)
        self.longest_queue = max(self.longest_queue, other.longest_queue)
        for code, sheet in other._sheets.items():
            mine = self._sheets.get(code)
            if mine is None:
                self._sheets[code] = list(sheet)
            else:
                mine[:] = map(sum, zip(mine, sheet, strict=True))
        for key, sample in other._samples.items():
            self._samples[key].add(sample)

    @property
    def cells(self) -> dict[tuple[int, bool], Cell]:
        """The sums by (bin of running requests, KV nearly full), without idle lines."""
        if self._cells is None:
            self._cells = self._make_cells()
        return self._cells

    def _make_cells(self) -> dict[tuple[int, bool], Cell]:
        cells = {
            (code, is_nearly_full): cell
            for code, sheet in sorted(self._sheets.items())
            if code
            for is_nearly_full, cell in cells_of(sheet)
        }
        for key, sample in self._samples.items():
            cells[key].sample = sample
        return cells

    @property
    def idle(self) -> int:
        """Lines without a running request."""
        return sum(cell.lines for _, cell in cells_of(self._sheet(0)))

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
