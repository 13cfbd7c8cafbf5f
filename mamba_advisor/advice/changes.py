"""What each lever changes in a sizing problem, and the flags that do it.

Every change returns None where it does not apply: where the release refuses it, or
where there is nothing left to change.
"""

from __future__ import annotations

from mamba_advisor.advice.idle import idle_memory, is_capped_now, raised_problem
from mamba_advisor.advice.situation import Situation
from mamba_advisor.advice.whatif import (
    DEFAULT_STATE_BYTES,
    with_kv_dtype,
    with_state_dtype,
)
from mamba_advisor.record import replace
from mamba_advisor.sizing import SizingProblem, solve
from mamba_advisor.sizing.releases import since

GIB = 1 << 30
"""Bytes of what SGLang calls a GB."""


def fed(situation: Situation, problem: SizingProblem) -> SizingProblem | None:
    """Give idle memory to both pools by a higher static fraction."""
    memory = idle_memory(situation)
    return None if memory is None else raised_problem(situation, problem, memory)


def fraction_flags(situation: Situation, problem: SizingProblem) -> tuple[str, ...]:
    """Return the flag that `fed` stands for."""
    memory = idle_memory(situation)
    return ("--mem-fraction-static", f"{memory.raised:g}") if memory else ()


def _buffered(problem: SizingProblem) -> bool:
    return not problem.disable_radix_cache and problem.strategy.startswith("extra")


def _reserve_anew(problem: SizingProblem) -> SizingProblem:
    return replace(problem, slots_per_request=None)


def lazy(situation: Situation, problem: SizingProblem) -> SizingProblem | None:
    """Take the lazy buffer: one slot less per request, from 0.5.13.

    Refused with speculation up to 0.5.16, without overlap, and on PD servers.
    """
    if problem.strategy != "extra_buffer" or problem.disable_radix_cache:
        return None
    if problem.disable_overlap_schedule:
        return None
    if problem.speculative and not since(situation.version, "0.5.17"):
        return None
    if problem.disaggregation_mode != "null":
        return None
    return _reserve_anew(replace(problem, strategy="extra_buffer_lazy"))


def unlocked(situation: Situation, problem: SizingProblem) -> SizingProblem | None:
    """Skip the decode lock: one slot less per request of a buffered strategy."""
    if not _buffered(problem) or problem.skip_decode_lock:
        return None
    return _reserve_anew(replace(problem, skip_decode_lock=True))


def without_overlap(
    situation: Situation, problem: SizingProblem
) -> SizingProblem | None:
    """Switch the overlap scheduler off: one slot less with ``extra_buffer``."""
    if problem.strategy != "extra_buffer" or problem.disable_radix_cache:
        return None
    if problem.disable_overlap_schedule:
        return None
    return _reserve_anew(replace(problem, disable_overlap_schedule=True))


def unbuffered(situation: Situation, problem: SizingProblem) -> SizingProblem | None:
    """Take ``no_buffer``: S = 3; needs pages of one token and no overlap."""
    if not _buffered(problem) or problem.page_size != 1 or problem.speculative:
        return None
    changed = replace(problem, strategy="no_buffer", disable_overlap_schedule=True)
    return _reserve_anew(changed)


def without_radix(situation: Situation, problem: SizingProblem) -> SizingProblem | None:
    """Switch the radix cache off: S = 1."""
    if problem.disable_radix_cache:
        return None
    return _reserve_anew(replace(problem, disable_radix_cache=True))


def half_state(situation: Situation, problem: SizingProblem) -> SizingProblem | None:
    """Hold the recurrent state in 16 bits."""
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


def half_kv(situation: Situation, problem: SizingProblem) -> SizingProblem | None:
    """Hold KV in 8 bits."""
    changed = with_kv_dtype(problem, "fp8_e4m3", situation.calibration.kv_element)
    return changed if changed.cells[0] < problem.cells[0] else None


def fewer_drafts(situation: Situation, problem: SizingProblem) -> SizingProblem | None:
    """Draft half as many tokens, at least two."""
    fewest = 2
    if problem.draft_tokens <= fewest:
        return None
    return replace(problem, draft_tokens=max(fewest, problem.draft_tokens // 2))


def draft_flags(situation: Situation, problem: SizingProblem) -> tuple[str, ...]:
    """Return the flags that `fewer_drafts` stands for."""
    steps: tuple[str, ...] = ()
    if problem.draft_topk == 1:
        steps = ("--speculative-num-steps", str(problem.draft_tokens - 1))
    return (*steps, "--speculative-num-draft-tokens", str(problem.draft_tokens))


def higher_limit(situation: Situation, problem: SizingProblem) -> SizingProblem | None:
    """Raise M to what both pools carry under today's split."""
    today = situation.today
    if today is None or today.binding != "request" or problem.requested is None:
        return None
    limits = [today.limits.state, today.limits.kv, today.limits.kv_floor]
    known = [limit for limit in limits if limit is not None]
    if not known or min(known) <= (today.limits.request or 0):
        return None
    return replace(problem, max_running_requests=min(known) * problem.attn_dp_size)


def uncapped(situation: Situation, problem: SizingProblem) -> SizingProblem | None:
    """Take away the cap on KV tokens that the user set."""
    if problem.max_total_tokens is None or not is_capped_now(situation):
        return None
    return replace(problem, max_total_tokens=None)


def uncapped_flags(situation: Situation, problem: SizingProblem) -> tuple[str, ...]:
    """Return the cap at which the budget is used up."""
    tokens = solve(situation.version, problem).kv_tokens
    return ("--max-total-tokens", str(tokens)) if tokens else ()


def replay_drafts(situation: Situation, problem: SizingProblem) -> SizingProblem | None:
    """Put ReplaySSM rings in the place of draft states."""
    if problem.draft_tokens == 0 or problem.replayssm_spec:
        return None
    if problem.draft_topk > 1 or problem.disaggregation_mode == "prefill":
        return None
    if situation.calibration.state_element not in (None, DEFAULT_STATE_BYTES):
        return None
    share = situation.calibration.conv_share
    if share is None or not situation.calibration.exact:
        return None
    from mamba_advisor.advice.rings import ring_bytes_of, ring_length

    conv = share.of(problem.slot_bytes)
    ring = ring_bytes_of(
        situation.version,
        problem,
        conv,
        problem.slot_bytes - conv,
        ring_length(situation.calibration.settled),
    )
    if ring is None:
        return None
    return replace(problem, replayssm_spec=True, ring_bytes=ring)


def unified(situation: Situation, problem: SizingProblem) -> SizingProblem | None:
    """Let both pools share one buffer; the slots pinned only raise the limit."""
    context = situation.context
    name = situation.boot.architecture or ""
    if context is None or problem.speculative or problem.dcp_size > 1:
        return None
    if name.startswith("Qwen4Exp") or problem.disable_radix_cache:
        return None
    reserved = situation.concurrency.slots_per_request
    if reserved is None:
        return None
    from mamba_advisor.sizing.unified import unified_concurrency

    held = unified_concurrency(
        int(problem.rest_gib * GIB),
        max(problem.cells),
        problem.slot_bytes,
        context,
        reserved,
    )
    return replace(problem, pin=(held * reserved + 1) * problem.attn_dp_size)
