"""Boots that ran out of memory outside the pools' budget."""

from __future__ import annotations

import math

from mamba_advisor.advice.coaching.model import (
    HUNDREDTH,
    TOO_LARGE,
    Coaching,
    fraction_of,
    rank_of,
    recommendation,
)
from mamba_advisor.advice.model import Limits, Prediction
from mamba_advisor.advice.situation import Situation
from mamba_advisor.advice.whatif import with_fraction
from mamba_advisor.boot.model import Failure
from mamba_advisor.measured import UNITS, format_bytes

GIB = UNITS["GiB"]

GRAPH_RESERVE = GIB
"""Freed beyond what an allocation lacked, since the next one follows it."""


def out_of_memory(situation: Situation, failure: Failure) -> Coaching:
    """An allocation failed: while loading, or because the pools left too little."""
    if failure.phase == "weights":
        cause = "the weights do not fit into the GPU's memory"
        return Coaching(cause, None, TOO_LARGE)
    rank, fraction = rank_of(situation), fraction_of(situation)
    tried = failure.figures.get("tried_bytes")
    free = failure.figures.get("free_bytes")
    where = "graph capture" if failure.phase == "graphs" else "what follows the pools"
    cause = f"the pools left too little memory for {where}"
    drafted = _draft_states(situation)
    if drafted:
        cause += drafted
    elif _draft_is_unbudgeted(situation):
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
    return Coaching(cause, recommendation("mem-fraction", flags, prediction, reason))


LOWER = (
    "lower --mem-fraction-static in steps of 0.02, or capture fewer graph sizes; here "
    "lowering is right, since the pools are what takes the memory"
)


def capture_failed(situation: Situation, failure: Failure) -> Coaching:
    """Graph capture failed: for want of memory, or for a reason of its own."""
    if "out of memory" in failure.message.lower():
        return out_of_memory(situation, failure)
    if "Piecewise" in failure.message:
        return Coaching(
            "the prefill (piecewise) CUDA graphs could not be captured",
            None,
            "this is no matter of the split: add --disable-piecewise-cuda-graph",
        )
    return Coaching(
        "the CUDA graphs could not be captured",
        None,
        "the lines around it name the reason; no out-of-memory is among them",
    )


def _draft_states(situation: Situation) -> str:
    """Return what to say of draft states that outweigh the state pool, else nothing."""
    rank = situation.calibration.rank
    pool = rank.state_pool if rank else None
    if pool is None or pool.draft_ssm is None or pool.ssm is None:
        return ""
    if pool.draft_ssm.value <= pool.ssm.value:
        return ""
    times = pool.draft_ssm.value / max(1, pool.ssm.value)
    return (
        f": draft states take {format_bytes(pool.draft_ssm.value)}, {times:.0f} times "
        "the state pool; they are request limit × draft tokens, so lower "
        "--max-running-requests or --speculative-num-draft-tokens first"
    )


def _draft_is_unbudgeted(situation: Situation) -> bool:
    trial = situation.calibration.trial
    pool = situation.calibration.rank and situation.calibration.rank.draft_kv_pool
    algorithm = situation.calibration.settled.booted.speculative_algorithm
    return bool(algorithm and pool is None) or bool(
        pool and trial and not trial.draft_charged
    )
