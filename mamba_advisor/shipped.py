"""The dialects that this package ships, read as far as a log needs them.

Their patterns run on the standard library's `re`: the tests hold these files against
the full reader of `mamba_advisor.dialect`, and prove them.
"""

from __future__ import annotations

import re
import sys
from functools import partial
from typing import Any

from mamba_advisor.pattern import REACH, SPAN, Compiled, Dialect, Entry, Field, Pattern

GUARD = r"(?<!\w)"
"""Before most wordings: they do not begin within a word."""

ESCAPED = str.maketrans({char: f"\\{char}" for char in ".()[]{}*+?^$|\\"})
"""How the built-in files write text in a regex."""

REPEATS = tuple("?*+{")
"""What would repeat the last character of an anchor."""


def sketch(text: str, where: str) -> list[Entry]:
    """Return the patterns of a built-in file without reading it all.

    Start-up pays for the patterns that a log needs, not for all of them: a block is
    read when its anchor is first seen in a line.  This relies on the form of the
    built-in files, which the tests hold against `parse`: a key and its value on a
    line, strings without escapes.

    Args:
        text: The file's content.
        where: Its name, for messages.
    """
    head, *blocks = text.split("\n[[pattern]]\n")
    table = _block(head)
    dialect = Dialect(
        table["name"],
        table["title"],
        where,
        (),
        edited=table.get("edited", False),
        rank=table.get("rank", 0),
    )
    return [
        Entry(
            dialect,
            _line_value(block, "event"),
            _line_value(block, "anchor"),
            partial(_parse_block, block),
            _compile,
        )
        for block in blocks
    ]


def _compile(pattern: Pattern, _where: str) -> Compiled:
    """Return what `Entry` needs to search with the regex of *pattern*.

    To compile a character takes as long as to read a line.  An anchor that a wording
    begins with is looked for as the text that it is, and what follows is compiled.
    """
    regex, anchor = pattern.regex, pattern.anchor
    guarded = regex.startswith(GUARD)
    wording = regex[len(GUARD) :] if guarded else regex
    opening = anchor.translate(ESCAPED)
    rest = wording[len(opening) :]
    begins = anchor and wording.startswith(opening) and rest[:1] not in REPEATS
    compiled = re.compile(rest if begins else regex)
    last = max(compiled.groupindex.values(), default=0)
    if not begins:
        has_arguments = any(field.kind == "arguments" for field in pattern.fields)
        span = sys.maxsize if has_arguments else SPAN
        return partial(compiled.search, pos=0, endpos=span), last, 0

    def search(text: str) -> re.Match[str] | None:
        at = text.find(anchor, 0, REACH)
        while at >= 0:
            before = text[at - 1 : at] if guarded else ""
            if not (before.isalnum() or before == "_"):
                found = compiled.match(text, at + len(anchor))
                if found is not None:
                    return found
            at = text.find(anchor, at + 1, REACH)
        return None

    return search, last, len(anchor)


def ends_of(text: str) -> tuple[str, str]:
    """Return first and last release of a range such as ``0.5.4 – 0.5.12``."""
    low, dash, high = text.replace("-", "–").partition("–")
    return low.strip(), high.strip() if dash else low.strip()


def _parse_block(block: str) -> Pattern:
    """Read a block of a built-in file, which the tests have found to be sound."""
    table = _block(block)
    fields = table.get("fields", {})
    return Pattern(
        table["name"],
        table["event"],
        table["regex"],
        table.get("anchor", ""),
        ends_of(table.get("versions", "–")),
        table.get("source", ""),
        tuple([Field(group, **entry) for group, entry in fields.items()]),
        table.get("constants", {}),
        (),
    )


def _block(block: str) -> dict[str, Any]:
    """Read the lines of a built-in file up to its first proof."""
    table: dict[str, Any] = {}
    into = table
    for line in block.split("\n"):
        if line.startswith("[["):
            break
        if line == "[pattern.fields]":
            into = table["fields"] = {}
        elif line and line[0] != "#":
            key, _, value = line.partition(" = ")
            into[key] = _value(value)
    return table


def _line_value(block: str, key: str) -> str:
    """Return the string on the line of *key*, empty without one; never on the first."""
    return block.partition(f'\n{key} = "')[2].partition('"\n')[0]


def _value(text: str) -> Any:
    """Convert a value of a built-in file."""
    if text.startswith("{"):
        pairs = [pair.split(" = ") for pair in text[2 : text.index(" }")].split(", ")]
        return {key: _value(value) for key, value in pairs}
    if text.startswith("'''"):
        return text[3 : text.index("'''", 3)]
    if text.startswith('"'):
        return text[1 : text.index('"', 1)]
    return text == "true" if text in ("true", "false") else int(text)
