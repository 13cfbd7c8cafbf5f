"""Boots whose budget is too small, or badly split."""

from __future__ import annotations

import math

from mamba_advisor.advice.choice import ratio_flags
from mamba_advisor.advice.coaching.model import (
    HIGHEST_FRACTION,
    HUNDREDTH,
    RAISE,
    TOO_LARGE,
    Coaching,
    fraction_of,
    rank_of,
    recommendation,
)
from mamba_advisor.advice.model import Limits, Prediction
from mamba_advisor.advice.reserve import ruled
from mamba_advisor.advice.situation import Situation
from mamba_advisor.advice.whatif import with_fraction
from mamba_advisor.boot.model import Failure, RankBoot
from mamba_advisor.measured import UNITS, count, format_bytes
from mamba_advisor.record import replace
from mamba_advisor.sizing import SizingProblem, solve
from mamba_advisor.sizing.budget import state_charge
from mamba_advisor.sizing.inverse import pin_counts, ratio_for_slots, with_ratio

GIB = UNITS["GiB"]

ROOM_FOR_KV = 1.1
"""The budget is asked to exceed the bare state charge by this factor, so that KV
tokens remain; the log of a failed boot does not show their price.
"""

REFLEX = (
    "lowering --mem-fraction-static makes it worse: it is the share of the free "
    "memory that weights and both pools may take together"
)
"""What to say against the usual wrong reflex."""


def state_not_positive(situation: Situation, failure: Failure) -> Coaching:
    """K ≤ 0: the state share of the budget does not hold one slot."""
    rest, slot = failure.rest, failure.slot
    if rest is None or slot is None:
        return Coaching("the state pool came out empty", None, RAISE)
    have, need = format_bytes(rest.value), format_bytes(slot.value)
    cause = (
        f"the budget of both pools is {have}, of which the state share does not hold "
        f"one slot of {need}"
    )
    if rest.value <= 0:
        cause = _overdrawn(rest.value)
    return _more_budget(situation, cause, rest.value, slot.high)


def _overdrawn(rest: int) -> str:
    """Return the cause where the weights alone exceed the static share."""
    return (
        f"the weights take {format_bytes(-rest)} more than --mem-fraction-static "
        "grants, so nothing is left for either pool"
    )


def no_request(situation: Situation, failure: Failure) -> Coaching:
    """K // S = 0: fewer slots than one request reserves."""
    slots = failure.figures.get("state_slots")
    reserved = failure.figures.get("slots_per_request")
    printed = situation.calibration.printout.slots
    slots = slots if isinstance(slots, int) else printed
    if not isinstance(reserved, int):
        reserved = ruled(situation.version, situation.calibration.settled.planned)
    cause = (
        f"the state pool has {slots} slots and one request reserves {reserved}"
        if slots is not None and reserved is not None
        else "the state pool holds fewer slots than one request reserves"
    )
    if situation.calibration.settled.value("max_mamba_cache_size") is not None:
        return _smallest_pin(situation, cause, reserved)
    slot = situation.calibration.slot
    budget = _probe(rank_of(situation), fraction_of(situation))
    if situation.problem is not None:
        budget = int(situation.problem.rest_gib * GIB)
    if slot is not None and budget is not None:
        return _more_budget(situation, cause, budget, slot.high)
    return _smallest_pin(situation, cause, reserved)


def _smallest_pin(situation: Situation, cause: str, reserved: object) -> Coaching:
    """Return the pin that admits the requests wanted, at least one."""
    if not isinstance(reserved, int):
        return Coaching(cause, None, RAISE)
    wanted = max(1, situation.target or 1)
    if not pin_counts(situation.version, situation.calibration.settled.planned):
        return Coaching(cause, None, "raise --mamba-full-memory-ratio")
    share = situation.calibration.settled.planned.attn_dp_size
    pin = (wanted * reserved + 1) * share
    prediction = Prediction(
        slots=pin // share,
        kv_tokens=None,
        concurrency=wanted,
        binding="state",
        limits=Limits(state=wanted),
        effective=wanted,
    )
    reason = (
        f"{pin // share} slots per worker admit {count(wanted, 'request')} at "
        f"{reserved} slots each, with one to spare"
    )
    flags = ("--max-mamba-cache-size", str(pin))
    return Coaching(cause, recommendation("pin", flags, prediction, reason, pin=pin))


