"""The budget behind printed pools: by inversion, by K, or by what was free."""

from __future__ import annotations

from mamba_advisor.boot.model import RankBoot
from mamba_advisor.measured import UNITS, Measured
from mamba_advisor.sizing.budget import interval_of, is_capped
from mamba_advisor.sizing.forward import settled_slots
from mamba_advisor.sizing.rules import Rules
from mamba_advisor.sizing.terms import Terms

GIB = UNITS["GiB"]

MOST_GIB = 1 << 14
"""No rank has a larger budget than this, in GiB."""

STEPS = 60
"""Halvings that find a budget to well below a byte, where it is next to a whole one."""


def budget_of(
    rules: Rules, terms: Terms, slots: int, tokens: int, probe: Measured | None
) -> tuple[int, int]:
    """Return the budgets that lead to the printed K and T.

    Args:
        rules: The release's.
        terms: What it makes of one rank's problem, complete but for its budget.
        slots: K as printed.
        tokens: T as printed, rows of one rank.
        probe: The budget by what was free, None where that is unknown.

    Returns:
        Least and greatest budget in bytes.  Where ``--max-total-tokens`` cut T down,
        inversion only gives a lower end; K then narrows the rest if the ratio
        decided it, else what was free does.
    """
    low, high = interval_of(rules, terms, slots, tokens)
    if not is_capped(terms.problem, tokens):
        return low, high
    if terms.decider == "ratio":
        least, most = budget_by_slots(rules, terms, slots)
        return max(low, least), max(low, most)
    if probe is not None:
        return max(low, probe.low), max(low, probe.high)
    return low, high


def budget_by_slots(rules: Rules, terms: Terms, slots: int) -> tuple[int, int]:
    """Return the budgets, in bytes, from which the ratio makes exactly *slots*."""

    def least(wanted: int) -> int:
        low, high = 0.0, float(MOST_GIB)
        for _ in range(STEPS):
            if int(low * GIB) == int(high * GIB):
                break
            middle = (low + high) / 2
            if (settled_slots(rules, terms.funded(middle)) or 0) < wanted:
                low = middle
            else:
                high = middle
        return int(high * GIB)

    return least(slots), least(slots + 1)


def probe_of(
    rank: RankBoot, fraction: object, reserve: Measured | None
) -> Measured | None:
    """Return the budget by what was free: after − before × (1 − fraction) − reserve.

    Args:
        rank: The rank whose memory lines count.
        fraction: ``--mem-fraction-static``.
        reserve: What the release keeps for multimodal use, None: nothing.

    Returns:
        None where a figure is missing.  Good to some ten MiB, since the memory can
        move between the printed line and the measurement.
    """
    if rank.avail_before is None or rank.avail_after is None:
        return None
    if not isinstance(fraction, float):
        return None
    before, after = rank.avail_before, rank.avail_after
    share = 1 - fraction
    low = after.low - int(before.high * share) - 1
    high = after.high - int(before.low * share) + 1
    value = after.value - int(before.value * share)
    budget = Measured(value, low, high, (*before.lines, *after.lines))
    return budget - reserve if reserve is not None else budget
