"""Draft models: does the budget pay for their KV, how many tokens do they draft."""

from __future__ import annotations

from mamba_advisor.advice.settle import Settled
from mamba_advisor.boot.model import RankBoot
from mamba_advisor.measured import Measured
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


def drafted_tokens(rank: RankBoot, slot: Measured, limit: int) -> int | None:
    """Return D from the printed draft states; None where no integer fits.

    Args:
        rank: The binding rank.
        slot: State bytes of one slot.
        limit: The request limit in force; the draft states have one row more.
    """
    pool = rank.state_pool
    if pool is None or pool.draft_ssm is None or pool.ssm is None or limit < 1:
        return None
    if pool.draft_ssm.value == 0 or pool.ssm.value == 0:
        return None
    recurrent = pool.ssm // (pool.slots + 1)
    low = pool.draft_ssm.low / max(1, recurrent.high) / (limit + 1)
    high = pool.draft_ssm.high / max(1, recurrent.low) / (limit + 1)
    first, last = -(-low // 1), high // 1
    return int(first) if first == last and first > 0 else None
