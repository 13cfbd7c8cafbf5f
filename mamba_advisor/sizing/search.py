"""One problem, looked at through both flags: what the ratio gives, and what a pin."""

from __future__ import annotations

from functools import cached_property

from mamba_advisor.record import replace
from mamba_advisor.sizing.inverse import MAX_RATIO, PIN_WIDTHS, Threshold
from mamba_advisor.sizing.problem import SizingProblem
from mamba_advisor.sizing.releases import Eras, choose
from mamba_advisor.sizing.rules import settle
from mamba_advisor.sizing.scale import Scale, Span
from mamba_advisor.sizing.terms import GIB

PINS_PAY_DRAFTS: Eras[bool] = (("0.5.4", True), ("0.5.7", False), ("0.5.8", True))
"""First release -> whether the budget pays for draft states beside a pin."""


class Search:
    """One problem and its goal; what was found out is kept."""

    def __init__(
        self,
        version: str,
        problem: SizingProblem,
        avg_context: int | None,
        spare_slots: int,
        *,
        bare: bool = False,
    ) -> None:
        """Settle what holds without a pin; nothing else is computed yet.

        Args:
            version: The release.
            problem: One rank's; its ratio and pin are not looked at.
            avg_context: L, None where it is not known.
            spare_slots: Slots that running requests shall not need.
            bare: Whether plateau and the best beyond the request limit are left out.

        Raises:
            FactError: *version* is 0.5.3 or older.
            InputError: *version* is not a release.
        """
        self.version, self.problem = version, problem
        self.avg_context, self.spare_slots, self.bare = avg_context, spare_slots, bare
        self._rules, self._unpinned = settle(version, replace(problem, pin=None))

    @cached_property
    def by_pin(self) -> Scale | None:
        """The pools that a pin gives; None where none should be set."""
        rules, terms = settle(self.version, replace(self.problem, pin=1))
        if terms.decider != "pin":
            return None
        unpaid = not choose(PINS_PAY_DRAFTS, self.version)
        if unpaid and self.problem.draft_tokens and self.takes_ratio:
            return None
        return Scale.of(rules, terms, self.avg_context, self.spare_slots)

    @cached_property
    def by_ratio(self) -> Scale | None:
        """The pools that a ratio gives; None where it does not decide."""
        if not self.takes_ratio:
            return None
        scale = Scale.of(
            self._rules, self._unpinned, self.avg_context, self.spare_slots
        )
        return scale.up_to(self.slots_of(MAX_RATIO))

    @property
    def takes_ratio(self) -> bool:
        """Whether a ratio decides once no pin is given."""
        return self._unpinned.decider == "ratio"

    @property
    def is_refused(self) -> bool:
        """Whether the release refuses the strategy."""
        return self._unpinned.is_refused

    def slots_of(self, ratio: float) -> int:
        """Return K under *ratio* without a pin."""
        return self._rules.split.solve(self._unpinned.at(ratio))

    def threshold(self, slots: int) -> Threshold:
        """Return the ratio from which K is at least *slots*."""
        split, terms = self._rules.split, self._unpinned
        spent_gib = (split.state(terms, slots) + split.reserve(terms, slots)) / GIB
        rest_gib = terms.rest_gib
        return Threshold(
            self.slots_of, slots, spent_gib / rest_gib if rest_gib > 0 else 0.0
        )

    @cached_property
    def best_by_pin(self) -> Span | None:
        """The pinned pools that carry most; None without a pin."""
        return self.by_pin.best() if self.by_pin else None

    @cached_property
    def best_by_ratio(self) -> Span | None:
        """The ratio's pools that carry most; None where it does not decide."""
        return self.by_ratio.best() if self.by_ratio else None

    def exceeds(self, requests: float) -> bool:
        """Return whether any pools carry more than *requests*."""
        more = int(requests) + 1
        scales = (self.by_pin, self.by_ratio)
        return any(scale.reaches(more) for scale in scales if scale is not None)

    def pin_for(self, slots: int) -> int | None:
        """Return the pin, global as the flag is, that gives each worker *slots*.

        Returns:
            None where none should be set, or the pools do not fit with it.
        """
        if self.by_pin is None or not self.by_pin.boots(slots):
            return None
        return slots * choose(PIN_WIDTHS, self.version)(self.problem)

    def with_limit(self, requests: int) -> Search:
        """Return the search with M set to *requests* per worker."""
        asked = requests * self.problem.attn_dp_size
        raised = replace(self.problem, max_running_requests=asked)
        return self._like(raised, self.spare_slots)

    def without_spare(self) -> Search:
        """Return the search without slots to keep."""
        return self if not self.spare_slots else self._like(self.problem, 0)

    def _like(self, problem: SizingProblem, spare_slots: int) -> Search:
        return Search(
            self.version, problem, self.avg_context, spare_slots, bare=self.bare
        )
