"""Ways to understand a boot, each tried on the sizing model.

A log leaves open which release wrote it, which S held, whether the budget paid for
the draft, and which exact bytes hide behind two decimals.  Each combination is run
forward; the one that returns what was printed is the boot.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from mamba_advisor.advice import drafts, reserve, stages
from mamba_advisor.advice.budget import budget_of, probe_of
from mamba_advisor.advice.constants import Hypothesis, Printed, hypotheses
from mamba_advisor.advice.region import Vertex, box_of, region_of
from mamba_advisor.advice.reserve import Printout
from mamba_advisor.advice.rings import CACHE_LEN, printed_ring, ring_bytes_of
from mamba_advisor.advice.settle import Settled
from mamba_advisor.boot.model import Boot, RankBoot
from mamba_advisor.frozen import dataclass
from mamba_advisor.measured import Measured
from mamba_advisor.sizing import SizingProblem, solve
from mamba_advisor.sizing.limits import HEURISTIC_LOW
from mamba_advisor.sizing.rules import rules_of

GIB = 1 << 30
"""Bytes of what SGLang calls a GB."""

EXACT, CONSISTENT, DIFFERS = 3, 2, 1
"""How well a trial fits: to the integer, inside its interval, not at all."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Exact figures of one possible truth, in bytes."""

    slot: int
    """Stored on the binding rank."""

    conv: int
    """The convolution part of `slot`."""

    charged_slot: int
    """What the budget pays for a slot; `slot` without pipeline stages."""

    token: int
    draft_token: int | None
    cells: tuple[int, ...]
    """What the budget pays for a token, on each pipeline stage."""

    rest_low: int
    rest_high: int

    @property
    def charged(self) -> int:
        """What a token costs on the stage that decides."""
        return max(self.cells)

    @property
    def rest_gib(self) -> float:
        """The middle of the budget's interval, in GiB."""
        return (self.rest_low + self.rest_high) / 2 / GIB


