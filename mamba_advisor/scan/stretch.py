"""The lines behind rows: found only when somebody asks."""

from __future__ import annotations

import re
from itertools import islice

from mamba_advisor.scan.sieve import Origin


class Stretch:
    """A part of the buffer that rows were made of, between two newlines."""

    __slots__ = (
        "_after",
        "_before",
        "_buffer",
        "_end",
        "_is_only",
        "_known",
        "_pattern",
        "_start",
    )

    def __init__(
        self,
        buffer: bytearray,
        pattern: re.Pattern[bytes],
        newlines: tuple[int, int],
        lines: tuple[int, int],
        *,
        is_only: bool,
    ) -> None:
        """Remember where rows come from.

        Args:
            buffer: Valid while the rows are being taken.
            pattern: What has found them.
            newlines: Places of the newlines around the stretch.
            lines: Lines of the log up to either of them.
            is_only: All rows are of one origin.
        """
        self._buffer = buffer
        self._pattern = pattern
        self._start, self._end = newlines
        self._before, self._after = lines
        self._is_only = is_only
        self._known: dict[tuple[int, int], int] = {}

    def line_of(self, origin: Origin, index: int) -> int:
        """Return the line number of a row of *origin*.

        Args:
            origin: Whose rows are counted.
            index: Of the row; negative ones count from the end.

        Raises:
            IndexError: There is no such row.
        """
        key = id(origin), index
        if key not in self._known:
            find = self._from_end if index < 0 else self._from_start
            self._known[key] = find(origin, abs(index))
        return self._known[key]

    def _from_start(self, origin: Origin, index: int) -> int:
        matches = self._pattern.finditer(self._buffer, self._start, self._end + 1)
        mine = matches if self._is_only else (m for m in matches if _is_of(origin, m))
        for found in islice(mine, index, None):
            return self._before + 1 + self._newlines(self._start, found.start())
        raise IndexError(index)

    def _from_end(self, origin: Origin, index: int) -> int:
        """Walk back: only a few lines of noise stand between rows."""
        newline = self._end
        while newline > self._start:
            newline = self._buffer.rfind(b"\n", self._start, newline)
            found = self._pattern.match(self._buffer, newline, self._end + 1)
            if found and _is_of(origin, found):
                index -= 1
                if not index:
                    return self._after + 1 - self._newlines(newline, self._end)
        raise IndexError(index)

    def _newlines(self, start: int, end: int) -> int:
        """Return the number of newlines behind *start* up to *end*."""
        return self._buffer.count(b"\n", start + 1, end + 1)


def _is_of(origin: Origin, found: re.Match[bytes]) -> bool:
    return bool(origin.pick([found.groups(b"")]))
