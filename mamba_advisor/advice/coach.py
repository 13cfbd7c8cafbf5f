"""A failed boot: its cause in a sentence, and the smallest change that boots."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from mamba_advisor.advice.model import Cost, Limits, Prediction, Recommendation
from mamba_advisor.advice.situation import Situation
from mamba_advisor.advice.whatif import with_fraction
from mamba_advisor.boot import binding_rank
from mamba_advisor.boot.model import Failure, RankBoot
from mamba_advisor.measured import UNITS, format_bytes
from mamba_advisor.sizing import SizingProblem, solve
from mamba_advisor.sizing.budget import state_charge

GIB = UNITS["GiB"]

HUNDREDTH = 100
"""Fractions are advised in hundredths, rounded to the side that boots."""

HIGHEST_FRACTION = 0.97
"""No higher fraction is ever advised."""

GRAPH_RESERVE = GIB
"""Freed beyond what an allocation lacked, since the next one follows it."""

ROOM_FOR_KV = 1.1
"""The budget is asked to exceed the bare state charge by this factor, so that KV
tokens remain; the log of a failed boot does not show their price.
"""

REFLEX = (
    "lowering --mem-fraction-static makes it worse: it is the share of the free "
    "memory that weights and both pools may take together"
)
"""What to say against the usual wrong reflex."""


@dataclass(frozen=True, slots=True)
class Coaching:
    """What a failed boot needs."""

    cause: str
    """One sentence."""

    recommendation: Recommendation | None
    """None: the figures do not tell how large a change must be."""

    advice: str = ""
    """What to do where no exact change can be computed."""


def coach(situation: Situation) -> Coaching | None:
    """Return the cause of a failed boot and the way out; None if it did not fail."""
    failure = situation.boot.failure
    if failure is None:
        return None
    return COACHES.get(failure.kind, _unknown)(situation, failure)


# --- the budget is too small ------------------------------------------------------


def _state_not_positive(situation: Situation, failure: Failure) -> Coaching:
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
        cause = (
            f"the weights leave {have} for both pools under --mem-fraction-static: "
            "less than nothing"
        )
    return _more_budget(situation, cause, rest.value, slot.high)


def _no_request(situation: Situation, failure: Failure) -> Coaching:
    """K // S = 0: fewer slots than one request reserves."""
    slots = failure.figures.get("state_slots")
    reserved = failure.figures.get("slots_per_request")
    cause = (
        f"the state pool has {slots} slots and one request reserves {reserved}"
        if isinstance(slots, int) and isinstance(reserved, int)
        else "the state pool holds fewer slots than one request reserves"
    )
    if situation.calibration.settled.value("max_mamba_cache_size") is not None:
        return _smallest_pin(situation, cause, reserved)
    slot = situation.calibration.slot
    if slot is not None and situation.problem is not None:
        budget = int(situation.problem.rest_gib * GIB)
        return _more_budget(situation, cause, budget, slot.high)
    return _smallest_pin(situation, cause, reserved)


def _smallest_pin(situation: Situation, cause: str, reserved: object) -> Coaching:
    """Return the pin that admits the requests wanted, at least one."""
    if not isinstance(reserved, int):
        return Coaching(cause, None, RAISE)
    wanted = max(1, situation.target or 1)
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
        f"{pin // share} slots per worker admit {wanted:,} at {reserved} slots each, "
        "with one to spare"
    )
    flags = ("--max-mamba-cache-size", str(pin))
    return Coaching(cause, _recommend("pin", flags, prediction, reason, pin=pin))


