"""All rules of one release, put together from the tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from mamba_advisor.record import Record, replace
from mamba_advisor.sizing.limits import (
    LIMIT_RULES,
    LIMIT_WARNINGS,
    LimitRule,
    LimitWarningRule,
    RequestLimits,
)
from mamba_advisor.sizing.problem import SizingProblem
from mamba_advisor.sizing.releases import Eras, choose, release_note, require_ratio
from mamba_advisor.sizing.slots import SLOT_RULES, SlotRule, reserved_slots
from mamba_advisor.sizing.split import SPLITS, SplitRules
from mamba_advisor.sizing.terms import (
    CHARGED_DRAFTS,
    CHARGES,
    DECIDERS,
    LIMIT_SHARES,
    Decider,
    Terms,
)
from mamba_advisor.sizing.tokens import HEAD_ROOMS, PRINTED, TOKEN_RULES, TokenRule


class Checks(Record):
    """What a release looks at before it goes on."""

    state: bool
    """K must be above 0."""

    kv: bool
    """The KV budget must be above 0."""

    no_request: str
    """Error kind of a request limit of 0."""


CHECKS: Eras[Checks] = (
    ("0.5.4", Checks(False, False, "max_running_requests_zero")),
    ("0.5.13", Checks(True, False, "no_request_fits_state_cache")),
    ("0.5.14", Checks(True, True, "no_request_fits_state_cache")),
)
"""First release -> checks."""


def _pool_slots(slots: int, requests: RequestLimits) -> int:
    """0.5.4–0.5.6: every slot has draft states."""
    return slots


def _pool_requests(slots: int, requests: RequestLimits) -> int:
    """From 0.5.7: every row of the request pool has draft states."""
    return requests.request_pool


DRAFT_ROWS: Eras[Callable[[int, RequestLimits], int]] = (
    ("0.5.4", _pool_slots),
    ("0.5.7", _pool_requests),
)
"""First release -> (K, limits) -> rows of draft states, without padding."""


def _no_ring(problem: SizingProblem) -> int | None:
    """Up to 0.5.16: no release sizes by a ring."""
    return None


def _ring(problem: SizingProblem) -> int | None:
    """From 0.5.17: one ring where ReplaySSM speculation is on."""
    return problem.ring_bytes if problem.replayssm_spec else None


SHOWN_RINGS: Eras[Callable[[SizingProblem], int | None]] = (
    ("0.5.4", _no_ring),
    ("0.5.17", _ring),
)
"""First release -> bytes of one ReplaySSM ring."""


class Rules(Record):
    """All rules of one release."""

    slots_per_request: SlotRule
    decider: Callable[[SizingProblem], Decider]
    limit_share: Callable[[SizingProblem], int | None]
    charge: Callable[[SizingProblem], tuple[int, int, int]]
    charged_drafts: Callable[[SizingProblem], int]
    split: SplitRules
    checks: Checks
    head_room: Callable[[Terms, int], int]
    tokens: TokenRule
    limits: LimitRule
    warn: LimitWarningRule
    draft_rows: Callable[[int, RequestLimits], int]
    printed: Callable[[SizingProblem, int], int]
    ring_shown: Callable[[SizingProblem], int | None]
    note: str


@lru_cache(maxsize=64)
def rules_of(version: str) -> Rules:
    """Return the rules of *version*; a newer release than known has the newest.

    Raises:
        FactError: *version* is 0.5.3 or older: it has no ratio.
        InputError: *version* is not a release.
    """
    require_ratio(version)
    return Rules(
        slots_per_request=choose(SLOT_RULES, version),
        decider=choose(DECIDERS, version),
        limit_share=choose(LIMIT_SHARES, version),
        charge=choose(CHARGES, version),
        charged_drafts=choose(CHARGED_DRAFTS, version),
        split=choose(SPLITS, version),
        checks=choose(CHECKS, version),
        head_room=choose(HEAD_ROOMS, version),
        tokens=choose(TOKEN_RULES, version),
        limits=choose(LIMIT_RULES, version),
        warn=choose(LIMIT_WARNINGS, version),
        draft_rows=choose(DRAFT_ROWS, version),
        printed=choose(PRINTED, version),
        ring_shown=choose(SHOWN_RINGS, version),
        note=release_note(version),
    )


@lru_cache(maxsize=256)
def distinct_releases(versions: tuple[str, ...]) -> tuple[str, ...]:
    """Return *versions* without those whose rules an earlier one of them has as well.

    Raises:
        FactError: One of them is 0.5.3 or older: it has no ratio.
        InputError: One of them is not a release.
    """
    first: dict[Rules, str] = {}
    for version in versions:
        first.setdefault(replace(rules_of(version), note=""), version)
    return tuple(first.values())


def settle(version: str, problem: SizingProblem) -> tuple[Rules, Terms]:
    """Return the rules of *version*, and what they make of *problem* before K.

    Raises:
        FactError: *version* is 0.5.3 or older: it has no ratio.
        InputError: *version* is not a release.
    """
    rules = rules_of(version)
    reserved = reserved_slots(rules.slots_per_request, problem)
    return rules, settle_terms(rules, problem, reserved)


def settle_terms(rules: Rules, problem: SizingProblem, reserved: int | None) -> Terms:
    """Return what *rules* make of *problem* with S = *reserved*; None: S is refused."""
    limit = rules.limit_share(problem)
    slot_bytes, ring_bytes, request_ring_bytes = rules.charge(problem)
    return Terms(
        problem=problem,
        reserved=1 if reserved is None else reserved,
        is_refused=reserved is None,
        limit=limit,
        decider=rules.decider(problem),
        ratio=problem.ratio,
        rest_gib=problem.rest_gib,
        slot_bytes=slot_bytes,
        ring_bytes=ring_bytes,
        fixed_bytes=request_ring_bytes * ((limit or 0) + 1),
        draft_tokens=rules.charged_drafts(problem),
    )


def request_limits(
    version: str, problem: SizingProblem, slots: int, rows: int
) -> RequestLimits:
    """Return every limit on running requests that *version* applies, per DP worker.

    Args:
        version: The release.
        problem: One rank's; its budget and bytes do not matter.
        slots: K.
        rows: T, rows of one rank.

    Raises:
        FactError: *version* is 0.5.3 or older: it has no ratio.
        InputError: *version* is not a release.
    """
    rules, terms = settle(version, problem)
    return rules.limits(terms, slots, rows)
