"""The best split of the budget between state slots and KV tokens."""

from __future__ import annotations

import math
from typing import Literal

from mamba_advisor.errors import FactError
from mamba_advisor.record import Record, replace
from mamba_advisor.sizing.budget import allocated_unbudgeted
from mamba_advisor.sizing.forward import solve_terms
from mamba_advisor.sizing.inverse import MAX_RATIO, OVERSHOOT, sustained, with_ratio
from mamba_advisor.sizing.limits import Binding, RequestLimits
from mamba_advisor.sizing.pools import PoolSizes
from mamba_advisor.sizing.problem import SizingProblem
from mamba_advisor.sizing.remember import remembered
from mamba_advisor.sizing.rules import settle
from mamba_advisor.sizing.scale import Scale, Span
from mamba_advisor.sizing.search import Search
from mamba_advisor.sizing.seek import last_holding

UNLIMITED = 1 << 40
"""Requests at a time that no memory carries."""

PLATEAU = 0.99
"""Share of the best concurrency that still counts as the best."""

SAFETY_SLOTS = 1
"""Slots beyond C·S: a pool of exactly C·S can be one short at a chunk boundary."""

SHORT_DIGITS = (3, 4)
"""Significant digits of a ratio where a pin would do as well."""

LONG_DIGITS = (3, 4, 5, 6, 7, 8)
"""Significant digits of a ratio where nothing else decides: enough for any one K."""

LEAST_DIGITS = (2, 3, 4, 5, 6, 7, 8)
"""Significant digits of a ratio whose pool shall be as small as possible."""


class Split(Record):
    """A setting, and what it gives."""

    flag: Literal["ratio", "pin"]
    """The one to set."""

    ratio: float | None
    """``--mamba-full-memory-ratio``, without a pin; None: it would not do it."""

    pin: int | None
    """``--max-mamba-cache-size``, global; None: it would not do it."""

    max_running_requests: int | None
    """M, global, that this holds for; None: the release's own limits."""

    sizes: PoolSizes
    """The pools with `flag` set, sized with the digits as printed."""

    limits: RequestLimits
    kv_limit: int | None
    """Requests that the KV pool carries; None without a context."""

    sustained: int
    """Requests kept running, per DP worker."""

    unbudgeted_bytes: int
    """Draft states that come out of the slack, the padding request's not counted."""

    plateau: tuple[float, float] | None = None
    """Ratios within 1 % of the best; None where the ratio does not decide."""

    is_reached: bool = True
    """Whether the wanted concurrency is carried."""

    beyond: Split | None = None
    """The best with ``--max-running-requests`` chosen too; None: no better."""

    @property
    def binding(self) -> Binding:
        """The limit that sets `sustained`."""
        return self.limits.binding(self.kv_limit)


def best_split(
    version: str,
    problem: SizingProblem,
    avg_context: int | None,
    concurrency: int | None = None,
    spare_slots: int = 0,
    *,
    bare: bool = False,
    snug: bool = False,
    over: float | None = None,
) -> Split | None:
    """Return the setting that keeps most requests running.

    Args:
        version: The release.
        problem: One rank's; its ratio and pin are not looked at.
        avg_context: L: mean resident tokens per request; None: not known.
        concurrency: C: requests at a time wanted, per DP worker; None: as many as
            possible.
        spare_slots: Slots to keep for checkpoints of idle conversations, per worker.
        bare: Leave out `plateau` and `beyond`, which cost more than the rest.
        snug: Without C, where the request limit is what binds, take it for C, instead
            of starving KV for slots that nobody can use.
        over: Requests that the split must exceed, its spare slots counted as well;
            one that provably does not is not looked for.  None: no such bound.

    Returns:
        Without C the most requests, with the largest state pool that allows them: that
        pool fails hard, KV degrades softly.  With C the smallest state pool that
        carries it, one safety slot included, and everything else for KV; where C cannot
        be carried, the most that can.  None where nothing boots, or nothing exceeds
        *over*.

    Raises:
        FactError: *version* is 0.5.3 or older; neither L nor C is given; or a slot
            has no bytes.
        InputError: *version* is not a release.
    """
    if avg_context is None and concurrency is None:
        raise FactError("a split needs an average context or a wanted concurrency")
    problem.require_slot()
    search = Search(version, problem, avg_context, spare_slots, bare=bare)
    if search.is_refused:
        return None
    if over is not None and not search.without_spare().exceeds(over):
        return None
    if concurrency is not None or not snug:
        return _best(search, concurrency)
    limit = _reached_limit(search)
    held = None if limit is None else _smallest(search, limit)
    if limit is not None and held is not None:
        return replace(held, beyond=None if bare else _beyond(search, None, limit))
    found = _best(search, None)
    if found is None or found.binding != "request":
        return found
    held = _best(search, found.sustained)
    return found if held is None else replace(held, beyond=found.beyond)


