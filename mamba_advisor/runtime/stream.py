"""The decode lines, or the prefill lines, of one worker."""

from __future__ import annotations

from collections.abc import Sequence

from mamba_advisor.runtime.lines import Line, RowTable
from mamba_advisor.runtime.tally import Tally

SAMPLED_ALL = 512
"""Lines at the start of a run that are all looked at one by one."""

SAMPLED_EVERY = 16
"""From then on every sixteenth is, in the order of the log.

Neighbouring lines differ little: requests live for many of them.
"""


class Stream:
    """Sums over lines of one kind, which come one by one or as matched rows."""

    __slots__ = ("_tables", "_tally", "seen")

    def __init__(self) -> None:
        self.seen = 0
        """Lines that came."""

        self._tally = Tally()
        self._tables: dict[tuple[str, ...], RowTable] = {}

    def add(self, line: Line) -> None:
        """Count one line."""
        self._tally.count(line)
        if self.seen < SAMPLED_ALL:
            self._tally.sample(line)
        elif self.seen % SAMPLED_EVERY == 0:
            self._tally.sample(line, SAMPLED_EVERY)
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
        table = self._tables.get(fields)
        if table is None:
            table = self._tables[fields] = RowTable(fields)
        table.add(rows)
        every = max(0, SAMPLED_ALL - self.seen)
        first = every + -(self.seen + every) % SAMPLED_EVERY
        for row in rows[:every]:
            self._tally.sample(table.reader.line(row))
        for row in rows[first::SAMPLED_EVERY]:
            self._tally.sample(table.reader.line(row), SAMPLED_EVERY)
        self.seen += len(rows)
        if table.is_full:
            self._drain(table)

    def _drain(self, table: RowTable) -> None:
        for line, count in table.drain():
            self._tally.count(line, count)

    @property
    def tally(self) -> Tally:
        """The sums over everything that came."""
        for table in self._tables.values():
            self._drain(table)
        return self._tally

    def merge(self, other: Stream) -> None:
        """Add the sums of *other*."""
        self.tally.add(other.tally)
        self.seen += other.seen
