"""SGLang's own sizing, forward: from a problem to the pools of one rank."""

from __future__ import annotations

from dataclasses import replace

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
    sizes = PoolSizes(
        slots_per_request=reserved,
        cell_size_bytes=problem.cells[0],
        replayssm_ring_bytes_per_slot=rules.ring_shown(problem),
        note=rules.note,
    )
    if reserved is None and terms.draft_tokens:
        return replace(sizes, error="lazy_strategy_needs_overlap")
    return _with_slots(rules, terms, sizes)


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


def _with_slots(rules: Rules, terms: Terms, sizes: PoolSizes) -> PoolSizes:
    """Settle K and the KV budget, and go on unless there is nothing left."""
    slots = rules.split.solve(terms)
    sizes = replace(sizes, max_mamba_cache_size=slots)
    if rules.checks.state and slots <= 0:
        return replace(sizes, error="state_cache_not_positive")
    budget_gib = kv_gib(rules.split, terms, slots)
    sizes = replace(
        sizes, kv_budget_gib=budget_gib, kv_budget_bytes=int(budget_gib * GIB)
    )
    if rules.checks.kv and budget_gib <= 0:
        return replace(sizes, error="no_memory_left_for_kv")
    return _with_tokens(rules, terms, slots, sizes)


def _with_tokens(rules: Rules, terms: Terms, slots: int, sizes: PoolSizes) -> PoolSizes:
    """Settle T, and go on unless it is 0."""
    problem = terms.problem
    assert sizes.kv_budget_gib is not None
    head_room = rules.head_room(terms, slots)
    held = rules.tokens(problem, sizes.kv_budget_gib, head_room)
    profiled = None if held.by_stage is None else min(held.by_stage)
    sizes = replace(sizes, kv_tokens_profiled=profiled)
    if held.rows <= 0:
        return replace(sizes, error="kv_tokens_not_positive")
    if sizes.slots_per_request is None:
        return replace(sizes, error="lazy_strategy_needs_overlap")
    sizes = replace(sizes, warnings=_cap_warnings(problem, held))
    return _with_limit(rules, terms, slots, held, sizes)


def _with_limit(
    rules: Rules, terms: Terms, slots: int, held: Tokens, sizes: PoolSizes
) -> PoolSizes:
    """Settle the request limit, and with it everything."""
    problem = terms.problem
    limits = rules.limits(terms, slots, held.rows)
    warnings = sizes.warnings + rules.warn(terms, slots, limits)
    if limits.granted <= 0:
        return replace(sizes, warnings=warnings, error=rules.checks.no_request)
    staged = len(problem.cells) > 1 and held.by_stage is not None
    return replace(
        sizes,
        cell_size_bytes=max(problem.cells),
        kv_tokens=held.rows,
        kv_tokens_logical=held.rows * problem.dcp_size,
        kv_tokens_printed=rules.printed(problem, held.rows),
        max_running_requests=limits.granted,
        spec_state_slots=(
            rules.draft_rows(slots, limits) if problem.speculative else None
        ),
        warnings=warnings,
        cell_size_bytes_by_stage=list(problem.cells) if staged else None,
        kv_tokens_profiled_by_stage=list(held.by_stage or ()) if staged else None,
    )


def _cap_warnings(problem: SizingProblem, held: Tokens) -> list[PoolWarning]:
    """Tell of a ``--max-total-tokens`` above what the first stage holds; every release."""
    cap = problem.max_total_tokens
    if cap is None or held.by_stage is None or cap <= held.by_stage[0]:
        return []
    kind = "max_total_tokens_above_profiled"
    return [{"kind": kind, "requested": cap, "profiled": held.by_stage[0]}]
