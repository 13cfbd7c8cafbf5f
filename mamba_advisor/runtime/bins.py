"""Counts in bins of bounded number: exact for small values, 3 % wide for large."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping

CHUNK = 32
"""Neighbouring keys whose counts stand in one piece of memory."""


class Counts(Mapping[int, int]):
    """Key -> how often, for keys from 0 on that lie close together.

    A dictionary of counts takes a hundred bytes for each key, when it is first seen:
    it grows for as long as a log has something rare to say.  Here a key takes eight,
    and its neighbours come with it.
    """

    __slots__ = ("_chunks",)

    def __init__(self) -> None:
        self._chunks: dict[int, array[int]] = {}

    def add(self, key: int, count: int) -> None:
        """Count *key* for *count* times."""
        number, place = divmod(key, CHUNK)
        chunk = self._chunks.get(number)
        if chunk is None:
            chunk = self._chunks[number] = array("Q", bytes(8 * CHUNK))
        chunk[place] += count

    def add_all(self, other: Mapping[int, int]) -> None:
        """Count what *other* has counted."""
        for key, count in other.items():
            self.add(key, count)

    def __getitem__(self, key: int) -> int:
        number, place = divmod(key, CHUNK)
        if count := self._chunks[number][place]:
            return count
        raise KeyError(key)

    def __iter__(self) -> Iterator[int]:
        for number, chunk in self._chunks.items():
            for place, count in enumerate(chunk, number * CHUNK):
                if count:
                    yield place

    def __len__(self) -> int:
        return sum(1 for _ in self)


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
