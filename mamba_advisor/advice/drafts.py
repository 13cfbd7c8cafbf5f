"""Draft models: does the budget pay for their KV, how many tokens do they draft."""

from __future__ import annotations

import math

from mamba_advisor.advice.settle import Settled
from mamba_advisor.boot.model import RankBoot
from mamba_advisor.sizing.releases import since

OWN_CELL = ("DFLASH", "DSPARK")
"""Algorithms whose draft is charged with its own geometry, from 0.5.11."""

LAYERED = ("EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "FROZEN_KV_MTP")
"""Algorithms whose draft is charged by its layers, where SGLang knows them."""


def charge_options(
    version: str, settled: Settled, *, has_draft_pool: bool
) -> tuple[bool, ...]:
    """Return whether this release's budget pays for draft KV: one answer, or both.

    Args:
        version: The release.
        settled: The boot's arguments.
        has_draft_pool: Whether the log shows a KV pool of a draft.

    Returns:
        ``(True,)``, ``(False,)``, or both where the log leaves it open: from 0.5.20
        a draft without a path of its own is charged if the target's config tells
        its layers.

    Source:
        SGLang's pool configurator: the draft's cell joins the target's from 0.5.11
        for DFLASH and DSPARK, from 0.5.14 for the EAGLE family.
    """
    if not has_draft_pool:
        return (False,)
    algorithm = settled.booted.speculative_algorithm
    if algorithm in OWN_CELL:
        return (since(version, "0.5.11"),)
    if not since(version, "0.5.14") or (algorithm and algorithm not in LAYERED):
        return (False,)
    if settled.value("speculative_draft_model_path"):
        return (True,)
    if not settled.states("speculative_algorithm"):
        return (True, False)
    return (False, True) if since(version, "0.5.20") else (False,)


def charged_bytes(
    version: str, token: int, draft: int | None, *, charged: bool, dcp_size: int
) -> int:
    """Return what the budget pays for one token, in bytes.

    Args:
        version: The release.
        token: Stored bytes of a target token.
        draft: Stored bytes of a draft token, None without a draft.
        charged: Whether this release pays for the draft at all.
        dcp_size: Decode-context-parallel width.

    Source:
        Up to 0.5.21 the EAGLE family's charge is ``int(c × (1 + d ÷ n))`` in floating
        point, which can come out one byte low; d ÷ n is the draft's share in layers.
    """
    if draft is None or not charged:
        return token
    layers, rest = divmod(token, draft)
    if rest or dcp_size > 1 or since(version, "0.5.22"):
        return token + draft
    return int(token * (1 + 1 / layers))


def drafted_tokens(rank: RankBoot, limit: int) -> int | None:
    """Return D from the printed draft states; None where no integer fits.

    Args:
        rank: The binding rank.
        limit: The request limit in force; the draft states have one row more.
    """
    return _one_integer(rank, limit + 1) if limit > 0 else None


def drafted_requests(rank: RankBoot, draft_tokens: int) -> int | None:
    """Return the request limit behind the printed draft states, None if unknown.

    Args:
        rank: The binding rank.
        draft_tokens: D.
    """
    rows = _one_integer(rank, draft_tokens) if draft_tokens > 0 else None
    return rows - 1 if rows is not None and rows > 1 else None


def _one_integer(rank: RankBoot, divisor: int) -> int | None:
    """Return draft states ÷ states of a slot ÷ *divisor*, if one integer fits."""
    pool = rank.state_pool
    if pool is None or pool.draft_ssm is None or pool.ssm is None:
        return None
    if pool.draft_ssm.value == 0 or pool.ssm.value == 0:
        return None
    recurrent = pool.ssm // (pool.slots + 1)
    low = pool.draft_ssm.low / max(1, recurrent.high) / divisor
    high = pool.draft_ssm.high / max(1, recurrent.low) / divisor
    first, last = math.ceil(low), math.floor(high)
    return first if first == last and first > 0 else None
