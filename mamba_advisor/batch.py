"""Batch lines by the block: what a fast scan hands over in place of readings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from mamba_advisor.facts import Rank

Row = tuple[bytes, ...]
"""Printed values of one line; empty where the line states none."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Lines of one shape among the rows of a batch."""

    event: str
    """``"decode"`` or ``"prefill"``."""

    start: int
    """Place of the first value in a row: not empty in rows of this kind only."""

    fields: tuple[str, ...]
    """Facts that the places from `start` on state."""

    def rows(self, rows: Sequence[Row]) -> list[Row]:
        """Return the values of this kind's lines among *rows*, in their order."""
        start, stop = self.start, self.start + len(self.fields)
        return [row[start:stop] for row in rows if row[start]]


@dataclass(frozen=True, slots=True)
class Batch:
    """Lines of one speaker in the order of the log, none of them doubtful.

    A reading of every kind was handed over before, in the same server start.
    """

    speaker: str
    rows: Sequence[Row]
    kinds: tuple[Kind, ...]
    stamp_at: int
    """Place of the printed time in a row, −1 where lines have none."""

    tags_at: int
    """Place of the rank tags in a row, −1 where lines have none."""

    ranks: Mapping[bytes, Rank]
    """Tags as printed -> rank; ``b""`` for lines without."""

    line_of: Callable[[int], int]
    """Return the line number of a row by its index; negative ones from the end."""

    def stamps(self) -> list[str]:
        """Return the distinct printed times, in the order of the log."""
        place = self.stamp_at
        if place < 0:
            return []
        return [stamp.decode() for stamp in dict.fromkeys(r[place] for r in self.rows)]

    def last_stamp(self) -> str:
        """Return the printed time of the last line, empty without one."""
        return self.rows[-1][self.stamp_at].decode() if self.stamp_at >= 0 else ""

    def tags(self) -> set[bytes]:
        """Return the rank tags that were printed."""
        place = self.tags_at
        return {row[place] for row in self.rows} if place >= 0 else {b""}

    def only(self, tags: Collection[bytes]) -> Batch:
        """Return the lines with these *tags*."""
        place = self.tags_at
        if self.tags() <= set(tags):
            return self
        chosen = [number for number, row in enumerate(self.rows) if row[place] in tags]
        return replace(
            self,
            rows=[self.rows[number] for number in chosen],
            line_of=lambda index: self.line_of(chosen[index]),
        )

    def by_rank(self) -> list[tuple[Rank, Sequence[Row]]]:
        """Return the rows of each rank."""
        tags = self.tags()
        if len(tags) == 1:
            return [(self.ranks[tags.pop()], self.rows)]
        place = self.tags_at
        groups: dict[bytes, list[Row]] = {tag: [] for tag in tags}
        for row in self.rows:
            groups[row[place]].append(row)
        return [(self.ranks[tag], rows) for tag, rows in groups.items()]
