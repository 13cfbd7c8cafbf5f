"""The decode lines, or the prefill lines, of one worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mamba_advisor.runtime.lines import Line, RowReader
from mamba_advisor.runtime.tally import Tally

COUNTED_ALL, COUNTED_EVERY = 4096, 8
"""Lines at the start of a run that are all counted, in about two hours; from then on
every eighth is, for eight, in the order of the log.

Neighbouring lines differ little: requests live for many of them.
"""

SAMPLED_ALL, SAMPLED_EVERY = 1024, 32
"""The same for tokens per request, which is more work."""


class Stream:
    """Sums over lines of one kind, which come one by one or as matched rows."""

    __slots__ = ("_readers", "seen", "tally")

    def __init__(self) -> None:
        self.seen = 0
        """Lines that came."""

        self.tally = Tally()
        """The sums over everything that came."""

        self._readers: dict[tuple[str, ...], RowReader] = {}

    def add(self, line: Line) -> None:
        """Count one line."""
        self.tally.note_extremes(line.running, line.queued)
        if weight := _weight(self.seen, COUNTED_ALL, COUNTED_EVERY):
            self.tally.count(line, weight)
        if weight := _weight(self.seen, SAMPLED_ALL, SAMPLED_EVERY):
            self.tally.sample(line, weight)
        self.seen += 1

    def add_rows(
        self, rows: Sequence[tuple[bytes, ...]], fields: tuple[str, ...]
    ) -> None:
        """Count lines as a scan has matched them.

        Args:
            rows: One tuple of printed values per line, in the order of the log.
            fields: The fact that each place of a row states.

        Raises:
            ValueError: A value is no number, or rows and fields differ in length.
        """
        reader = self._readers.get(fields)
        if reader is None:
            reader = self._readers[fields] = RowReader(fields)
        columns = reader.columns(rows)
        running, queued = map(reader.largest, columns[:2])
        self.tally.note_extremes(running, queued)
        for weight, part in _parts(self.seen, COUNTED_ALL, COUNTED_EVERY):
            chosen = [column[part] for column in columns]
            self.tally.count_columns(reader, chosen, weight)
        for weight, part in _parts(self.seen, SAMPLED_ALL, SAMPLED_EVERY):
            for row in rows[part]:
                self.tally.sample(reader.line(row), weight)
        self.seen += len(rows)

    def merge(self, other: Stream) -> None:
        """Add the sums of *other*."""
        self.tally.add(other.tally)
        self.seen += other.seen


def _weight(seen: int, at_first: int, every: int) -> int:
    """Return how many lines the next one stands for, 0 when it is passed over.

    Args:
        seen: Lines before it.
        at_first: Lines at the start that all count.
        every: From then on one of so many does.
    """
    if seen < at_first:
        return 1
    return 0 if seen % every else every


def _parts(seen: int, at_first: int, every: int) -> Iterator[tuple[int, slice]]:
    """Yield (weight, which of the next lines) like `_weight`."""
    single = max(0, at_first - seen)
    if single:
        yield 1, slice(single)
    yield every, slice(single + -(seen + single) % every, None, every)
