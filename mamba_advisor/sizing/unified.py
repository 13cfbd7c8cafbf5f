"""Unified memory (0.5.15 and later): one buffer that states and tokens share.

There the ratio settles only K and T of the boot's labels; at run time either side can
take what the other leaves.  What still binds is the request limit, which the release
computes from these labels.
"""

from __future__ import annotations

from collections.abc import Callable

from mamba_advisor.sizing.pools import PoolSizes
from mamba_advisor.sizing.releases import Eras, choose

BLOCK = 4096
"""Bytes that the KV part of the buffer is rounded down to, from 0.5.19."""


def _by_rows(sizes: PoolSizes, token_bytes: int) -> int:
    """0.5.15–0.5.18: the KV part is that of T rows."""
    return (sizes.kv_tokens or 0) * token_bytes


def _by_budget(sizes: PoolSizes, token_bytes: int) -> int:
    """From 0.5.19: it is what was left for KV, in whole blocks, unless T was capped."""
    if sizes.kv_tokens != sizes.kv_tokens_profiled:
        return _by_rows(sizes, token_bytes)
    return (sizes.kv_budget_bytes or 0) // BLOCK * BLOCK


KV_PARTS: Eras[Callable[[PoolSizes, int], int]] = (
    ("0.5.15", _by_rows),
    ("0.5.19", _by_budget),
)
"""First release -> (sizes, bytes per token) -> bytes of the KV part."""


def unified_total_bytes(
    version: str, sizes: PoolSizes, token_bytes: int, slot_bytes: int
) -> int:
    """Return ``total_bytes`` of the buffer that *version* allocates.

    Args:
        version: The release, 0.5.15 or newer.
        sizes: The pools as sized without unified memory.
        token_bytes: ``entry_bytes`` of the full sub-pool.
        slot_bytes: ``entry_bytes`` of the mamba sub-pool.

    Raises:
        FactError: *version* is older than 0.5.15.
        InputError: *version* is not a release.
    """
    kv_part = choose(KV_PARTS, version)(sizes, token_bytes)
    return kv_part + (sizes.max_mamba_cache_size or 0) * slot_bytes


def unified_concurrency(
    total_bytes: int, token_bytes: int, slot_bytes: int, context: int, slots: int
) -> int:
    """Return the requests whose states and tokens fit into the buffer together.

    Args:
        total_bytes: The buffer's.
        token_bytes: ``entry_bytes`` of the full sub-pool.
        slot_bytes: ``entry_bytes`` of the mamba sub-pool.
        context: L, mean tokens per request.
        slots: S, slots per running request.

    Returns:
        Without the request limit, which binds all the same.
    """
    return total_bytes // (slots * slot_bytes + context * token_bytes)
