"""What each kind of line of a server start says about the rank that printed it."""

from __future__ import annotations

from collections.abc import Callable

from mamba_advisor.boot import pick
from mamba_advisor.boot.model import KvPool, StatePool
from mamba_advisor.boot.phase import PHASES, Phase
from mamba_advisor.boot.pools import (
    STATE_SIZES,
    add_draft,
    fill_state,
    read_kv,
    read_state,
    with_rings,
)
from mamba_advisor.boot.rank import RankDraft
from mamba_advisor.boot.roles import (
    is_draft_class,
    kv_role,
    repeats_target,
    state_role,
    summary_of,
)
from mamba_advisor.facts import Reading
from mamba_advisor.measured import Measured
from mamba_advisor.record import replace

MAX_TERMS = 64
"""Lines of one kind that are added up on a rank; no server prints as many."""


def take(rank: RankDraft, reading: Reading) -> None:
    """Take a line of this rank and this start."""
    rank.phase = max(rank.phase, PHASES[reading.event])
    rank.last_event = reading.event
    handler = _HANDLERS.get(reading.event)
    if handler is not None:
        handler(rank, reading)


def _weights_begin(rank: RankDraft, reading: Reading) -> None:
    if rank.loads or rank.before is not None:
        rank.pending.append(reading)
    else:
        rank.before = rank.idle = pick.size(reading, "avail_bytes")


def _weights_end(rank: RankDraft, reading: Reading) -> None:
    model_class = pick.word(reading, "model_type")
    used = pick.size(reading, "used_bytes")
    if repeats_target(rank, model_class):
        rank.weights = used
    elif rank.loads < MAX_TERMS:
        is_draft = rank.loads > 0 or is_draft_class(model_class)
        rank.loads += 1
        rank.weights = _sum(rank.weights, used)
        if is_draft:
            rank.draft_loads += 1
            rank.draft_weights = _sum(rank.draft_weights, used)
            rank.draft_class = rank.draft_class or model_class
        else:
            rank.target_class = model_class
    avail = pick.size(reading, "avail_bytes")
    if rank.phase < Phase.POOLS:
        rank.after = avail or rank.after
    rank.idle = avail or rank.idle
    rank.pending.clear()


def _state_pool(rank: RankDraft, reading: Reading) -> None:
    pool = read_state(reading)
    if pool is None:
        for name in STATE_SIZES:
            size = pick.size(reading, name)
            if size is not None:
                rank.unplaced.setdefault(name, size)
    elif rank.summary is not None:
        rank.pending = [reading]
    elif state_role(rank, reading) == "draft":
        rank.draft_state = pool
    elif rank.state is None:
        rank.state = pool
    else:
        rank.state = fill_state(rank.state, pool)
        rank.pending = [reading]


def _rings(rank: RankDraft, reading: Reading) -> None:
    if rank.state is not None:
        rank.state = with_rings(rank.state, reading)


def _checkpoints(rank: RankDraft, reading: Reading) -> None:
    taken = pick.size(reading, "checkpoint_bytes")
    if rank.state is not None and taken is not None:
        rank.state = replace(rank.state, checkpoints=taken)


def _kv_pool(rank: RankDraft, reading: Reading) -> None:
    pool, role = read_kv(reading), kv_role(rank, reading)
    if pool is None:
        return
    if rank.only_summary:
        # The summary was quoted above its pools: the start is told from here on.
        rank.state, rank.phase = rank.held_state, Phase.POOLS
    rank.pending.clear()
    if role == "target":
        rank.kv = pool
    elif role == "window":
        rank.window = pool
    elif role == "draft":
        rank.draft_kv = add_draft(rank.draft_kv, pool)


def _window(rank: RankDraft, reading: Reading) -> None:
    tokens = pick.count(reading, "swa_tokens")
    if tokens != pick.count(reading, "full_tokens"):
        rank.window_tokens = tokens


def _subpool(rank: RankDraft, reading: Reading) -> None:
    name = pick.word(reading, "subpool_name")
    entry = pick.count(reading, "entry_bytes")
    if name and entry and len(rank.entry_bytes) < MAX_TERMS:
        rank.entry_bytes.setdefault(name, entry)


def _banner(rank: RankDraft, reading: Reading) -> None:
    lines = (reading.line,)
    entry = rank.entry_bytes.get
    rank.banner = True
    slots = pick.count(reading, "state_slots")
    if slots is not None:
        rank.state = StatePool(
            slots, None, None, entry_bytes=entry("mamba"), lines=lines
        )
    tokens = pick.count(reading, "kv_tokens")
    if tokens is not None:
        rank.kv = KvPool(tokens, None, entry_bytes=entry("full"), lines=lines)


def _mlx(rank: RankDraft, reading: Reading) -> None:
    tokens = pick.count(reading, "kv_tokens")
    if tokens is not None and rank.kv is None:
        entry = pick.count(reading, "bytes_per_token")
        rank.kv = KvPool(tokens, None, entry_bytes=entry, lines=(reading.line,))


def _capped(rank: RankDraft, reading: Reading) -> None:
    rank.capped_slots = pick.count(reading, "state_slots")


def _pool_end(rank: RankDraft, reading: Reading) -> None:
    rank.pool_ends += 1
    rank.pool_end = pick.size(reading, "avail_bytes") or rank.pool_end
    rank.idle = rank.pool_end


def _graph(rank: RankDraft, reading: Reading) -> None:
    used = pick.size(reading, "used_bytes")
    if used is not None and rank.captures < MAX_TERMS:
        rank.captures += 1
        rank.graphs = _sum(rank.graphs, used)
    rank.idle = pick.size(reading, "avail_bytes") or rank.idle
    rank.pending.clear()


def _post_capture(rank: RankDraft, reading: Reading) -> None:
    rank.post_capture = True
    rank.idle = pick.size(reading, "avail_bytes") or rank.idle
    late, old = read_kv(reading), rank.kv
    if late is None:
        return
    if old is not None:
        late = replace(
            old,
            tokens=late.tokens,
            size=late.size or (old.size if old.tokens == late.tokens else None),
            dtype=late.dtype or old.dtype,
            upper_bound=False,
            lines=(*old.lines[-1:], reading.line),
        )
    rank.kv = late


def _summary(rank: RankDraft, reading: Reading) -> None:
    rank.summary = rank.summary or summary_of(reading)
    rank.idle = pick.size(reading, "avail_bytes") or rank.idle
    rank.pending.clear()


def _sum(total: Measured | None, term: Measured | None) -> Measured | None:
    return total + term if total and term else total or term


_HANDLERS: dict[str, Callable[[RankDraft, Reading], None]] = {
    "weights-begin": _weights_begin,
    "weights-end": _weights_end,
    "capped": _capped,
    "state-pool": _state_pool,
    "replayssm-rings": _rings,
    "checkpoint-pool": _checkpoints,
    "kv-pool": _kv_pool,
    "kv-noop": _kv_pool,
    "swa-pool": _window,
    "unified-subpool": _subpool,
    "unified-banner": _banner,
    "mlx-pool": _mlx,
    "pool-end": _pool_end,
    "graph-begin": _graph,
    "graph-end": _graph,
    "post-capture-tokens": _post_capture,
    "summary": _summary,
}
"""Event -> what its line does to the rank."""
