"""Edited lines that complete each other: one field a line, as in a list of bullets."""

from __future__ import annotations

from collections.abc import Mapping

from mamba_advisor.facts import MAX_EXCERPT, Rank, Reading
from mamba_advisor.record import replace


def merge(first: Reading, second: Reading) -> Reading | None:
    """Join two edited readings of adjacent lines that complete each other.

    Returns:
        None when they are of other kinds, ranks or places, or state the same fact.
    """
    if (
        first.event != second.event
        or first.speaker != second.speaker
        or first.doubtful != second.doubtful
        or second.stamp
        or second.rank not in (first.rank, Rank())
        or not first.line + first.joined <= second.line <= first.line + first.joined + 1
    ):
        return None
    facts = dict(first.facts)
    for name, value in second.facts.items():
        mine = facts.get(name)
        if isinstance(mine, Mapping) and isinstance(value, Mapping):
            if mine.keys() & value.keys():
                return None
            facts[name] = {**mine, **value}
        elif name in facts and mine != value:
            return None
        else:
            facts[name] = value
    return replace(
        first,
        facts=facts,
        joined=second.line + second.joined - first.line,
        text=f"{first.text} {second.text}"[:MAX_EXCERPT],
    )
