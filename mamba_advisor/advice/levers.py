"""Other things that help, each with its exact prediction and its price.

A lever is data: when it applies, what it changes, the flags that do it, and what must
be validated before production.  Only those that help this boot are shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from mamba_advisor.advice.choice import choose_split, like
from mamba_advisor.advice.idle import idle_memory, raised_problem
from mamba_advisor.advice.model import Lever, Prediction
from mamba_advisor.advice.predict import predict
from mamba_advisor.advice.situation import Situation
from mamba_advisor.advice.whatif import (
    DEFAULT_STATE_BYTES,
    with_kv_dtype,
    with_state_dtype,
)
from mamba_advisor.sizing import SizingProblem
from mamba_advisor.sizing.releases import since

Change: TypeAlias = Callable[[Situation, SizingProblem], "SizingProblem | None"]
"""What a lever does to a problem; None: it does not apply to this boot."""

SHOWN = 8
"""Levers listed at most; the screen shows three."""

WORTH_SPLIT = 1.02
"""A lever also moves the split where that carries this much more."""


@dataclass(frozen=True, slots=True)
class LeverKind:
    """One lever."""

    name: str
    first: str
    """First release that has it."""

    change: Change
    flags: Callable[[Situation, SizingProblem], tuple[str, ...]]
    gate: str | None
    environment: str = ""
    """Environment variable that does it, where there is no flag."""


def strategy_flag(version: str) -> str:
    """Return the release's name of the radix-cache strategy flag."""
    if since(version, "0.5.14"):
        return "--mamba-radix-cache-strategy"
    return "--mamba-scheduler-strategy"


# --- what each lever changes ------------------------------------------------------


def _fed(situation: Situation, problem: SizingProblem) -> SizingProblem | None:
    memory = idle_memory(situation)
    return None if memory is None else raised_problem(situation, problem, memory)


def _fraction_flags(situation: Situation, problem: SizingProblem) -> tuple[str, ...]:
    memory = idle_memory(situation)
    return ("--mem-fraction-static", f"{memory.raised:g}") if memory else ()


def _buffered(problem: SizingProblem) -> bool:
    return not problem.disable_radix_cache and problem.strategy.startswith("extra")


def _reserve_anew(problem: SizingProblem) -> SizingProblem:
    return replace(problem, slots_per_request=None)


def _lazy(situation: Situation, problem: SizingProblem) -> SizingProblem | None:
    if problem.strategy != "extra_buffer" or problem.disable_radix_cache:
        return None
    if problem.disable_overlap_schedule:
        return None
    if problem.speculative and not since(situation.version, "0.5.17"):
        return None
    if problem.disaggregation_mode != "null":
        return None
    return _reserve_anew(replace(problem, strategy="extra_buffer_lazy"))


def _unlocked(situation: Situation, problem: SizingProblem) -> SizingProblem | None:
    if not _buffered(problem) or problem.skip_decode_lock:
        return None
    return _reserve_anew(replace(problem, skip_decode_lock=True))


def _without_overlap(
    situation: Situation, problem: SizingProblem
) -> SizingProblem | None:
    if problem.strategy != "extra_buffer" or problem.disable_radix_cache:
        return None
    if problem.disable_overlap_schedule:
        return None
    return _reserve_anew(replace(problem, disable_overlap_schedule=True))


def _unbuffered(situation: Situation, problem: SizingProblem) -> SizingProblem | None:
    if not _buffered(problem) or problem.page_size != 1 or problem.speculative:
        return None
    changed = replace(problem, strategy="no_buffer", disable_overlap_schedule=True)
    return _reserve_anew(changed)


def _without_radix(
    situation: Situation, problem: SizingProblem
) -> SizingProblem | None:
    if problem.disable_radix_cache:
        return None
    return _reserve_anew(replace(problem, disable_radix_cache=True))


def _half_state(situation: Situation, problem: SizingProblem) -> SizingProblem | None:
    calibration = situation.calibration
    if problem.replayssm_spec or calibration.conv_share is None:
        return None
    changed = with_state_dtype(
        problem,
        calibration.conv_share,
        "bfloat16",
        calibration.state_element or DEFAULT_STATE_BYTES,
    )
    return changed if changed.slot_bytes < problem.slot_bytes else None


def _half_kv(situation: Situation, problem: SizingProblem) -> SizingProblem | None:
    changed = with_kv_dtype(problem, "fp8_e4m3", situation.calibration.kv_element)
    return changed if changed.cells[0] < problem.cells[0] else None


