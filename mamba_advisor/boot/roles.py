"""Whose line is it: the target's, the draft's, or a later start's?

A draft worker prints the same kinds of line as the target, on the same rank.  Whose
a line is follows from the order of SGLang's start-up, from the token count and from
the model class.  The same order shows a line that only a later start can have
printed, where the line that announces a start was filtered away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from mamba_advisor.boot import pick
from mamba_advisor.boot.model import KvPool
from mamba_advisor.boot.phase import PHASES, Phase
from mamba_advisor.boot.pools import (
    fits_draft,
    is_smaller,
    read_kv,
    read_state,
    same_kv,
    same_state,
)
from mamba_advisor.boot.rank import RankDraft
from mamba_advisor.facts import Reading

DRAFT_WORDS = ("nextn", "eagle", "dflash", "dspark", "draft", "medusa")
"""What the model classes of draft workers have in their names, in lower case."""

STATEFUL_DRAFT = "Inkling"
"""Model family whose draft heads own a state pool (0.5.16+)."""

Role = Literal["target", "draft", "window", "twin", "none", "later"]
"""Whose pool a line is: ``twin`` repeats the target's line (another rank, its tag cut
off), ``none`` states no pool, ``later`` belongs to a later start.
"""


def is_draft_class(model_class: str | None) -> bool:
    """Return whether *model_class* is a draft worker's."""
    name = (model_class or "").lower()
    return name.endswith("mtp") or any(word in name for word in DRAFT_WORDS)


def repeats_target(rank: RankDraft, model_class: str | None) -> bool:
    """Return whether a weight line repeats the target's: a rank without its tag."""
    same = rank.loads == 1 and model_class == rank.target_class
    return same and not rank.expects_draft


def state_role(rank: RankDraft, reading: Reading) -> Role:
    """Return whose state pool a line states."""
    pool = read_state(reading)
    if pool is None:
        return "none"
    if rank.state is None:
        return "later" if rank.pool_ends and rank.kv is not None else "target"
    if rank.pool_ends and STATEFUL_DRAFT in f"{rank.target_class} {rank.draft_class}":
        return "draft"
    return "twin" if same_state(rank.state, pool) else "later"


def kv_role(rank: RankDraft, reading: Reading) -> Role:
    """Return whose KV pool a line states."""
    pool = read_kv(reading)
    if pool is None or _is_address_range(rank, pool):
        return "none"
    if pool.label == "SWA" or pool.tokens == rank.window_tokens:
        return "window"
    if rank.kv is None:
        return "draft" if rank.pool_ends and rank.has_draft else "target"
    if same_kv(rank.kv, pool) and not (rank.pool_ends and pool.size is None):
        return "twin"
    if rank.pool_ends:
        is_draft = rank.has_draft or fits_draft(pool, rank.kv)
    else:
        is_draft = fits_draft(pool, rank.kv) and is_smaller(pool, rank.kv)
    return "draft" if is_draft else "later"


def _is_address_range(rank: RankDraft, pool: KvPool) -> bool:
    """Return whether a line of 0.00 GB counts addresses of the unified buffer."""
    empty = pool.size is not None and pool.size.value == 0
    return empty and (rank.banner or bool(rank.entry_bytes))


def restarts(rank: RankDraft, reading: Reading) -> bool:
    """Return whether only a later start of the server can have printed a line."""
    event, phase = reading.event, PHASES[reading.event]
    if event == "summary":
        new = summary_of(reading)
        return rank.summary is not None and new[0] is not None and rank.summary != new
    if rank.only_summary and event in ("state-pool", "kv-pool"):
        return event == "kv-pool" and not _agrees_with_summary(rank, reading)
    if rank.phase >= Phase.SERVING and phase <= Phase.POOLS:
        return True
    rule = _RULES.get(event)
    return rule is not None and rule(rank, reading)


def summary_of(reading: Reading) -> tuple[int | None, int | None, str]:
    """Return what identifies a summary line: tokens, request limit, time."""
    return (
        pick.count(reading, "kv_tokens"),
        pick.count(reading, "max_running_requests"),
        reading.stamp,
    )


def _agrees_with_summary(rank: RankDraft, reading: Reading) -> bool:
    tokens = pick.count(reading, "kv_tokens")
    stated = rank.summary[0] if rank.summary else None
    return bool(tokens and stated and stated % tokens == 0)


def _weights_begin(rank: RankDraft, _: Reading) -> bool:
    # "capped" exists only in releases that load the draft before it, too.
    return rank.capped_slots is not None and rank.phase == Phase.SIZING


def _weights_end(rank: RankDraft, reading: Reading) -> bool:
    if _weights_begin(rank, reading):
        return True
    model_class = pick.word(reading, "model_type")
    if rank.phase < Phase.POOLS or not rank.loads or rank.expects_draft:
        return False
    if model_class is None or is_draft_class(model_class):
        return False
    return model_class == rank.target_class or not rank.has_draft


def _capped(rank: RankDraft, reading: Reading) -> bool:
    slots = pick.count(reading, "state_slots")
    known = rank.state.slots if rank.state else rank.capped_slots
    return known is not None and slots is not None and slots != known


def _unified(rank: RankDraft, reading: Reading) -> bool:
    if reading.event == "unified-buffer":
        return rank.banner
    known = (
        rank.state.slots if rank.state else None,
        rank.kv.tokens if rank.kv else None,
    )
    stated = (pick.count(reading, "state_slots"), pick.count(reading, "kv_tokens"))
    return rank.banner and stated != known


_RULES: dict[str, Callable[[RankDraft, Reading], bool]] = {
    "weights-begin": _weights_begin,
    "weights-end": _weights_end,
    "capped": _capped,
    "state-pool": lambda rank, reading: state_role(rank, reading) == "later",
    "kv-pool": lambda rank, reading: kv_role(rank, reading) == "later",
    "unified-buffer": _unified,
    "unified-banner": _unified,
}
"""Event -> whether its line belongs to a later start."""
