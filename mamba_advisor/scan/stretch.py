"""The lines behind rows: found only when somebody asks."""

from __future__ import annotations

import re
from itertools import islice

from mamba_advisor.frozen import dataclass
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
            index: Of the row; negative ones count from the end.

        Raises:
            IndexError: There is no such row.
        """
        if index < 0:
            return self._from_end(origin, -index)
        matches = self.pattern.finditer(self.buffer, self.start, self.end + 1)
        mine = (found.start() for found in matches if _is_of(origin, found))
        for newline in islice(mine, index, None):
            return self.before + 1 + self._newlines(self.start, newline)
        raise IndexError(index)

    def _from_end(self, origin: Origin, index: int) -> int:
        """Walk back: only a few lines of noise stand between rows."""
        newline = self.end
        while newline > self.start:
            newline = self.buffer.rfind(b"\n", self.start, newline)
            found = self.pattern.match(self.buffer, newline, self.end + 1)
            if found and _is_of(origin, found):
                index -= 1
                if not index:
                    return self.after + 1 - self._newlines(newline, self.end)
        raise IndexError(index)

    def _newlines(self, start: int, end: int) -> int:
        """Return the number of newlines behind *start* up to *end*."""
        return self.buffer.count(b"\n", start + 1, end + 1)


def _is_of(origin: Origin, found: re.Match[bytes]) -> bool:
    return bool(origin.pick([found.groups(b"")]))
