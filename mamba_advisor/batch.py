"""Batch lines by the block: what a fast scan hands over in place of readings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter

from mamba_advisor.facts import Rank
from mamba_advisor.record import Record, field, replace

Row = tuple[bytes, ...]
"""Printed values of one line; empty where the line states none."""


class Kind(Record):
    """Lines of one shape among the rows of a batch."""

    event: str
    """``"decode"`` or ``"prefill"``."""

    start: int
    """Place of the first value in a row: not empty in rows of this kind only."""

    fields: tuple[str, ...]
    """Facts that the places from `start` on state."""

    is_sampled: bool = False
    """Lines of sampled seconds only come as rows (`seconds_at`)."""

    @property
    def part(self) -> slice:
        """Where in a row the values of this kind stand."""
        return slice(self.start, self.start + len(self.fields))


class Batch(Record, frozen=False):
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

    _columns: dict[int, list[bytes]] = field(default_factory=dict)
    _tags: set[bytes] | None = None

    def column(self, place: int) -> Sequence[bytes]:
        """Return what the rows hold at *place*: columns cost a tenth of rows."""
        column = self._columns.get(place)
        if column is None:
            column = self._columns[place] = list(map(itemgetter(place), self.rows))
        return column

    def printed_tags(self) -> Sequence[bytes]:
        """Return the rank tags of each row, empty where lines have none."""
        return self._column_or_empty(self.tags_at)

    def printed_stamps(self) -> Sequence[bytes]:
        """Return the printed time of each row, empty where lines have none."""
        return self._column_or_empty(self.stamp_at)

    def _column_or_empty(self, place: int) -> Sequence[bytes]:
        return self.column(place) if place >= 0 else (b"",) * len(self.rows)

    def stamps(self) -> list[str]:
        """Return the distinct printed times, in the order of the log."""
        if self.stamp_at < 0:
            return []
        return [_text(stamp) for stamp in dict.fromkeys(self.printed_stamps())]

    def last_stamp(self) -> str:
        """Return the printed time of the last line, empty without one."""
        return _text(self.rows[-1][self.stamp_at]) if self.stamp_at >= 0 else ""

    def tags(self) -> set[bytes]:
        """Return the rank tags that were printed."""
        if self._tags is None:
            self._tags = set(self.printed_tags())
        return self._tags

    def only(self, counts: Callable[[Row], bool]) -> Batch:
        """Return the lines whose rows *counts* accepts."""
        size = len(self.rows)
        chosen = [number for number, row in enumerate(self.rows) if counts(row)]
        if len(chosen) == size:
            return self

        def line_of(index: int) -> int:
            number = chosen[index]
            # From the nearer end: lines are found by walking.
            return self.line_of(number if 2 * number < size else number - size)

        rows = [self.rows[number] for number in chosen]
        return replace(self, rows=rows, line_of=line_of, _columns={}, _tags=None)


def _text(printed: bytes) -> str:
    """Return what was printed; a damaged time may be no UTF-8."""
    return printed.decode("utf-8", "replace")


ALL_PROMPTS = 2048
"""Prefill lines of a worker that all count; of the later ones a part is enough."""

SAMPLED, SECONDS = ord("7"), 10
"""Last digit of the seconds whose prefill lines are that part; each of them stands for
so many."""


def seconds_at(stamp: bytes) -> int:
    """Return where the last digit of the whole seconds stands in a printed time."""
    return len(stamp.replace(b",", b".").partition(b".")[0]) - 1
