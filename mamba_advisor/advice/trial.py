"""Ways to understand a boot, each tried on the sizing model.

A log leaves open which release wrote it, which S held, whether the budget paid for
the draft, and which exact bytes hide behind two decimals.  Each combination is run
forward; the one that returns what was printed is the boot.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from mamba_advisor.advice import drafts, reserve
from mamba_advisor.advice.constants import Hypothesis, Printed, hypotheses
from mamba_advisor.advice.figures import (
    Evidence,
    Figures,
    Reckoner,
    budget_ends,
    fill,
    with_ring,
)
from mamba_advisor.advice.region import Vertex, box_of, region_of
from mamba_advisor.advice.reserve import Printout
from mamba_advisor.measured import Measured
from mamba_advisor.record import Record, replace
from mamba_advisor.sizing import SizingProblem
from mamba_advisor.sizing.forward import known_pools
from mamba_advisor.sizing.limits import HEURISTIC_LOW
from mamba_advisor.sizing.rules import distinct_releases

EXACT, CONSISTENT, DIFFERS = 3, 2, 1
"""How well a trial fits: to the integer, inside its interval, not at all."""


class Trial(Record):
    """One way to understand the boot, and how well it fits."""

    score: int
    version: str
    problem: SizingProblem
    """The boot as it was, complete."""

    best: Figures
    corners: tuple[Figures, ...]
    """Figures that are as possible as the best ones; empty when they are exact."""

    hypothesis: Hypothesis | None
    draft_charged: bool
    predicted: Printout


def trials(evidence: Evidence, *, sharp: bool) -> Iterator[Trial]:
    """Yield the ways to understand the boot, newest release first.

    Args:
        evidence: What it printed.
        sharp: With exact bytes for slot and token; else with what the decimals leave.
    """
    known = hypotheses(
        evidence.boot,
        evidence.rank,
        evidence.settled.booted.page_size,
        evidence.geometries,
    )
    exact = [h for h in known if h.slot is not None and h.token is not None]
    partly = [h for h in known if h not in exact]
    chosen = exact if sharp else [*partly, None]
    if not chosen:
        return
    for version in distinct_releases(evidence.settled.versions):
        options = drafts.charge_options(
            version,
            evidence.settled,
            has_draft_pool=evidence.rank.draft_kv_pool is not None,
        )
        found = reserve.candidates(
            evidence.boot, evidence.settled, version, evidence.printout
        )
        for charged, hypothesis in itertools.product(options, chosen):
            yield _try(evidence, version, found[0], charged, hypothesis)


def _try(
    evidence: Evidence,
    version: str,
    reserved: int,
    charged: bool,
    hypothesis: Hypothesis | None,
) -> Trial:
    problem = complete(evidence, reserved)
    problem = with_ring(evidence, version, problem, hypothesis)
    printed, printout = evidence.printed, evidence.printout
    assert printed.slot
    assert printed.token
    slots = _ends(printed.slot, hypothesis.slot if hypothesis else None)
    tokens = _ends(printed.token, hypothesis.token if hypothesis else None)

    reckoner = Reckoner(evidence, version, problem, hypothesis, charged=charged)
    at = reckoner.figures
    is_sharp = slots[0] == slots[1] and tokens[0] == tokens[1]
    vertices = region_of(slots, tokens, at, reckoner.slots, printout.slots or 0)
    corners = [at(*vertex) for vertex in vertices or box_of(slots, tokens)]
    best = at(*_middle(vertices, printed, slots, tokens))
    predicted = _run(version, fill(problem, best))
    if _agrees(printout, predicted):
        score = EXACT if is_sharp else CONSISTENT
    elif not vertices:
        score = DIFFERS
    else:
        results = [predicted, *(_run(version, fill(problem, f)) for f in corners)]
        score = CONSISTENT if _between(printout, results) else DIFFERS
    return Trial(
        score,
        version,
        fill(problem, best),
        best,
        budget_ends(best) if is_sharp else tuple(dict.fromkeys(corners)),
        hypothesis,
        charged,
        predicted,
    )


def _middle(
    vertices: Sequence[Vertex],
    printed: Printed,
    slots: tuple[int, int],
    tokens: tuple[int, int],
) -> Vertex:
    """Return the best estimate: as printed, or amid the region if that is outside."""
    if slots[0] == slots[1] and tokens[0] == tokens[1]:
        return slots[0], tokens[0]
    assert printed.slot
    assert printed.token
    if not vertices:
        return _within(printed.slot.value, slots), _within(printed.token.value, tokens)
    count = len(vertices)
    return (
        _within(sum(slot for slot, _ in vertices) // count, slots),
        _within(sum(token for _, token in vertices) // count, tokens),
    )


def _within(value: int, ends: tuple[int, int]) -> int:
    return min(max(value, ends[0]), ends[1])


def complete(evidence: Evidence, reserved: int) -> SizingProblem:
    """Return the booted arguments with S, M and D as far as the log implies them."""
    problem = replace(evidence.settled.booted, slots_per_request=reserved)
    limit, slots = evidence.printout.limit, evidence.printout.slots
    assert slots is not None
    unset = problem.requested is None and slots == limit
    if reserved == reserve.WITHOUT_RADIX and unset:
        # K slots for K requests: the cache is off, and the request limit set K.
        problem = replace(
            problem,
            disable_radix_cache=True,
            max_running_requests=slots * problem.attn_dp_size,
        )
    silent = not evidence.settled.states("max_running_requests")
    if silent and problem.requested is None and limit is not None:
        tokens = evidence.printout.tokens
        floor = tokens // 2 if tokens is not None else None
        if limit not in (slots // reserved, floor) and limit < HEURISTIC_LOW:
            problem = replace(
                problem, max_running_requests=limit * problem.attn_dp_size
            )
    if problem.draft_tokens == 0 and limit is not None and evidence.printed.slot:
        drafted = drafts.drafted_tokens(evidence.rank, limit)
        if drafted:
            problem = replace(problem, draft_tokens=drafted)
    return problem


def _ends(interval: Measured, exact: int | None) -> tuple[int, int]:
    """Return the least and the greatest value; a slot or a token has at least 1 B."""
    if exact is not None:
        return exact, exact
    return max(1, interval.low), max(1, interval.high)


def _run(version: str, problem: SizingProblem) -> Printout:
    sizes = known_pools(version, problem)
    slots = sizes.max_mamba_cache_size
    if slots is not None:
        slots = max(0, slots)  # below zero, memory is missing: no slots all the same
    return Printout(slots, sizes.kv_tokens, sizes.max_running_requests)


def _agrees(printed: Printout, model: Printout) -> bool:
    """Return whether *model* equals *printed* where that is known."""
    return (
        printed.slots == model.slots
        and printed.tokens == model.tokens
        and (printed.limit is None or printed.limit == model.limit)
    )


def _between(printed: Printout, results: Sequence[Printout]) -> bool:
    """Return whether every printed figure lies inside what *results* span."""
    return (
        _spans(printed.slots, [r.slots for r in results])
        and _spans(printed.tokens, [r.tokens for r in results])
        and (printed.limit is None or _spans(printed.limit, [r.limit for r in results]))
    )


def _spans(value: int | None, results: Sequence[int | None]) -> bool:
    known = [result for result in results if result is not None]
    return value is not None and bool(known) and min(known) <= value <= max(known)
