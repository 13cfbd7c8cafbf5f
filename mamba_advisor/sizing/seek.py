"""The last integer with which something holds, looked for from a guess on."""

from __future__ import annotations

from collections.abc import Callable


def last_holding(holds: Callable[[int], bool], low: int, high: int, guess: int) -> int:
    """Return the largest integer below *high* with which *holds* is true.

    Args:
        holds: True up to some integer, and false from there on.
        low: Where it is true; not asked again.
        high: Where it is false; not asked again.
        guess: Where the answer is likely.  A right one takes two questions, one that
            is off by n about 2·log₂ n more.
    """
    at, step = min(max(guess, low + 1), high - 1), 1
    while high - low > 1:
        if holds(at):
            low, at = at, at + step
        else:
            high, at = at, at - step
        step *= 2
        if not low < at < high:
            at = (low + high) // 2
    return low
