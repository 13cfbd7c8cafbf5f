"""What every rule of a regime works on, and who settles K."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from mamba_advisor.record import Record
from mamba_advisor.sizing.problem import SizingProblem
from mamba_advisor.sizing.releases import Eras, choose

GIB = 1 << 30
"""Bytes of what SGLang calls a GB."""

Decider: TypeAlias = Literal["ratio", "pin", "requests", "default"]
"""What settles K: the ratio, ``--max-mamba-cache-size``, M, or a constant."""


class Terms(Record):
    """A problem, and what its release makes of it before K is known."""

    problem: SizingProblem
    reserved: int
    """S: slots per running request; at least 1."""

    is_refused: bool
    """Whether the release refuses the strategy as soon as it needs S."""

    limit: int | None
    """M': request limit per worker; None where nobody set one."""

    decider: Decider
    ratio: float
    """State : KV, where it decides."""

    rest_gib: float
    """The problem's budget, in GiB."""

    slot_bytes: int
    """State bytes that one slot is charged, without a ring."""

    ring_bytes: int = 0
    """ReplaySSM ring bytes that each slot is charged."""

    fixed_bytes: int = 0
    """ReplaySSM ring bytes that are charged once, whatever K."""

    draft_tokens: int = 0
    """D where draft states are charged, else 0."""

    def at(self, ratio: float) -> Terms:
        """Return the same under another *ratio*."""
        return self._with(ratio, self.rest_gib)

    def funded(self, rest_gib: float) -> Terms:
        """Return the same with another budget; the problem's own is then not it."""
        return self._with(self.ratio, rest_gib)

    def _with(self, ratio: float, rest_gib: float) -> Terms:
        # Written out, since searches are here most of their time.
        return Terms(
            self.problem,
            self.reserved,
            self.is_refused,
            self.limit,
            self.decider,
            ratio,
            rest_gib,
            self.slot_bytes,
            self.ring_bytes,
            self.fixed_bytes,
            self.draft_tokens,
        )


# --- who settles K ----------------------------------------------------------------


def _decider_radix_first(problem: SizingProblem) -> Decider:
    """0.5.4–0.5.6: the ratio wherever the radix cache is on, even over a pin."""
    return _fixed_decider(problem) if problem.disable_radix_cache else "ratio"


def _decider_fixed_first(problem: SizingProblem) -> Decider:
    """0.5.7–0.5.8: the ratio only without a pin and with the radix cache on."""
    if problem.pin is None and not problem.disable_radix_cache:
        return "ratio"
    return _fixed_decider(problem)


def _decider_pin_first(problem: SizingProblem) -> Decider:
    """From 0.5.9: a pin; without a radix cache M, if there is one; else the ratio."""
    if problem.pin is not None:
        return "pin"
    if problem.disable_radix_cache and problem.requested is not None:
        return "requests"
    return "ratio"


def _fixed_decider(problem: SizingProblem) -> Decider:
    if problem.pin is not None:
        return "pin"
    return "default" if problem.requested is None else "requests"


DECIDERS: Eras[Callable[[SizingProblem], Decider]] = (
    ("0.5.4", _decider_radix_first),
    ("0.5.7", _decider_fixed_first),
    ("0.5.9", _decider_pin_first),
)
"""First release -> rule."""


def decided_by(version: str, problem: SizingProblem) -> Decider:
    """Return what settles K in *version*.

    Raises:
        FactError: *version* is older than 0.5.4.
        InputError: *version* is not a release.
    """
    return choose(DECIDERS, version)(problem)


# --- M', the request limit of one worker ------------------------------------------


def _share(problem: SizingProblem) -> int | None:
    """Up to 0.5.22: M ÷ attention-DP width, rounded down, possibly to 0."""
    limit = problem.requested
    return None if limit is None else limit // problem.attn_dp_size


def _share_of_one(problem: SizingProblem) -> int | None:
    """From 0.5.23: likewise, at least 1."""
    limit = problem.requested
    return None if limit is None else max(1, limit // problem.attn_dp_size)


LIMIT_SHARES: Eras[Callable[[SizingProblem], int | None]] = (
    ("0.5.4", _share),
    ("0.5.23", _share_of_one),
)
"""First release -> rule."""


# --- what is charged --------------------------------------------------------------


def _charge_all(problem: SizingProblem) -> tuple[int, int, int]:
    """Up to 0.5.16: the slot over all layers; rings are not charged."""
    return problem.slot_bytes, 0, 0


def _charge_stage(problem: SizingProblem) -> tuple[int, int, int]:
    """0.5.17–0.5.19: the largest stage's share of a slot, and a ring per slot."""
    ring = problem.ring_bytes if problem.replayssm_spec else 0
    return stage_share(problem), ring, 0


def _charge_request_rings(problem: SizingProblem) -> tuple[int, int, int]:
    """From 0.5.20: GDN has M' + 1 rings, the others one per slot."""
    if not problem.replayssm_spec or problem.state_family != "gdn":
        return _charge_stage(problem)
    return stage_share(problem), 0, problem.ring_bytes


CHARGES: Eras[Callable[[SizingProblem], tuple[int, int, int]]] = (
    ("0.5.4", _charge_all),
    ("0.5.17", _charge_stage),
    ("0.5.20", _charge_request_rings),
)
"""First release -> (slot bytes, ring bytes per slot, ring bytes per request)."""


def stage_share(problem: SizingProblem) -> int:
    """Return P_s: the state bytes of the stage with most state layers.

    The quotient comes first, in floating point, so that some splits (7 of 20 layers)
    are one byte low, as in SGLang.
    """
    if problem.stage_state_layers == problem.all_state_layers:
        return problem.slot_bytes
    share = problem.stage_state_layers / problem.all_state_layers
    return int(problem.slot_bytes * share)


# --- D, the draft tokens that states are charged for ------------------------------


def _drafts_always(problem: SizingProblem) -> int:
    """Up to 0.5.16: all of them, also beside ReplaySSM."""
    return problem.draft_tokens


def _drafts_unless_replayed(problem: SizingProblem) -> int:
    """0.5.17–0.5.21: none where ReplaySSM takes their place."""
    return 0 if problem.replayssm_spec else problem.draft_tokens


def _drafts_unless_prefill(problem: SizingProblem) -> int:
    """From 0.5.22: nor on the prefill side of a disaggregated server."""
    if problem.disaggregation_mode == "prefill":
        return 0
    return _drafts_unless_replayed(problem)


CHARGED_DRAFTS: Eras[Callable[[SizingProblem], int]] = (
    ("0.5.4", _drafts_always),
    ("0.5.17", _drafts_unless_replayed),
    ("0.5.22", _drafts_unless_prefill),
)
"""First release -> rule."""
