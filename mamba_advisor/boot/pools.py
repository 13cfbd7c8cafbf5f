"""Pool lines as pools: what one line states, and how two lines compare."""

from __future__ import annotations

from mamba_advisor.boot import pick
from mamba_advisor.boot.model import KvPool, StatePool
from mamba_advisor.facts import Reading
from mamba_advisor.measured import Measured
from mamba_advisor.record import replace

STATE_SIZES = ("conv_bytes", "ssm_bytes", "draft_ssm_bytes", "draft_conv_bytes")
"""Sizes that a state-pool line may state."""

RINGS = ("ring_d", "ring_k", "ring_g", "ring_rawv", "ring_rawk", "ring_beta")
"""Parts of the ReplaySSM rings, less the ``_bytes`` of their facts."""


def read_state(reading: Reading) -> StatePool | None:
    """Return the state pool that a line states, None without a slot count."""
    slots = pick.count(reading, "state_slots")
    if slots is None:
        return None
    conv, ssm, draft_ssm, draft_conv = (pick.size(reading, x) for x in STATE_SIZES)
    return StatePool(slots, conv, ssm, draft_ssm, draft_conv, lines=(reading.line,))


def read_kv(reading: Reading) -> KvPool | None:
    """Return the KV pool that a line states, None without a token count.

    K and V are added; MLA prints one size for both.
    """
    tokens = pick.count(reading, "kv_tokens")
    if tokens is None:
        return None
    both = pick.size(reading, "kv_bytes")
    k, v = pick.size(reading, "k_bytes"), pick.size(reading, "v_bytes")
    apart = k + v if k is not None and v is not None else None
    return KvPool(
        tokens,
        both or apart,
        pick.element_type(reading, "kv_dtype"),
        pick.word(reading, "kv_label") or "",
        bool(pick.flag(reading, "upper_bound")),
        is_mla=both is not None,
        lines=(reading.line,),
    )


def with_rings(pool: StatePool, reading: Reading) -> StatePool:
    """Return *pool* with the ReplaySSM rings that a line states, summed."""
    total: Measured | None = None
    for part in RINGS:
        ring = pick.size(reading, f"{part}_bytes")
        if ring is not None:
            total = ring if total is None else total + ring
    return replace(pool, rings=total, lines=(*pool.lines, reading.line))


def same_state(one: StatePool, other: StatePool) -> bool:
    """Return whether two lines state one pool; a size left out contradicts none."""
    if one.slots != other.slots:
        return False
    pairs = (
        (one.conv, other.conv),
        (one.ssm, other.ssm),
        (one.draft_ssm, other.draft_ssm),
        (one.draft_conv, other.draft_conv),
    )
    return all(a is None or b is None or a.value == b.value for a, b in pairs)


def fill_state(pool: StatePool, other: StatePool) -> StatePool:
    """Return *pool*, with what it lacks taken from *other*."""
    return replace(
        pool,
        conv=pool.conv or other.conv,
        ssm=pool.ssm or other.ssm,
        draft_ssm=pool.draft_ssm or other.draft_ssm,
        draft_conv=pool.draft_conv or other.draft_conv,
    )


def same_kv(one: KvPool, other: KvPool) -> bool:
    """Return whether two lines state one pool."""
    if one.tokens != other.tokens:
        return False
    if one.size is None or other.size is None:
        return True
    return one.size.value == other.size.value


def is_smaller(one: KvPool, other: KvPool) -> bool:
    """Return whether a token of *one* takes fewer bytes than one of *other*."""
    if one.size is None or other.size is None:
        return False
    return one.size.value * other.tokens < other.size.value * one.tokens


def fits_draft(draft: KvPool, target: KvPool) -> bool:
    """Return whether *draft* can hold a draft's keys beside *target*.

    It has the target's tokens, or under decode-context parallelism a small
    multiple of them.
    """
    if not target.tokens:
        return False
    factor, rest = divmod(draft.tokens, target.tokens)
    return rest == 0 and 1 <= factor <= MAX_DCP


MAX_DCP = 64
"""Widest decode-context parallelism that a draft's token count may show."""


def add_draft(pool: KvPool | None, other: KvPool) -> KvPool:
    """Return the draft pool that grows by one more draft runner's pool."""
    if pool is None or pool.tokens != other.tokens:
        return other
    if pool.size is None or other.size is None or len(pool.lines) >= MAX_DRAFTS:
        return pool
    return replace(pool, size=pool.size + other.size, lines=(*pool.lines, *other.lines))


MAX_DRAFTS = 64
"""Draft runners whose pools are added up; multi-layer drafts have a few."""
