"""Every formula in words and with its numbers put in, for ``--explain``."""

from __future__ import annotations

from collections.abc import Iterator

from mamba_advisor.advice.model import (
    Derivation,
    Interval,
    Prediction,
    Recommendation,
)
from mamba_advisor.advice.situation import Situation
from mamba_advisor.boot.model import KvPool
from mamba_advisor.measured import UNITS, Measured, format_bytes, format_range
from mamba_advisor.sizing import SizingProblem
from mamba_advisor.sizing.budget import state_charge
from mamba_advisor.sizing.forward import known_pools
from mamba_advisor.sizing.releases import since
from mamba_advisor.sizing.terms import decided_by


def derivations_of(
    situation: Situation,
    token_equivalent: Interval | None,
    recommendation: Recommendation | None,
) -> tuple[Derivation, ...]:
    """Return the derivations of this boot, in the order of the arithmetic."""
    found = [*_constants(situation), *_budget(situation, token_equivalent)]
    found.extend(_limits(situation))
    found.extend(_advice(situation, recommendation))
    return tuple(found)


def _constants(situation: Situation) -> Iterator[Derivation]:
    """Yield how bytes per slot and per token come from the pool lines."""
    calibration = situation.calibration
    rank, trial = calibration.rank, calibration.trial
    if rank is None:
        return
    inferred = bool(trial and trial.hypothesis and not trial.hypothesis.read)
    state = rank.state_pool
    if state and state.conv and state.ssm and calibration.slot:
        yield Derivation(
            "state bytes per slot",
            "(conv + ssm) ÷ (slots + 1 padding row)",
            f"({_size(state.conv)} + {_size(state.ssm)}) ÷ ({state.slots:,} + 1)",
            _bytes(calibration.slot),
            state.lines,
            inferred,
        )
        if calibration.printed.slot and state.slots > 0:
            by_slots = (state.conv + state.ssm) // state.slots
            yield Derivation(
                "the same without the padding row",
                "(conv + ssm) ÷ slots, as SGLang's sizing guide divides",
                f"({_size(state.conv)} + {_size(state.ssm)}) ÷ {state.slots:,}",
                f"{format_bytes(by_slots.value)}: 1 part in {state.slots:,} too much",
                state.lines,
            )
    page = calibration.settled.booted.page_size
    for name, pool, quantity in (
        ("KV bytes per token", rank.kv_pool, calibration.token),
        ("draft KV bytes per token", rank.draft_kv_pool, calibration.draft_token),
    ):
        if pool and pool.size and quantity:
            yield _token(name, pool, quantity, page, inferred)


def _token(
    name: str, pool: KvPool, quantity: Measured, page: int, inferred: bool
) -> Derivation:
    assert pool.size
    return Derivation(
        name,
        "size ÷ (tokens + one page)",
        f"{_size(pool.size)} ÷ ({pool.tokens:,} + {page})",
        _bytes(quantity),
        pool.lines,
        inferred,
    )


def _budget(
    situation: Situation, token_equivalent: Interval | None
) -> Iterator[Derivation]:
    """Yield the charge, the budget and the exchange rate."""
    calibration = situation.calibration
    booted, trial = calibration.booted, calibration.trial
    slots, tokens = calibration.printout.slots, calibration.printout.tokens
    if booted is None or trial is None or slots is None or tokens is None:
        return
    lines = calibration.budget.lines if calibration.budget else ()
    charge = state_charge(calibration.version, booted, slots)
    padding = " + 1" if since(calibration.version, "0.5.17") else ""
    drafts = ", draft states included" if booted.draft_tokens else ""
    yield Derivation(
        f"state charge ({calibration.version})",
        f"what the budget pays for (slots{padding}) × bytes per slot{drafts}",
        f"({slots:,}{padding}) × {trial.best.slot:,} B"
        + (" + draft reserve" if drafts else ""),
        format_bytes(charge),
        lines,
        True,
    )
    assert calibration.budget
    yield Derivation(
        "budget of both pools",
        "state charge + tokens × charged bytes per token",
        f"{format_bytes(charge)} + {tokens:,} × {trial.best.charged:,} B",
        _bytes(calibration.budget),
        lines,
        True,
    )
    if token_equivalent is not None:
        yield Derivation(
            "token equivalent: one slot in KV tokens",
            "state bytes per slot ÷ charged bytes per token",
            f"{trial.best.slot:,} ÷ {trial.best.charged:,}",
            f"{token_equivalent.value:,.1f}",
            token_equivalent.lines,
        )
    if calibration.split_known and decided_by(calibration.version, booted) == "ratio":
        yield _slots_by_ratio(situation, booted, slots, lines)