def _more_budget(situation: Situation, cause: str, rest: int, slot: int) -> Coaching:
    """Return the fraction at which the wanted requests, at least one, fit."""
    rank, fraction = _rank(situation), _fraction(situation)
    problem = replace(
        situation.calibration.settled.planned, slot_bytes=slot, rest_gib=rest / GIB
    )
    wanted = max(1, situation.target or 1)
    sized = solve(situation.version, replace(problem, rest_gib=1e6))
    reserved = sized.slots_per_request or 1
    needed = _budget_for(situation, problem, wanted * reserved + 1)
    if rank is None or rank.avail_before is None or fraction is None:
        missing = format_bytes(needed - rest)
        return Coaching(cause, None, f"both pools need {missing} more: {RAISE}")
    step = (needed - rest) / rank.avail_before.low
    raised = math.ceil((fraction + step) * HUNDREDTH - 1e-9) / HUNDREDTH
    if rest > 0 and needed <= rest * 2 and problem.pin is None:
        return _by_pin(situation, cause, problem, wanted * reserved + 1)
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
        f"both pools, enough for {wanted:,} at {reserved} slots each; {REFLEX}"
    )
    flags = ("--mem-fraction-static", f"{raised:g}")
    return Coaching(
        cause,
        _recommend("mem-fraction", flags, _slots_only(situation, grown), reason),
    )


def _by_pin(
    situation: Situation, cause: str, problem: SizingProblem, slots: int
) -> Coaching:
    """Return the pin that fits into a budget which is there but badly split."""
    pin = slots * problem.attn_dp_size
    pinned = replace(problem, pin=pin)
    reason = "the budget is there, the ratio gives the state pool too little of it"
    flags = ("--max-mamba-cache-size", str(pin))
    prediction = _slots_only(situation, pinned)
    return Coaching(cause, _recommend("pin", flags, prediction, reason, pin=pin))


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


def _no_kv(situation: Situation, failure: Failure) -> Coaching:
    """The KV budget came out at 0 or below."""
    pin = situation.calibration.settled.value("max_mamba_cache_size")
    rank, fraction = _rank(situation), _fraction(situation)
    rest = _probe(rank, fraction)
    if isinstance(pin, int) and rest is not None and rest > 0:
        return _without_pin(
            f"--max-mamba-cache-size {pin:,} takes the whole budget of "
            f"{format_bytes(rest)}; nothing is left for KV"
        )
    minimum = failure.figures.get("minimum_fraction")
    cause = "weights and state pool leave nothing for KV under --mem-fraction-static"
    if rest is not None and rest <= 0:
        cause = (
            f"the weights leave {format_bytes(rest)} for both pools under "
            "--mem-fraction-static: less than nothing"
        )
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
    return Coaching(cause, _recommend("mem-fraction", flags, unknown, reason))


SHARE_FOR_POOLS = 0.05
"""Share of the memory that a boot without room for KV is given for both pools."""

RAISE = "raise --mem-fraction-static, or free memory on the GPU"
TOO_LARGE = (
    "the weights alone do not fit: more GPUs (a larger --tp-size), a smaller or "
    "quantized model"
)


def _without_pin(cause: str) -> Coaching:
    """Advise to let the ratio decide where a pin takes everything."""
    flags = ("--mamba-full-memory-ratio", "0.9")
    reason = (
        "drop --max-mamba-cache-size and let the ratio split the budget; boot once, "
        "then ask again with --avg-context"
    )
    unknown = Prediction(None, None, None, None, Limits())
    return Coaching(cause, _recommend("ratio", flags, unknown, reason, ratio=0.9))


def _probe(rank: RankBoot | None, fraction: float | None) -> int | None:
    """Return the budget by what was free, in bytes; None where that is unknown."""
    if rank is None or fraction is None:
        return None
    if rank.avail_after is None or rank.avail_before is None:
        return None
    return rank.avail_after.value - int(rank.avail_before.value * (1 - fraction))


# --- the pools are too large ------------------------------------------------------


