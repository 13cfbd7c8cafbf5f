"""Typed access to the facts of a reading."""

from __future__ import annotations

from collections.abc import Mapping

from mamba_advisor.facts import Reading, Scalar
from mamba_advisor.measured import Measured


def size(reading: Reading, name: str) -> Measured | None:
    """Return the size *name* in bytes, None when the line does not state it."""
    value = reading.facts.get(name)
    return value if isinstance(value, Measured) else None


def count(reading: Reading, name: str) -> int | None:
    """Return the count *name*, None when the line does not state it."""
    value = reading.facts.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value


def number(reading: Reading, name: str) -> float | None:
    """Return the number *name*, None when the line does not state it."""
    value = reading.facts.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


def word(reading: Reading, name: str) -> str | None:
    """Return the text *name*, None when the line does not state it."""
    value = reading.facts.get(name)
    return value if isinstance(value, str) and value else None


def flag(reading: Reading, name: str) -> bool | None:
    """Return the switch *name*, None when the line does not state it."""
    value = reading.facts.get(name)
    return value if isinstance(value, bool) else None


def element_type(reading: Reading, name: str) -> str | None:
    """Return the element type *name* without ``torch.``, None when not stated."""
    value = word(reading, name)
    return value.removeprefix("torch.") if value else None


def arguments(reading: Reading) -> Mapping[str, Scalar]:
    """Return the launch arguments of a ``server-args`` reading, by field name."""
    value = reading.facts.get("arguments")
    return value if isinstance(value, Mapping) else {}


def figures(reading: Reading) -> dict[str, int | float | str | bool | None]:
    """Return the plain facts of a reading; sizes as their best value in bytes."""
    plain: dict[str, int | float | str | bool | None] = {}
    for name, value in reading.facts.items():
        if isinstance(value, Measured):
            plain[name] = value.value
        elif isinstance(value, bool | int | float | str) or value is None:
            plain[name] = value
    return plain


def is_whole(reading: Reading) -> bool:
    """Return whether a ``server-args`` reading is SGLang's line, not a quoted pair."""
    return word(reading, "form") in ("repr", "dict") and not reading.edited
