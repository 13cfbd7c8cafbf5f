"""The dialects that this package ships, read as far as a log needs them.

Their patterns run on the standard library's `re`: the tests hold these files against
the full reader of `mamba_advisor.dialect`, and prove them.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from mamba_advisor.pattern import Dialect, Entry, Field, Pattern, Search


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


def _compile(pattern: Pattern, _where: str) -> tuple[Search, int]:
    """Return a search function, and the number of the last named group."""
    compiled = re.compile(pattern.regex)
    return compiled.search, max(compiled.groupindex.values(), default=0)


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
    label = f'\n{key} = "'
    start = block.find(label)
    if start < 0:
        return ""
    start += len(label)
    return block[start : block.index('"\n', start)]


def _value(text: str) -> Any:
    """Convert a value of a built-in file."""
    if text.startswith("{"):
        pairs = re.findall(r'(\w+) = ("[^"]*"|[\w.]+)', text.partition("}")[0])
        return {key: _value(value) for key, value in pairs}
    if text.startswith("'''"):
        return text[3 : text.index("'''", 3)]
    if text.startswith('"'):
        return text[1 : text.index('"', 1)]
    return text == "true" if text in ("true", "false") else int(text)
