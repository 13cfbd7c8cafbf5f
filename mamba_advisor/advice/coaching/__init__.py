"""A failed boot: its cause in a sentence, and the smallest change that boots."""

from __future__ import annotations

from collections.abc import Callable

from mamba_advisor.advice.coaching import budget, memory, refusal
from mamba_advisor.advice.coaching.model import Coaching
from mamba_advisor.advice.situation import Situation
from mamba_advisor.boot.model import Failure

__all__ = ["Coaching", "coach"]

COACHES: dict[str, Callable[[Situation, Failure], Coaching]] = {
    "state-cache-not-positive": budget.state_not_positive,
    "no-request-fits-state-cache": budget.no_request,
    "max-running-requests-zero": budget.no_request,
    "no-memory-for-kv": budget.no_kv,
    "kv-tokens-not-positive": budget.no_kv,
    "unified-budget-too-small": budget.no_kv,
    "cuda-out-of-memory": memory.out_of_memory,
    "graph-capture-failed": memory.capture_failed,
    "strategy-refused": refusal.refused,
}
"""Kind of failure -> who knows the way out."""


def coach(situation: Situation) -> Coaching | None:
    """Return the cause of a failed boot and the way out; None if it did not fail."""
    failure = situation.boot.failure
    if failure is None or situation.boot.outcome != "failed":
        return None
    return COACHES.get(failure.kind, refusal.unexplained)(situation, failure)
