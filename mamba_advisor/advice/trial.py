"""Ways to understand a boot, each tried on the sizing model.

A log leaves open which release wrote it, which S held, whether the budget paid for
the draft, and which exact bytes hide behind two decimals.  Each combination is run
forward; the one that returns what was printed is the boot.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from mamba_advisor.advice import drafts, reserve, stages
from mamba_advisor.advice.budget import budget_of, probe_of
from mamba_advisor.advice.constants import Hypothesis, Printed, hypotheses
from mamba_advisor.advice.reserve import Printout
from mamba_advisor.advice.settle import Settled
from mamba_advisor.boot.model import Boot, RankBoot
from mamba_advisor.measured import Measured
from mamba_advisor.sizing import SizingProblem, solve
from mamba_advisor.sizing.limits import HEURISTIC_LOW
from mamba_advisor.sizing.rules import rules_of

GRID = 5
"""Points along each uncertain constant when its interval is searched."""

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


def trials(evidence: Evidence) -> Iterator[Trial]:
    """Yield every way to understand the boot, newest release first."""
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
        exact = hypotheses(
            evidence.boot,
            evidence.rank,
            evidence.settled.booted.page_size,
            evidence.geometries,
        )
        for charged, hypothesis in itertools.product(options, (*exact, None)):
            yield _try(evidence, version, found[0], charged, hypothesis)


def _try(
    evidence: Evidence,
    version: str,
    reserved: int,
    charged: bool,
    hypothesis: Hypothesis | None,
) -> Trial:
    problem = complete(evidence, reserved)
    choices = list(_figures(evidence, version, problem, charged, hypothesis))
    best = choices[len(choices) // 2]
    results = [_run(version, fill(problem, figures)) for figures in choices]
    predicted = _run(version, fill(problem, best))
    printout = evidence.printout
    fitting = [
        figures
        for figures, result in zip(choices, results, strict=True)
        if _agrees(printout, result)
    ]
    if fitting:
        if not _agrees(printout, predicted):
            best = fitting[len(fitting) // 2]
            predicted = printout
        single = len({(f.slot, f.token) for f in choices}) == 1
        score = EXACT if single else CONSISTENT
        kept = fitting
    else:
        score = CONSISTENT if _between(printout, results) else DIFFERS
        kept = choices
    return Trial(
        score,
        version,
        fill(problem, best),
        best,
        extremes(kept),
        hypothesis,
        charged,
        predicted,
    )


def complete(evidence: Evidence, reserved: int) -> SizingProblem:
    """Return the booted arguments with S, M and D as far as the log implies them."""
    problem = replace(evidence.settled.booted, slots_per_request=reserved)
    limit, slots = evidence.printout.limit, evidence.printout.slots
    assert slots is not None
    if reserved == reserve.WITHOUT_RADIX and not problem.disable_radix_cache:
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
        drafted = drafts.drafted_tokens(evidence.rank, evidence.printed.slot, limit)
        if drafted:
            problem = replace(problem, draft_tokens=drafted)
    return problem


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
    charged: bool,
    hypothesis: Hypothesis | None,
) -> Iterator[Figures]:
    """Yield a grid over what is uncertain; one point where all is exact."""
    printed = evidence.printed
    assert printed.slot
    assert printed.token
    slots = _points(printed.slot, hypothesis.slot if hypothesis else None)
    tokens = _points(printed.token, hypothesis.token if hypothesis else None)
    draft = printed.draft_token
    draft_exact = hypothesis.draft_token if hypothesis else None
    own = draft_exact or (draft.value if draft else None)
    for slot, token in itertools.product(slots, tokens):
        cell = drafts.charged_bytes(
            version, token, own, charged=charged, dcp_size=problem.dcp_size
        )
        shares = stages.shares_of(evidence.boot, evidence.rank, version)
        paid, cells = shares.slot(slot), shares.cells(cell)
        low, high = _rest(evidence, version, problem, paid, cells)
        conv = _conv_part(evidence.rank, slot, hypothesis)
        yield Figures(slot, conv, paid, token, own, cells, low, high)


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


def _points(interval: Measured, exact: int | None) -> tuple[int, ...]:
    """Return the exact value, else a grid over *interval* with its ends."""
    if exact is not None:
        return (exact,)
    if interval.is_exact:
        return (interval.value,)
    low, high = max(1, interval.low), max(1, interval.high)
    step = (high - low) / (GRID - 1)
    return tuple(sorted({low + round(n * step) for n in range(GRID)}))


def _run(version: str, problem: SizingProblem) -> Printout:
    sizes = solve(version, problem)
    return Printout(
        sizes.max_mamba_cache_size, sizes.kv_tokens, sizes.max_running_requests
    )


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


def extremes(figures: Sequence[Figures]) -> tuple[Figures, ...]:
    """Return the outermost of *figures*: the ends of each quantity and of P ÷ c.

    One point is not sharp either: its budget is known to a page of tokens, and both
    ends of that are returned.
    """
    if len(figures) == 1:
        return budget_ends(figures[0])
    keys: tuple[Callable[[Figures], float], ...] = (
        lambda f: f.slot,
        lambda f: f.charged,
        lambda f: f.rest_low,
        lambda f: f.slot / max(1, f.charged),
    )
    found: dict[Figures, None] = {}
    for key in keys:
        found[min(figures, key=key)] = None
        found[max(figures, key=key)] = None
    return tuple(found)


def budget_ends(figures: Figures) -> tuple[Figures, Figures]:
    """Return *figures* with the least and with the greatest budget they allow."""
    low = min(figures.rest_low + 1, figures.rest_high)
    high = max(figures.rest_high - 1, figures.rest_low)
    return (
        replace(figures, rest_low=low, rest_high=low),
        replace(figures, rest_low=high, rest_high=high),
    )
