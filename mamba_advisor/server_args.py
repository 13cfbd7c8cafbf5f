"""The arguments that ``server_args=`` prints: a tolerant scanner, never `eval`.

Up to 0.5.18 SGLang prints the repr of a data class, ``ServerArgs(key=value, …)``,
from 0.5.19 a dict, ``{'key': value, …}``.  Both are Python, neither is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

from mamba_advisor.facts import Scalar

MAX_ARGUMENTS = 2000
"""Keys taken from one line; more is no SGLang line."""

LARGEST = 1e18
"""Larger numbers stay text: SGLang has none, and arithmetic would overflow."""

MAX_DIGITS, MAX_WHOLE, MAX_POWER = 18, 15, 3
"""Digits of an integer, before the point of another number, and of its exponent."""

MAX_RAW = 300
"""Characters kept of a value that is no scalar."""

BRIEF = 80
"""Characters of an argument, name and value, that is looked for in the usual form: a
name has no more.
"""

MAX_KNOWN = 8192
"""Arguments as printed that are remembered at a time; one line has half as many."""

NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"([{)]}")
"""What is left out to count brackets: one pass instead of six."""

Pair: TypeAlias = "tuple[str, Scalar]"
"""Name and value of an argument."""

UNUSUAL: Pair = ("", None)
"""In place of an argument that has another form."""

UNSEEN: Pair = ("", "unseen")
"""In place of one that was not looked at yet."""

_KEY = (
    r"""[\s,]*(?:(?P<quote>['"])(?P<quoted>[A-Za-z_]\w{0,79})(?P=quote)\s?:\s?"""
    r"""|(?P<bare>[A-Za-z_]\w{0,79})\s?=\s?)"""
)
_STRING = r"""'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*"|(['"]).*"""
"""A string, or an open one with all that follows: no quote is tried in vain twice."""

_DULL = r"""[^'"(\[{<,)\]}\s]+"""
_DULL_INSIDE = r"""[^'"(\[{<)\]}>]+"""
_ELISION = r"[\s,]*(?:\.\.\.|…)"
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}
_CLOSERS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_OPENERS = frozenset("({")
_QUOTES = frozenset("'\"")
_ENDS = frozenset("'\"([{<,)]}>")
"""What a number or a word does not hold."""

_WORDS: dict[str, Scalar] = {"None": None, "True": True, "False": False}


def parse_arguments(text: str, *, scalars_only: bool = False) -> dict[str, Scalar]:
    """Read the keys at the top level of a printed argument object.

    Args:
        text: What follows ``server_args=``, or a fragment of it without the opening
            bracket, such as ``tp_size=2, dp_size=1``.
        scalars_only: Leave out values that are no scalar, such as a name in a line
            of source.

    Returns:
        Key -> value.  None, booleans, numbers and quoted strings become Python
        values; a nested list, dict or object stays text, and its own keys are not
        taken.  Of a key given twice the first counts.  Scanning stops where the
        text is no longer of this form; what was complete is kept.
    """
    position, closer = _opening(text)
    found: list[Pair] = []
    usual = None if scalars_only else _Usual(text, position, in_dict=closer == "}")
    for _ in range(MAX_ARGUMENTS):
        if usual is not None:
            position = usual.take(position, found)
        name, start = _name(text, position)
        if not name:
            if skipped := re.compile(_ELISION).match(text, position):
                position = skipped.end()
                continue
            break
        end, is_complete = _end_of_value(text, start)
        if not is_complete or (end >= len(text) and closer):
            break
        raw = text[start:end].strip()
        if not scalars_only or _is_scalar(raw):
            found.append((name, _scalar(raw)))
        position = end
        if closer and text[end] == closer:
            break
    arguments = dict(found)
    if len(arguments) < len(found):
        arguments.update(reversed(found))  # of a key given twice the first counts
    if len(arguments) > MAX_ARGUMENTS:
        arguments = dict(islice(arguments.items(), MAX_ARGUMENTS))
    return arguments


def _opening(text: str) -> tuple[int, str]:
    """Return where the first argument stands, and what closes the last one."""
    # What nearly every line needs comes without an expression to compile.
    if text[:1] in _OPENERS:
        return 1, _CLOSERS[text[0]]
    if opened := re.match(r"\s*(?:[A-Za-z_][\w.]{0,79})?([({])", text):
        return opened.end(), _CLOSERS[opened.group(1)]
    return 0, ""


def _name(text: str, position: int) -> tuple[str, int]:
    """Return the name of the argument at *position*, and where its value starts.

    Returns:
        An empty name where none stands.
    """
    start = position + 2 * text.startswith(", ", position)
    end = text.find("=", start, start + BRIEF)
    name = text[start:end] if end > 0 else ""
    if name.isascii() and name.isidentifier():
        return name, end + 1 + text[end + 1 : end + 2].isspace()
    if key := re.compile(_KEY).match(text, position):
        return key["quoted"] or key["bare"], key.end()
    return "", position


_KNOWN: dict[str, dict[str, Pair]] = {"": {}, "'": {}}
"""Quote around the names -> argument as printed -> what it states."""


def _pairs_of(pieces: Sequence[str], quote: str) -> list[Pair]:
    """Return name and value of each argument as printed, `UNUSUAL` for other text.

    Servers print the same few hundred, so each is looked at once for many logs.

    Args:
        pieces: The arguments.
        quote: What stands around a name.
    """
    known = _KNOWN[quote]
    if len(known) + len(pieces) > MAX_KNOWN:
        known.clear()
    equals = f"{quote}: " if quote else "="
    pairs = [known.get(piece, UNSEEN) for piece in pieces]
    for place, pair in enumerate(pairs):
        if pair is not UNSEEN:
            continue
        piece, pairs[place] = pieces[place], UNUSUAL
        if len(piece) > BRIEF:
            continue
        key, _, raw = piece.partition(equals)
        name = key[len(quote) :]
        if name.isidentifier() and name.isascii() and key.startswith(quote):
            is_plain, value = _plain(raw)
            if is_plain:
                pairs[place] = name, value
        known[piece] = pairs[place]
    return pairs


class _Usual:
    """The arguments as SGLang prints nearly all of them, cut at every comma.

    What was no comma between two arguments is found out piece by piece.
    """

    def __init__(self, text: str, start: int, *, in_dict: bool) -> None:
        self._text = text
        self._pieces = text[start:].split(", ", 2 * MAX_ARGUMENTS)
        self._pairs = _pairs_of(self._pieces, "'" if in_dict else "")
        self._pairs[-1] = UNUSUAL  # it may hold what comes behind
        self._next, self._at = 0, start

    def take(self, position: int, found: list[Pair]) -> int:
        """Take what stands at *position* in the usual form; return where that ends.

        Args:
            position: In the text: behind the bracket, or behind an argument.
            found: Takes in name and value of each.
        """
        if position > self._at:
            if not self._text.startswith(", ", position):
                return position
            self._next += 1 + self._text.count(", ", self._at, position)
            self._at = position + 2
        begin = self._next
        if begin >= len(self._pairs):
            return position
        end = self._pairs.index(UNUSUAL, begin)
        if end == begin:
            return position
        found += self._pairs[begin:end]
        self._at += sum(map(len, self._pieces[begin:end])) + 2 * (end - begin)
        self._next = end
        return self._at


class Brackets:
    """Says whether a printed object is complete, as its text comes in parts."""

    __slots__ = ("_closed", "_opened", "_string")

    def __init__(self) -> None:
        self._opened = self._closed = 0
        self._string = ""
        """Quote of the string that the last part broke off in, and an open escape."""

    def close(self, part: str) -> bool:
        """Take the next part; return whether the object ends in it.

        Args:
            part: Text from ``server_args=`` on, or what follows such text directly.
        """
        text = self._string + part
        if '"' in text or "\\" in text:
            outside = re.sub(_STRING, r"\1", text, flags=re.DOTALL)
        else:
            outside = "".join(text.split("'")[::2]) + "'" * (text.count("'") % 2)
        self._string = outside[-1:] if outside[-1:] in _QUOTES else ""
        if self._string and (len(text) - len(text.rstrip("\\"))) % 2:
            self._string += "\\"
        brackets = outside.encode("ascii", "ignore").translate(None, NO_BRACKETS)
        self._opened += sum(map(brackets.count, b"([{"))
        self._closed += sum(map(brackets.count, b")]}"))
        return 0 < self._opened <= self._closed and not self._string


def _end_of_value(text: str, start: int) -> tuple[int, bool]:
    """Return where the value at *start* ends, and whether it is complete."""
    position, open_brackets = start, list[str]()
    length = len(text)
    # Within brackets only quotes and brackets matter.
    outside, inside = re.compile(_DULL).match, re.compile(_DULL_INSIDE).match
    while position < length:
        if dull := (inside if open_brackets else outside)(text, position):
            position = dull.end()
            continue
        char = text[position]
        if char in "'\"":
            position = _end_of_string(text, position)
            if position < 0:
                return length, False
            continue
        if char in "([{" or (char == "<" and (open_brackets or position == start)):
            open_brackets.append(_CLOSERS[char])
        elif open_brackets:
            if char == open_brackets[-1]:
                open_brackets.pop()
        elif char in ",)]}" or (char.isspace() and _ends_here(text, position)):
            return position, position > start
        position += 1
    return length, not open_brackets and length > start


def _ends_here(text: str, position: int) -> bool:
    """Return whether the blank at *position* ends a value.

    Excerpts put several arguments on a line with dots or nothing between them.
    """
    rest = text[position : position + 90].lstrip()
    return not rest or rest.startswith(("...", "…")) or re.match(_KEY, rest) is not None


def _end_of_string(text: str, start: int) -> int:
    """Return the position after the string that opens at *start*, −1 when open."""
    quote, position = text[start], start + 1
    while True:
        end = text.find(quote, position)
        if end < 0:
            return -1
        backslashes = 0
        while text[end - 1 - backslashes] == "\\" and end - 1 - backslashes > start:
            backslashes += 1
        if backslashes % 2 == 0:
            return end + 1
        position = end + 1


def _is_scalar(text: str) -> bool:
    """Return whether *text* is None, a boolean, a number or a quoted string."""
    return (
        text in _WORDS
        or text[:1] in ("'", '"')
        or _is_decimal(text)
        or is_digits(text.removeprefix("-"))
    )


def is_digits(text: str) -> bool:
    """Return whether *text* is nothing but ASCII digits, `MAX_DIGITS` at most."""
    return len(text) <= MAX_DIGITS and text.isascii() and text.isdigit()


def _is_decimal(text: str) -> bool:
    """Return whether *text* is a number of sane length, such as ``-1.5e-05``."""
    digits, mark, power = text.removeprefix("-").partition("e")
    whole, _, part = digits.partition(".")
    if part and not (part.isdecimal() and len(part) < MAX_DIGITS):
        return False
    if mark:
        power = power[power[:1] in ("+", "-") :]
        if not (power.isdecimal() and len(power) <= MAX_POWER):
            return False
    return whole.isdecimal() and len(whole) <= MAX_WHOLE


def _scalar(text: str) -> Scalar:
    """Convert a printed value; what is no scalar stays text, cut."""
    if text in _WORDS:
        return _WORDS[text]
    if text[:1] in ("'", '"') and _end_of_string(text, 0) == len(text):
        return _unescape(text[1:-1])
    if is_digits(text.removeprefix("-")):
        return int(text)
    if _is_decimal(text) and abs(number := float(text)) < LARGEST:
        return number
    return text[:MAX_RAW]


@lru_cache(maxsize=1024)
def _plain(text: str) -> tuple[bool, Scalar]:
    """Return whether *text* is a whole value for sure, and the value.

    Most arguments share a few: None, False, 1.
    """
    if text[:1] == "'":
        is_plain = text.find("'", 1) == len(text) - 1 > 0 and "\\" not in text
    else:
        is_plain = _ENDS.isdisjoint(text) and text.split() == [text]
    return is_plain, _scalar(text) if is_plain else None


def _unescape(text: str) -> str:
    """Resolve the common escapes of a Python string; others stay as they are."""
    if "\\" not in text:
        return text
    return re.sub(
        r"\\(.)", lambda m: _ESCAPES.get(m.group(1), m.group(0)), text, flags=re.S
    )
