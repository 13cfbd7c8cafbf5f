"""Counts in bins of bounded number: exact for small values, 3 % wide for large."""

from __future__ import annotations

from collections.abc import Mapping


def bin_of(value: int) -> int:
    """Return the bin that a count falls into.

    Args:
        value: A count, for example of requests or tokens; below 0 counts as 0.

    Returns:
        The value itself below 64, above it 32 bins to each doubling.  Bins are
        ordered as the values are, and 2^40 values need some 1150 of them.
    """
    if value < 64:  # noqa: PLR2004 - two to the six bits that a bin keeps
        return max(0, value)
    shift = value.bit_length() - 6
    return (shift << 5) + (value >> shift)


def bin_middle(code: int) -> int:
    """Return the value in the middle of bin *code*, at most 1.6 % off."""
    if code < 64:  # noqa: PLR2004 - as above
        return code
    shift = (code >> 5) - 1
    return ((code - (shift << 5)) << shift) + (1 << shift) // 2


def percentile(counts: Mapping[int, int], share: float) -> int:
    """Return the smallest key that *share* of all counts reach.

    Args:
        counts: Key -> how often; at least one above 0.
        share: 0 to 1, for example 0.9.

    Raises:
        ValueError: Nothing was counted.
    """
    goal = share * sum(counts.values())
    reached = 0
    for key in sorted(counts):
        reached += counts[key]
        if reached and reached >= goal:
            return key
    raise ValueError("nothing was counted")
