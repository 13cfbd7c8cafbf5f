"""Rules on the run: what batch lines or metrics prove."""

from __future__ import annotations

from mamba_advisor.advice.model import Finding, Severity
from mamba_advisor.advice.situation import Situation

HELD_SHARE = 0.95
"""Live slots per request below this share of S are worth saying."""

DRIFT = 3
"""The answer is also given for a context of a third more and a third less."""


def hot_pool(situation: Situation) -> Finding | None:
    """Say which pool the evidence shows to be short."""
    runtime = situation.boot.runtime
    if runtime is None or runtime.total.hot_pool is None:
        return None
    pool = "state" if runtime.total.hot_pool == "state" else "KV"
    return Finding(
        f"{runtime.total.hot_pool}-pool-hot",
        Severity.PROBLEM,
        f"the run shows that the {pool} pool is short: {runtime.total.hot_why}",
        runtime.lines,
    )


def retractions(situation: Situation) -> Finding | None:
    """Say that running requests were thrown out for want of KV."""
    runtime = situation.boot.runtime
    if runtime is None or not runtime.total.retractions:
        return None
    return Finding(
        "requests-retracted",
        Severity.WARNING,
        f"{runtime.total.retractions:,} times running requests were retracted because "
        "the KV pool was full",
        runtime.lines,
    )


def exhausted(situation: Situation) -> Finding | None:
    """Say that a pool ran out at run time."""
    runtime = situation.boot.runtime
    if runtime is None or not runtime.exhausted:
        return None
    return Finding(
        "pool-exhausted",
        Severity.PROBLEM,
        "a pool ran out while requests were running; for the state pool one more slot "
        "than requests × S avoids it",
        runtime.exhausted,
    )


def slots_held(situation: Situation) -> Finding | None:
    """Say how many slots a request really holds, beside those reserved."""
    runtime, reserved = situation.boot.runtime, situation.concurrency.slots_per_request
    if runtime is None or reserved is None or reserved == 1:
        return None
    held = runtime.total.slots_per_request
    if held is None or held >= reserved * HELD_SHARE:
        return None
    return Finding(
        "slots-reserved-unused",
        Severity.INFO,
        f"a running request holds {held:.1f} slots where {reserved} are reserved; the "
        "rest is room for prefix checkpoints",
        runtime.lines,
    )


def measured_context(situation: Situation) -> Finding | None:
    """Say that the workload's context was measured, and on what."""
    runtime = situation.boot.runtime
    if runtime is None or situation.workload.origin != "measured":
        return None
    over = f" over {_duration(runtime.seconds)}" if runtime.seconds else ""
    left_out = runtime.total.left_out_why
    return Finding(
        "context-measured",
        Severity.INFO,
        f"average context measured: {situation.context or 0:,} tokens per running "
        f"request, from {runtime.total.samples:,} decode lines{over}"
        + (f"; left out: {left_out}" if left_out else ""),
        runtime.lines,
    )


def _duration(seconds: float) -> str:
    """Return a time span for people."""
    minutes, hours = seconds / 60, seconds / 3600
    if hours >= 2:  # noqa: PLR2004
        return f"{hours:.1f} h"
    return f"{minutes:.0f} min" if minutes >= 2 else f"{seconds:.0f} s"  # noqa: PLR2004


def prefix_hits(situation: Situation) -> Finding | None:
    """Say how much of the prompts came from the prefix cache."""
    runtime = situation.boot.runtime
    if runtime is None or runtime.total.prefix_hit_share is None:
        return None
    return Finding(
        "prefix-hits",
        Severity.INFO,
        f"{runtime.total.prefix_hit_share:.0%} of the prompt tokens came from the "
        "prefix cache; resident tokens count a shared prefix once",
        runtime.lines,
    )
