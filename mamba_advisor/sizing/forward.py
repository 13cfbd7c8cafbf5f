"""SGLang's own sizing, forward: from a problem to the pools of one rank."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mamba_advisor.sizing.pools import PoolSizes, PoolWarning
from mamba_advisor.sizing.problem import SizingProblem
from mamba_advisor.sizing.remember import remembered
from mamba_advisor.sizing.rules import Rules, settle
from mamba_advisor.sizing.split import kv_gib
from mamba_advisor.sizing.terms import GIB, Terms
from mamba_advisor.sizing.tokens import Tokens

if TYPE_CHECKING:
    from mamba_advisor.sizing.inputs import SizingInputs


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
        FactError: *version* is 0.5.3 or older: it has no ratio; or a slot has no bytes.
        InputError: *version* is not a release.
    """
    problem.require_slot()
    return solve_terms(*settle(version, problem))


known_pools = remembered(solve)
"""`solve` for those who only look at what they get."""


def solve_terms(rules: Rules, terms: Terms) -> PoolSizes:
    """Return what a release decides, as `solve`.

    Args:
        rules: The release's.
        terms: What it makes of the problem before K.
    """
    slots = settled_slots(rules, terms)
    if slots is None:
        return _refuse(rules, terms, "lazy_strategy_needs_overlap")
    return pools_with_slots(rules, terms, slots)


def settled_slots(rules: Rules, terms: Terms) -> int | None:
    """Return K; None where the strategy is refused before K is settled."""
    if terms.is_refused and terms.draft_tokens:
        return None
    return rules.split.solve(terms)


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
    from mamba_advisor.sizing.inputs import reduce_inputs

    return solve(version, reduce_inputs(version, inputs))


def pools_with_slots(rules: Rules, terms: Terms, slots: int) -> PoolSizes:
    """Return the pools that follow once K is settled.

    Args:
        rules: The release's.
        terms: What it makes of the problem before K.
        slots: K, per rank and DP worker.
    """
    if rules.checks.state and slots <= 0:
        return _refuse(rules, terms, "state_cache_not_positive", slots=slots)
    budget_gib = kv_gib(rules.split, terms, slots)
    if rules.checks.kv and budget_gib <= 0:
        kind = "no_memory_left_for_kv"
        return _refuse(rules, terms, kind, slots=slots, budget_gib=budget_gib)
    return _with_tokens(rules, terms, slots, budget_gib)


def _with_tokens(
    rules: Rules, terms: Terms, slots: int, budget_gib: float
) -> PoolSizes:
    """Settle T and the request limit."""
    problem = terms.problem
    held = rules.tokens(problem, budget_gib, rules.head_room(terms, slots))
    warnings = _cap_warnings(problem, held)
    refusal = partial(
        _refuse, rules, terms, slots=slots, budget_gib=budget_gib, held=held
    )
    if held.rows <= 0:
        return refusal("kv_tokens_not_positive", warnings=warnings)
    if terms.is_refused:
        return refusal("lazy_strategy_needs_overlap", warnings=warnings)
    limits = rules.limits(terms, slots, held.rows)
    granted = limits.granted
    warnings += rules.warn(terms, slots, limits)
    if granted <= 0:
        return refusal(rules.checks.no_request, warnings=warnings)
    staged = len(problem.cells) > 1
    drafts = rules.draft_rows(slots, limits) if problem.speculative else None
    return PoolSizes(
        slots_per_request=terms.reserved,
        max_mamba_cache_size=slots,
        kv_budget_gib=budget_gib,
        kv_budget_bytes=int(budget_gib * GIB),
        cell_size_bytes=max(problem.cells),
        kv_tokens_profiled=held.profiled,
        kv_tokens=held.rows,
        kv_tokens_logical=held.rows * problem.dcp_size,
        kv_tokens_printed=rules.printed(problem, held.rows),
        max_running_requests=granted,
        spec_state_slots=drafts,
        replayssm_ring_bytes_per_slot=rules.ring_shown(problem),
        warnings=warnings,
        cell_size_bytes_by_stage=list(problem.cells) if staged else None,
        kv_tokens_profiled_by_stage=list(held.by_stage) if staged else None,
        note=rules.note,
    )


def _refuse(
    rules: Rules,
    terms: Terms,
    kind: str,
    *,
    slots: int | None = None,
    budget_gib: float | None = None,
    held: Tokens | None = None,
    warnings: list[PoolWarning] | None = None,
) -> PoolSizes:
    problem = terms.problem
    return PoolSizes(
        error=kind,
        slots_per_request=None if terms.is_refused else terms.reserved,
        max_mamba_cache_size=slots,
        kv_budget_gib=budget_gib,
        kv_budget_bytes=None if budget_gib is None else int(budget_gib * GIB),
        cell_size_bytes=problem.cells[0],
        kv_tokens_profiled=None if held is None else held.profiled,
        replayssm_ring_bytes_per_slot=rules.ring_shown(problem),
        warnings=warnings or [],
        note=rules.note,
    )


def _cap_warnings(problem: SizingProblem, held: Tokens) -> list[PoolWarning]:
    """Tell of ``--max-total-tokens`` above what the first stage holds."""
    cap = problem.max_total_tokens
    if cap is None or not held.by_stage or cap <= held.by_stage[0]:
        return []
    kind = "max_total_tokens_above_profiled"
    return [{"kind": kind, "requested": cap, "profiled": held.by_stage[0]}]
