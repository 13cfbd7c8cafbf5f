"""Rank tags that speak for several ranks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

from mamba_advisor.facts import Rank, Reading

MAX_RANKS = 1024
"""Ranks of one server that are kept apart; the widest known servers have some 300."""


def expand(reading: Reading, most: int = MAX_RANKS) -> Iterator[Rank]:
    """Yield the ranks that a line speaks for: of a collapsed range the first *most*."""
    first, last = reading.rank, reading.last_rank
    if last is None:
        yield first
        return
    dp, pp, tp = (
        range(low, min(max(low, high), low + MAX_RANKS) + 1)
        for low, high in ((first.dp, last.dp), (first.pp, last.pp), (first.tp, last.tp))
    )
    for tags in islice(product(dp, pp, tp), most):
        named = zip(("DP", "PP", "TP"), tags, strict=True)
        text = " ".join(f"{name}{value}" for name, value in named if value >= 0)
        yield Rank(*tags, text)
