"""The lines behind rows: found only when somebody asks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from mamba_advisor.scan.sieve import Origin


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the buffer that rows were made of, between two newlines."""

    buffer: bytearray
    pattern: re.Pattern[bytes]
    start: int
    end: int
    before: int
    """Lines of the log up to `start`."""

    after: int
    """Lines of the log up to `end`."""

    def line_of(self, origin: Origin, index: int) -> int:
        """Return the line number of a row of *origin*.

        Args:
            origin: Whose rows are counted.
            index: Of the row; −1 is the last one.

        Raises:
            IndexError: There is no such row.
        """
        if index == -1:
            return self._last(origin)
        matches = self.pattern.finditer(self.buffer, self.start, self.end + 1)
        mine = (found.start() for found in matches if _is_of(origin, found))
        for newline in islice(mine, index, None):
            return self.before + 1 + self._newlines(self.start, newline)
        raise IndexError(index)

    def _last(self, origin: Origin) -> int:
        """Look from the end: only a few lines of noise stand there."""
        newline = self.end
        while newline > self.start:
            newline = self.buffer.rfind(b"\n", self.start, newline)
            found = self.pattern.match(self.buffer, newline, self.end + 1)
            if found and _is_of(origin, found):
                return self.after + 1 - self._newlines(newline, self.end)
        raise IndexError(-1)

    def _newlines(self, start: int, end: int) -> int:
        """Return the number of newlines behind *start* up to *end*."""
        return self.buffer.count(b"\n", start + 1, end + 1)


def _is_of(origin: Origin, found: re.Match[bytes]) -> bool:
    return bool(origin.pick([found.groups(b"")]))
