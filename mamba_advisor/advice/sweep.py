"""What-if over contexts, ratios and ranks: the tables and the curves."""

from __future__ import annotations

import math
from collections.abc import Iterator

from mamba_advisor.advice.choice import choose_split
from mamba_advisor.advice.model import (
    BalancePoint,
    BreakEvenPoint,
    Curves,
    Drawn,
    MemoryBar,
    MemoryPart,
    Recommendation,
    SweepRow,
    Workload,
)
from mamba_advisor.advice.predict import prediction_of
from mamba_advisor.advice.situation import Situation
from mamba_advisor.boot.model import RankBoot
from mamba_advisor.record import replace
from mamba_advisor.sizing import PoolSizes, SizingProblem, solve
from mamba_advisor.sizing.forward import known_pools
from mamba_advisor.sizing.inverse import sustained, with_ratio
from mamba_advisor.sizing.optimum import best_split

CONTEXTS = (2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576)
"""Average contexts of the tables, in tokens."""

CONCURRENCIES = (8, 16, 32, 64, 128, 256)
"""Concurrency wanted in the grid of ``--sweep``, per DP worker."""

SHORT = (2048, 8192, 32768, 131072)
"""Contexts of the short table that is shown without ``--avg-context``."""

BALANCE_POINTS = 49
"""Ratios along the balance curve."""

BREAK_EVEN_POINTS = 25
"""Contexts along the break-even curve."""

RATIO_SPAN = 12.0
"""The balance curve runs this factor to either side of what it shows."""


def sweep_rows(situation: Situation, *, full: bool) -> tuple[SweepRow, ...]:
    """Return the best split over contexts, and over concurrencies when *full*."""
    problem = situation.problem
    if problem is None or situation.boot.unified:
        return ()
    longest = max(problem.context_len, CONTEXTS[0])
    contexts = [c for c in (CONTEXTS if full else SHORT) if c <= longest]
    wanted: tuple[int | None, ...] = (None, *CONCURRENCIES) if full else (None,)
    today = known_pools(situation.version, problem)
    rows = (
        _row(situation, problem, today, context, concurrency)
        for context in contexts
        for concurrency in wanted
    )
    return tuple(row for row in rows if row is not None)


def _row(
    situation: Situation,
    problem: SizingProblem,
    today: PoolSizes,
    context: int,
    concurrency: int | None,
) -> SweepRow | None:
    wanted = concurrency * situation.concurrency.workers if concurrency else None
    at = replace(situation, workload=Workload(context, "option", wanted))
    choice = choose_split(at, problem, bare=True)
    if choice is None or not choice.split.is_reached:
        return None
    return SweepRow(
        avg_context=context,
        concurrency=concurrency,
        mamba_full_memory_ratio=choice.ratio,
        max_mamba_cache_size=choice.pin,
        predicted=choice.predicted,
        today=sustained(today, context),
    )


def balanced_context(situation: Situation) -> int | None:
    """Return the context for which today's split is right: tokens ÷ K // S."""
    rows = situation.calibration.printout.tokens
    state = situation.concurrency.limits.state
    if rows is None or not state:
        return None
    return rows * situation.calibration.settled.booted.dcp_size // state


def curves_of(
    situation: Situation, recommendation: Recommendation | None, drawn: Drawn
) -> Curves:
    """Return the data of the pictures, as far as they are *drawn*."""
    if drawn == "none":
        return Curves()
    problem = situation.problem
    memory = tuple(_memory_bar(rank) for rank in situation.boot.ranks)
    if problem is None:
        return Curves(memory=memory)
    context = situation.context or balanced_context(situation)
    now = equivalent_ratio(situation)
    best = recommendation.mamba_full_memory_ratio if recommendation else None
    return Curves(
        balance=tuple(_balance(situation, problem, context, now, best)),
        balance_context=context,
        ratio_now=now,
        ratio_best=best,
        break_even=tuple(_break_even(situation, problem)) if drawn == "all" else (),
        memory=memory,
    )


def equivalent_ratio(situation: Situation) -> float | None:
    """Return the ratio in force, or the one that a pin amounts to."""
    problem = situation.problem
    if problem is None:
        return None
    if problem.pin is None and not problem.disable_radix_cache:
        return problem.ratio
    sizes = known_pools(situation.version, problem)
    rest, kv = problem.rest_gib, sizes.kv_budget_gib
    if kv is None or kv <= 0:
        return None
    return (rest - kv) / kv


def _balance(
    situation: Situation,
    problem: SizingProblem,
    context: int | None,
    now: float | None,
    best: float | None,
) -> Iterator[BalancePoint]:
    """Yield what both pools carry over a log axis of ratios."""
    shown = [ratio for ratio in (now, best) if ratio]
    low, high = min(shown, default=0.9), max(shown, default=0.9)
    first, last = math.log(low / RATIO_SPAN), math.log(high * RATIO_SPAN)
    for n in range(BALANCE_POINTS):
        ratio = math.exp(first + (last - first) * n / (BALANCE_POINTS - 1))
        at = with_ratio(problem, ratio)
        sizes = solve(situation.version, at)
        given = prediction_of(situation.version, at, sizes, context)
        if not given.boots:
            continue
        yield BalancePoint(
            ratio=ratio,
            state=given.limits.state or 0,
            kv=given.limits.kv,
            sustained=given.concurrency,
            limit=given.limits.request or given.limits.heuristic,
        )


def _break_even(
    situation: Situation, problem: SizingProblem
) -> Iterator[BreakEvenPoint]:
    """Yield today's split against the best one over a log axis of contexts."""
    sizes = known_pools(situation.version, problem)
    first = math.log(512)
    last = math.log(max(1024, problem.context_len))
    for n in range(BREAK_EVEN_POINTS):
        context = round(math.exp(first + (last - first) * n / (BREAK_EVEN_POINTS - 1)))
        split = best_split(situation.version, problem, context, bare=True)
        yield BreakEvenPoint(
            avg_context=context,
            today=sustained(sizes, context),
            best=split.sustained if split else None,
        )


def _memory_bar(rank: RankBoot) -> MemoryBar:
    """Return what fills one rank, in the order in which the boot allocates it."""
    state, kv, draft = rank.state_pool, rank.kv_pool, rank.draft_kv_pool
    own = rank.weights.value if rank.weights else 0
    sized = (
        ("weights", own),
        ("state", _sum(state and state.conv, state and state.ssm)),
        ("draft states", _sum(state and state.draft_ssm, state and state.draft_conv)),
        ("KV", _sum(kv and kv.size)),
        ("draft KV", _sum(draft and draft.size)),
        ("graphs", max(0, rank.graphs.value) if rank.graphs else 0),
        ("idle", rank.idle.value if rank.idle else 0),
    )
    parts = [MemoryPart(name, size) for name, size in sized if size > 0]
    if rank.avail_before is not None and rank.idle is not None:
        other = rank.avail_before.value - sum(part.bytes for part in parts)
        if other > 0:
            parts.append(MemoryPart("other", other, inferred=True))
    return MemoryBar(rank.rank.text, tuple(parts))


def _sum(*sizes: object) -> int:
    """Return the sum of the sizes that are known, in bytes."""
    return sum(getattr(size, "value", 0) for size in sizes if size is not None)