def _more_budget(situation: Situation, cause: str, rest: int, slot: int) -> Coaching:
    """Return the fraction at which the wanted requests, at least one, fit."""
    rank, fraction = rank_of(situation), fraction_of(situation)
    problem = replace(
        situation.calibration.settled.planned, slot_bytes=slot, rest_gib=rest / GIB
    )
    sized = solve(situation.version, replace(problem, rest_gib=1e6))
    reserved = sized.slots_per_request or 1
    if problem.pin is None:
        for wanted in _wanted(situation, problem):
            slots = wanted * reserved + 1
            bare = state_charge(situation.version, problem, slots)
            if bare * ROOM_FOR_KV <= rest:
                return _by_pin(situation, cause, problem, slots)
    wanted = max(1, situation.target or 1)
    needed = _budget_for(situation, problem, wanted * reserved + 1)
    if rank is None or rank.avail_before is None or fraction is None:
        missing = format_bytes(needed - rest)
        return Coaching(cause, None, f"both pools need {missing} more: {RAISE}")
    step = (needed - rest) / rank.avail_before.low
    raised = math.ceil((fraction + step) * HUNDREDTH - 1e-9) / HUNDREDTH
    if raised > HIGHEST_FRACTION:
        short = format_bytes(needed - rest)
        return Coaching(
            cause,
            None,
            f"no --mem-fraction-static is enough: {short} more are needed on each GPU "
            "(more GPUs, a larger --tp-size, or --mamba-ssm-dtype bfloat16)",
        )
    grown = with_fraction(problem, rank.avail_before, raised - fraction)
    reason = (
        f"it adds {format_bytes(int((grown.rest_gib - problem.rest_gib) * GIB))} to "
        f"both pools, enough for {count(wanted, 'request')} at {reserved} slots each; "
        f"{REFLEX}"
    )
    flags = ("--mem-fraction-static", f"{raised:g}")
    return Coaching(
        cause,
        recommendation("mem-fraction", flags, _slots_only(situation, grown), reason),
    )


def _wanted(situation: Situation, problem: SizingProblem) -> tuple[int, ...]:
    """Return the requests to make room for: as asked for if they fit, at least one."""
    asked = situation.target
    if asked is None and problem.requested is not None:
        asked = problem.requested // problem.attn_dp_size
    return (max(1, asked), 1) if asked else (1,)


def _by_pin(
    situation: Situation, cause: str, problem: SizingProblem, slots: int
) -> Coaching:
    """Return the pin that fits into a budget which is there but badly split."""
    if not pin_counts(situation.version, problem):
        return _by_ratio(situation, cause, problem, slots)
    pin = slots * problem.attn_dp_size
    pinned = replace(problem, pin=pin)
    reason = "the budget is there, the ratio gives the state pool too little of it"
    flags = ("--max-mamba-cache-size", str(pin))
    prediction = _slots_only(situation, pinned)
    return Coaching(cause, recommendation("pin", flags, prediction, reason, pin=pin))


def _by_ratio(
    situation: Situation, cause: str, problem: SizingProblem, slots: int
) -> Coaching:
    """Return the ratio for *slots* where the release ignores a pin (up to 0.5.6)."""
    priced = replace(problem, cells=(1,), page_size=1)
    ratio = ratio_for_slots(situation.version, priced, slots)
    if ratio is None:
        return Coaching(cause, None, RAISE)
    reason = "the budget is there, the ratio gives the state pool too little of it"
    prediction = _slots_only(situation, with_ratio(problem, ratio))
    flags = ratio_flags(ratio)
    return Coaching(
        cause, recommendation("ratio", flags, prediction, reason, ratio=ratio)
    )