def _slots_by_ratio(
    situation: Situation, booted: SizingProblem, slots: int, lines: tuple[int, ...]
) -> Derivation:
    """Return how the ratio makes slots, with the numbers of this boot put in."""
    version, ratio, drafts = situation.version, booted.ratio, booted.draft_tokens
    share = booted.rest_gib * ratio / (1 + ratio)
    one = f"{booted.slot_bytes:,} B"
    formula = "state share of the budget ÷ bytes per slot, rounded down"
    substituted = f"{booted.rest_gib:.4f} GiB × {ratio:g} ÷ {1 + ratio:g} ÷ {one}"
    if drafts and since(version, "0.5.13"):
        formula = "state share ÷ (bytes per slot × (1 + D ÷ S)), rounded down"
        reserved = situation.concurrency.slots_per_request or 1
        substituted = f"{share:.4f} GiB ÷ ({one} × (1 + {drafts} ÷ {reserved}))"
        if since(version, "0.5.17"):
            formula += ", after the padding row and its draft states"
            substituted = f"({share:.4f} GiB − {one} × (1 + {drafts}))" + (
                f" ÷ ({one} × (1 + {drafts} ÷ {reserved}))"
            )
    elif drafts and since(version, "0.5.7"):
        formula = "state share of what the draft reserve leaves ÷ bytes per slot"
    elif drafts:
        formula = "state share ÷ bytes per slot ÷ (1 + D), rounded down"
        substituted += f" ÷ (1 + {drafts})"
    elif since(version, "0.5.17"):
        formula += ", minus the padding row"
        substituted += " − 1"
    model = known_pools(version, booted)
    return Derivation(
        "slots from the ratio",
        formula,
        substituted,
        f"{model.max_mamba_cache_size:,} (printed: {slots:,})",
        lines,
        "mamba_full_memory_ratio" in situation.calibration.settled.assumed,
    )


def _limits(situation: Situation) -> Iterator[Derivation]:
    """Yield each limit on running requests."""
    concurrency, calibration = situation.concurrency, situation.calibration
    slots, tokens = calibration.printout.slots, calibration.printout.tokens
    rank, limits = calibration.rank, concurrency.limits
    reserved = concurrency.slots_per_request
    if slots is not None and reserved and limits.state is not None:
        lines = rank.state_pool.lines if rank and rank.state_pool else ()
        capped = situation.boot.capped
        yield Derivation(
            "requests that the state pool carries",
            "slots ÷ S, rounded down",
            f"{slots:,} ÷ {reserved}",
            f"{limits.state:,}",
            (*lines, capped.line) if capped else lines,
            capped is None,
        )
    if tokens is not None and limits.kv is not None and situation.context:
        dcp = calibration.settled.booted.dcp_size
        wide = f" × {dcp}" if dcp > 1 else ""
        lines = rank.kv_pool.lines if rank and rank.kv_pool else ()
        yield Derivation(
            "requests that the KV pool carries",
            "logical tokens ÷ average context, rounded down",
            f"{tokens:,}{wide} ÷ {situation.context:,}",
            f"{limits.kv:,}",
            lines,
        )


def _advice(
    situation: Situation, recommendation: Recommendation | None
) -> Iterator[Derivation]:
    """Yield the published rule beside what the release's arithmetic gives."""
    problem = situation.problem
    if recommendation is None or problem is None:
        return
    formula, context = recommendation.formula_ratio, situation.context
    reserved = situation.concurrency.slots_per_request or (
        known_pools(situation.version, problem).slots_per_request
    )
    if formula is not None and context:
        yield Derivation(
            "ratio by the published rule",
            "(S + D) × token equivalent × DCP ÷ average context",
            f"({reserved} + {problem.draft_tokens}) × "
            f"{problem.slot_bytes / max(1, problem.cells[0]):,.1f} × "
            f"{problem.dcp_size} ÷ {context:,}",
            f"{formula:.4g}",
            (),
            True,
        )
    ratio, pin = (
        recommendation.mamba_full_memory_ratio,
        recommendation.max_mamba_cache_size,
    )
    if ratio is not None or pin is not None:
        predicted = recommendation.predicted
        setting = f"ratio {ratio:g}" if ratio is not None else ""
        pinned = f"{pin:,} slots pinned" if pin is not None else ""
        yield Derivation(
            f"prediction ({situation.version})",
            "the release's own arithmetic, run forward with "
            + " or ".join(part for part in (setting, pinned) if part),
            f"budget {problem.rest_gib:.4f} GiB",
            f"{predicted.slots or 0:,} slots, {predicted.kv_tokens or 0:,} tokens, "
            f"{predicted.concurrency or 0:,} requests",
            (),
            True,
        )
        yield from _tokens_left(situation, problem, predicted)


def _tokens_left(
    situation: Situation, problem: SizingProblem, predicted: Prediction
) -> Iterator[Derivation]:
    """Yield how the budget leaves tokens beside the predicted slots."""
    if predicted.slots is None or predicted.kv_tokens is None:
        return
    charge = state_charge(situation.version, problem, predicted.slots)
    budget = int(problem.rest_gib * UNITS["GiB"])
    yield Derivation(
        "tokens beside the predicted slots",
        "(budget − state charge) ÷ charged bytes per token, whole pages",
        f"({budget:,} B − {charge:,} B) ÷ {max(problem.cells):,} B",
        f"{predicted.kv_tokens:,}",
        (),
        True,
    )


def _size(quantity: Measured) -> str:
    return format_bytes(quantity.value)


def _bytes(quantity: Measured) -> str:
    """Return a quantity with its interval, or to the byte where it is exact."""
    best = f"{format_bytes(quantity.value)} ({quantity.value:,} B)"
    if quantity.is_exact:
        return f"{best}, exact"
    low, high = format_bytes(quantity.low), format_bytes(quantity.high)
    if low == high:
        return f"{best} ± {(quantity.high - quantity.low + 1) // 2:,} B"
    return f"{best}, {format_range(quantity)}"
