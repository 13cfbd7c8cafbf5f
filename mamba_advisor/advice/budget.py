"""The budget behind printed pools: by inversion, by K, or by what was free."""

from __future__ import annotations

from mamba_advisor.boot.model import RankBoot
from mamba_advisor.frozen import replace
from mamba_advisor.measured import UNITS, Measured
from mamba_advisor.sizing import SizingProblem, solve
from mamba_advisor.sizing.budget import is_capped, rest_interval
from mamba_advisor.sizing.terms import decided_by

GIB = UNITS["GiB"]

MOST_GIB = 1 << 14
"""No rank has a larger budget than this, in GiB."""

STEPS = 60
"""Halvings that find a budget to well below a byte."""


def budget_of(
    version: str,
    problem: SizingProblem,
    slots: int,
    tokens: int,
    probe: Measured | None,
) -> tuple[int, int]:
    """Return the budgets that lead to the printed K and T.

    Args:
        version: The release.
        problem: One rank's, complete but for its budget.
        slots: K as printed.
        tokens: T as printed, rows of one rank.
        probe: The budget by what was free, None where that is unknown.

    Returns:
        Least and greatest budget in bytes.  Where ``--max-total-tokens`` cut T down,
        inversion only gives a lower end; K then narrows the rest if the ratio
        decided it, else what was free does.
    """
    low, high = rest_interval(version, problem, slots, tokens)
    if not is_capped(problem, tokens):
        return low, high
    if decided_by(version, problem) == "ratio":
        least, most = budget_by_slots(version, problem, slots)
        return max(low, least), max(low, most)
    if probe is not None:
        return max(low, probe.low), max(low, probe.high)
    return low, high


def budget_by_slots(
    version: str, problem: SizingProblem, slots: int
) -> tuple[int, int]:
    """Return the budgets, in bytes, from which the ratio makes exactly *slots*."""
    open_ended = replace(problem, max_total_tokens=None)

    def least(wanted: int) -> int:
        low, high = 0.0, float(MOST_GIB)
        for _ in range(STEPS):
            middle = (low + high) / 2
            sizes = solve(version, replace(open_ended, rest_gib=middle))
            if (sizes.max_mamba_cache_size or 0) < wanted:
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
