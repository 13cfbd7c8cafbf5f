"""S, the slots that a running request reserves: read, ruled, or what still fits."""

from __future__ import annotations

from mamba_advisor.advice.settle import Settled
from mamba_advisor.boot.model import Boot
from mamba_advisor.record import Record
from mamba_advisor.sizing import SizingProblem, slots_per_request
from mamba_advisor.sizing.limits import HEURISTIC_HIGH, HEURISTIC_LOW
from mamba_advisor.sizing.releases import since

STRATEGIES = (
    ("0.5.4", "no_buffer"),
    ("0.5.7", "extra_buffer"),
    ("0.5.13", "extra_buffer_lazy"),
)
"""(first release, strategy)."""


class Printout(Record):
    """The three integers that a boot prints, None where it did not."""

    slots: int | None
    tokens: int | None
    limit: int | None


WITHOUT_RADIX = 1
"""S without a radix cache, in every release."""


def ruled(version: str, problem: SizingProblem) -> int | None:
    """Return S as the release's rule gives it for *problem*; None: refused."""
    return slots_per_request(
        version,
        problem.strategy,
        not problem.disable_overlap_schedule,
        not problem.disable_radix_cache,
        problem.speculative,
        problem.skip_decode_lock,
    )


def candidates(
    boot: Boot,
    settled: Settled,
    version: str,
    printout: Printout,
) -> tuple[int, ...]:
    """Return every S that the log allows, the likeliest first.

    Args:
        boot: The boot, for the line that prints S.
        settled: Its arguments.
        version: The release.
        printout: K, T and the limit in force as printed; K is known.

    Returns:
        The printed S; else the rule's where the strategy is known and the limit
        agrees; else whatever fits the limit; else what the
        release can have at all.
    """
    slots, limit = printout.slots or 0, printout.limit
    printed = boot.capped.figures.get("slots_per_request") if boot.capped else None
    if isinstance(printed, int) and printed > 0:
        return (printed,)
    by_rule = ruled(version, settled.booted)
    known = settled.states("mamba_radix_cache_strategy") or not since(version, "0.5.7")
    others = _other_limits(settled, printout)
    if by_rule is not None and known:
        near: tuple[int, ...] = (by_rule,)
        if since(version, "0.5.17") and by_rule in (4, 5):
            near = (by_rule, by_rule - 1)
        fitting = tuple(s for s in near if _fits(slots, s, limit, others))
        if fitting:
            return fitting[:1]
        return _possible(version, settled, slots, limit, others) or (by_rule,)
    possible = _possible(version, settled, slots, limit, others)
    if by_rule in possible:
        return (by_rule, *(s for s in possible if s != by_rule))
    return possible or ((by_rule,) if by_rule else (3,))


def _overlaps(settled: Settled) -> tuple[bool, ...]:
    """Return whether the overlap scheduler can be on, off, or either."""
    if settled.states("disable_overlap_schedule"):
        return (not settled.booted.disable_overlap_schedule,)
    return (True, False)


def _other_limits(settled: Settled, printout: Printout) -> tuple[int, ...]:
    """Return the limits that can set the printed one without the state pool.

    A request limit that nothing states may be just the one in force.
    """
    found = []
    asked = settled.booted.requested
    if asked is not None:
        found.append(max(1, asked // settled.booted.attn_dp_size))
    if not settled.states("max_running_requests") and printout.limit is not None:
        found.append(printout.limit)
    if printout.tokens is not None:
        found.append(printout.tokens // 2)
    return tuple(found)


def _fits(slots: int, s: int, limit: int | None, others: tuple[int, ...]) -> bool:
    """Return whether S = *s* can have led to *limit*."""
    if limit is None or slots // s == limit:
        return True
    # A heuristic ceiling between 2048 and 4096 may stand in for any other limit.
    return slots // s > limit and (
        limit in others or HEURISTIC_LOW <= limit <= HEURISTIC_HIGH
    )


def _possible(
    version: str,
    settled: Settled,
    slots: int,
    limit: int | None,
    others: tuple[int, ...],
) -> tuple[int, ...]:
    """Return the S values of *version* that fit, those set by the pool first."""
    speculative = settled.booted.speculative
    values = {
        s
        for first, strategy in STRATEGIES
        if since(version, first)
        for overlap in _overlaps(settled)
        if (s := slots_per_request(version, strategy, overlap, True, speculative))
    }
    radix_open = not settled.states("disable_radix_cache")
    if radix_open and limit is not None and slots == limit:
        values.add(WITHOUT_RADIX)
    ordered = sorted(values, reverse=since(version, "0.5.14"))
    exact = tuple(s for s in ordered if limit is not None and slots // s == limit)
    if exact:
        return exact
    return tuple(s for s in ordered if limit is None or slots // s >= limit)