known_split = remembered(best_split)
"""`best_split` for those who only look at what they get."""


def _reached_limit(search: Search) -> int | None:
    """Return M' where the best pools carry it, so that it binds; None: not known."""
    if search.by_pin is None or search.best_by_pin is None:
        return None
    limit = search.by_pin.terms.limit
    return limit if limit and search.best_by_pin.requests == limit else None


def _best(search: Search, concurrency: int | None) -> Split | None:
    """Return the best split; for C the smallest pool, else the largest."""
    found = None if concurrency is None else _smallest(search, concurrency)
    if found is not None:
        return found
    found = _largest(search)
    floor = 0 if found is None else found.sustained
    beyond = None if search.bare else _beyond(search, concurrency, floor)
    if found is None:
        return beyond
    reached = concurrency is None or found.sustained >= concurrency
    return replace(found, is_reached=reached, beyond=beyond)


def _smallest(search: Search, concurrency: int) -> Split | None:
    """Return the smallest state pool that carries *concurrency*, and one slot more."""
    scale = search.by_pin or search.by_ratio
    if scale is None:
        return None
    wanted = scale.slots_for(concurrency) + SAFETY_SLOTS
    span = replace(scale.serving(concurrency), first=wanted)
    if span.first > span.last:
        return None
    pin = search.pin_for(wanted)
    ratio = _least_within(search, span)
    if pin is not None:
        return _split(search, span, pin=pin, ratio=ratio)
    return None if ratio is None else _split(search, span, ratio=ratio)


def _largest(search: Search) -> Split | None:
    """Return what carries most, with the largest state pool that allows it."""
    pinned = _span(search, search.by_pin, search.best_by_pin)
    rated = _span(search, search.by_ratio, search.best_by_ratio)
    if rated is not None and (pinned is None or _does_as_well(rated, pinned)):
        digits = LONG_DIGITS if pinned is None else SHORT_DIGITS
        ratio = _greatest_within(search, rated, digits)
        if ratio is not None:
            return _split(search, rated, ratio=ratio)
    if pinned is None:
        return None
    pin = search.pin_for(pinned.last)
    return None if pin is None else _split(search, pinned, pin=pin)


def _does_as_well(rated: Span, pinned: Span) -> bool:
    """Return whether the ratio's pools carry as much, and are about as large.

    With drafts and a low request limit a ratio cannot give the state pool all that a
    pin can: it sets draft states aside for every K // S requests.
    """
    if rated.requests < pinned.requests:
        return False
    return rated.last >= pinned.last * PLATEAU


def _span(search: Search, scale: Scale | None, best: Span | None) -> Span | None:
    """Return the *best* pools of *scale*; where none carries any, the least of all.

    Without a context there is nothing to weigh the KV pool by: it gets all but the
    smallest state pool.
    """
    if scale is None or best is None:
        return None
    if best.requests == 0:
        least = scale.terms.reserved
        return Span(least, least, 0) if scale.boots(least) else None
    if search.avg_context is None:
        last = min(best.last, best.first + SAFETY_SLOTS)
        return replace(best, first=last, last=last)
    return best


def _greatest_within(
    search: Search, span: Span, digits: tuple[int, ...]
) -> float | None:
    """Return the largest ratio, in the fewest of *digits*, with a K in *span*."""
    most = search.slots_of(MAX_RATIO)
    if most <= span.last:
        # Every larger ratio does, so an end is set where the pool stops growing.
        span = replace(span, last=max(span.first, int(most * PLATEAU)))
    threshold = search.threshold(span.last + 1)
    for count in digits:
        ratio = threshold.below(count)
        if span.first <= search.slots_of(ratio) <= span.last:
            return ratio
    return None


