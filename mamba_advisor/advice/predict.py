"""What a setting gives: slots, tokens, limits and the concurrency they carry."""

from __future__ import annotations

from collections.abc import Sequence

from mamba_advisor.advice.model import Binding, Limits, Prediction
from mamba_advisor.record import Record, replace
from mamba_advisor.sizing import PoolSizes, SizingProblem
from mamba_advisor.sizing.forward import pools_with_slots, solve_terms
from mamba_advisor.sizing.inverse import sustained
from mamba_advisor.sizing.remember import remembered
from mamba_advisor.sizing.rules import Rules, settle
from mamba_advisor.sizing.terms import Terms

TIE_ORDER: tuple[Binding, ...] = ("request", "heuristic", "kv_floor", "state", "kv")
"""Of equal limits the first one is named."""


def limits_of(
    version: str,
    problem: SizingProblem,
    slots: int,
    rows: int,
    *,
    context: int | None,
    reserved: int | None = None,
) -> Limits:
    """Return every limit that *version* applies, per DP worker.

    Args:
        version: The release.
        problem: The arguments; its figures do not matter here.
        slots: K.
        rows: T, rows of one rank.
        context: Average resident tokens of a request, None when unknown.
        reserved: S; None: by the release's rule.
    """
    known = reserved or problem.slots_per_request
    rules, terms = settle(version, replace(problem, slots_per_request=known))
    return _limits(rules, terms, slots, rows, context)


def _limits(
    rules: Rules, terms: Terms, slots: int, rows: int, context: int | None
) -> Limits:
    held = rules.limits(terms, slots, rows)
    logical = rows * terms.problem.dcp_size
    return Limits(
        state=held.state,
        kv=logical // context if context else None,
        kv_floor=held.kv_floor,
        request=held.request,
        heuristic=held.heuristic,
    )


def binding_of(limits: Limits, value: int | None) -> Binding | None:
    """Return the limit that sets *value*; on a tie the first of `TIE_ORDER`."""
    if value is None:
        return None
    for name in TIE_ORDER:
        if getattr(limits, name) == value:
            return name
    return None


def prediction_of(
    version: str, problem: SizingProblem, sizes: PoolSizes, context: int | None
) -> Prediction:
    """Return *sizes* as a prediction for *context*, without intervals."""
    known = sizes.slots_per_request or problem.slots_per_request
    settled = settle(version, replace(problem, slots_per_request=known))
    return _prediction(*settled, sizes, context)


def _solved(version: str, problem: SizingProblem, context: int | None) -> Prediction:
    """Return what *problem* gives, without intervals."""
    rules, terms = settle(version, problem)
    return _prediction(rules, terms, solve_terms(rules, terms), context)


def _prediction(
    rules: Rules, terms: Terms, sizes: PoolSizes, context: int | None
) -> Prediction:
    slots, rows, effective = (
        sizes.max_mamba_cache_size,
        sizes.kv_tokens,
        sizes.max_running_requests,
    )
    if sizes.error or slots is None or rows is None or effective is None:
        return Prediction(
            slots=_slots(sizes),
            kv_tokens=rows,
            concurrency=0,
            binding=_failing_pool(sizes),
            limits=Limits(),
            effective=0,
            boots=False,
        )
    limits = _limits(rules, terms, slots, rows, context)
    carried = sustained(sizes, context or None)
    return Prediction(
        slots=slots,
        kv_tokens=rows,
        concurrency=carried,
        binding=binding_of(limits, carried),
        limits=limits,
        effective=effective,
        logical_tokens=sizes.kv_tokens_logical,
    )


def _failing_pool(sizes: PoolSizes) -> Binding:
    """Return the pool that is too small to start."""
    kv = ("no_memory_left_for_kv", "kv_tokens_not_positive")
    return "kv" if sizes.error in kv else "state"


class Case(Record):
    """One possible truth behind a log."""

    version: str
    problem: SizingProblem


@remembered
def predict(
    version: str,
    problem: SizingProblem,
    context: int | None,
    corners: tuple[Case, ...] = (),
) -> Prediction:
    """Return what *problem* gives, with the interval that *corners* span.

    Args:
        version: The release.
        problem: The best estimate.
        context: Average resident tokens of a request, None when unknown.
        corners: The same setting with the other figures, and the other releases,
            that the log allows.
    """
    best = _solved(version, problem, context)
    cases = [settle(case.version, case.problem) for case in corners]
    if not cases:
        return best
    others = [solve_terms(rules, terms) for rules, terms in cases]
    spanned = with_interval(best, others, context)
    if spanned.slots_low is None:
        return spanned
    near = _a_slot_aside(cases, others)
    aside = with_interval(best, [sizes for sizes in near if sizes.boots], context)
    least = _least(spanned.tokens_low, aside.tokens_low)
    most = _most(spanned.tokens_high, aside.tokens_high)
    carried = _least(spanned.concurrency_low, aside.concurrency_low)
    possible = range(spanned.slots_low, (spanned.slots_high or 0) + 1)
    if any(_slots(sizes) in possible for sizes in near if not sizes.boots):
        # Somewhere between the corners that many slots just fit, and leave next to
        # nothing for KV.
        least, carried = 0, 0
    return replace(
        spanned,
        tokens_low=least,
        tokens_high=most,
        concurrency_low=carried,
        concurrency_high=_most(spanned.concurrency_high, aside.concurrency_high),
    )


def _a_slot_aside(
    cases: Sequence[tuple[Rules, Terms]], known: Sequence[PoolSizes]
) -> list[PoolSizes]:
    """Return what each case gives with one slot more and with one less.

    Where K is open it steps from one value to the next somewhere between the corners,
    and a step moves as many tokens as a slot costs.  Apart from that step tokens are
    linear in what is uncertain, so a slot aside of the corners bounds them.
    """
    return [
        pools_with_slots(rules, terms, (_slots(sizes) or 0) + near)
        for (rules, terms), sizes in zip(cases, known, strict=True)
        for near in (-1, 1)
    ]


def _slots(sizes: PoolSizes) -> int | None:
    """Return K, None where there is no slot at all."""
    slots = sizes.max_mamba_cache_size
    return slots if slots is not None and slots > 0 else None


def _least(first: int | None, second: int | None) -> int | None:
    """Return the smaller of two ends; None where neither is open."""
    return min((end for end in (first, second) if end is not None), default=None)


def _most(first: int | None, second: int | None) -> int | None:
    """Return the larger of two ends; None where neither is open."""
    return max((end for end in (first, second) if end is not None), default=None)


def with_interval(
    best: Prediction, others: Sequence[PoolSizes], context: int | None
) -> Prediction:
    """Return *best* with the range of *others*; unchanged where all agree.

    Args:
        best: The prediction.
        others: Pools that are as possible.
        context: Average resident tokens of a request, None when unknown.
    """
    slots = _ends(best.slots, [_slots(sizes) for sizes in others])
    tokens = _ends(best.kv_tokens, [sizes.kv_tokens for sizes in others])
    carried = _ends(
        best.concurrency, [sustained(sizes, context or None) for sizes in others]
    )
    return replace(
        best,
        slots_low=slots[0],
        slots_high=slots[1],
        tokens_low=tokens[0],
        tokens_high=tokens[1],
        concurrency_low=carried[0],
        concurrency_high=carried[1],
    )


def _ends(
    best: int | None, others: Sequence[int | None]
) -> tuple[int | None, int | None]:
    """Return the least and the greatest that is known, None for both if all agree."""
    known = {value for value in (best, *others) if value is not None}
    return (min(known), max(known)) if len(known) > 1 else (None, None)