@dataclass(frozen=True, slots=True)
class Trial:
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


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one boot printed, for all its trials."""

    boot: Boot
    rank: RankBoot
    settled: Settled
    printout: Printout
    printed: Printed
    geometries: Sequence[Hypothesis] = ()


def trials(evidence: Evidence, *, sharp: bool) -> Iterator[Trial]:
    """Yield the ways to understand the boot, newest release first.

    Args:
        evidence: What it printed.
        sharp: With exact bytes for slot and token; else with what the decimals leave.
    """
    seen: set[object] = set()
    for version in evidence.settled.versions:
        rules = replace(rules_of(version), note="")
        if rules in seen:
            continue
        seen.add(rules)
        options = drafts.charge_options(
            version,
            evidence.settled,
            has_draft_pool=evidence.rank.draft_kv_pool is not None,
        )
        found = reserve.candidates(
            evidence.boot, evidence.settled, version, evidence.printout
        )
        known = hypotheses(
            evidence.boot,
            evidence.rank,
            evidence.settled.booted.page_size,
            evidence.geometries,
        )
        exact = [h for h in known if h.slot is not None and h.token is not None]
        partly = [h for h in known if h not in exact]
        chosen = exact if sharp else [*partly, None]
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

    @lru_cache(maxsize=512)
    def at(slot: int, token: int) -> Figures:
        return _figures(
            evidence,
            version,
            problem,
            slot=slot,
            token=token,
            charged=charged,
            hypothesis=hypothesis,
        )

    def slots_at(slot: int, token: int, rest_bytes: int) -> int:
        figures = replace(at(slot, token), rest_low=rest_bytes, rest_high=rest_bytes)
        found = solve(version, fill(problem, figures))
        return found.max_mamba_cache_size or 0

    is_sharp = slots[0] == slots[1] and tokens[0] == tokens[1]
    vertices = region_of(slots, tokens, at, slots_at, printout.slots or 0)
    corners = [at(*vertex) for vertex in vertices or box_of(slots, tokens)]
    best = at(*_middle(vertices, printed, slots, tokens))
    predicted = _run(version, fill(problem, best))
    results = [predicted, *(_run(version, fill(problem, f)) for f in corners)]
    if _agrees(printout, predicted):
        score = EXACT if is_sharp else CONSISTENT
    else:
        score = CONSISTENT if vertices and _between(printout, results) else DIFFERS
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


def with_ring(
    evidence: Evidence,
    version: str,
    problem: SizingProblem,
    hypothesis: Hypothesis | None,
) -> SizingProblem:
    """Return *problem* with the bytes of its ReplaySSM rings, where it has them."""
    if not problem.replayssm_spec:
        return problem
    ring = printed_ring(version, problem, evidence.rank, evidence.printout.limit)
    length = evidence.settled.value("linear_replayssm_cache_len")
    if hypothesis and hypothesis.slot is not None and hypothesis.conv is not None:
        exact = ring_bytes_of(
            version,
            problem,
            hypothesis.conv,
            hypothesis.slot - hypothesis.conv,
            length if isinstance(length, int) and length > 0 else CACHE_LEN,
        )
        ring = exact if exact is not None else ring
    return replace(problem, ring_bytes=ring or 0)


def fill(problem: SizingProblem, figures: Figures) -> SizingProblem:
    """Return *problem* with the bytes and the budget of *figures*."""
    return replace(
        problem,
        rest_gib=figures.rest_gib,
        slot_bytes=figures.charged_slot,
        cells=figures.cells,
    )


def _figures(
    evidence: Evidence,
    version: str,
    problem: SizingProblem,
    *,
    slot: int,
    token: int,
    charged: bool,
    hypothesis: Hypothesis | None,
) -> Figures:
    """Return the figures of the boot if a slot and a token weigh exactly this."""
    draft = evidence.printed.draft_token
    exact = hypothesis.draft_token if hypothesis else None
    own = exact or (draft.value if draft else None)
    beside = hypothesis.beside if hypothesis else 0
    cell = drafts.charged_bytes(
        version, token + beside, own, charged=charged, dcp_size=problem.dcp_size
    )
    shares = stages.shares_of(evidence.boot, evidence.rank, version)
    paid, cells = shares.slot(slot), shares.cells(cell)
    low, high = _rest(evidence, version, problem, paid, cells)
    conv = _conv_part(evidence.rank, slot, hypothesis)
    return Figures(slot, conv, paid, token, own, cells, low, high)


def _conv_part(rank: RankBoot, slot: int, hypothesis: Hypothesis | None) -> int:
    """Return the convolution bytes of a slot: exact, else by the printed share."""
    if hypothesis and hypothesis.conv is not None:
        return hypothesis.conv
    pool = rank.state_pool
    if pool is None or pool.conv is None or pool.ssm is None:
        return 0
    total = pool.conv.value + pool.ssm.value
    return slot * pool.conv.value // total if total else 0


def _rest(
    evidence: Evidence,
    version: str,
    problem: SizingProblem,
    slot: int,
    cells: tuple[int, ...],
) -> tuple[int, int]:
    """Return the budget that leads to the printed K and T, in bytes."""
    slots, tokens = evidence.printout.slots, evidence.printout.tokens
    assert slots is not None
    assert tokens is not None
    filled = replace(problem, slot_bytes=slot, cells=cells)
    probe = probe_of(
        evidence.rank,
        evidence.settled.value("mem_fraction_static"),
        evidence.boot.multimodal_reserve,
    )
    return budget_of(version, filled, slots, tokens, probe)


def _ends(interval: Measured, exact: int | None) -> tuple[int, int]:
    """Return the least and the greatest value; a slot or a token has at least 1 B."""
    if exact is not None:
        return exact, exact
    return max(1, interval.low), max(1, interval.high)


def _run(version: str, problem: SizingProblem) -> Printout:
    sizes = solve(version, problem)
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


def budget_ends(figures: Figures) -> tuple[Figures, Figures]:
    """Return *figures* with the least and with the greatest budget they allow."""
    low = min(figures.rest_low + 1, figures.rest_high)
    high = max(figures.rest_high - 1, figures.rest_low)
    return (
        replace(figures, rest_low=low, rest_high=low),
        replace(figures, rest_low=high, rest_high=high),
    )
