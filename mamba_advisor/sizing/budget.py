"""The budget backward: what printed pools were charged, and what nobody charged."""

from __future__ import annotations

from collections.abc import Callable

from mamba_advisor.record import Record
from mamba_advisor.sizing.pools import PoolSizes
from mamba_advisor.sizing.problem import SizingProblem
from mamba_advisor.sizing.releases import Eras, choose, since
from mamba_advisor.sizing.rules import Rules, settle
from mamba_advisor.sizing.terms import Terms, stage_share


def state_charge(version: str, problem: SizingProblem, slots: int) -> int:
    """Return the bytes that the budget pays for *slots* and their draft states.

    Args:
        version: The release.
        problem: One rank's; its budget is not looked at.
        slots: K as printed.

    Returns:
        State slots, padding and rings where they are charged, and the draft reserve.

    Raises:
        FactError: *version* is 0.5.3 or older.
        InputError: *version* is not a release.
    """
    rules, terms = settle(version, problem)
    return rules.split.state(terms, slots) + rules.split.reserve(terms, slots)


def rest_interval(
    version: str, problem: SizingProblem, slots: int, tokens: int
) -> tuple[int, int]:
    """Return the budgets that lead to the printed K and T.

    Args:
        version: The release.
        problem: One rank's; its budget is not looked at.
        slots: K as printed.
        tokens: T as printed, rows of one rank.

    Returns:
        Smallest budget in bytes, and the first that is too large.  A lower bound
        alone where something else cut T down: see `is_capped`.

    Raises:
        FactError: *version* is 0.5.3 or older.
        InputError: *version* is not a release.
    """
    return interval_of(*settle(version, problem), slots, tokens)


def interval_of(rules: Rules, terms: Terms, slots: int, tokens: int) -> tuple[int, int]:
    """Return the budgets that lead to the printed K and T; see `rest_interval`.

    Args:
        rules: The release's.
        terms: What it makes of the problem before K; the budget is not looked at.
        slots: K as printed.
        tokens: T as printed, rows of one rank.
    """
    charge = rules.split.state(terms, slots) + rules.split.reserve(terms, slots)
    held = tokens - rules.head_room(terms, slots)
    cell = max(terms.problem.cells)
    return charge + held * cell, charge + (held + terms.problem.page_size) * cell


def is_capped(problem: SizingProblem, tokens: int) -> bool:
    """Return whether ``--max-total-tokens`` set T, so that the budget may be larger."""
    cap = problem.max_total_tokens
    return cap is not None and tokens >= cap // problem.page_size * problem.page_size


class Unbudgeted(Record):
    """Bytes that one rank allocates and the budget does not pay for."""

    state: int = 0
    """State rows beyond those charged: the padding slot, up to 0.5.16."""

    draft_states: int = 0
    """Draft states beyond the reserve."""

    rings: int = 0
    """ReplaySSM rings that the release does not charge."""

    kv_padding: int = 0
    """The padding page of the KV pool."""

    draft_kv: int = 0
    """The draft's KV as far as `SizingProblem.cells` does not hold it."""

    @property
    def total(self) -> int:
        """All of it."""
        return (
            self.state
            + self.draft_states
            + self.rings
            + self.kv_padding
            + self.draft_kv
        )


def _stored_whole(problem: SizingProblem) -> int:
    """0.5.4–0.5.9: every stage stores the state of all layers."""
    return problem.slot_bytes


STORED_SLOTS: Eras[Callable[[SizingProblem], int]] = (
    ("0.5.4", _stored_whole),
    ("0.5.10", stage_share),
)
"""First release -> bytes of one slot as stored on the largest stage."""


def _stores_drafts(version: str, problem: SizingProblem) -> bool:
    """Return whether draft states are allocated at all."""
    if problem.replayssm_spec and since(version, "0.5.16"):
        return False
    return not (problem.disaggregation_mode == "prefill" and since(version, "0.5.22"))


def _draft_rows_single(problem: SizingProblem, tokens: int) -> int:
    """Up to 0.5.16: the draft's KV pool has the target's rows."""
    return tokens + problem.page_size


def _draft_rows_replicated(problem: SizingProblem, tokens: int) -> int:
    """From 0.5.17: it holds what requests can use, on every DCP rank."""
    return tokens * problem.dcp_size + problem.page_size


DRAFT_KV_ROWS: Eras[Callable[[SizingProblem, int], int]] = (
    ("0.5.4", _draft_rows_single),
    ("0.5.17", _draft_rows_replicated),
)
"""First release -> (problem, T) -> rows of the draft's KV pool."""


def allocated_unbudgeted(
    version: str, problem: SizingProblem, sizes: PoolSizes, draft_cell: int = 0
) -> Unbudgeted:
    """Return what *version* allocates beside *sizes* without charging it.

    All of it comes out of what ``--mem-fraction-static`` leaves: too much of it is an
    out-of-memory at graph capture.

    Args:
        version: The release.
        problem: One rank's.
        sizes: Its pools; where they were refused nothing is allocated.
        draft_cell: KV bytes per token of a draft that `SizingProblem.cells` does not
            hold; 0 for no draft, or one that is charged.

    Returns:
        An upper bound: from 0.5.14 the convolution part of draft states is stored
        more tightly than it is counted here (about 1 % of them).

    Raises:
        FactError: *version* is 0.5.3 or older.
        InputError: *version* is not a release.
    """
    slots, tokens = sizes.max_mamba_cache_size, sizes.kv_tokens
    if slots is None or tokens is None:
        return Unbudgeted()
    rules, terms = settle(version, problem)
    stored = choose(STORED_SLOTS, version)(problem)
    ring = problem.ring_bytes
    rings = 0 if terms.ring_bytes or terms.fixed_bytes else ring * (slots + 1)
    charged = rules.split.state(terms, slots) - terms.fixed_bytes
    charged -= terms.ring_bytes * (slots + 1)
    drafts = 0
    if sizes.spec_state_slots is not None and _stores_drafts(version, problem):
        drafts = (sizes.spec_state_slots + 1) * problem.draft_tokens * stored
    reserve = rules.split.reserve(terms, slots)
    return Unbudgeted(
        state=max(0, (slots + 1) * stored - charged),
        draft_states=max(0, drafts - reserve),
        rings=rings,
        kv_padding=problem.page_size * max(problem.cells),
        draft_kv=draft_cell * choose(DRAFT_KV_ROWS, version)(problem, tokens),
    )
