"""Heads of lines that say nothing, learned from lines that have said nothing.

Most of a production log is access lines and requests.  What a line of it starts with
is noted when the plain reader finds no fact in it; once the same start has come
often enough, the scan passes over such lines.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from mamba_advisor.record import Record
from mamba_advisor.scan.shape import CLOCK, passed_time

ENOUGH = 48
"""Lines with the same head that have said nothing before it counts as noise."""

MAX_HEADS = 24
"""Heads passed over; each costs a little on every line that is not."""

MAX_CANDIDATES = 256
"""Heads counted at a time."""

LOOK_AT = 200
"""First bytes of a line that its time is looked for in."""

LITERAL = 10
"""Characters of a message, not counting digits, that tell it from others."""

ACCESS = b"INFO:     "
"""How uvicorn's lines begin: an address follows."""

SHORTEST_OVERLAP = 4
"""Common characters of a head's end and a wording's start that make it suspect."""

GRACE = 200
"""Lines that have said nothing before it is asked what they begin with: in a boot log
there are no more, and it would cost more than to read them.
"""

_DELIMITER = rb"(?:[:\]|]| -) "
_END = rb"(?: [A-Z][A-Z_]*\d+)*\] "
_RUN = rb"\d+|\D"

Head = tuple[bytes, bytes]
"""Expressions for the start of a line up to its time, and for what follows."""


class Noise:
    """Counts heads of lines without facts."""

    def __init__(self, anchors: Collection[str]) -> None:
        self.heads: dict[Head, None] = {}
        """Heads of noise, in the order in which they were found."""

        self._anchors = anchors
        self._counts: dict[bytes, int] = {}
        self._grace = GRACE

    def note(self, line: bytes) -> bool:
        """Count a line without facts; return whether its head became noise."""
        if self._grace:
            self._grace -= 1
            return False
        if len(self.heads) >= MAX_HEADS:
            return False
        cut = _cut(line)
        if cut is None:
            return False
        # The text alone tells most lines apart; expressions take longer to make.
        key = re.sub(rb"\d+", b"0", line[: cut.stop])
        if len(self._counts) >= MAX_CANDIDATES:
            self._counts.clear()
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if count != ENOUGH or self._may_hide(line[cut.start : cut.stop]):
            return False
        rest = _generalise(line[cut.edge : cut.stop])
        # One digit says as much as all of them at the end.
        rest = rest.removesuffix(b"+") if rest.endswith(rb"\d+") else rest
        if cut.stop == len(line):
            rest += rb"\r?\n"
        self.heads[_lead(line[: cut.edge]), rest] = None
        return True

    def forget(self) -> None:
        """Drop what was learned: another server starts."""
        self.heads.clear()
        self._counts.clear()

    def _may_hide(self, message: bytes) -> bool:
        """Return whether a wording may start within or right behind *message*."""
        return any(
            _overlap(message, anchor.encode()) for anchor in self._anchors if anchor
        )


class _Cut(Record):
    """Where the parts of a line end that make its head."""

    edge: int
    """End of its time."""

    start: int
    """Start of the message, as far as it is known."""

    stop: int
    """End of the head."""


def _cut(line: bytes) -> _Cut | None:
    """Return where the head of *line* ends, None without a time."""
    edge = 0
    tags = re.compile(_END)
    for clock in re.compile(CLOCK).finditer(line, 0, LOOK_AT):
        edge = clock.end()
        if end := tags.match(line, edge):
            start = end.end()
            if line.startswith(ACCESS, start):
                # The plain reader asks no more of them either.
                return _Cut(edge, start, start + len(ACCESS))
            return _Cut(edge, start, _stop(line, start, LITERAL))
    if not edge:
        return None
    # Another format, which may name modules and places at length: the message is
    # taken to start where nothing but words can follow.
    start = line.find(ACCESS, edge, LOOK_AT)
    if start >= 0:
        return _Cut(edge, start, _stop(line, start, len(ACCESS)))
    for delimiter in re.compile(_DELIMITER).finditer(line, edge, LOOK_AT):
        start = delimiter.end()
    start = max(start, edge)
    return _Cut(edge, start, _stop(line, start, LITERAL))


def _stop(line: bytes, start: int, enough: int) -> int:
    """Return where a head ends whose message starts at *start*.

    At the first digit behind so many other characters, or behind twice as many.
    """
    literal = 0
    for run in re.compile(_RUN).finditer(line, start):
        if run.group().isdigit():
            if literal >= enough:
                return run.start() + 1
        else:
            literal += 1
            if literal >= 2 * enough:
                return run.end()
    return len(line)


def _overlap(message: bytes, anchor: bytes) -> bool:
    """Return whether a line that starts with *message* may hold *anchor* there."""
    if anchor in message:
        return True
    longest = min(len(message), len(anchor))
    return any(
        message.endswith(anchor[:size])
        for size in range(min(SHORTEST_OVERLAP, longest), longest + 1)
    )


def _lead(text: bytes) -> bytes:
    """Return an expression for *text* with any times in it."""
    parts, position = list[bytes](), 0
    for clock in re.finditer(CLOCK, text):
        parts.append(_generalise(text[position : clock.start()]))
        parts.append(passed_time(clock.group()))
        position = clock.end()
    parts.append(_generalise(text[position:]))
    return b"".join(parts)


def _generalise(text: bytes) -> bytes:
    """Return an expression for *text* with any numbers in it."""
    return re.sub(rb"\d+", rb"\\d+", re.escape(text))
