"""The shape of a server: its workers and stages, the rank that binds, the spread."""

from __future__ import annotations

from collections.abc import Sequence

from mamba_advisor.boot.model import Boot, RankBoot
from mamba_advisor.boot.releases import release_key

WIDEST = 4096
"""Largest parallel width that is taken for one."""


def binding_rank(boot: Boot) -> RankBoot | None:
    """Return the rank that limits the server, None when none printed a pool.

    It has the fewest KV tokens, then the fewest slots, then the most pool bytes,
    then the lowest (DP, PP, TP).  A rank that lacks one of the pools counts only
    where no rank has both.
    """
    ranks = [rank for rank in boot.ranks if rank.state_pool or rank.kv_pool]
    complete = [rank for rank in ranks if rank.state_pool and rank.kv_pool]
    return min(complete or ranks, key=_binding_key, default=None)


def _binding_key(rank: RankBoot) -> tuple[float, float, int, tuple[int, int, int]]:
    state, kv = rank.state_pool, rank.kv_pool
    return (
        kv.tokens if kv else float("inf"),
        state.slots if state else float("inf"),
        -pool_bytes(rank),
        (rank.rank.dp, rank.rank.pp, rank.rank.tp),
    )


def pool_bytes(rank: RankBoot) -> int:
    """Return the bytes of a rank's two pools as printed; 0 where none are."""
    sizes = []
    if rank.state_pool:
        sizes += [rank.state_pool.conv, rank.state_pool.ssm]
    if rank.kv_pool:
        sizes.append(rank.kv_pool.size)
    return sum(size.value for size in sizes if size is not None)


def workers(boot: Boot) -> int:
    """Return the DP workers and replicas of the whole server, at least 1.

    Up to 0.5.21 ``dp_size`` counts them all, with or without DP attention; from
    0.5.22 it counts replicas, each with ``attn_dp_size`` workers.  Without these
    arguments the DP tags count.
    """
    dp_size = _width(boot, "dp_size")
    if dp_size is not None:
        inferred = boot.setting("attn_dp_size").origin == "inferred"
        if inferred or release_key(boot.releases.high) < release_key("0.5.22"):
            return max(dp_size, 1)
        return max(dp_size, 1) * max(_width(boot, "attn_dp_size") or 1, 1)
    return max(len({rank.rank.dp for rank in boot.ranks}), 1)


def stages(boot: Boot) -> int:
    """Return the pipeline stages, at least 1."""
    printed = len({rank.rank.pp for rank in boot.ranks})
    return max(_width(boot, "pp_size") or 1, printed, 1)


def _width(boot: Boot, name: str) -> int | None:
    value = boot.setting(name).value
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if value <= WIDEST else None


def spread(ranks: Sequence[RankBoot]) -> dict[str, tuple[int, int]]:
    """Return the figures in which ranks differ: name -> smallest and largest.

    Names are ``slots``, ``tokens`` and ``pool_bytes``; sizes in bytes.
    """
    both = [rank for rank in ranks if rank.state_pool and rank.kv_pool]
    figures = {
        "slots": {rank.state_pool.slots for rank in ranks if rank.state_pool},
        "tokens": {rank.kv_pool.tokens for rank in ranks if rank.kv_pool},
        "pool_bytes": {size for rank in both if (size := pool_bytes(rank))},
    }
    return {
        name: (min(values), max(values))
        for name, values in figures.items()
        if len(values) > 1
    }
