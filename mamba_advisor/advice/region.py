"""Which exact bytes the printed slots allow: a wedge cut out of the printed box.

Two decimals leave a box of (bytes per slot, bytes per token).  Where the ratio decided
K, the model returns the printed K only in a wedge of that box: K falls with the bytes
of a slot and rises with those of a token.  A wedge that meets a box meets its edges, so
its outermost points are found by bisection along the four of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Protocol, TypeAlias

LINES = 8
"""Lines across the box along which the wedge is looked for."""

Vertex: TypeAlias = tuple[int, int]
"""(Bytes per slot, bytes per token)."""

Ends: TypeAlias = tuple[int, int]
"""Least and greatest value, in bytes."""


class Budgeted(Protocol):
    """Figures that know their budget."""

    @property
    def rest_low(self) -> int:
        """Least budget that gives the printed tokens, in bytes."""

    @property
    def rest_high(self) -> int:
        """First budget that gives more."""


def box_of(slots: Ends, tokens: Ends) -> tuple[Vertex, ...]:
    """Return the four corners of the box, each once."""
    corners = [(slot, token) for slot in slots for token in tokens]
    return tuple(dict.fromkeys(corners))


def region_of(
    slots: Ends,
    tokens: Ends,
    at: Callable[[int, int], Budgeted],
    slots_at: Callable[[int, int, int], int],
    wanted: int,
) -> tuple[Vertex, ...]:
    """Return the outermost points of the box at which the model can give *wanted*.

    Args:
        slots: Ends of the bytes per slot.
        tokens: Ends of the bytes per token.
        at: (bytes per slot, bytes per token) -> figures with their budget.
        slots_at: (bytes per slot, bytes per token, budget) -> K by the model.
        wanted: K as printed.

    Returns:
        Empty where no point of the box gives it.
    """

    def most(slot: int, token: int) -> int:
        return slots_at(slot, token, at(slot, token).rest_high)

    def least(slot: int, token: int) -> int:
        return slots_at(slot, token, at(slot, token).rest_low)

    found: list[Vertex] = []
    for token in _between(tokens):
        # K falls along this line: from where it is no longer too large on, until
        # just before it is too small.
        first = _first(slots, lambda slot: least(slot, token) <= wanted)  # noqa: B023
        last = _first(slots, lambda slot: most(slot, token) < wanted) - 1  # noqa: B023
        found.extend((slot, token) for slot in _kept(first, last))
    for slot in slots:
        # K rises along this one.
        first = _first(tokens, lambda token: most(slot, token) >= wanted)  # noqa: B023
        last = _first(tokens, lambda token: least(slot, token) > wanted) - 1  # noqa: B023
        found.extend((slot, token) for token in _kept(first, last))
    return tuple(dict.fromkeys(found))


def _between(ends: Ends) -> tuple[int, ...]:
    """Return both ends and some values between them, evenly spaced.

    Whole bytes per token are coarse beside a thin wedge, which can then cross the
    edges of the box unseen.
    """
    low, high = ends
    return tuple(sorted({low + (high - low) * n // LINES for n in range(LINES + 1)}))


def _kept(first: int, last: int) -> tuple[int, ...]:
    """Return the ends of a stretch, nothing where it is empty."""
    return (first, last) if first <= last else ()


def _first(ends: Ends, holds: Callable[[int], bool]) -> int:
    """Return the least value from which *holds*; one past the end where it never does.

    *holds* is false below some value and true from it on.
    """
    low, high = ends
    # Most boxes are so small that nothing changes from one end to the other.
    if holds(low):
        return low
    if low == high or not holds(high):
        return high + 1
    inside = range(low + 1, high)
    return inside.start + bisect_left(inside, True, key=holds)
