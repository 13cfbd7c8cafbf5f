"""Patterns of log lines: what one is, and how it reads a line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from mamba_advisor.errors import DialectError
from mamba_advisor.facts import Value
from mamba_advisor.measured import UNITS, Measured
from mamba_advisor.record import Record
from mamba_advisor.server_args import is_digits, parse_arguments

KINDS = frozenset({"arguments", "count", "flag", "list", "number", "size", "text"})
"""Kinds of fields; see `convert`."""

MATCH_TIMEOUT_S = 0.25
"""A pattern from outside that takes longer on one line is stopped."""

EARNED_S = 1e-6
"""So is one that in the long run takes longer for a character: a sound one takes a
hundredth of it, and may go on for months."""

SLACK_S = 10.0
"""Processor time that it may take beyond that."""

LINE_COST = 100
"""Characters that a line counts for beside its own: looking at it takes time."""

REACH = 512
"""Characters of a text that are searched for anchors: wordings stand at the start."""

SPAN = 8192
"""Characters in which a shipped pattern that does not begin with its anchor looks,
unless it reads arguments, of which a line may hold tens of thousands.
"""

MAX_TEXT = 300
"""Characters kept of a text field."""

_SEPARATORS = "[,_'\u2019\u00a0\u2009\u202f](?=\\d{3})"
_FALSE = frozenset({"false", "0", "no", "off", "none", ""})


Search = Callable[[str], "re.Match[str] | None"]
"""A compiled regex's search; it raises `TimeoutError` when it has a fuse."""

Compiled = tuple[Search, int, int]
"""A search, the number of the last named group, and how many characters before its
match belong to the wording.
"""


class Field(Record):
    """How a named group of a regex becomes a fact."""

    group: str
    fact: str
    kind: str
    """One of `KINDS`."""

    unit: str = ""
    """A key of `UNITS` for sizes, else empty."""


class Sample(Record):
    """A line, and the facts that the file must read from it."""

    line: str
    facts: Mapping[str, Any]
    """Fact -> value as TOML has it; sizes as ``"0.09 GiB"``."""


class Pattern(Record):
    """One kind of line in one wording."""

    name: str
    event: str
    """Kind of line; the wordings of several releases share one."""

    regex: str
    anchor: str
    """Text that every such line contains; empty: try every line."""

    versions: tuple[str, str]
    """First and last release with the wording, empty for an open end."""

    source: str
    """Where SGLang prints it."""

    fields: tuple[Field, ...]
    constants: Mapping[str, Value]
    """Facts that the wording itself states."""

    samples: tuple[Sample, ...]


class Dialect(Record):
    """A file of patterns."""

    name: str
    title: str
    where: str
    """Its path, or the package and file, for messages."""

    patterns: tuple[Pattern, ...]
    rejects: tuple[str, ...] = ()
    """Lines that no pattern may read."""

    edited: bool = False
    """Its patterns read lines that a person has changed."""

    rank: int = 0
    """Of two patterns that read one event from a line the higher rank wins."""


class Hit(Record):
    """What a pattern read from a line."""

    facts: Mapping[str, Value]
    start: int
    """Where the match starts in the text."""

    end: int
    """Where it ends."""

    may_go_on: bool
    """The wording's optional tail is missing: the next line may hold it."""


