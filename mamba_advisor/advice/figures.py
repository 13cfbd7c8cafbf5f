"""The figures of a boot, by the bytes of its slot and of its token."""

from __future__ import annotations

from collections.abc import Sequence

from mamba_advisor.advice import drafts, stages
from mamba_advisor.advice.budget import GIB, budget_of, probe_of
from mamba_advisor.advice.constants import Hypothesis, Printed
from mamba_advisor.advice.reserve import Printout
from mamba_advisor.advice.settle import Settled
from mamba_advisor.boot.model import Boot, RankBoot
from mamba_advisor.record import Record, replace
from mamba_advisor.sizing import SizingProblem
from mamba_advisor.sizing.forward import settled_slots
from mamba_advisor.sizing.rules import Rules, settle
from mamba_advisor.sizing.terms import Terms


class Figures(Record):
    """Exact figures of one possible truth, in bytes."""

    slot: int
    """Stored on the binding rank."""

    conv: int
    """The convolution part of `slot`."""

    charged_slot: int
    """What the budget pays for a slot; `slot` without pipeline stages."""

    token: int
    draft_token: int | None
    cells: tuple[int, ...]
    """What the budget pays for a token, on each pipeline stage."""

    rest_low: int
    rest_high: int

    @property
    def charged(self) -> int:
        """What a token costs on the stage that decides."""
        return max(self.cells)

    @property
    def rest_gib(self) -> float:
        """The middle of the budget's interval, in GiB."""
        return (self.rest_low + self.rest_high) / 2 / GIB


class Evidence(Record):
    """What one boot printed, for all its trials."""

    boot: Boot
    rank: RankBoot
    settled: Settled
    printout: Printout
    printed: Printed
    geometries: Sequence[Hypothesis] = ()


class Reckoner:
    """The figures of one way to understand a boot, point by point.

    A point is what a slot and a token weigh; all else is looked up once.
    """

    def __init__(
        self,
        evidence: Evidence,
        version: str,
        problem: SizingProblem,
        hypothesis: Hypothesis | None,
        *,
        charged: bool,
    ) -> None:
        """Look up what holds at every point.

        Args:
            evidence: What the boot printed; K, T and both constants are known.
            version: The release.
            problem: The booted arguments, complete but for bytes and budget.
            hypothesis: Exact bytes, None where only the intervals are known.
            charged: Whether the budget pays for the draft's KV.
        """
        printed = evidence.printed.draft_token
        exact = hypothesis.draft_token if hypothesis else None
        self._evidence, self._version, self._problem = evidence, version, problem
        self._hypothesis, self._charged = hypothesis, charged
        self._draft = exact or (printed.value if printed else None)
        self._beside = hypothesis.beside if hypothesis else 0
        self._shares = stages.shares_of(evidence.boot, evidence.rank, version)
        self._probe = probe_of(
            evidence.rank,
            evidence.settled.value("mem_fraction_static"),
            evidence.boot.multimodal_reserve,
        )
        self._points: dict[tuple[int, int], _Point] = {}

    def figures(self, slot: int, token: int) -> Figures:
        """Return the figures of the boot if a slot and a token weigh exactly this."""
        return self._point(slot, token).figures

    def slots(self, slot: int, token: int, rest_bytes: int) -> int:
        """Return K by the model there with a budget of *rest_bytes*; 0: refused."""
        point = self._point(slot, token)
        return settled_slots(point.rules, point.terms.funded(rest_bytes / GIB)) or 0

    def _point(self, slot: int, token: int) -> _Point:
        found = self._points.get((slot, token))
        if found is None:
            found = self._points[slot, token] = self._reckon(slot, token)
        return found

    def _reckon(self, slot: int, token: int) -> _Point:
        cell = drafts.charged_bytes(
            self._version,
            token + self._beside,
            self._draft,
            charged=self._charged,
            dcp_size=self._problem.dcp_size,
        )
        paid, cells = self._shares.slot(slot), self._shares.cells(cell)
        rules, terms = settle(
            self._version, replace(self._problem, slot_bytes=paid, cells=cells)
        )
        slots, tokens = self._evidence.printout.slots, self._evidence.printout.tokens
        assert slots is not None
        assert tokens is not None
        low, high = budget_of(rules, terms, slots, tokens, self._probe)
        conv = _conv_part(self._evidence.rank, slot, self._hypothesis)
        figures = Figures(slot, conv, paid, token, self._draft, cells, low, high)
        return _Point(figures, rules, terms)


class _Point(Record):
    """Figures, and the terms that they stand for: complete but for the budget."""

    figures: Figures
    rules: Rules
    terms: Terms


def _conv_part(rank: RankBoot, slot: int, hypothesis: Hypothesis | None) -> int:
    """Return the convolution bytes of a slot: exact, else by the printed share."""
    if hypothesis and hypothesis.conv is not None:
        return hypothesis.conv
    pool = rank.state_pool
    if pool is None or pool.conv is None or pool.ssm is None:
        return 0
    total = pool.conv.value + pool.ssm.value
    return slot * pool.conv.value // total if total else 0


def with_ring(
    evidence: Evidence,
    version: str,
    problem: SizingProblem,
    hypothesis: Hypothesis | None,
) -> SizingProblem:
    """Return *problem* with the bytes of its ReplaySSM rings, where it has them."""
    if not problem.replayssm_spec:
        return problem
    from mamba_advisor.advice.rings import printed_ring, ring_bytes_of, ring_length

    ring = printed_ring(version, problem, evidence.rank, evidence.printout.limit)
    if hypothesis and hypothesis.slot is not None and hypothesis.conv is not None:
        exact = ring_bytes_of(
            version,
            problem,
            hypothesis.conv,
            hypothesis.slot - hypothesis.conv,
            ring_length(evidence.settled),
        )
        ring = exact if exact is not None else ring
    return replace(problem, ring_bytes=ring or 0)


def fill(problem: SizingProblem, figures: Figures) -> SizingProblem:
    """Return *problem* with the bytes and the budget of *figures*."""
    return replace(
        problem,
        rest_gib=figures.rest_gib,
        slot_bytes=figures.charged_slot,
        cells=figures.cells,
    )


def budget_ends(figures: Figures) -> tuple[Figures, Figures]:
    """Return *figures* with the least and with the greatest budget they allow."""
    low = min(figures.rest_low + 1, figures.rest_high)
    high = max(figures.rest_high - 1, figures.rest_low)
    return (
        replace(figures, rest_low=low, rest_high=low),
        replace(figures, rest_low=high, rest_high=high),
    )
