"""The decode lines, or the prefill lines, of one worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mamba_advisor.batch import Row
from mamba_advisor.runtime.lines import Line, RowReader
from mamba_advisor.runtime.tally import Tally

COUNTED_ALL, COUNTED_EVERY = 8192, 17
"""Decode lines at the start of a run that are all counted; from then on every
seventeenth is, for seventeen, in the order of the log.

Neighbouring lines differ little: requests live for many of them.  Workers take turns,
and seventeen is no multiple of their number, so that all of them are counted.
"""

WAITING = 64
"""Rows that are counted together: looking at columns is cheaper than at rows."""


class Stream:
    """Sums over lines of one kind, which come one by one or as matched rows."""

    __slots__ = ("_readers", "_tally", "_waiting")

    def __init__(self) -> None:
        self._tally = Tally()
        self._readers: dict[tuple[str, ...], RowReader] = {}
        self._waiting: dict[tuple[tuple[str, ...], int], list[Row]] = {}

    @property
    def tally(self) -> Tally:
        """The sums over everything that came."""
        for key in self._waiting:
            self._settle(key)
        return self._tally

    def add(self, line: Line, weight: int) -> None:
        """Count a line for *weight* lines, 0 to look at its extremes only."""
        self._tally.note_extremes(line.running, line.queued)
        if weight:
            self._tally.count(line, weight)

    @property
    def peak(self) -> int:
        """Most requests that ran at once."""
        return self._tally.peak

    @property
    def longest_queue(self) -> int:
        """Most requests that waited."""
        return self._tally.longest_queue

    def note_extremes(self, running: int, queued: int) -> None:
        """Note the largest numbers of lines, whether or not they are counted."""
        self._tally.note_extremes(running, queued)

    def add_rows(
        self, rows: Sequence[Row], fields: tuple[str, ...], weight: int
    ) -> None:
        """Count lines as a scan has matched them.

        Args:
            rows: One tuple of printed values per line, in the order of the log.
            fields: The fact that each place of a row states.
            weight: Lines that each of them stands for.
        """
        key = fields, weight
        waiting = self._waiting.setdefault(key, [])
        waiting += rows
        if len(waiting) >= WAITING:
            self._settle(key)

    def _settle(self, key: tuple[tuple[str, ...], int]) -> None:
        """Count the rows that wait."""
        fields, weight = key
        rows = self._waiting[key]
        if rows:
            reader = self._readers.get(fields)
            if reader is None:
                reader = self._readers[fields] = RowReader(fields)
            self._tally.count_columns(reader.columns(rows), weight)
            rows.clear()

    def merge(self, other: Stream) -> None:
        """Add the sums of *other*."""
        self.tally.add(other.tally)


def weight_of(before: int) -> int:
    """Return how many lines a decode line stands for, 0 when it is passed over.

    Args:
        before: Decode lines of the run before it.
    """
    if before < COUNTED_ALL:
        return 1
    return 0 if before % COUNTED_EVERY else COUNTED_EVERY


def parts_of(before: int) -> Iterator[tuple[int, slice]]:
    """Yield (weight, which of the next lines have it), as `weight_of` does."""
    single = max(0, COUNTED_ALL - before)
    if single:
        yield 1, slice(single)
    start = single + -(before + single) % COUNTED_EVERY
    yield COUNTED_EVERY, slice(start, None, COUNTED_EVERY)
