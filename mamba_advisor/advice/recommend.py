"""The one thing to do."""

from __future__ import annotations

from mamba_advisor.advice.choice import (
    Choice,
    as_choice,
    choose_split,
    pin_flags,
)
from mamba_advisor.advice.idle import idle_memory, raised_problem
from mamba_advisor.advice.model import (
    Cost,
    Limits,
    Plateau,
    Prediction,
    Recommendation,
)
from mamba_advisor.advice.reasons import (
    carries,
    cost_of,
    enough,
    limit_raised,
    reason_of,
    slots_alone,
    unreachable,
)
from mamba_advisor.advice.situation import Situation
from mamba_advisor.measured import UNITS
from mamba_advisor.record import replace
from mamba_advisor.sizing.inverse import formula_ratio
from mamba_advisor.sizing.optimum import SAFETY_SLOTS

GIB = UNITS["GiB"]

CLOSE = 0.98
"""Today's split is kept when it carries this share of the best."""

WORTH_TOKENS = 0.02
"""Share of the KV pool that a smaller state pool must free to be worth a restart."""

SLACK_SLOTS = 1.05
"""A state pool up to this many times the one needed is not made smaller."""


def recommend(situation: Situation) -> Recommendation | None:
    """Return what to set, where a context or a concurrency is known.

    A failed boot is `coach`'s.
    """
    problem, today = situation.problem, situation.today
    if problem is None or today is None:
        return _pin_alone(situation)
    if situation.boot.unified:
        return _unified(situation, today)
    choice = choose_split(situation, problem)
    if choice is None or not choice.predicted.boots:
        return None
    if situation.target is not None:
        return _for_target(situation, choice, today)
    return _for_context(situation, choice, today)


UNIFIED = (
    "unified memory moves the split at run time; only --max-running-requests and the "
    "slots ÷ S of the boot labels limit it"
)