class Entry:
    """A pattern ready to run; parsed and compiled when it is first needed."""

    __slots__ = (
        "_ahead",
        "_compile",
        "_last",
        "_make",
        "_pattern",
        "_search",
        "anchor",
        "dialect",
        "edited",
        "event",
        "rank",
        "where",
    )

    def __init__(
        self,
        dialect: Dialect,
        event: str,
        anchor: str,
        make: Callable[[], Pattern],
        compile: Callable[[Pattern, str], Compiled],  # noqa: A002
    ) -> None:
        self.dialect = dialect.name
        self.where = dialect.where
        self.edited = dialect.edited
        self.rank = dialect.rank
        self.event = event
        self.anchor = anchor
        self._make = make
        self._compile = compile
        self._pattern: Pattern | None = None
        self._search: Search | None = None
        self._last = 0
        self._ahead = 0

    @property
    def pattern(self) -> Pattern:
        """The pattern itself."""
        if self._pattern is None:
            self._pattern = self._make()
        return self._pattern

    def read(self, text: str, lines: tuple[int, ...] = ()) -> Hit | None:
        """Read a line.

        Args:
            text: The line without its prefix.
            lines: Numbers of the lines that *text* stands on; sizes carry them.

        Returns:
            None when the pattern does not read the line, or a field does not
            convert, or (edited dialects) no field took part.

        Raises:
            DialectError: The regex does not compile, or runs longer than
                `MATCH_TIMEOUT_S`, `EARNED_S` and `SLACK_S` allow.
        """
        pattern = self.pattern
        if self._search is None:
            self._search, self._last, self._ahead = self._compile(pattern, self.where)
        try:
            found = self._search(text)
        except TimeoutError as error:
            place = f" on line {lines[0]}" if lines else ""
            reason = (
                f"pattern {pattern.name!r}: its regex is too slow: stopped{place} "
                f"({MATCH_TIMEOUT_S:g} s for a line, in the long run "
                f"{1e6 * EARNED_S:g} s for a million characters)"
            )
            hint = "bound the gaps, and do not nest repeats"
            raise DialectError(self.where, reason, hint) from error
        if found is None:
            return None
        facts: dict[str, Value] = dict(pattern.constants)
        taken = 0
        for field in pattern.fields:
            if (part := found.group(field.group)) is None:
                continue
            value = convert(field, part, lines, typed=self.edited)
            if value is None:
                return None
            facts[field.fact] = value
            taken += 1
        if self.edited and pattern.fields and not taken:
            return None
        may_go_on = self._last > 0 and found.group(self._last) is None
        return Hit(facts, found.start() - self._ahead, found.end(), may_go_on)


def convert(
    field: Field, text: str, lines: tuple[int, ...] = (), *, typed: bool = False
) -> Value:
    """Turn the text of a group into the value of a fact.

    Args:
        field: Says the kind and, for sizes, the unit.
        text: What the group matched.
        lines: Log lines that a size rests on.
        typed: A person typed the figure: a size without decimals is good to half
            a unit, not exact.

    Returns:
        A count as int (thousands separators dropped), a size as `Measured`, a
        number as float, a flag as bool (false for ``False``, ``0``, ``no``,
        ``off``, ``None``, else true), a list as a tuple of ints, arguments as a
        mapping; None when *text* is not of that kind.
    """
    value: Value
    match field.kind:
        case "count":
            digits = text if text.isdigit() else re.sub(_SEPARATORS, "", text)
            value = int(digits) if is_digits(digits.removeprefix("-")) else None
        case "size":
            value = _size(text, field.unit, lines, typed)
        case "number":
            value = float(text) if _is_number(text) else None
        case "flag":
            value = text.strip().lower() not in _FALSE
        case "list":
            value = tuple(map(int, re.findall(r"-?\d{1,18}", text)[:4096]))
        case "arguments":
            value = parse_arguments(text, scalars_only=typed) or None
        case _:
            value = text.strip()[:MAX_TEXT]
    return value


def _size(text: str, unit: str, lines: tuple[int, ...], typed: bool) -> Measured | None:
    if not _is_number(text):
        return None
    if typed and "." not in text and unit != "B":
        middle, half = int(text) * UNITS[unit], UNITS[unit] // 2
        low = middle - half if middle < 0 else max(0, middle - half)
        return Measured(middle, low, middle + half, lines)
    return Measured.from_text(text, unit, lines)


def _is_number(text: str) -> bool:
    """Return whether *text* is a plain number of sane length."""
    whole, point, fraction = text.removeprefix("-").partition(".")
    return is_digits(whole) and (not point or is_digits(fraction))
