"""The byte constants of a boot: one state slot, one KV token, and how exact they are.

Several values can print the same two decimals.  A `Hypothesis` is one exact pair
that does; the caller keeps those with which the sizing model returns what the log
printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mamba_advisor.advice.lattice import (
    SlotBytes,
    state_candidates,
    token_candidates,
)
from mamba_advisor.boot.model import Boot, KvPool, RankBoot, StatePool
from mamba_advisor.measured import Measured, merge_lines
from mamba_advisor.record import Record, replace

MAX_HYPOTHESES = 24
"""More pairs than this are as good as an interval."""


class Hypothesis(Record):
    """Exact bytes of a slot and of a token on one rank."""

    slot: int | None
    """State bytes of one slot; None: the interval only."""

    conv: int | None
    """The convolution part of `slot`; None where it is not known."""

    element: int | None
    """Bytes of a recurrent-state element; None where it is not known."""

    token: int | None
    """Stored KV bytes of one token, target only; None: the interval only."""

    draft_token: int | None
    """Stored KV bytes of one draft token, None without a draft."""

    source: str
    """Why these: the words for the screen."""

    read: bool = False
    """The log prints them as integers, or the user gave the model's config."""

    beside: int = 0
    """Bytes that the budget pays for a token beside `token`: a sparse index, or a
    share of sliding-window rows.
    """


class Printed(Record):
    """What one rank's pool lines allow, before any refinement."""

    slot: Measured | None
    token: Measured | None
    draft_token: Measured | None


def printed_constants(rank: RankBoot, page_size: int) -> Printed:
    """Return the intervals that the printed sizes of *rank* leave.

    Args:
        rank: A rank with its pools.
        page_size: Tokens of a page; the pool holds one page more than it prints.
    """
    return Printed(
        slot_bytes(rank.state_pool),
        token_bytes(rank.kv_pool, page_size),
        token_bytes(rank.draft_kv_pool, page_size),
    )


def slot_bytes(pool: StatePool | None) -> Measured | None:
    """Return the state bytes of one slot: (conv + ssm) ÷ (K + 1 rows).

    Source:
        SGLang's state tensors have one row more than there are usable slots, in
        every release; the extra row takes the writes of padded tokens.
    """
    if pool is None:
        return None
    if pool.entry_bytes is not None:
        return Measured.exact(pool.entry_bytes, pool.lines)
    if pool.conv is None or pool.ssm is None or pool.slots < 0:
        return None
    return (pool.conv + pool.ssm) // (pool.slots + 1)


def token_bytes(pool: KvPool | None, page_size: int) -> Measured | None:
    """Return the stored KV bytes of one token: size ÷ (tokens + page)."""
    if pool is None:
        return None
    if pool.entry_bytes is not None:
        return Measured.exact(pool.entry_bytes, pool.lines)
    if pool.size is None or pool.size.value <= 0 or pool.tokens + page_size < 1:
        return None
    return pool.size // (pool.tokens + page_size)


def hypotheses(
    boot: Boot, rank: RankBoot, page_size: int, geometries: Sequence[Hypothesis]
) -> tuple[Hypothesis, ...]:
    """Return the exact pairs that print the digits of *rank*, best source first.

    Args:
        boot: The boot, for its architecture.
        rank: The rank whose lines count.
        page_size: Tokens of a page.
        geometries: Pairs from a model's config or a published model; those that
            would print other digits are left out here.

    Returns:
        At most `MAX_HYPOTHESES`; empty where nothing but the interval is known.
    """
    state, kv = rank.state_pool, rank.kv_pool
    if state is None or kv is None:
        return ()
    if state.entry_bytes is not None and kv.entry_bytes is not None:
        why = "entry_bytes of the unified pool"
        return (
            Hypothesis(
                state.entry_bytes, None, None, kv.entry_bytes, None, why, read=True
            ),
        )
    draft = _draft_candidates(boot, rank, page_size)
    printed = printed_constants(rank, page_size)
    found = [
        replace(g, draft_token=g.draft_token or only(draft))
        for g in geometries
        if _prints(printed.slot, g.slot) and _prints(printed.token, g.token)
    ]
    if not found:
        found.extend(_lattice(boot, state, kv, page_size, draft))
    return tuple(found) if len(found) <= MAX_HYPOTHESES else ()


def _lattice(
    boot: Boot,
    state: StatePool,
    kv: KvPool,
    page_size: int,
    draft: tuple[int, ...],
) -> Iterator[Hypothesis]:
    """Yield the pairs of family lattice values that print the digits."""
    token = only(kv_candidates(boot.architecture, kv, page_size))
    slots = slot_candidates(boot.architecture, state)
    why = "the only whole heads and layers that print these digits"
    elements = {slot.element for slot in slots}
    element = elements.pop() if len(elements) == 1 else None
    # The same bytes can be h heads of 4 or 2h heads of 2 bytes: one pair, not two.
    for total, conv in sorted({(slot.total, slot.conv) for slot in slots}):
        yield Hypothesis(total, conv, element, token, only(draft), why)
    if token is not None and not slots:
        yield Hypothesis(None, None, None, token, only(draft), why)


def slot_candidates(architecture: str | None, pool: StatePool) -> tuple[SlotBytes, ...]:
    """Return the exact slots that the family allows and the digits admit.

    The draft states, where printed, are rows of the same recurrent states and may
    rule further values out.
    """
    if pool.conv is None or pool.ssm is None:
        return ()
    return state_candidates(architecture, pool.conv, pool.ssm, pool.slots + 1)


def kv_candidates(
    architecture: str | None, pool: KvPool, page_size: int
) -> tuple[int, ...]:
    """Return the exact token bytes that the layout allows and the digits admit."""
    if pool.entry_bytes is not None:
        return (pool.entry_bytes,)
    if pool.size is None or pool.tokens < 1:
        return ()
    rows = pool.tokens + page_size
    return token_candidates(
        architecture, pool.size, rows, pool.dtype, is_mla=pool.is_mla
    )


def _draft_candidates(boot: Boot, rank: RankBoot, page_size: int) -> tuple[int, ...]:
    if rank.draft_kv_pool is None:
        return ()
    return kv_candidates(boot.draft_architecture, rank.draft_kv_pool, page_size)


def only(values: tuple[int, ...]) -> int | None:
    """Return the one value, None where there are several or none."""
    return values[0] if len(values) == 1 else None


def _prints(printed: Measured | None, value: int | None) -> bool:
    """Return whether *value* lies in the printed interval (true without either)."""
    return printed is None or value is None or printed.holds(value)


def exact(value: int, like: Measured | None) -> Measured:
    """Return *value* as an exact quantity with the lines of *like*."""
    return Measured.exact(value, merge_lines(like.lines if like else ()))
