"""The split of the budget: K, the draft reserve, and the charge for K slots.

Products of bytes are integers; the budget is a floating-point number of GiB whose
operations come in SGLang's order, since the last unit depends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from mamba_advisor.record import Record
from mamba_advisor.sizing.releases import Eras
from mamba_advisor.sizing.terms import GIB, Terms

DEFAULT_SLOTS = 512
"""K up to 0.5.8 where neither ratio nor pin nor M is there to settle it."""

SolveRule: TypeAlias = Callable[[Terms], int]
"""Terms -> K."""

ChargeRule: TypeAlias = Callable[[Terms, int], int]
"""(terms, K) -> bytes."""


class SplitRules(Record):
    """How one regime settles K and what the budget then pays for."""

    solve: SolveRule
    """K."""

    reserve: ChargeRule
    """Bytes of draft states taken off the budget."""

    state: ChargeRule
    """Bytes of state slots (and rings) taken off the budget."""


def _fixed_slots(terms: Terms) -> int:
    """K that is not solved for: pin, else M, else the constant; global."""
    problem = terms.problem
    if problem.pin is not None:
        return problem.pin
    return DEFAULT_SLOTS if problem.requested is None else problem.requested


def _state_share(terms: Terms, rest_gib: float) -> float:
    """B: the state pool's share of *rest_gib*, in bytes."""
    return rest_gib * terms.ratio / (1 + terms.ratio) * GIB


# --- 0.5.4–0.5.6: every slot carries D draft states -------------------------------


def _solve_draft_slots(terms: Terms) -> int:
    """0.5.4–0.5.6: K by the ratio (GDN: divided by DP once more), or as fixed."""
    if terms.decider == "ratio":
        share = _state_share(terms, terms.rest_gib)
        slots = int(share // terms.slot_bytes // (1 + terms.draft_tokens))
    else:
        slots = _fixed_slots(terms)
    if terms.problem.state_family == "gdn":
        return slots // terms.problem.attn_dp_size
    return slots


def _reserve_per_slot(terms: Terms, slots: int) -> int:
    """0.5.4–0.5.6: K·D draft states."""
    return terms.slot_bytes * slots * terms.draft_tokens


def _state_bare(terms: Terms, slots: int) -> int:
    """0.5.4–0.5.16: K slots; the padding slot is not charged."""
    return terms.slot_bytes * slots


# --- 0.5.7–0.5.12: the draft reserve comes first ----------------------------------


def _reserve_global(terms: Terms, slots: int) -> int:
    """0.5.7: M·D draft states, M not divided by DP; none unless the ratio decides."""
    if terms.decider != "ratio":
        return 0
    return terms.slot_bytes * (terms.problem.requested or 0) * terms.draft_tokens


def _reserve_requested(terms: Terms, slots: int) -> int:
    """0.5.8–0.5.12: M'·D draft states, whatever K becomes."""
    return terms.slot_bytes * (terms.limit or 0) * terms.draft_tokens


def _solve_after_global(terms: Terms) -> int:
    """0.5.7: K by the ratio from what the reserve leaves, else as fixed ÷ DP."""
    if terms.decider != "ratio":
        return _fixed_slots(terms) // terms.problem.attn_dp_size
    return _solve_rest(terms, _reserve_global(terms, 0))


def _solve_after_requested(terms: Terms) -> int:
    """0.5.8–0.5.12: likewise; from 0.5.9 the ratio also without a radix cache."""
    if terms.decider != "ratio":
        return _fixed_slots(terms) // terms.problem.attn_dp_size
    return _solve_rest(terms, _reserve_requested(terms, 0))


def _solve_rest(terms: Terms, reserve: int) -> int:
    rest = terms.rest_gib - reserve / GIB
    return int(_state_share(terms, rest) // terms.slot_bytes)


# --- from 0.5.13: slots and draft states are solved for together ------------------


def _granted(terms: Terms, slots: int) -> int:
    """Requests that draft states are reserved for: min(M', K // S)."""
    carried = slots // terms.reserved
    return carried if terms.limit is None else min(terms.limit, carried)


def _reserve_granted(terms: Terms, slots: int) -> int:
    """0.5.13–0.5.16: D draft states for each request that M' and K allow."""
    if terms.decider == "requests":
        return terms.slot_bytes * slots * terms.draft_tokens
    return terms.slot_bytes * _granted(terms, slots) * terms.draft_tokens


def _reserve_padded(terms: Terms, slots: int) -> int:
    """From 0.5.17: likewise, and for the padding request."""
    requests = slots if terms.decider == "requests" else _granted(terms, slots)
    return terms.slot_bytes * (requests + 1) * terms.draft_tokens


def _state_padded(terms: Terms, slots: int) -> int:
    """From 0.5.17: K + 1 slots with their rings, and the rings charged once."""
    return (slots + 1) * (terms.slot_bytes + terms.ring_bytes) + terms.fixed_bytes


def _solve_jointly(terms: Terms) -> int:
    """0.5.13–0.5.16: a slot pays for D ÷ S draft states, padding for nothing."""
    if terms.decider != "ratio":
        return _given_slots(terms)
    share = _state_share(terms, terms.rest_gib)
    if not terms.draft_tokens:
        return int(share // terms.slot_bytes)
    return int(share // (terms.slot_bytes * _drafts_factor(terms)))


def _solve_padded(terms: Terms) -> int:
    """From 0.5.17: likewise, after the padding slot and its draft states."""
    if terms.decider != "ratio":
        return _given_slots(terms)
    share = _state_share(terms, terms.rest_gib)
    slot, ring = terms.slot_bytes, terms.ring_bytes
    if not terms.draft_tokens:
        full = slot + ring
        return int((share - terms.fixed_bytes - full) // full)
    padding = slot * (1 + terms.draft_tokens) + ring
    return int((share - padding) // (slot * _drafts_factor(terms) + ring))


def _given_slots(terms: Terms) -> int:
    if terms.decider == "requests":
        return terms.limit or 0
    return (terms.problem.pin or 0) // terms.problem.attn_dp_size


def _drafts_factor(terms: Terms) -> float:
    return 1 + terms.draft_tokens / terms.reserved


SPLITS: Eras[SplitRules] = (
    ("0.5.4", SplitRules(_solve_draft_slots, _reserve_per_slot, _state_bare)),
    ("0.5.7", SplitRules(_solve_after_global, _reserve_global, _state_bare)),
    ("0.5.8", SplitRules(_solve_after_requested, _reserve_requested, _state_bare)),
    ("0.5.13", SplitRules(_solve_jointly, _reserve_granted, _state_bare)),
    ("0.5.17", SplitRules(_solve_padded, _reserve_padded, _state_padded)),
)
"""First release -> rules."""


def kv_gib(rules: SplitRules, terms: Terms, slots: int) -> float:
    """Return the GiB that *slots* and their draft reserve leave for KV."""
    rest = terms.rest_gib - rules.reserve(terms, slots) / GIB
    return rest - rules.state(terms, slots) / GIB
