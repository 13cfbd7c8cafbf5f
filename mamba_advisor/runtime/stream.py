"""The decode lines, or the prefill lines, of one worker."""

from __future__ import annotations

from collections.abc import Sequence

from mamba_advisor.runtime.lines import Line, RowReader
from mamba_advisor.runtime.tally import Tally

SAMPLED_ALL = 512
"""Lines at the start of a run that are all looked at one by one."""

SAMPLED_EVERY = 16
"""From then on every sixteenth is, in the order of the log.

Neighbouring lines differ little: requests live for many of them.
"""


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
        self.tally.count(line)
        if self.seen < SAMPLED_ALL:
            self.tally.sample(line)
        elif self.seen % SAMPLED_EVERY == 0:
            self.tally.sample(line, SAMPLED_EVERY)
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
        self.tally.count_rows(reader, rows)
        every = max(0, SAMPLED_ALL - self.seen)
        first = every + -(self.seen + every) % SAMPLED_EVERY
        for row in rows[:every]:
            self.tally.sample(reader.line(row))
        for row in rows[first::SAMPLED_EVERY]:
            self.tally.sample(reader.line(row), SAMPLED_EVERY)
        self.seen += len(rows)

    def merge(self, other: Stream) -> None:
        """Add the sums of *other*."""
        self.tally.add(other.tally)
        self.seen += other.seen
