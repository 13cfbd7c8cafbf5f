"""SGLang's own sizing, forward: from a problem to the pools of one rank."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from mamba_advisor.sizing.inputs import SizingInputs, reduce_inputs
from mamba_advisor.sizing.pools import PoolSizes, PoolWarning
from mamba_advisor.sizing.problem import SizingProblem
from mamba_advisor.sizing.rules import Rules, rules_of, settle_terms
from mamba_advisor.sizing.slots import reserved_slots
from mamba_advisor.sizing.split import kv_gib
from mamba_advisor.sizing.terms import GIB, Terms
from mamba_advisor.sizing.tokens import Tokens


def solve(version: str, problem: SizingProblem) -> PoolSizes:
    """Return what *version* decides on *problem*.

    Args:
        version: The release; one newer than known is computed as the newest, and
            the result's `note` says so.
        problem: One rank's budget, bytes, flags and parallelism.

    Returns:
        The pools; with `error` set where SGLang refuses to start, and then only what
        was settled before.

    Raises:
        FactError: *version* is 0.5.3 or older: it has no ratio.
        InputError: *version* is not a release.
    """
    rules = rules_of(version)
    reserved = reserved_slots(rules.slots_per_request, problem)
    terms = settle_terms(rules, problem, reserved or 1)
    known = _Known(rules, terms, reserved)
    if reserved is None and terms.draft_tokens:
        return _refuse(known, "lazy_strategy_needs_overlap")
    slots = rules.split.solve(terms)
    if rules.checks.state and slots <= 0:
        return _refuse(known, "state_cache_not_positive", slots=slots)
    budget_gib = kv_gib(rules.split, terms, slots)
    if rules.checks.kv and budget_gib <= 0:
        kind = "no_memory_left_for_kv"
        return _refuse(known, kind, slots=slots, budget_gib=budget_gib)
    return _with_tokens(known, slots, budget_gib)


def size_pools(version: str, inputs: SizingInputs) -> PoolSizes:
    """Return what *version* decides on SGLang's own inputs.

    Args:
        version: The release, for example ``"0.5.17"``.
        inputs: Memory, model shape and flags of one rank.

    Returns:
        As `solve`.

    Raises:
        FactError: *version* is 0.5.3 or older: it has no ratio.
        InputError: *version* is not a release, or a field that is needed is None.
    """
    return solve(version, reduce_inputs(version, inputs))


@dataclass(frozen=True, slots=True)
class _Known:
    """What is settled before K."""

    rules: Rules
    terms: Terms
    reserved: int | None
    """S; None: refused as soon as it is needed."""


def _with_tokens(known: _Known, slots: int, budget_gib: float) -> PoolSizes:
    """Settle T and the request limit."""
    rules, terms, problem = known.rules, known.terms, known.terms.problem
    held = rules.tokens(problem, budget_gib, rules.head_room(terms, slots))
    warnings = _cap_warnings(problem, held)
    refusal = partial(_refuse, known, slots=slots, budget_gib=budget_gib, held=held)
    if held.rows <= 0:
        return refusal("kv_tokens_not_positive", warnings=warnings)
    if known.reserved is None:
        return refusal("lazy_strategy_needs_overlap", warnings=warnings)
    limits = rules.limits(terms, slots, held.rows)
    warnings += rules.warn(terms, slots, limits)
    if limits.granted <= 0:
        return refusal(rules.checks.no_request, warnings=warnings)
    staged = len(problem.cells) > 1
    drafts = rules.draft_rows(slots, limits) if problem.speculative else None
    return PoolSizes(
        slots_per_request=known.reserved,
        max_mamba_cache_size=slots,
        kv_budget_gib=budget_gib,
        kv_budget_bytes=int(budget_gib * GIB),
        cell_size_bytes=max(problem.cells),
        kv_tokens_profiled=held.profiled,
        kv_tokens=held.rows,
        kv_tokens_logical=held.rows * problem.dcp_size,
        kv_tokens_printed=rules.printed(problem, held.rows),
        max_running_requests=limits.granted,
        spec_state_slots=drafts,
        replayssm_ring_bytes_per_slot=rules.ring_shown(problem),
        warnings=warnings,
        cell_size_bytes_by_stage=list(problem.cells) if staged else None,
        kv_tokens_profiled_by_stage=list(held.by_stage) if staged else None,
        note=rules.note,
    )


def _refuse(
    known: _Known,
    kind: str,
    *,
    slots: int | None = None,
    budget_gib: float | None = None,
    held: Tokens | None = None,
    warnings: list[PoolWarning] | None = None,
) -> PoolSizes:
    problem = known.terms.problem
    return PoolSizes(
        error=kind,
        slots_per_request=known.reserved,
        max_mamba_cache_size=slots,
        kv_budget_gib=budget_gib,
        kv_budget_bytes=None if budget_gib is None else int(budget_gib * GIB),
        cell_size_bytes=problem.cells[0],
        kv_tokens_profiled=None if held is None else held.profiled,
        replayssm_ring_bytes_per_slot=known.rules.ring_shown(problem),
        warnings=warnings or [],
        note=known.rules.note,
    )


def _cap_warnings(problem: SizingProblem, held: Tokens) -> list[PoolWarning]:
    """Tell of ``--max-total-tokens`` above what the first stage holds."""
    cap = problem.max_total_tokens
    if cap is None or not held.by_stage or cap <= held.by_stage[0]:
        return []
    kind = "max_total_tokens_above_profiled"
    return [{"kind": kind, "requested": cap, "profiled": held.by_stage[0]}]
