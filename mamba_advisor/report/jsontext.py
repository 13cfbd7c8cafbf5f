"""JSON with two spaces of indentation, in ASCII and strict.

The standard library indents in Python, one generator in another: for a report that
took as long as the advice in it.  The text is the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from json.encoder import encode_basestring_ascii as quote


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
    kind = type(value)
    if kind is str:
        put(quote(value))  # type: ignore[arg-type]  # that is its type
    elif kind is int:
        put(repr(value))
    elif value is None:
        put("null")
    elif isinstance(value, dict) and value:
        inner = before = f"{line}  "
        put("{")
        for key, item in value.items():
            put(f"{before}{quote(key)}: ")
            _write(item, inner, put)
            before = f",{inner}"
        put(f"{line}}}")
    elif isinstance(value, list) and value:
        inner = before = f"{line}  "
        put("[")
        for item in value:
            put(before)
            _write(item, inner, put)
            before = f",{inner}"
        put(f"{line}]")
    else:
        put(json.dumps(value, allow_nan=False))
