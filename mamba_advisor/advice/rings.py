"""ReplaySSM rings: their bytes from a slot's own shape, or from the printed line."""

from __future__ import annotations

from mamba_advisor.advice.lattice import GDN_CONV_BYTES, HEAD_ELEMENTS
from mamba_advisor.advice.settle import Settled
from mamba_advisor.boot.model import RankBoot
from mamba_advisor.sizing import SizingProblem
from mamba_advisor.sizing.releases import since
from mamba_advisor.sizing.rings import RINGS, RingShape, layer_ring_bytes

HEAD_DIM = 128
"""Key and value dimension of a head in the families that have rings."""

CACHE_LEN = 16
"""``--linear-replayssm-cache-len`` where nothing is given."""

CONV_BYTES = 2
"""Bytes of a convolution element: bfloat16 unless an environment variable says so."""


def ring_length(settled: Settled) -> int:
    """Return the length of the rings as it was asked for, else the default."""
    length = settled.value("linear_replayssm_cache_len")
    return length if isinstance(length, int) and length > 0 else CACHE_LEN


def ring_bytes_of(
    version: str, problem: SizingProblem, conv: int, ssm: int, cache_len: int
) -> int | None:
    """Return the ring of one slot or request over all layers of the rank, in bytes.

    Args:
        version: The release, 0.5.17 or newer.
        problem: For the family and the draft tokens.
        conv: Convolution bytes of a slot.
        ssm: Recurrent bytes of a slot, float32.
        cache_len: Ring length.

    Returns:
        None for a family without rings.  A ring is linear in heads, so the heads of
        all layers together stand for one layer that has them all.
    """
    if problem.state_family not in RINGS or not since(version, "0.5.17"):
        return None
    values = ssm // (HEAD_ELEMENTS * 4)
    keys = values
    if problem.state_family == "gdn":
        keys = (conv // GDN_CONV_BYTES - values) // 2
    shape = RingShape(
        value_heads=values,
        value_dim=HEAD_DIM,
        key_heads=max(0, keys),
        key_dim=HEAD_DIM,
        element_bytes=CONV_BYTES,
        draft_tokens=problem.draft_tokens,
        cache_len=cache_len,
    )
    return layer_ring_bytes(version, problem.state_family, shape)


def printed_ring(
    version: str, problem: SizingProblem, rank: RankBoot, limit: int | None
) -> int | None:
    """Return the ring by the printed line: its bytes ÷ its rows; None without one."""
    pool = rank.state_pool
    if pool is None or pool.rings is None:
        return None
    rows = pool.slots + 1
    if problem.state_family == "gdn" and since(version, "0.5.20"):
        if limit is None:
            return None
        rows = limit + 1
    return pool.rings.value // rows