def _pin_alone(situation: Situation) -> Recommendation | None:
    """Return the flags for a wanted concurrency where no pool line gives bytes.

    S is enough for the slots; what they leave for KV stays unknown.  Where the slots
    carry more than runs, the request limit is what holds the server back.
    """
    target, reserved = situation.target, situation.concurrency.slots_per_request
    if target is None or reserved is None:
        return None
    share = situation.calibration.settled.planned.attn_dp_size
    have, now = situation.calibration.printout.slots, situation.concurrency.effective
    slots = target * reserved + SAFETY_SLOTS
    held_back = have is not None and now is not None and now < have // reserved
    is_pinned = not held_back or (have or 0) < target * reserved
    limit = ("--max-running-requests", str(target * share)) if held_back else ()
    pin = slots * share if is_pinned else None
    predicted = Prediction(
        slots=slots if is_pinned else have,
        kv_tokens=None,
        concurrency=target,
        binding="request" if held_back else "state",
        limits=Limits(state=target if is_pinned else (have or 0) // reserved),
        effective=target,
    )
    return Recommendation(
        action="max-running-requests" if held_back else "pin",
        mamba_full_memory_ratio=None,
        formula_ratio=None,
        max_mamba_cache_size=pin,
        flags=(*limit, *pin_flags(pin)),
        predicted=predicted,
        gain=None if now is None else target - now,
        cost=Cost(),
        reason=slots_alone(situation, predicted, reserved, held_back=held_back),
    )


def _unified(situation: Situation, today: Prediction) -> Recommendation:
    """Under unified memory only the boot's labels can be in the way."""
    problem, context = situation.problem, situation.context
    reserved = situation.concurrency.slots_per_request
    now = _now(situation, today)
    if problem is None or reserved is None or today.limits.state != now:
        return _keep(situation, None, UNIFIED)
    wanted = situation.target or (problem.requested or 0) // problem.attn_dp_size
    if context is not None:
        total = int(problem.rest_gib * GIB)
        from mamba_advisor.sizing.unified import unified_concurrency

        held = unified_concurrency(
            total, max(problem.cells), problem.slot_bytes, context, reserved
        )
        wanted = min(wanted, held) if wanted else held
    if wanted <= now:
        return _keep(situation, None, UNIFIED)
    pin = (wanted * reserved + 1) * problem.attn_dp_size
    predicted = situation.predict(replace(problem, pin=pin))
    if not predicted.boots:
        return _keep(situation, None, UNIFIED)
    effective = predicted.effective or 0
    predicted = replace(predicted, concurrency=min(wanted, effective))
    return Recommendation(
        action="pin",
        mamba_full_memory_ratio=None,
        formula_ratio=None,
        max_mamba_cache_size=pin,
        flags=pin_flags(pin),
        predicted=predicted,
        gain=(predicted.concurrency or 0) - now,
        cost=Cost(),
        reason=(
            "unified memory moves the split at run time, but the request limit follows "
            f"the boot's slots: {pin:,} admit {predicted.concurrency or 0:,}"
        ),
    )


def _for_context(
    situation: Situation, choice: Choice, today: Prediction
) -> Recommendation:
    """As many requests as possible at the workload's context."""
    now, best = _now(situation, today), choice.predicted.concurrency or 0
    raised = _raise_limit(situation, choice, max(now, best))
    if raised is not None and situation.concurrency.requested_by == "speculation":
        return raised
    if now >= best * CLOSE:
        return _keep_or_feed(situation, choice, now, best)
    return _set(situation, choice, now)


def _for_target(
    situation: Situation, choice: Choice, today: Prediction
) -> Recommendation:
    """The concurrency wanted, with the smallest state pool that carries it."""
    now, target = _now(situation, today), situation.target or 0
    reached = choice.predicted.concurrency or 0
    if now >= target:
        return _enough(situation, choice, today)
    higher = _raise_limit(situation, choice, reached)
    if higher is not None and situation.concurrency.requested_by != "user":
        return higher
    if reached <= now:
        return _keep(situation, choice, unreachable(target, now))
    found = _set(situation, choice, now)
    if reached < target:
        words = unreachable(target, reached)
        return replace(found, reason=f"{words}; {found.reason}")
    return found


def _enough(situation: Situation, choice: Choice, today: Prediction) -> Recommendation:
    """Today's split carries what is wanted; a smaller pool may leave more to KV.

    With a context known KV is enough as well, and nothing needs to change.  Without
    one nobody can say, and KV gets what the target does not need.
    """
    slots, wanted = today.slots or 0, choice.predicted.slots or 0
    freed = (choice.predicted.kv_tokens or 0) - (today.kv_tokens or 0)
    worth = freed >= (today.kv_tokens or 0) * WORTH_TOKENS
    worth = worth and slots > wanted * SLACK_SLOTS
    if situation.context is not None or not worth:
        kept = _keep(situation, choice, enough(situation, choice.flags, freed))
        return replace(kept, equivalent=choice.flags if worth else ())
    found = _set(situation, choice, _now(situation, today))
    return replace(found, gain=None)


def _now(situation: Situation, today: Prediction) -> int:
    """Return what runs today, per worker: as printed, else by the model."""
    concurrency = situation.concurrency
    if not situation.calibration.settled.what_if:
        for known in (concurrency.sustained, concurrency.effective):
            if known is not None:
                return known
    return today.concurrency or 0


def _set(situation: Situation, choice: Choice, now: int) -> Recommendation:
    predicted = choice.predicted
    gain = (predicted.concurrency or 0) - now
    cost = cost_of(situation, predicted)
    return Recommendation(
        action=choice.action,
        mamba_full_memory_ratio=choice.ratio,
        formula_ratio=_formula(situation),
        max_mamba_cache_size=choice.pin,
        flags=choice.flags,
        predicted=predicted,
        gain=gain,
        cost=cost,
        reason=reason_of(situation, predicted, gain, cost),
        before=_before(situation, predicted),
        plateau=_plateau(choice),
        equivalent=choice.equivalent,
    )


def _before(situation: Situation, predicted: Prediction) -> str:
    """Return what to do before the split is moved; empty for nothing.

    More memory helps where a pool then binds, not below the user's own limit.
    """
    memory = idle_memory(situation)
    if predicted.binding not in ("state", "kv", "kv_floor") or memory is None:
        return ""
    if memory.raised <= memory.fraction:
        return ""
    return (
        f"first raise --mem-fraction-static to {memory.raised:g}: memory lies idle, "
        "and that helps both pools"
    )


def _keep(situation: Situation, choice: Choice | None, reason: str) -> Recommendation:
    today = situation.today
    assert today is not None
    return Recommendation(
        action="keep",
        mamba_full_memory_ratio=choice.ratio if choice else None,
        formula_ratio=_formula(situation),
        max_mamba_cache_size=choice.pin if choice else None,
        flags=(),
        predicted=today,
        gain=0,
        cost=Cost(),
        reason=reason,
        plateau=_plateau(choice) if choice else None,
    )


def _keep_or_feed(
    situation: Situation, choice: Choice, now: int, best: int
) -> Recommendation:
    """Today's split is right: keep it, and give it idle memory if there is any."""
    concurrency = situation.concurrency
    if concurrency.binding == "request":
        return _keep(
            situation,
            choice,
            f"no split will help: the limit is --max-running-requests ({now:,})",
        )
    if concurrency.binding == "heuristic":
        return _keep(
            situation,
            choice,
            f"no split will help: SGLang admits no more than {now:,} on its own",
        )
    fed = _feed(situation, now)
    if fed is not None:
        return fed
    within = "the best split" if now >= best else "within 2 % of the best split"
    return _keep(situation, choice, f"keep it: already {within}")


def _feed(situation: Situation, now: int) -> Recommendation | None:
    """Return the raised static fraction, None where no memory lies idle."""
    problem, memory = situation.problem, idle_memory(situation)
    if problem is None or memory is None:
        return None
    grown = raised_problem(situation, problem, memory)
    if grown is None:
        return None
    predicted = situation.predict(grown)
    gain = (predicted.concurrency or 0) - now
    if gain <= 0:
        return None
    return Recommendation(
        action="mem-fraction",
        mamba_full_memory_ratio=None,
        formula_ratio=_formula(situation),
        max_mamba_cache_size=None,
        flags=("--mem-fraction-static", f"{memory.raised:g}"),
        predicted=predicted,
        gain=gain,
        cost=Cost(),
        reason=(
            "the split is right, but memory lies idle: " + carries(situation, predicted)
        ),
    )


def _raise_limit(
    situation: Situation, choice: Choice, best: int
) -> Recommendation | None:
    """Return the higher request limit, None where it does not help."""
    problem, beyond = situation.problem, choice.split.beyond
    if problem is None or beyond is None or beyond.max_running_requests is None:
        return None
    higher = as_choice(situation, problem, beyond)
    limit = ("--max-running-requests", str(beyond.max_running_requests))
    alone = situation.predict(
        replace(problem, max_running_requests=beyond.max_running_requests)
    )
    predicted, flags = higher.predicted, (*limit, *higher.flags)
    if (alone.concurrency or 0) >= (predicted.concurrency or 0) * CLOSE:
        predicted, flags = alone, limit
    if (predicted.concurrency or 0) * CLOSE <= best:
        return None
    today = situation.today
    assert today is not None
    gain = (predicted.concurrency or 0) - _now(situation, today)
    with_split = len(flags) > len(limit)
    return Recommendation(
        action="max-running-requests",
        mamba_full_memory_ratio=higher.ratio if with_split else None,
        formula_ratio=_formula(situation),
        max_mamba_cache_size=higher.pin if with_split else None,
        flags=flags,
        predicted=predicted,
        gain=gain,
        cost=cost_of(situation, predicted),
        reason=limit_raised(situation, predicted, flags[1], with_split=with_split),
        equivalent=higher.equivalent if with_split else (),
    )


def _plateau(choice: Choice) -> Plateau | None:
    ends = choice.split.plateau
    return Plateau(*ends) if ends is not None else None


def _formula(situation: Situation) -> float | None:
    """Return the published rule's ratio, for comparison."""
    if situation.problem is None or situation.context is None:
        return None
    return formula_ratio(situation.version, situation.problem, situation.context)
