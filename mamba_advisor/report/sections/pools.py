"""The two pools side by side, and a rank's memory where ranks differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mamba_advisor.advice.model import (
    Advice,
    KvPoolAdvice,
    RankAdvice,
    StatePoolAdvice,
)
from mamba_advisor.measured import Measured
from mamba_advisor.report import words
from mamba_advisor.report.section import Bar, Cell, Column, Grid, Role

Row = tuple[Cell | Bar, ...]

RESERVED, CONTEXT = "slots per request", "the context"
"""What a pool's number of requests depends on."""


def pools(advice: Advice) -> Grid | None:
    """Return the pools of the binding rank, None where neither is known."""
    state, kv = advice.state_pool, advice.kv_pool
    if state is None and kv is None:
        return None
    return Grid(
        "",
        (
            Column("Pools"),
            Column(_head("State", advice, "state")),
            Column(_head("KV", advice, "kv")),
        ),
        tuple(_rows(advice, state, kv)),
        note=_note(advice),
    )


def ranks(advice: Advice) -> Grid | None:
    """Return the ranks in a table, those with equal figures in one row."""
    if not advice.ranks:
        return None
    groups: dict[tuple[str, ...], list[str]] = {}
    for rank in advice.ranks:
        groups.setdefault(_figures(rank), []).append(rank.rank or "only rank")
    columns = (
        Column("Ranks"),
        *(
            Column(name, right=True)
            for name in ("weights", "free before", "after", "slots", "tokens", "idle")
        ),
    )
    return Grid(
        "",
        columns,
        tuple(
            (Cell(", ".join(names)), *map(Cell, figures))
            for figures, names in groups.items()
        ),
    )


def _figures(rank: RankAdvice) -> tuple[str, ...]:
    return (
        words.size(rank.weights_bytes),
        words.size(rank.avail_before_bytes),
        words.size(rank.avail_after_bytes),
        words.count(rank.state_pool.slots if rank.state_pool else None),
        words.count(rank.kv_pool.tokens if rank.kv_pool else None),
        words.size(rank.idle_bytes),
    )


def _head(name: str, advice: Advice, limit: str) -> str:
    return name + (", binds" if advice.concurrency.binding == limit else "")


def _rows(
    advice: Advice, state: StatePoolAdvice | None, kv: KvPoolAdvice | None
) -> Iterator[Row]:
    yield (
        Cell("memory"),
        Cell(words.size(state.bytes if state else None)),
        Cell(words.size(kv.bytes if kv else None)),
    )
    yield (
        Cell("holds"),
        Cell(f"{words.counted(state.slots, 'slot')}" if state else words.UNKNOWN),
        Cell(_tokens(kv)),
    )
    yield (
        Cell("each"),
        Cell(_each(state.bytes_per_slot if state else None, "slot")),
        Cell(_each_token(kv)),
    )
    drafts, draft_kv = _drafts(state), _draft_kv(kv)
    if drafts or draft_kv:
        yield Cell("beside"), Cell(drafts), Cell(draft_kv)
    yield Cell("carries"), Cell(_state_carries(advice)), Cell(_kv_carries(advice))
    if bars := _bars(advice):
        yield bars


def _tokens(kv: KvPoolAdvice | None) -> str:
    if kv is None:
        return words.UNKNOWN
    text = words.counted(kv.tokens, "token")
    if kv.logical_tokens != kv.tokens:
        text += f" on a rank, {kv.logical_tokens:,} in all"
    return text


def _each(quantity: Measured | None, unit: str) -> str:
    if quantity is None:
        return words.UNKNOWN
    return f"{words.size(quantity)} a {unit}"


def _each_token(kv: KvPoolAdvice | None) -> str:
    """Return what a token takes, and what the budget pays where that is more."""
    if kv is None:
        return words.UNKNOWN
    text = _each(kv.bytes_per_token, "token")
    stored, charged = kv.bytes_per_token, kv.charged_bytes_per_token
    if stored is None or charged is None or charged.low <= stored.high:
        return text
    return f"{text}, {words.size(charged, mark=False)} charged"


def _drafts(state: StatePoolAdvice | None) -> str:
    if state is None:
        return ""
    return words.sentence(
        f"{words.size(quantity)} {name}"
        for quantity, name in (
            (state.draft_state_bytes, "draft states"),
            (state.ring_bytes, "rings"),
        )
        if quantity is not None and quantity.high
    )


def _draft_kv(kv: KvPoolAdvice | None) -> str:
    if kv is None or kv.draft_bytes_per_token is None:
        return ""
    return f"{words.size(kv.draft_bytes_per_token)} a token for the draft"


def _state_carries(advice: Advice) -> str:
    concurrency, state = advice.concurrency, advice.state_pool
    slots = concurrency.slots_per_request
    if slots is None:
        return _by_candidate(state, concurrency.slots_per_request_candidates)
    return (
        f"{words.counted(concurrency.limits.state, 'request')}"
        f" at {words.counted(slots, 'slot')}"
    )


def _by_candidate(state: StatePoolAdvice | None, candidates: Sequence[int]) -> str:
    """Return what the slots carry at each number of slots that a request may hold."""
    if state is None or not candidates:
        return words.UNKNOWN
    assumed, *others = candidates
    first, *rest = (state.slots // each for each in candidates)
    text = f"{words.counted(first, 'request')} at {words.counted(assumed, 'slot')}"
    if not others:
        return text
    also = ", ".join(
        f"{carried:,} at {each}" for each, carried in zip(others, rest, strict=True)
    )
    return f"{text} ({also})"


def _kv_carries(advice: Advice) -> str:
    limits = advice.concurrency.limits
    context = advice.workload.avg_context
    if limits.kv is not None and context is not None:
        return f"{words.counted(limits.kv, 'request')} at {context:,} tokens"
    if advice.balanced_context is not None and limits.state is not None:
        return (
            f"{words.counted(limits.state, 'request')}"
            f" at {advice.balanced_context:,} tokens"
        )
    return words.UNKNOWN


def _bars(advice: Advice) -> Row | None:
    concurrency = advice.concurrency
    limits = concurrency.limits
    running = concurrency.sustained
    if running is None:
        running = concurrency.effective
    if running is None or (limits.state is None and limits.kv is None):
        return None
    return (
        Cell("in use"),
        _bar(running, limits.state, RESERVED, binds=concurrency.binding == "state"),
        _bar(running, limits.kv, CONTEXT, binds=concurrency.binding == "kv"),
    )


def _bar(part: int, whole: int | None, what: str, *, binds: bool) -> Bar | Cell:
    if whole is None:
        return Cell(f"depends on {what}", "dim")
    role: Role = "warning" if binds else "ok"
    return Bar(part, whole, role)


def _note(advice: Advice) -> str:
    context, equivalent = advice.balanced_context, advice.token_equivalent
    return words.sentence(
        (
            ""
            if context is None
            else f"This split suits requests of about {context:,} tokens",
            ""
            if equivalent is None
            else f"a slot costs {words.interval(equivalent)}"
            f" {words.plural(round(equivalent.high), 'token')}",
        ),
        "; ",
    )
