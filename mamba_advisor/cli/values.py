"""Kinds of option values, and the one-line message for what is none.

Every function here is a click type: it takes the text of an option, or a value that
it has returned before, and raises `click.BadParameter` for anything else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from mamba_advisor.measured import Measured

MULTIPLES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
"""Suffix -> factor: multiples of 1024, as SGLang's log and model cards mean them."""

# Compiled when an option is read: most calls, and --help, read none of them.
NUMBER = r"([0-9]{1,15}(?:\.[0-9]{1,6})?)\s*([A-Za-z]*)"
RELEASE = r"v?([0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4})(?:\.?(?:post|dev|rc|a|b)[0-9]+)?"
LARGEST = 1 << 50
"""Nothing here is as large; a typing error is."""


def tokens(value: str | int) -> int:
    """Read a positive number of tokens: ``9216``, ``8k``, ``1M``."""
    if isinstance(value, int):
        return value
    number, suffix = _split(value)
    factor = MULTIPLES.get(suffix, 0) if suffix in {"", "k", "m"} else 0
    if found := _whole(number, factor):
        return found
    raise click.BadParameter(
        f"{value!r} is no number of tokens (for example 9216, 8k or 1M)."
    )


def count(value: str | int) -> int:
    """Read a positive whole number."""
    if isinstance(value, int):
        return value
    if found := _whole(value.strip().replace("_", ""), 1):
        return found
    raise click.BadParameter(f"{value!r} is no whole number from 1.")


def count_or_zero(value: str | int) -> int:
    """Read a whole number from 0."""
    return 0 if value in {0, "0"} else count(value)


def size(value: str | int) -> int:
    """Read a size of memory in bytes: ``80G``, ``80GB``, ``80GiB`` are 80 × 2³⁰."""
    if isinstance(value, int):
        return value
    if found := _bytes(value, needs_unit=True):
        return found
    raise click.BadParameter(f"{value!r} is no size (for example 80G or 512M).")


def measured_size(value: str | Measured) -> Measured:
    """Read a size of memory as `size` does; its decimals tell how exact it is."""
    from mamba_advisor.measured import Measured

    if isinstance(value, Measured):
        return value
    size(value)
    number, suffix = _split(value)
    return Measured.from_text(number, f"{suffix[0].upper()}iB")


def byte_count(value: str | int) -> int:
    """Read a number of bytes; a unit as in `size` may follow."""
    if isinstance(value, int):
        return value
    if found := _bytes(value, needs_unit=False):
        return found
    raise click.BadParameter(
        f"{value!r} is no number of bytes (for example 65536 or 64K)."
    )


def release(value: str) -> str:
    """Read an SGLang release: ``0.5.17``; ``v`` before and ``.post1`` after it go."""
    if found := re.fullmatch(RELEASE, value.strip()):
        return found[1]
    raise click.BadParameter(f"{value!r} is no release (for example 0.5.17).")


def which_boot(value: str | int) -> str | int:
    """Read which server start of a log is meant: ``last``, ``all`` or its number."""
    if value in {"last", "all"} or isinstance(value, int):
        return value
    if found := _whole(value, 1):
        return found
    raise click.BadParameter(f"{value!r} is neither last, all nor a number from 1.")


def fraction(value: str | float) -> float:
    """Read a number above 0 and below 1."""
    if 0 < (number := _float(value)) < 1:
        return number
    raise click.BadParameter(f"{value!r} does not lie between 0 and 1.")


def ratio(value: str | float) -> float:
    """Read a positive number that is not absurd."""
    from mamba_advisor.sizing.problem import RATIOS

    low, high = RATIOS
    if low <= (number := _float(value)) <= high:
        return number
    raise click.BadParameter(f"{value!r} does not lie between {low:g} and {high:,.0f}.")


def _bytes(value: str, *, needs_unit: bool) -> int:
    """Return *value* in bytes, 0 for what is no size."""
    number, suffix = _split(value)
    unit = suffix.removesuffix("b").removesuffix("i")
    if (suffix and not unit and suffix != "b") or (needs_unit and not unit):
        return 0
    return _whole(number, MULTIPLES.get(unit, 0))


def _split(value: str) -> tuple[str, str]:
    """Return the number and the lower-case suffix of *value*, empty for neither."""
    found = re.fullmatch(NUMBER, value.strip().replace("_", ""))
    return (found[1], found[2].lower()) if found else ("", "")


def _whole(number: str, factor: int) -> int:
    """Return *number* × *factor*, rounded down to whole; 0 for nothing in range.

    A fraction of a unit is a fraction of 1024 (``1.5k`` is 1536); without a unit
    there are no fractions.
    """
    if not re.fullmatch(NUMBER, number) or not number[-1].isdigit():
        return 0
    whole, point, decimals = number.partition(".")
    if point and factor == 1:
        return 0
    value = int(whole + decimals) * factor // 10 ** len(decimals)
    return value if value <= LARGEST else 0


def _float(value: str | float) -> float:
    """Return *value* as a number, NaN for none."""
    try:
        return float(value)
    except ValueError:
        return float("nan")
