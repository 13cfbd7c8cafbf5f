"""From raw blocks to readings and batches, in the order of the log.

What the scan passes over says nothing, and what it takes itself it takes as the
dialects do; every other line goes to the plain reader with its true number.  The
answer is the one that reading line by line gives.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Protocol

from mamba_advisor.batch import Batch, Row
from mamba_advisor.catalog import Catalog
from mamba_advisor.facts import Reading
from mamba_advisor.logfile import RawLog, fit_line
from mamba_advisor.reader import LineReader
from mamba_advisor.scan.shape import WANTED, Read
from mamba_advisor.scan.sieve import Origin, Sieve
from mamba_advisor.trust import START_EVENTS

BLOCK = 2048 << 10
"""Bytes of the one buffer that everything goes through."""

FIRST_BLOCK = 64 << 10
"""Its bytes at first: to have zeros written to all of it takes as long as to read a
boot log.
"""

KEEPS_SHAPES = frozenset({*WANTED, "retract", "runtime-exhausted"})
"""Events of a serving server, between which its batch lines keep their meaning."""

PATIENCE = 5000
"""Lines read one by one for the sake of a line before them, at most."""

COUNTED = 64 << 10
"""Bytes in which newlines are counted at a time."""


class Sink(Protocol):
    """Where readings and batches go."""

    def feed(self, reading: Reading) -> None:
        """Take the next reading."""

    def takes(self, batch: Batch) -> bool:
        """Return whether *batch* may be taken as a whole.

        False: its lines come as readings instead.
        """

    def take(self, batch: Batch) -> None:
        """Take the next batch."""

    def is_sated(self, speaker: str) -> bool:
        """Return whether only prefill lines of sampled seconds count any more."""


class Scanner:
    """Reads a log that comes in blocks of any size.

    Attributes:
        lines: Lines read so far.
        passed_over: Those among them that were not looked at, for want of time.
        reader: The plain reader, for all lines that the scan leaves to it.
    """

    def __init__(self, catalog: Catalog, sink: Sink, patience_s: float = 0) -> None:
        """Begin a log.

        Args:
            catalog: The dialects.
            sink: Gets what is read.
            patience_s: Processor time that one `push` may take, 0 for any: then the
                rest of its lines is passed over.
        """
        self.lines = self.passed_over = 0
        self._patience_s = patience_s
        self._until = 0.0
        self.reader = LineReader(catalog)
        self._settled = True
        self._sink = sink
        self._sieve = Sieve(catalog.exact, _asker(catalog))
        # A newline stands before the first line, as before every other one.
        self._buffer = bytearray(1 + FIRST_BLOCK)
        self._buffer[0] = ord("\n")
        self._view = memoryview(self._buffer)
        self._fill = 1
        self._at = 0
        self._was_cut = False
        self._busy = True

    def push(self, block: bytes | bytearray | memoryview) -> None:
        """Read the next bytes of the log."""
        if self._patience_s:
            self._until = time.thread_time() + self._patience_s
        rest = memoryview(block)
        while rest:
            room = self.room()
            part = rest[: len(room)]
            room[: len(part)] = part
            self.filled(len(part))
            rest = rest[len(part) :]

    def room(self) -> memoryview:
        """Return where the next bytes of the log may be put, at least one."""
        return self._view[self._fill :]

    def filled(self, count: int) -> None:
        """Read the *count* bytes that were put into `room`."""
        start = self._fill
        self._fill += count
        is_full = self._fill == len(self._buffer)
        end = self._buffer.rfind(b"\n", start, self._fill)
        if end >= 0:
            self._scan(end)
            rest = self._fill - end
            self._view[:rest] = self._view[end : self._fill]
            self._fill = rest
            self._at = 0
        if is_full and len(self._buffer) <= BLOCK:
            self._grow()
        elif self._fill == len(self._buffer):
            self._shorten()

    def finish(self) -> None:
        """Read what is left: a last line without end, and what was held back."""
        if self._fill > 1:
            data, _ = fit_line(bytes(self._view[1 : self._fill]), self._was_cut)
            self.lines += 1
            self._feed(self.lines, data, torn=True)
            self._fill = 1
        for reading in self.reader.finish():
            self._sink.feed(reading)

    def _grow(self) -> None:
        """Take a larger buffer: the log is a long one."""
        larger = bytearray(1 + BLOCK)
        larger[: self._fill] = self._view[: self._fill]
        self._buffer, self._view = larger, memoryview(larger)

    def _shorten(self) -> None:
        """Drop the end of a line that fills the whole buffer."""
        data, self._was_cut = fit_line(bytes(self._view[1:]), self._was_cut)
        self._fill = 1 + len(data)
        self._view[1 : self._fill] = data

    def _scan(self, end: int) -> None:
        """Read the lines between the newlines at 0 and at *end*."""
        position = 0
        if self._was_cut:
            position = self._read_line(position)
        while position < end:
            if self._is_late:
                self._pass_over(position, end)
                return
            position = self._sift(position, end)
        self._count(end)

    @property
    def _is_late(self) -> bool:
        """Whether this push has had its time."""
        return self._until > 0 and time.thread_time() > self._until

    def _pass_over(self, position: int, end: int) -> None:
        """Count the lines between the newlines at *position* and *end*, no more."""
        self._count(position)
        before = self.lines
        self._count(end)
        self.passed_over += self.lines - before
        # What is open must not go on with a line that comes after others.
        for reading in self.reader.finish():
            self._sink.feed(reading)
        self._settled = self.reader.settled

    def _sift(self, position: int, end: int) -> int:
        """Read lines up to *end*; return where another pattern is needed first."""
        patience = PATIENCE
        while position < end and patience and not self._settled:
            position = self._read_line(position)
            patience -= 1
            if self._is_late:
                return position
        self._sieve.refresh()
        if self._busy:
            return self._walk(position, end)
        rows = self._sieve.pattern.findall(self._buffer, position, end + 1)
        if rows and (isinstance(rows[0], bytes) or any(map(_other, rows))):
            self._busy = True
            return position
        self._pass_on(rows, position, end)
        return end

    def _walk(self, position: int, end: int) -> int:
        """Like `_sift`, and read lines of no known shape on the way."""
        rows: list[Row] = []
        first, is_quiet = position, True
        for found in self._sieve.pattern.finditer(self._buffer, position, end + 1):
            other = found.group(found.re.groups)
            if other is None:
                rows.append(found.groups(b""))
                continue
            is_quiet = False
            if self._pass_on(rows, first, found.start()):
                return found.start()
            rows = []
            self._count(found.start())
            changed = self._feed(self.lines + 1, *fit_line(other, False))
            first = found.end()
            if changed or not self._settled:
                return first
            if self._is_late:
                return first
        self._busy = not is_quiet
        self._pass_on(rows, first, end)
        return end

    def _read_line(self, position: int) -> int:
        """Read the line behind the newline at *position*; return where it ends."""
        end = self._buffer.find(b"\n", position + 1)
        self._count(position)
        data, torn = fit_line(bytes(self._view[position + 1 : end]), self._was_cut)
        self._was_cut = False
        self._feed(self.lines + 1, data, torn=torn)
        return end

    def _feed(self, number: int, line: bytes, torn: bool = False) -> bool:
        """Have a line read; return whether another pattern is needed now."""
        was_settled = self._settled
        readings = self.reader.feed(number, line, torn=torn)
        self._settled = self.reader.settled
        changed = False
        for reading in readings:
            self._sink.feed(reading)
            if reading.doubtful:
                continue
            if reading.event in START_EVENTS:
                changed |= self._sieve.forget()
            elif reading.event not in KEEPS_SHAPES:
                changed |= self._sieve.disarm()
        if torn or not (was_settled and self._settled):
            return changed
        if not readings:
            return self._sieve.note_silent(line) or changed
        if len(readings) == 1 and readings[0].line == number:
            reading = readings[0]
            if reading.event in WANTED and not reading.doubtful:
                return self._sieve.note_batch(line, reading) or changed
        return changed

    def _pass_on(self, rows: list[Row], start: int, end: int) -> bool:
        """Pass on the rows between two newlines.

        Returns:
            Whether their lines were read one by one, so that another pattern may be
            needed from here on.
        """
        if not rows:
            return False
        origins = self._sieve.origins
        batches = {
            origin: self._batch(origin, picked)
            for origin in origins
            if (picked := rows if len(origins) == 1 else origin.pick(rows))
        }
        speakers = {origin.speaker for origin in batches}
        if len(speakers) < len(batches) or not all(
            map(self._may_take, batches.values())
        ):
            # Another start may begin in there.
            self._sieve.disarm()
            while start < end:
                start = self._read_line(start)
            return True
        self._count(start)
        before = self.lines
        self._count(end)
        pattern = self._sieve.pattern
        lines = before, self.lines
        is_only = len(origins) == 1
        from mamba_advisor.scan.stretch import Stretch

        stretch = Stretch(self._buffer, pattern, (start, end), lines, is_only=is_only)
        for origin, batch in batches.items():
            batch.line_of = partial(stretch.line_of, origin)
            self._sink.take(batch)
            self._sieve.note_rows(batch)
            if self._sink.is_sated(origin.speaker):
                self._sieve.note_sated(origin.speaker)
        return False

    def _may_take(self, batch: Batch) -> bool:
        """Return whether all ranks of a batch are known, and the sink takes it."""
        return batch.tags() <= batch.ranks.keys() and self._sink.takes(batch)

    def _batch(self, origin: Origin, rows: list[Row]) -> Batch:
        """Make a batch of the rows of *origin*; their lines are not known yet."""
        return Batch(
            origin.speaker,
            rows,
            origin.kinds,
            origin.stamp_at,
            origin.tags_at,
            self._sieve.ranks,
            lambda _: 0,
        )

    def _count(self, newline: int) -> None:
        """Count the lines up to the one that ends at *newline*.

        Deleting newlines from small copies is three times faster than counting them.
        """
        if self._buffer.find(b"\n", self._at + 1, newline + 1) == newline:
            self.lines, self._at = self.lines + 1, newline  # a single one, mostly
            return
        for start in range(self._at + 1, newline + 1, COUNTED):
            part = self._buffer[start : min(start + COUNTED, newline + 1)]
            self.lines += len(part) - len(part.replace(b"\n", b""))
        self._at = max(self._at, newline)


def scan(log: RawLog, scanner: Scanner) -> None:
    """Read all of *log*, in blocks as large as possible however its bytes come."""
    is_over = False
    while not is_over:
        room, count = scanner.room(), 0
        while count < len(room) and not is_over:
            size = log.readinto(room[count:])
            count, is_over = count + size, not size
        scanner.filled(count)
    scanner.finish()


def _asker(catalog: Catalog) -> Callable[[], Read]:
    """Return what makes readers of single lines."""

    def new_read() -> Read:
        reader = LineReader(catalog)

        def read(line: bytes) -> Reading | None:
            found = [*reader.feed(1, line), *reader.finish()]
            return found[0] if len(found) == 1 else None

        return read

    return new_read


_other = itemgetter(-1)
"""The last value of a row: a line of no known shape, else empty."""
