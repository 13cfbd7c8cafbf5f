"""The limit on running requests that a boot prints, per DP worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from mamba_advisor.record import Record
from mamba_advisor.sizing.pools import PoolWarning
from mamba_advisor.sizing.releases import Eras
from mamba_advisor.sizing.terms import Terms

Binding: TypeAlias = Literal["request", "heuristic", "kv_floor", "state", "kv"]
"""Name of a limit."""

HEURISTIC_LOW = 2048
"""Least that the heuristic ever allows, in requests."""

HEURISTIC_HIGH = 4096
"""Most that the heuristic ever allows, in requests."""


class RequestLimits(Record):
    """Each limit that a release applies to one boot; None: not applied."""

    state: int
    """K // S."""

    request: int | None
    """M'."""

    kv_floor: int | None
    """T // 2: a request of fewer than two tokens is not expected."""

    heuristic: int | None
    """Requests that the context length lets one expect."""

    pool: int | None = None
    """Request pool where it is not the limit in force (up to 0.5.9)."""

    @property
    def base(self) -> int:
        """The limit without the state pool."""
        others = (self.request, self.kv_floor, self.heuristic)
        return min([limit for limit in others if limit is not None])

    @property
    def granted(self) -> int:
        """The limit in force."""
        return min(self.base, self.state)

    def binding(self, kv: int | None = None) -> Binding:
        """Return the limit that sets the concurrency; on a tie the first of the list.

        Args:
            kv: Requests that the KV pool carries; None: the context is not known.
        """
        applied: dict[Binding, int | None] = {
            "request": self.request,
            "heuristic": self.heuristic,
            "kv_floor": self.kv_floor,
            "state": self.state,
            "kv": kv,
        }
        known = {name: limit for name, limit in applied.items() if limit is not None}
        return min(known, key=lambda name: known[name])

    @property
    def request_pool(self) -> int:
        """Rows of the request pool."""
        return self.granted if self.pool is None else self.pool


def _heuristic(terms: Terms, rows: int) -> int:
    expected = int(rows / terms.problem.context_len * 512)
    return max(min(expected, HEURISTIC_HIGH), HEURISTIC_LOW)


def _limits_pool(terms: Terms, slots: int, rows: int) -> RequestLimits:
    """0.5.4–0.5.7: the request pool is sized by M as given, not M'."""
    return _limits_with_pool(terms, slots, rows, terms.problem.requested)


def _limits_pool_share(terms: Terms, slots: int, rows: int) -> RequestLimits:
    """0.5.8–0.5.9: with speculation the request pool is sized by M'."""
    asked = terms.limit if terms.problem.speculative else terms.problem.requested
    return _limits_with_pool(terms, slots, rows, asked)


def _limits_with_pool(
    terms: Terms, slots: int, rows: int, asked: int | None
) -> RequestLimits:
    state = slots // terms.reserved
    if asked is not None:
        return RequestLimits(state, terms.limit, None, None, min(asked, state))
    expected = _heuristic(terms, rows)
    return RequestLimits(state, None, rows // 2, expected, min(expected, state))


def _limits_expected(terms: Terms, slots: int, rows: int) -> RequestLimits:
    """0.5.10–0.5.13: the heuristic bounds M' too; T // 2 only where M is not set."""
    floor = rows // 2 if terms.limit is None else None
    state = slots // terms.reserved
    return RequestLimits(state, terms.limit, floor, _heuristic(terms, rows))


def _limits_floor(terms: Terms, slots: int, rows: int) -> RequestLimits:
    """From 0.5.14: T // 2 bounds all; the heuristic only where M is not set."""
    expected = _heuristic(terms, rows) if terms.limit is None else None
    return RequestLimits(slots // terms.reserved, terms.limit, rows // 2, expected)


LimitRule: TypeAlias = Callable[[Terms, int, int], RequestLimits]
"""(terms, K, T) -> limits."""

LIMIT_RULES: Eras[LimitRule] = (
    ("0.5.4", _limits_pool),
    ("0.5.8", _limits_pool_share),
    ("0.5.10", _limits_expected),
    ("0.5.14", _limits_floor),
)
"""First release -> rule."""


def _silent(terms: Terms, slots: int, limits: RequestLimits) -> list[PoolWarning]:
    """Up to 0.5.13: a lower limit is not told."""
    return []


def _reduced(terms: Terms, slots: int, limits: RequestLimits) -> list[PoolWarning]:
    """From 0.5.14: a limit below what was asked for is told."""
    asked = limits.request
    if asked is None or limits.granted >= asked:
        return []
    kind = "max_running_requests_reduced"
    return [{"kind": kind, "requested": asked, "granted": limits.granted}]


def _capped(terms: Terms, slots: int, limits: RequestLimits) -> list[PoolWarning]:
    """From 0.5.17: a limit set by the state pool is told, in place of the other."""
    if limits.state >= limits.base:
        return _reduced(terms, slots, limits)
    return [
        {
            "kind": "max_running_requests_capped_by_state_cache",
            "granted": limits.state,
            "slots": slots,
            "slots_per_request": terms.reserved,
        }
    ]


LimitWarningRule: TypeAlias = Callable[[Terms, int, RequestLimits], list[PoolWarning]]
"""(terms, K, limits) -> warnings."""

LIMIT_WARNINGS: Eras[LimitWarningRule] = (
    ("0.5.4", _silent),
    ("0.5.14", _reduced),
    ("0.5.17", _capped),
)
"""First release -> rule."""
