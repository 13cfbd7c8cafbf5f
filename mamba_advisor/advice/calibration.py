"""From a boot to a sizing problem: constants, budget, S, and how sure each is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from mamba_advisor.advice import drafts, reserve
from mamba_advisor.advice.constants import Hypothesis, Printed, printed_constants
from mamba_advisor.advice.figures import Evidence, Figures, fill
from mamba_advisor.advice.options import Overrides
from mamba_advisor.advice.predict import Case
from mamba_advisor.advice.reserve import Printout
from mamba_advisor.advice.settle import Settled, settle
from mamba_advisor.advice.trial import CONSISTENT, EXACT, Trial, trials
from mamba_advisor.advice.whatif import (
    Share,
    apply,
    kv_element_bytes,
    state_element_bytes,
)
from mamba_advisor.boot import binding_rank
from mamba_advisor.boot.model import Boot, RankBoot
from mamba_advisor.measured import Measured
from mamba_advisor.record import Record, replace
from mamba_advisor.sizing import SizingProblem
from mamba_advisor.sizing.releases import since

OUTCOMES: dict[int, Literal["exact", "consistent", "differs"]] = {
    EXACT: "exact",
    CONSISTENT: "consistent",
}
"""Score of a trial -> outcome of the self-check; everything else differs."""


class Calibration(Record):
    """A boot in the terms of the arithmetic."""

    boot: Boot
    rank: RankBoot | None
    settled: Settled
    printout: Printout
    printed: Printed
    """Intervals as the decimals leave them."""

    trial: Trial | None
    """The best way to understand the boot; None without both pools."""

    slot: Measured | None
    """Stored state bytes of one slot on the binding rank, refined."""

    token: Measured | None
    """Stored KV bytes of one target token, refined."""

    draft_token: Measured | None
    charged_token: Measured | None
    """What the budget pays for a token."""

    budget: Measured | None
    slots_candidates: tuple[int, ...]
    """S as far as it is known; one value where it is certain."""

    planned: SizingProblem | None
    """Best estimate with the options applied."""

    corners: tuple[Case, ...]
    """As planned: the ends of what the log leaves possible, in bytes and releases."""

    outcome: Literal["exact", "consistent", "differs"] | None
    why_unchecked: str
    """Why `outcome` is None, a sentence."""

    split_known: bool
    """The log says, or the model confirms, what decided K."""

    conv_share: Share | None = None
    """Convolution bytes of a slot ÷ all of its bytes; None when unknown."""

    state_element: int | None = None
    """Bytes of a recurrent-state element, None when unknown."""

    kv_element: int | None = None
    """Bytes of a KV element, None when unknown."""

    @property
    def version(self) -> str:
        """The release whose arithmetic is used."""
        return self.trial.version if self.trial else self.settled.versions[0]

    @property
    def exact(self) -> bool:
        """Whether both constants are known to the byte."""
        return bool(
            self.slot and self.token and self.slot.is_exact and self.token.is_exact
        )

    @property
    def booted(self) -> SizingProblem | None:
        """The boot as it was (a plan: as it will be); None without both pools."""
        return self.trial.problem if self.trial else self.planned


def printout_of(boot: Boot, rank: RankBoot | None, settled: Settled) -> Printout:
    """Return what *boot* printed of K, T and the limit in force.

    The limit notice prints K, too, and the summary line T.  Draft states are printed
    for exactly one request more than the limit, from 0.5.10 on.
    """
    slots = rank.state_pool.slots if rank and rank.state_pool else None
    told = boot.capped.figures.get("state_slots") if boot.capped else None
    if slots is None and isinstance(told, int):
        slots = told
    tokens = rank.kv_pool.tokens if rank and rank.kv_pool else None
    if tokens is None and boot.summaries and settled.booted.dcp_size == 1:
        tokens = min(summary.tokens for summary in boot.summaries)
    limits = [s.max_running_requests for s in boot.summaries]
    known = [limit for limit in limits if limit is not None]
    limit = min(known) if known else None
    for notice in (boot.capped, boot.reduced):
        granted = notice.figures.get("granted") if notice else None
        if limit is None and isinstance(granted, int):
            limit = granted
    if limit is None and rank is not None and since(settled.versions[0], "0.5.10"):
        drafted = drafts.drafted_requests(rank, settled.booted.draft_tokens)
        # Up to 0.5.6 every slot has draft states, which tells nothing of the limit.
        limit = drafted if drafted != slots else None
    return Printout(slots, tokens, limit)


def calibrate(
    boot: Boot,
    overrides: Overrides | None = None,
    geometries: Sequence[Hypothesis] = (),
    published: Callable[[], Sequence[Hypothesis]] = tuple,
) -> Calibration:
    """Return *boot* in the terms of the arithmetic.

    Args:
        boot: A start as read.
        overrides: Facts and what-if values from options.
        geometries: Exact byte pairs from the model's own config.
        published: Asked for those of published models, where neither that nor the
            family's lattice makes the bytes exact.

    Returns:
        The calibration; its ``trial`` is None where a pool line is missing.
    """
    given = overrides or Overrides()
    rank = binding_rank(boot)
    settled = settle(boot, given)
    printout = printout_of(boot, rank, settled)
    page = settled.booted.page_size
    printed = printed_constants(rank, page) if rank else Printed(None, None, None)
    # 0.00 GB is any figure below 5 MB: too little to reckon with.
    is_sized = bool(printed.slot and printed.slot.value > 0 and printed.token)
    known = None not in (printout.slots, printout.tokens)
    if rank is None or not is_sized or not known:
        return _without_figures(boot, rank, settled, printout, printed)
    evidence = Evidence(boot, rank, settled, printout, printed, geometries)
    tried = _try_all(evidence, published)
    unknown_split = not (
        settled.states("mamba_full_memory_ratio")
        or settled.states("max_mamba_cache_size")
    )
    if tried.best.score < CONSISTENT and unknown_split:
        return _pinned(evidence, given, published)
    return _with_figures(evidence, given, tried, split_known=True)


class _Tried(Record):
    """The best trial, and those that explain the boot as well."""

    best: Trial
    rivals: tuple[Trial, ...]

    @property
    def figures(self) -> tuple[Figures, ...]:
        """Figures of all of them, the best first."""
        everyone = (self.best, *self.rivals)
        return (
            self.best.best,
            *(f for trial in everyone for f in (trial.best, *trial.corners)),
        )


def _try_all(
    evidence: Evidence, published: Callable[[], Sequence[Hypothesis]] = tuple
) -> _Tried:
    """Return the best trial; of equals the newest release and the sharpest bytes."""
    tried = list(trials(evidence, sharp=True))
    if not any(trial.score == EXACT for trial in tried) and not evidence.geometries:
        known = replace(evidence, geometries=published())
        tried.extend(trials(known, sharp=True))
    if not any(trial.score == EXACT for trial in tried):
        tried.extend(trials(evidence, sharp=False))
    best = max(tried, key=lambda trial: trial.score)
    rivals = tuple(t for t in tried if t is not best and t.score == best.score)
    return _Tried(best, rivals)


def _pinned(
    evidence: Evidence,
    given: Overrides,
    published: Callable[[], Sequence[Hypothesis]],
) -> Calibration:
    """Read a split that no default explains as if the slots had been pinned."""
    slots = evidence.printout.slots
    assert slots is not None
    booted = evidence.settled.booted
    pin = slots * booted.attn_dp_size
    planned = evidence.settled.planned
    if given.pin is None and given.ratio is None:
        planned = replace(planned, pin=pin)
    settled = replace(
        evidence.settled, booted=replace(booted, pin=pin), planned=planned
    )
    pinned = replace(evidence, settled=settled)
    return _with_figures(pinned, given, _try_all(pinned, published), split_known=False)


def _with_figures(
    evidence: Evidence, given: Overrides, tried: _Tried, *, split_known: bool
) -> Calibration:
    best, spread = tried.best, tried.figures
    rank, printed = evidence.rank, evidence.printed
    state_lines = rank.state_pool.lines if rank.state_pool else ()
    kv_lines = rank.kv_pool.lines if rank.kv_pool else ()
    both = tuple(sorted({*state_lines, *kv_lines}))
    planned = apply(best.problem, evidence, best, given)
    corners = tuple(
        Case(
            trial.version,
            apply(fill(trial.problem, figures), evidence, trial, given),
        )
        for trial in (best, *tried.rivals)
        for figures in trial.corners
    )
    checked = split_known and evidence.printout.limit is not None
    candidates = reserve.candidates(
        evidence.boot, evidence.settled, best.version, evidence.printout
    )
    return Calibration(
        boot=evidence.boot,
        rank=rank,
        settled=evidence.settled,
        printout=evidence.printout,
        printed=printed,
        trial=best,
        slot=_narrow([f.slot for f in spread], state_lines),
        token=_narrow([f.token for f in spread], kv_lines),
        draft_token=_draft(best, printed),
        charged_token=_narrow([f.charged for f in spread], kv_lines),
        budget=_budget(spread, both),
        slots_candidates=candidates,
        planned=planned,
        corners=corners,
        outcome=OUTCOMES.get(best.score, "differs") if checked else None,
        why_unchecked="" if checked else _why_unchecked(evidence, split_known),
        split_known=split_known,
        conv_share=Share(best.best.conv, max(1, best.best.slot)),
        state_element=state_element_bytes(evidence, best),
        kv_element=kv_element_bytes(evidence),
    )


def _why_unchecked(evidence: Evidence, split_known: bool) -> str:
    if not split_known:
        return (
            "the log does not say what decided the number of slots, "
            "and the default ratio of 0.9 does not explain it"
        )
    return "the log does not show the limit in force (max_running_requests=)"


def _narrow(values: Sequence[int], lines: tuple[int, ...]) -> Measured:
    """Return the best value (the first) with the interval of all."""
    return Measured(values[0], min(values), max(values), lines)


def _budget(spread: Sequence[Figures], lines: tuple[int, ...]) -> Measured:
    best = spread[0]
    return Measured(
        (best.rest_low + best.rest_high) // 2,
        min(f.rest_low for f in spread),
        max(f.rest_high for f in spread),
        lines,
    )


def _draft(best: Trial, printed: Printed) -> Measured | None:
    if printed.draft_token is None:
        return None
    if best.hypothesis and best.hypothesis.draft_token is not None:
        return Measured.exact(best.hypothesis.draft_token, printed.draft_token.lines)
    return printed.draft_token


def _without_figures(
    boot: Boot,
    rank: RankBoot | None,
    settled: Settled,
    printout: Printout,
    printed: Printed,
) -> Calibration:
    version = settled.versions[0]
    known = printout.slots is not None
    candidates = reserve.candidates(boot, settled, version, printout) if known else ()
    return Calibration(
        boot=boot,
        rank=rank,
        settled=settled,
        printout=printout,
        printed=printed,
        trial=None,
        slot=printed.slot,
        token=printed.token,
        draft_token=printed.draft_token,
        charged_token=None,
        budget=None,
        slots_candidates=candidates,
        planned=None,
        corners=(),
        outcome=None,
        why_unchecked="the log does not hold both pool lines with their sizes",
        split_known=settled.states("mamba_full_memory_ratio"),
    )
