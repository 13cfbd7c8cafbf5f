"""Quantities with the interval that holds the true value."""

from __future__ import annotations

from mamba_advisor.record import Record

UNITS = {
    "B": 1,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "TiB": 1 << 40,
}
"""Unit as named in dialects -> bytes.  SGLang's "GB" is ``GiB`` here."""


class Measured(Record):
    """A number of bytes, and the interval that holds the true one."""

    value: int
    """Best estimate, in bytes."""

    low: int
    """Smallest possible value, in bytes."""

    high: int
    """Largest possible value, in bytes."""

    lines: tuple[int, ...] = ()
    """Log lines that it rests on, counted from 1; empty: not from the log."""

    @classmethod
    def exact(cls, value: int, lines: tuple[int, ...] = ()) -> Measured:
        """Return a quantity known to the byte."""
        return cls(value, value, value, lines)

    @classmethod
    def from_text(cls, text: str, unit: str, lines: tuple[int, ...] = ()) -> Measured:
        """Read a decimal number as the log printed it.

        Args:
            text: Digits with an optional sign and fraction, for example ``"6.46"``.
            unit: A key of `UNITS`.
            lines: Log lines that the text stands on.

        Returns:
            The quantity.  Half a unit in the last printed digit lies on either
            side, so ``("6.46", "GiB")`` is good to ± 0.005 GiB.  A non-negative
            number never gets a negative lower end.

        Raises:
            ValueError: *text* is no plain decimal number.
            KeyError: *unit* is unknown.
        """
        whole, _, fraction = text.partition(".")
        # In units of half a last digit: 6.46 is 1292 of 1/200.
        halves, unit_share = 2 * int(whole + fraction), 2 * 10 ** len(fraction)
        half = 1 if fraction else 0
        scale = UNITS[unit]
        low = (halves - half) * scale // unit_share
        return cls(
            _rounded(halves * scale, unit_share),
            low if halves < 0 else max(0, low),
            -(-(halves + half) * scale // unit_share),
            lines,
        )

    @property
    def is_exact(self) -> bool:
        """Whether the value is known to the byte."""
        return self.low == self.high

    def holds(self, value: int) -> bool:
        """Return whether *value* lies in the interval, ends included."""
        return self.low <= value <= self.high

    def meet(self, other: Measured) -> Measured | None:
        """Return what both quantities allow, None when they contradict."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        if low > high:
            return None
        best = self if self.high - self.low <= other.high - other.low else other
        lines = merge_lines(self.lines, other.lines)
        return Measured(min(max(best.value, low), high), low, high, lines)

    def __add__(self, other: Measured) -> Measured:
        return Measured(
            self.value + other.value,
            self.low + other.low,
            self.high + other.high,
            merge_lines(self.lines, other.lines),
        )

    def __sub__(self, other: Measured) -> Measured:
        return Measured(
            self.value - other.value,
            self.low - other.high,
            self.high - other.low,
            merge_lines(self.lines, other.lines),
        )

    def __mul__(self, factor: int) -> Measured:
        return Measured(
            self.value * factor, self.low * factor, self.high * factor, self.lines
        )

    def __floordiv__(self, divisor: int) -> Measured:
        return Measured(
            self.value // divisor,
            self.low // divisor,
            -(-self.high // divisor),
            self.lines,
        )


def _rounded(value: int, divisor: int) -> int:
    """Return value ÷ divisor, rounded to the nearest integer, a half to the even."""
    whole, rest = divmod(value, divisor)
    return whole + (2 * rest > divisor or (2 * rest == divisor and whole % 2))


def merge_lines(*groups: tuple[int, ...]) -> tuple[int, ...]:
    """Return the line numbers of all *groups*, sorted, each once."""
    return tuple(sorted({line for group in groups for line in group}))


def format_bytes(value: int) -> str:
    """Return *value* bytes for people: two decimals in a binary unit."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if abs(value) >= UNITS[unit]:
            return f"{value / UNITS[unit]:.2f} {unit}"
    return f"{value} B"


def count(number: int, thing: str) -> str:
    """Return *number* with its *thing*, in the plural where it is due."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def format_range(quantity: Measured) -> str:
    """Return the interval for people: ``136.67 to 137.09 MiB``."""
    low, high = format_bytes(quantity.low), format_bytes(quantity.high)
    if low == high:
        return low
    if low.split()[1] == high.split()[1]:
        return f"{low.split()[0]} to {high}"
    return f"{low} to {high}"