def _budget_for(situation: Situation, problem: SizingProblem, slots: int) -> int:
    """Return the budget, in bytes, under which the split holds *slots*."""
    charge = state_charge(situation.version, problem, slots)
    if problem.pin is not None:
        return int(charge * ROOM_FOR_KV)
    return math.ceil(charge * (1 + problem.ratio) / problem.ratio)


def _slots_only(situation: Situation, problem: SizingProblem) -> Prediction:
    """Return K and what it admits; the tokens stay unknown without their price."""
    sizes = solve(situation.version, replace(problem, cells=(1,), page_size=1))
    slots, reserved = sizes.max_mamba_cache_size, sizes.slots_per_request
    if slots is None or not reserved:
        return Prediction(None, None, None, None, Limits(), boots=False)
    admitted = slots // reserved
    asked = problem.requested
    if asked is not None:
        admitted = min(admitted, max(1, asked // problem.attn_dp_size))
    return Prediction(
        slots=slots,
        kv_tokens=None,
        concurrency=admitted,
        binding=None,
        limits=Limits(state=slots // reserved),
        effective=admitted,
        boots=admitted > 0,
    )


def no_kv(situation: Situation, failure: Failure) -> Coaching:
    """The KV budget came out at 0 or below."""
    pin = situation.calibration.settled.value("max_mamba_cache_size")
    rank, fraction = rank_of(situation), fraction_of(situation)
    rest = _probe(rank, fraction)
    if isinstance(pin, int) and rest is not None and rest > 0:
        return _without_pin(
            f"--max-mamba-cache-size {pin:,} takes the whole budget of "
            f"{format_bytes(rest)}; nothing is left for KV"
        )
    minimum = failure.figures.get("minimum_fraction")
    cause = "weights and state pool leave nothing for KV under --mem-fraction-static"
    if rest is not None and rest <= 0:
        cause = _overdrawn(rest)
    if rank is None or rank.avail_before is None or fraction is None:
        return Coaching(cause, None, RAISE)
    base = float(minimum) if isinstance(minimum, int | float) else None
    if base is None:
        base = fraction - (rest or 0) / rank.avail_before.low
    raised = math.ceil((base + SHARE_FOR_POOLS) * HUNDREDTH) / HUNDREDTH
    if raised > HIGHEST_FRACTION:
        return Coaching(cause, None, TOO_LARGE)
    share = format_bytes(int((raised - base) * rank.avail_before.value))
    reason = f"it leaves about {share} for both pools; {REFLEX}"
    flags = ("--mem-fraction-static", f"{raised:g}")
    unknown = Prediction(None, None, None, None, Limits())
    return Coaching(cause, recommendation("mem-fraction", flags, unknown, reason))


SHARE_FOR_POOLS = 0.05
"""Share of the memory that a boot without room for KV is given for both pools."""


def _without_pin(cause: str) -> Coaching:
    """Advise to let the ratio decide where a pin takes everything."""
    flags = ("--mamba-full-memory-ratio", "0.9")
    reason = (
        "let the ratio split the budget; boot once, then ask again with --avg-context"
    )
    before = "remove --max-mamba-cache-size from the command: it would win"
    unknown = Prediction(None, None, None, None, Limits())
    found = recommendation("ratio", flags, unknown, reason, ratio=0.9)
    return Coaching(cause, replace(found, before=before))


def _probe(rank: RankBoot | None, fraction: float | None) -> int | None:
    """Return the budget by what was free, in bytes; None where that is unknown."""
    if rank is None or fraction is None:
        return None
    if rank.avail_after is None or rank.avail_before is None:
        return None
    return rank.avail_after.value - int(rank.avail_before.value * (1 - fraction))
