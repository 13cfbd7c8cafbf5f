"""Learns the shape of a batch line, by asking the dialects about one.

A server prints the same few shapes a million times.  One line of each is read by the
plain reader; then every number in it is changed in turn, and it is read again.  What
changes in the reading tells what the number means, whatever dialect reads the line.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from mamba_advisor.batch import SAMPLED, seconds_at
from mamba_advisor.facts import Reading, Value
from mamba_advisor.record import Record, replace
from mamba_advisor.scan.shape import (
    BRIEF,
    CLOCK,
    WANTED,
    Read,
    Shape,
    any_time,
    passed_time,
)

MAX_LINE = 1000
"""Bytes of a line that a shape is made of; longer ones are read one by one."""

TELLING = 9
"""Letters that tell a batch line from other messages, "Decode out of memory" too."""

MAX_TOKENS = 64
"""Numbers in such a line."""

_TOKEN = re.compile(rb"\d+(?:\.\d+)?|\b(?:True|False)\b")


class _UnclearError(Exception):
    """The dialects read the line in a way that no shape can repeat."""


class _Piece(Record):
    """A stretch of the line, and the expression that stands for it."""

    start: int
    end: int
    expression: bytes
    is_group: bool = False
    field: str = ""


def learn(line: bytes, reading: Reading, read: Read) -> Shape | None:
    """Learn the shape of a batch line.

    Args:
        line: The line without its newline.
        reading: What the plain reader read from it.
        read: Reads lines like it.

    Returns:
        The shape; None where the dialects read the line in a way that a shape
        cannot repeat: such lines are always left to them.
    """
    if len(line) > MAX_LINE or not _is_plain(reading):
        return None
    try:
        shape = _Learner(line, reading, read).shape()
    except _UnclearError:
        return None
    return shape if _agrees(shape, line, reading) else None


class _Learner:
    """One line under examination."""

    def __init__(self, line: bytes, reading: Reading, read: Read) -> None:
        self._line = line
        self._reading = reading
        self._read = read
        self._wanted = WANTED[reading.event]
        self._facts = self._take(reading)

    def shape(self) -> Shape:
        """Return the shape of the line."""
        line, reading = self._line, self._reading
        stamp = self._find(reading.stamp, lambda again: again.stamp)
        tags = self._find(reading.rank.text, lambda again: again.rank.text)
        clock = self._find_clock() if stamp is None else None
        pieces = [piece for piece in (stamp, clock, tags) if piece is not None]
        edge = max((piece.end for piece in pieces), default=0)
        tokens = [
            token
            for token in _TOKEN.finditer(line)
            if not any(p.start < token.end() and token.start() < p.end for p in pieces)
        ]
        if len(tokens) > MAX_TOKENS or (stamp and tags and tags.start < stamp.end):
            raise _UnclearError
        pieces += [self._probe(token) for token in tokens]
        pieces.sort(key=lambda piece: piece.start)
        fields = tuple(piece.field for piece in pieces if piece.field)
        if sorted(fields) != sorted(self._facts) or any(
            piece.field and piece.start < edge for piece in pieces
        ):
            raise _UnclearError
        short = [piece for piece in pieces if piece.field in BRIEF]
        others = [
            replace(piece, is_group=False)
            if piece.field and piece.field not in BRIEF
            else piece
            for piece in pieces
        ]
        time = stamp or clock
        passed, sparse = (
            [
                replace(piece, expression=loose(line[piece.start : piece.end]))
                if piece is time
                else piece
                for piece in pieces
            ]
            for loose in (passed_time, unsampled_time)
        )
        brief = b""
        if len(short) == len(BRIEF):
            brief = self._expression(others, edge, len(line), groups=True)
        told = next(
            (at for at in range(edge, len(line)) if _letters(line[edge:at]) >= TELLING),
            len(line),
        )
        told = max([told, *(p.end for p in pieces if p.start < told < p.end)])
        middle = time.end if time else (tags.start if tags else edge)
        return Shape(
            reading.event,
            reading.speaker,
            stamp is not None,
            tags is not None,
            self._expression(pieces, 0, edge, groups=True),
            self._expression(pieces, edge, len(line), groups=True),
            fields,
            brief,
            self._expression(passed, 0, middle, groups=False),
            self._expression(sparse, 0, middle, groups=False) if stamp else b"",
            re.escape(line[middle : tags.start if tags else middle]),
            self._expression(pieces, middle, edge, groups=False),
            self._expression(pieces, edge, told, groups=False),
        )

    def _find(self, text: str, get: Callable[[Reading], str]) -> _Piece | None:
        """Find where the line prints the time or the tags, None without any."""
        printed = text.encode()
        if not printed:
            return None
        changed = printed[:-1] + (b"1" if printed[-1:] != b"1" else b"2")
        start = self._line.find(printed)
        while start >= 0:
            end = start + len(printed)
            again = self._read(self._line[:start] + changed + self._line[end:])
            if again is not None and get(again).encode() == changed:
                is_time = b":" in printed
                expression = any_time(printed) if is_time else _tags(printed)
                return _Piece(start, end, expression, is_group=True)
            start = self._line.find(printed, start + 1)
        raise _UnclearError

    def _find_clock(self) -> _Piece | None:
        """Find a time that the dialects do not care for, None without any."""
        clock = re.search(CLOCK, self._line)
        if clock is None:
            return None
        text = clock.group()
        other = text[:-1] + (b"1" if text[-1:] != b"1" else b"2")
        if self._changed(clock, other) != self._facts:
            return None
        return _Piece(clock.start(), clock.end(), any_time(text))

    def _probe(self, token: re.Match[bytes]) -> _Piece:
        """Change one number or word of the line, and see what it means."""
        start, end = token.span()
        text = token.group()
        if text in (b"True", b"False"):
            other = b"False" if text == b"True" else b"True"
            is_free = self._changed(token, other) == self._facts
            return _Piece(start, end, b"(?:True|False)" if is_free else text)
        other = text[:-1] + (b"7" if text[-1:] != b"7" else b"3")
        after = self._changed(token, other)
        if after is None:
            return _Piece(start, end, re.escape(text))
        moved = [name for name, value in self._facts.items() if after[name] != value]
        if len(moved) > 1 or (moved and not _is_number(after[moved[0]], other)):
            raise _UnclearError
        field = moved[0] if moved else ""
        whole, dot, fraction = text.partition(b".")
        any_number = rb"\d{1,18}" if field else rb"\d+"
        expression = any_number if self._may_grow(token, field) else _digits(whole)
        if dot:
            is_free = not field and all(
                self._changed(token, variant) == self._facts
                for variant in (text + b"0", whole + b".5")
            )
            expression += rb"\." + (rb"\d+" if is_free else _digits(fraction))
        return _Piece(start, end, expression, bool(field), field)

    def _may_grow(self, token: re.Match[bytes], field: str) -> bool:
        """Return whether a number with more digits is read alike."""
        longer = b"1" + token.group()
        expected = dict(self._facts)
        if field:
            expected[field] = float(longer)
        return self._changed(token, longer) == expected

    def _changed(self, token: re.Match[bytes], text: bytes) -> dict[str, Value] | None:
        """Return the facts with *text* in place of *token*, None for another line."""
        start, end = token.span()
        again = self._read(self._line[:start] + text + self._line[end:])
        if again is None or not _is_plain(again):
            return None
        known = self._reading
        is_alike = (
            (again.event, again.rank, again.speaker, again.stamp, again.versions)
            == (known.event, known.rank, known.speaker, known.stamp, known.versions)
        ) and again.facts.keys() == known.facts.keys()
        return self._take(again) if is_alike else None

    def _take(self, reading: Reading) -> dict[str, Value]:
        facts = reading.facts
        return {name: facts[name] for name in self._wanted if name in facts}

    def _expression(
        self, pieces: list[_Piece], start: int, end: int, *, groups: bool
    ) -> bytes:
        """Return the expression for a stretch of the line."""
        parts, position = list[bytes](), start
        for piece in pieces:
            if piece.start < start or piece.end > end:
                continue
            parts.append(re.escape(self._line[position : piece.start]))
            if groups and piece.is_group:
                parts.append(b"(%s)" % piece.expression)
            else:
                parts.append(piece.expression)
            position = piece.end
        parts.append(re.escape(self._line[position:end]))
        return b"".join(parts)


def _is_plain(reading: Reading) -> bool:
    """Return whether nothing about a reading is out of the ordinary."""
    marks = reading.doubtful or reading.edited or reading.joined
    return not marks and reading.last_rank is None and reading.event in WANTED


def _letters(text: bytes) -> int:
    return sum(map(str.isalpha, text.decode("latin-1")))


def _is_number(value: Value, text: bytes) -> bool:
    is_plain = isinstance(value, int | float) and not isinstance(value, bool)
    return is_plain and value == float(text)


def _digits(text: bytes) -> bytes:
    return rb"\d" * len(text)


def unsampled_time(printed: bytes) -> bytes:
    """Return an expression like `passed_time`, but of seconds not sampled."""
    at = seconds_at(printed)
    head, tail = any_time(printed[:at]), printed[at + 1 :]
    rest = b".{%d}" % len(tail) if tail else b""
    return b"(?s:" + head + b"[^%c]" % SAMPLED + rest + b")"


def _tags(printed: bytes) -> bytes:
    return re.sub(rb"\d+", rb"\\d{1,6}", re.escape(printed))


def _agrees(shape: Shape, line: bytes, reading: Reading) -> bool:
    """Return whether the shape reads its own line as the dialects do."""
    found = re.fullmatch(shape.prefix + shape.message, line)
    if found is None:
        return False
    texts = list(found.groups())
    if shape.has_stamp and texts.pop(0).decode("utf-8", "replace") != reading.stamp:
        return False
    if shape.has_tags and texts.pop(0).decode("utf-8", "replace") != reading.rank.text:
        return False
    return all(
        _is_number(reading.facts[name], text)
        for name, text in zip(shape.fields, texts, strict=True)
    )