def _out_of_memory(situation: Situation, failure: Failure) -> Coaching:
    """An allocation failed: while loading, or because the pools left too little."""
    if failure.phase == "weights":
        cause = "the weights do not fit into the GPU's memory"
        return Coaching(cause, None, TOO_LARGE)
    rank, fraction = _rank(situation), _fraction(situation)
    tried = failure.figures.get("tried_bytes")
    free = failure.figures.get("free_bytes")
    where = "graph capture" if failure.phase == "graphs" else "what follows the pools"
    cause = f"the pools left too little memory for {where}"
    if _draft_is_unbudgeted(situation):
        cause += ", and the draft model's KV is not in their budget"
    if not isinstance(tried, int) or rank is None or rank.avail_before is None:
        return Coaching(cause, None, LOWER)
    if fraction is None:
        return Coaching(cause, None, LOWER)
    lacking = tried - (free if isinstance(free, int) else 0) + GRAPH_RESERVE
    step = lacking / rank.avail_before.low
    lowered = math.floor((fraction - step) * HUNDREDTH) / HUNDREDTH
    if lowered <= 0:
        return Coaching(cause, None, LOWER)
    problem = situation.problem
    prediction = Prediction(None, None, None, None, Limits())
    if problem is not None:
        less = with_fraction(problem, rank.avail_before, lowered - fraction)
        prediction = situation.predict(less)
    reason = (
        f"it leaves {format_bytes(lacking)} more outside the pools; here lowering is "
        "right, since the pools are what takes the memory"
    )
    flags = ("--mem-fraction-static", f"{lowered:g}")
    return Coaching(cause, _recommend("mem-fraction", flags, prediction, reason))


LOWER = (
    "lower --mem-fraction-static in steps of 0.02, or capture fewer graph sizes; here "
    "lowering is right, since the pools are what takes the memory"
)


def _draft_is_unbudgeted(situation: Situation) -> bool:
    trial = situation.calibration.trial
    pool = situation.calibration.rank and situation.calibration.rank.draft_kv_pool
    algorithm = situation.calibration.settled.booted.speculative_algorithm
    return bool(algorithm and pool is None) or bool(
        pool and trial and not trial.draft_charged
    )


# --- everything else --------------------------------------------------------------


def _refused(situation: Situation, failure: Failure) -> Coaching:
    """The arguments contradict each other; the message says how."""
    return Coaching(
        f"SGLang refuses this combination of arguments: {failure.message}",
        None,
        _way_out(failure.message),
    )


WAYS_OUT = (
    ("no_buffer only supports page_size", "set --page-size 1, or extra_buffer"),
    (
        "no_buffer do not support overlap",
        "add --disable-overlap-schedule, or use --mamba-radix-cache-strategy "
        "extra_buffer",
    ),
    ("trtllm_mha", "choose another --attention-backend, or extra_buffer"),
    ("extra_buffer is not supported", "use --mamba-radix-cache-strategy no_buffer"),
    ("Lazy extra buffer requires overlap", "drop --disable-overlap-schedule"),
    (
        "not compatible with radix cache when using",
        "use --mamba-scheduler-strategy extra_buffer, or --disable-radix-cache",
    ),
    ("not compatible with --disable-radix-cache", "drop one of the two flags"),
)
"""Words of a refusal -> the change that SGLang accepts."""


def _way_out(message: str) -> str:
    for words, way in WAYS_OUT:
        if words in message:
            return way
    return ""


def _unknown(situation: Situation, failure: Failure) -> Coaching:
    return Coaching(f"the boot failed: {failure.message}", None)


def _recommend(
    action: str,
    flags: tuple[str, ...],
    predicted: Prediction,
    reason: str,
    *,
    pin: int | None = None,
    ratio: float | None = None,
) -> Recommendation:
    return Recommendation(
        action=action,
        mamba_full_memory_ratio=ratio,
        formula_ratio=None,
        max_mamba_cache_size=pin,
        flags=flags,
        predicted=predicted,
        gain=None,
        cost=Cost(),
        reason=reason,
    )


def _rank(situation: Situation) -> RankBoot | None:
    """Return the binding rank, else the first that printed anything."""
    ranks = situation.boot.ranks
    return binding_rank(situation.boot) or (ranks[0] if ranks else None)


def _fraction(situation: Situation) -> float | None:
    value = situation.calibration.settled.value("mem_fraction_static")
    return float(value) if isinstance(value, int | float) else None


COACHES: dict[str, Callable[[Situation, Failure], Coaching]] = {
    "state-cache-not-positive": _state_not_positive,
    "no-request-fits-state-cache": _no_request,
    "max-running-requests-zero": _no_request,
    "no-memory-for-kv": _no_kv,
    "kv-tokens-not-positive": _no_kv,
    "unified-budget-too-small": _no_kv,
    "cuda-out-of-memory": _out_of_memory,
    "graph-capture-failed": _out_of_memory,
    "strategy-refused": _refused,
}
"""Kind of failure -> who knows the way out."""