def _fewer_drafts(situation: Situation, problem: SizingProblem) -> SizingProblem | None:
    fewest = 2
    if problem.draft_tokens <= fewest:
        return None
    return replace(problem, draft_tokens=max(fewest, problem.draft_tokens // 2))


def _draft_flags(situation: Situation, problem: SizingProblem) -> tuple[str, ...]:
    steps: tuple[str, ...] = ()
    if problem.draft_topk == 1:
        steps = ("--speculative-num-steps", str(problem.draft_tokens - 1))
    return (*steps, "--speculative-num-draft-tokens", str(problem.draft_tokens))


def _higher_limit(situation: Situation, problem: SizingProblem) -> SizingProblem | None:
    """Raise M to what both pools carry under today's split."""
    today = situation.today
    if today is None or today.binding != "request" or problem.requested is None:
        return None
    limits = [today.limits.state, today.limits.kv, today.limits.kv_floor]
    known = [limit for limit in limits if limit is not None]
    if not known or min(known) <= (today.limits.request or 0):
        return None
    return replace(problem, max_running_requests=min(known) * problem.attn_dp_size)


LEVERS: tuple[LeverKind, ...] = (
    LeverKind(
        "mem-fraction",
        "0.5.4",
        _fed,
        _fraction_flags,
        "watch free memory under full load: graphs and activations share what is left",
    ),
    LeverKind(
        "max-running-requests",
        "0.5.4",
        _higher_limit,
        lambda s, p: ("--max-running-requests", str(p.max_running_requests)),
        None,
    ),
    LeverKind(
        "extra-buffer-lazy",
        "0.5.13",
        _lazy,
        lambda s, p: (strategy_flag(s.version), "extra_buffer_lazy"),
        "load test with prefix reuse first: crashes with few spare slots are reported",
    ),
    LeverKind(
        "skip-decode-lock",
        "0.5.17",
        _unlocked,
        lambda s, p: (),
        "load test with prefix reuse first",
        "SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK=1",
    ),
    LeverKind(
        "overlap-off",
        "0.5.10",
        _without_overlap,
        lambda s, p: (
            "--disable-overlap-schedule",
            strategy_flag(s.version),
            "extra_buffer",
        ),
        "costs decode throughput: measure tokens per second",
    ),
    LeverKind(
        "no-buffer",
        "0.5.8",
        _unbuffered,
        lambda s, p: (
            "--disable-overlap-schedule",
            strategy_flag(s.version),
            "no_buffer",
        ),
        "costs decode throughput and prefix reuse inside a page: measure both",
    ),
    LeverKind(
        "radix-off",
        "0.5.4",
        _without_radix,
        lambda s, p: ("--disable-radix-cache",),
        "no prefix is ever reused: only for traffic without shared prompts",
    ),
    LeverKind(
        "state-bfloat16",
        "0.5.4",
        _half_state,
        lambda s, p: ("--mamba-ssm-dtype", "bfloat16"),
        "needs an accuracy check; on SM100 it also switches the decode backend unless "
        "--linear-attn-decode-backend triton is set",
    ),
    LeverKind(
        "kv-fp8",
        "0.5.4",
        _half_kv,
        lambda s, p: ("--kv-cache-dtype", "fp8_e4m3"),
        "needs an accuracy check",
    ),
    LeverKind(
        "fewer-drafts",
        "0.5.4",
        _fewer_drafts,
        _draft_flags,
        "lowers the accepted length: measure tokens per second",
    ),
)
"""All levers, in the order in which equal ones are shown."""


# --- which of them help -----------------------------------------------------------


def levers_of(situation: Situation, now: int | None) -> tuple[Lever, ...]:
    """Return the levers that help, the best first.

    Args:
        situation: The boot.
        now: What runs today per worker; None: unknown, then the limit counts.
    """
    problem = situation.problem
    if problem is None or situation.boot.unified:
        return ()
    found = []
    for kind in LEVERS:
        if not since(situation.version, kind.first):
            continue
        changed = kind.change(situation, problem)
        if changed is None:
            continue
        lever = _lever(situation, kind, changed, now)
        if lever is not None:
            found.append(lever)
    found.sort(key=lambda lever: -(lever.gain or 0))
    return tuple(found[:SHOWN])


def _lever(
    situation: Situation, kind: LeverKind, changed: SizingProblem, now: int | None
) -> Lever | None:
    """Return the lever with its prediction, None where it gains nothing."""
    flags = kind.flags(situation, changed)
    predicted = predict(
        situation.version, changed, situation.context, like(situation, changed)
    )
    choice = choose_split(situation, changed)
    if choice is not None and _better(choice.predicted, predicted):
        flags, predicted = (*flags, *choice.flags), choice.predicted
    gain = (predicted.concurrency or 0) - (now or 0)
    if not predicted.boots or gain <= 0:
        return None
    words = f"set {kind.environment} in the environment" if kind.environment else ""
    return Lever(kind.name, flags, predicted, gain, kind.gate, words)


def _better(split: Prediction, plain: Prediction) -> bool:
    """Return whether moving the split, too, is worth a second flag."""
    return (split.concurrency or 0) > (plain.concurrency or 0) * WORTH_SPLIT
