"""Findings: every rule is one question put to a situation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from mamba_advisor.advice.model import Finding
from mamba_advisor.advice.rules import limits, memory, reading, release, run
from mamba_advisor.advice.situation import Situation

Rule: TypeAlias = Callable[[Situation], "Finding | None"]
"""One question; None: it does not arise, or the log cannot answer it."""

RULES: tuple[Rule, ...] = (
    limits.state_pool_binds,
    limits.silent_or_blaming,
    limits.request_limit_binds,
    limits.kv_pool_binds,
    limits.heuristic_binds,
    limits.ratio_without_effect,
    limits.no_spare_slot,
    limits.several_reserves,
    memory.memory_lies_idle,
    memory.draft_kv_is_unbudgeted,
    memory.tokens_are_capped,
    memory.ranks_are_uneven,
    memory.rounding_is_wide,
    memory.unified_pool,
    memory.post_capture,
    release.known_defects,
    release.newer_than_known,
    release.ratio_was_overridden,
    reading.model_agrees,
    reading.bytes_were_inferred,
    reading.assumptions,
    reading.options_win,
    run.hot_pool,
    run.retractions,
    run.exhausted,
    run.slots_held,
    run.measured_context,
    run.prefix_hits,
)
"""All rules; their order decides between findings of one severity."""


def judge(situation: Situation, rules: Iterable[Rule] = RULES) -> tuple[Finding, ...]:
    """Ask every rule, worst answers first."""
    answers = [finding for rule in rules if (finding := rule(situation)) is not None]
    answers.extend(reading.notes(situation))
    return tuple(sorted(answers, key=lambda finding: -finding.severity))
