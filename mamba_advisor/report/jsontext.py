"""JSON with two spaces of indentation, in ASCII and strict.

The standard library indents in Python, one generator in another: for a report that
took as long as the advice in it.  The text is the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from json.encoder import encode_basestring_ascii as quote
from types import NoneType
from typing import Any


def text_of(document: object) -> str:
    """Return what ``json.dumps(document, indent=2, allow_nan=False)`` does.

    Args:
        document: Dicts with text for keys, lists, text, numbers, booleans and None.

    Raises:
        ValueError: A number is not finite.
        TypeError: Something is none of these.
    """
    parts: list[str] = []
    _write(document, "\n", parts.append)
    return "".join(parts)


def _write(value: object, line: str, put: Callable[[str], None]) -> None:
    """Write *value*; *line* is a line feed and the indentation of where it is."""
    inner, writer_of = f"{line}  ", PLAIN.get
    if isinstance(value, dict) and value:
        before, later = f"{{{inner}", f",{inner}"
        for key, item in value.items():
            if plain := writer_of(type(item)):
                put(f"{before}{quote(key)}: {plain(item)}")
            else:
                put(f"{before}{quote(key)}: ")
                _write(item, inner, put)
            before = later
        put(f"{line}}}")
    elif isinstance(value, list) and value:
        before, later = f"[{inner}", f",{inner}"
        for item in value:
            if plain := writer_of(type(item)):
                put(f"{before}{plain(item)}")
            else:
                put(before)
                _write(item, inner, put)
            before = later
        put(f"{line}]")
    else:
        plain = writer_of(type(value))
        put(plain(value) if plain else json.dumps(value, allow_nan=False))


WORDS = {True: "true", False: "false", None: "null"}

PLAIN: dict[type, Callable[[Any], str]] = {
    str: quote,
    int: repr,
    bool: WORDS.__getitem__,
    NoneType: WORDS.__getitem__,
}
"""Type of most values -> how it is written."""
