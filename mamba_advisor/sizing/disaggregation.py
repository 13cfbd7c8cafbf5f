"""The state pool of a decode server: requests on their way get slots as well."""

from __future__ import annotations

from collections.abc import Callable

from mamba_advisor.sizing.releases import Eras, choose

FEW_REQUESTS = 32
"""Limit up to which a decode server takes requests in advance."""


def _only_requests(slots: int, requests: int, extra: int, per_request: int) -> int:
    """0.5.4–0.5.8: one slot per request, whatever K."""
    return requests + extra


def _slots_and_extra(slots: int, requests: int, extra: int, per_request: int) -> int:
    """0.5.9: K, and one slot for each request on its way."""
    return slots + extra


def _at_most_slots(slots: int, requests: int, extra: int, per_request: int) -> int:
    """0.5.10: one slot per request, and no more than K."""
    return min(slots, requests + extra)


def _at_least_slots(slots: int, requests: int, extra: int, per_request: int) -> int:
    """From 0.5.11: K, or more where all requests need more."""
    return max(slots, (requests + extra) * per_request)


DECODE_POOLS: Eras[Callable[[int, int, int, int], int]] = (
    ("0.5.4", _only_requests),
    ("0.5.9", _slots_and_extra),
    ("0.5.10", _at_most_slots),
    ("0.5.11", _at_least_slots),
)
"""First release -> (K, requests, extra, slots per request) -> slots."""


def decode_slots(
    version: str,
    slots: int,
    requests: int,
    *,
    extra: int | None = None,
    per_request: int = 1,
) -> int:
    """Return the slots that a decode server of a split deployment allocates and prints.

    Args:
        version: The release.
        slots: K as the budget pays for it.
        requests: The limit in force, per DP worker.
        extra: Requests taken in advance; None: the release's default, twice the limit
            where that is at most `FEW_REQUESTS`, else none.
        per_request: One, and the buffer's slots where the radix cache is on.

    Returns:
        Slots beyond *slots* come out of what ``--mem-fraction-static`` leaves.

    Raises:
        FactError: *version* is 0.5.3 or older.
        InputError: *version* is not a release.
    """
    if extra is None:
        extra = 2 * requests if requests <= FEW_REQUESTS else 0
    return choose(DECODE_POOLS, version)(slots, requests, extra, per_request)
