"""All pools of one problem by K: what the state pool carries, and what the rest allows.

K slots carry K // S requests, more with every slot; the KV pool and the limits behind
it allow fewer.  So the best K lies where the two meet, and bisection finds it.
"""

from __future__ import annotations

from mamba_advisor.record import Record, replace
from mamba_advisor.sizing.forward import pools_with_slots
from mamba_advisor.sizing.rules import Rules
from mamba_advisor.sizing.seek import last_holding
from mamba_advisor.sizing.split import kv_gib
from mamba_advisor.sizing.terms import GIB, Terms

LEAST_TOKENS = 2
"""Tokens of a request where nothing is known of it: no release reckons with fewer."""


class Span(Record):
    """Pools that serve equally many requests."""

    first: int
    """Smallest K."""

    last: int
    """Largest K."""

    requests: int
    """What each of them carries at least; 0: none carries one."""


class Scale(Record):
    """One problem, with K left open."""

    rules: Rules
    terms: Terms
    most: int
    """Largest K to look at."""

    avg_context: int | None
    """L, mean tokens per request; None: only the limits count."""

    spare_slots: int
    """Slots that running requests shall not need."""

    @classmethod
    def of(
        cls,
        rules: Rules,
        terms: Terms,
        avg_context: int | None,
        spare_slots: int = 0,
    ) -> Scale:
        """Return the scale of the problem of *terms*."""
        most = max(0, int(terms.rest_gib * GIB) // max(1, terms.slot_bytes))
        return cls(rules, terms, most, avg_context, spare_slots)

    def up_to(self, most: int) -> Scale:
        """Return the scale without the pools above *most* slots."""
        return replace(self, most=min(self.most, most))

    def slots_for(self, requests: int) -> int:
        """Return the smallest K whose state pool carries *requests*."""
        return requests * self.terms.reserved + self.spare_slots

    def state(self, slots: int) -> int:
        """Return the requests that *slots* carry; never falls with K."""
        return max(0, slots - self.spare_slots) // self.terms.reserved

    def others(self, slots: int) -> int:
        """Return the requests that everything else allows; never rises with K."""
        budget_gib = kv_gib(self.rules.split, self.terms, slots)
        if budget_gib <= 0:
            return 0
        head_room = self.rules.head_room(self.terms, slots)
        rows = self.rules.tokens(self.terms.problem, budget_gib, head_room).rows
        if rows <= 0:
            return 0
        base = self.rules.limits(self.terms, slots, rows).base
        if self.avg_context is None:
            return base
        return min(base, rows * self.terms.problem.dcp_size // self.avg_context)

    def carries(self, slots: int) -> int:
        """Return the requests that a pool of *slots* keeps running."""
        return min(self.state(slots), self.others(slots))

    def boots(self, slots: int) -> bool:
        """Return whether SGLang starts with *slots*."""
        return pools_with_slots(self.rules, self.terms, slots).boots

    def reaches(self, requests: int) -> bool:
        """Return whether any pool carries *requests*."""
        slots = self.slots_for(requests)
        return slots <= self.most and self.others(slots) >= requests

    def best(self) -> Span:
        """Return the pools that carry most."""
        beyond = self.state(self.most) + 1
        return self.serving(last_holding(self.reaches, 0, beyond, self.about_best()))

    def serving(self, requests: int) -> Span:
        """Return the pools that carry *requests* or more; empty where none does."""
        if requests <= 0:
            return Span(0, -1, 0)
        last = last_holding(
            lambda slots: self.others(slots) >= requests,
            0,
            self.most + 1,
            self._about_last(requests),
        )
        return Span(self.slots_for(requests), last, requests)

    # --- guesses: all of them may be wrong, which costs time and nothing else --------

    def about_best(self) -> int:
        """Return about how many requests the best pools carry."""
        spent, each = self._slope(), self._request_gib()
        per_request = spent * self.terms.reserved + each
        if per_request <= 0:
            return self.state(self.most)
        left = kv_gib(self.rules.split, self.terms, self.spare_slots)
        held = int(max(0.0, left) / per_request)
        return held if self.terms.limit is None else min(held, self.terms.limit)

    def _about_last(self, requests: int) -> int:
        """Return about the largest K that leaves enough for *requests*."""
        spent = self._slope()
        if spent <= 0:
            return self.most
        left = kv_gib(self.rules.split, self.terms, 0) - requests * self._request_gib()
        return int(max(0.0, left) / spent)

    def _slope(self) -> float:
        """Return the GiB for KV that a slot takes away, on average."""
        empty = kv_gib(self.rules.split, self.terms, 0)
        full = kv_gib(self.rules.split, self.terms, self.most)
        return (empty - full) / max(1, self.most)

    def _request_gib(self) -> float:
        """Return the GiB for KV that one request needs."""
        problem = self.terms.problem
        tokens = LEAST_TOKENS if self.avg_context is None else self.avg_context
        return tokens / problem.dcp_size * max(problem.cells) / GIB