def _least_within(search: Search, span: Span) -> float | None:
    """Return the smallest ratio, in few digits, with a K in *span*."""
    if not search.takes_ratio:
        return None
    threshold = search.threshold(span.first)
    if not threshold.is_reached:
        return None
    found = None
    for count in LEAST_DIGITS:
        ratio = threshold.above(count)
        slots = search.slots_of(ratio)
        if span.first <= slots <= span.last:
            found = ratio
            if slots <= span.first * (1 + OVERSHOOT):
                break
    return found


def _split(
    search: Search, span: Span, *, ratio: float | None = None, pin: int | None = None
) -> Split:
    """Return the outcome of a setting: of *pin* if it is given, else of *ratio*."""
    version, problem = search.version, search.problem
    if pin is not None:
        applied = replace(problem, pin=pin)
    else:
        assert ratio is not None
        applied = with_ratio(problem, ratio)
    rules, terms = settle(version, applied)
    sizes = solve_terms(rules, terms)
    slots, rows = sizes.max_mamba_cache_size, sizes.kv_tokens
    assert slots is not None
    assert rows is not None
    assert sizes.kv_tokens_logical is not None
    limits = rules.limits(terms, slots, rows)
    carried = max(0, slots - search.spare_slots) // (sizes.slots_per_request or 1)
    context = search.avg_context
    flag: Literal["ratio", "pin"] = "ratio" if pin is None else "pin"
    if pin is None:
        pin = search.pin_for(slots)
    return Split(
        flag=flag,
        ratio=ratio,
        pin=pin,
        max_running_requests=problem.requested,
        sizes=sizes,
        limits=limits,
        kv_limit=None if context is None else sizes.kv_tokens_logical // context,
        sustained=min(sustained(sizes, context), carried),
        unbudgeted_bytes=_unpaid_drafts(version, applied, sizes),
        plateau=None if search.bare else _plateau(search, span.requests),
    )


def _unpaid_drafts(version: str, problem: SizingProblem, sizes: PoolSizes) -> int:
    """Return the bytes of draft states that a setting leaves out of the budget.

    Every release up to 0.5.16 leaves the padding request out, whatever the setting.
    """
    if not problem.draft_tokens:
        return 0
    padding = problem.draft_tokens * problem.slot_bytes
    unpaid = allocated_unbudgeted(version, problem, sizes).draft_states
    return max(0, unpaid - padding)


def _plateau(search: Search, requests: int) -> tuple[float, float] | None:
    """Return the ratios with which at least 99 % of *requests* are carried."""
    scale = search.by_ratio
    if scale is None or requests <= 0:
        return None
    span = scale.serving(math.ceil(requests * PLATEAU))
    low = search.threshold(span.first)
    if not low.is_reached or span.first > span.last:
        return None
    return low.above(3), search.threshold(span.last + 1).below(3)


def _beyond(search: Search, concurrency: int | None, floor: int) -> Split | None:
    """Return the best split with M chosen as well; None where M is not in the way.

    Args:
        search: The problem and its goal.
        concurrency: C, beyond which nothing is wanted; None: as many as possible.
        floor: What is carried with M as it is.
    """

    def allows(requests: int) -> bool:
        if concurrency is not None and requests > concurrency:
            return False
        raised = search.with_limit(requests)
        scale = raised.by_pin or raised.by_ratio
        return scale is not None and scale.reaches(requests)

    if not allows(floor + 1):
        return None
    most = search.with_limit(UNLIMITED)
    scale = most.by_pin or most.by_ratio
    guess = 0 if scale is None else scale.about_best()
    best = last_holding(allows, floor + 1, UNLIMITED, guess)
    raised = search.with_limit(best)
    found = None if concurrency is None else _smallest(raised, best)
    found = found or _largest(raised)
    if found is None:
        return None
    reached = concurrency is None or found.sustained >= concurrency
    return replace(found, is_reached=reached)
