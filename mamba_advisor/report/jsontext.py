"""JSON in lines that can be read, searched and compared, in ASCII and strict.

A finding, an excerpt or a lever stands on a line.  To indent every level, as the
standard library would, takes it as long as the advice took.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from itertools import repeat
from json.encoder import encode_basestring_ascii as quote
from types import NoneType
from typing import Any

WORDS = {True: "true", False: "false", None: "null"}


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError("Out of range float values are not JSON compliant")
    return repr(value)


LEAVES: dict[type, Callable[[Any], str]] = {
    str: quote,
    int: repr,
    float: _number,
    bool: WORDS.__getitem__,
    NoneType: WORDS.__getitem__,
}
"""Type of most values -> how it is written; the encoder takes longer to begin."""


def text_of(document: object, opened: Callable[[object], Any], levels: int = 2) -> str:
    """Return *document* as JSON.

    Args:
        document: Dicts with text for keys, lists, tuples, text, numbers, booleans,
            None, and what *opened* knows.
        opened: Returns the dict of anything else.
        levels: So many levels have a line for each value that is more than a row.

    Raises:
        ValueError: A number is not finite.
        TypeError: *opened* does not know what to do.
    """
    encode = json.JSONEncoder(
        allow_nan=False, check_circular=False, default=opened
    ).encode

    def write(value: Any, line: str, levels: int) -> str:
        if leaf := LEAVES.get(type(value)):
            return leaf(value)
        if levels == 0:
            return encode(value)
        before: Iterable[str] = repeat("")
        if isinstance(value, list | tuple):
            brackets, items = "[]", list(value)
        else:
            value = value if isinstance(value, dict) else opened(value)
            if value is None:
                return "null"
            brackets, items = "{}", list(value.values())
            before = map(quote, value)
        if LEAVES.keys() >= set(map(type, items)):
            return encode(value)
        inner = f"{line}  "
        parts = [
            (name and f"{name}: ") + write(item, inner, levels - 1)
            for name, item in zip(before, items, strict=False)
        ]
        return f"{brackets[0]}{inner}{f',{inner}'.join(parts)}{line}{brackets[1]}"

    return write(document, "\n", levels)
