"""Rules on memory: what lies idle, what no budget pays for, what is uneven."""

from __future__ import annotations

from mamba_advisor.advice.idle import idle_memory
from mamba_advisor.advice.model import Finding, Severity
from mamba_advisor.advice.rules.limits import setting_lines
from mamba_advisor.advice.situation import Situation
from mamba_advisor.measured import UNITS, format_bytes
from mamba_advisor.sizing.budget import allocated_unbudgeted, is_capped
from mamba_advisor.sizing.forward import known_pools

WIDE = 0.05
"""Relative width from which the rounding of a constant is worth saying."""

NOTEWORTHY = UNITS["GiB"] // 2
"""Unbudgeted memory below this many bytes is not worth a line."""


def memory_lies_idle(situation: Situation) -> Finding | None:
    """Say that a higher static fraction would feed both pools for free."""
    memory = idle_memory(situation)
    if memory is None or memory.raised <= memory.fraction:
        return None
    return Finding(
        "memory-lies-idle",
        Severity.WARNING,
        f"{format_bytes(memory.idle.value)} are free after the boot; "
        f"--mem-fraction-static {memory.raised:g} instead of {memory.fraction:g} would "
        f"give about {format_bytes(memory.spare)} to the pools: raise it before moving "
        "the split",
        memory.idle.lines,
    )


def draft_kv_is_unbudgeted(situation: Situation) -> Finding | None:
    """Say what the boot allocates beside its budget."""
    calibration = situation.calibration
    trial, booted = calibration.trial, calibration.booted
    if trial is None or booted is None:
        return None
    draft = calibration.draft_token.value if calibration.draft_token else 0
    cell = 0 if trial.draft_charged else draft
    sizes = known_pools(calibration.version, booted)
    if not sizes.boots:
        return None
    beside = allocated_unbudgeted(calibration.version, booted, sizes, cell)
    if beside.total < NOTEWORTHY:
        return None
    parts = (
        ("draft KV", beside.draft_kv),
        ("draft states", beside.draft_states),
        ("the padding slot", beside.state),
        ("ReplaySSM rings", beside.rings),
    )
    named = ", ".join(f"{format_bytes(b)} for {n}" for n, b in parts if b > 0)
    rank = calibration.rank
    lines = rank.draft_kv_pool.lines if rank and rank.draft_kv_pool else ()
    return Finding(
        "memory-unbudgeted",
        Severity.WARNING,
        f"{format_bytes(beside.total)} come out of what --mem-fraction-static leaves "
        f"free, not out of the pools' budget: {named}; too little free memory then "
        "shows as an out-of-memory at graph capture",
        lines,
    )


def tokens_are_capped(situation: Situation) -> Finding | None:
    """Say that ``--max-total-tokens`` leaves memory unused."""
    booted, tokens = situation.calibration.booted, situation.calibration.printout.tokens
    if booted is None or tokens is None or not is_capped(booted, tokens):
        return None
    return Finding(
        "tokens-capped",
        Severity.WARNING,
        f"--max-total-tokens holds the KV pool at {tokens:,} tokens; what it leaves "
        "free goes to no pool, and the budget read back here is a lower bound",
        setting_lines(situation, "max_total_tokens"),
    )


def ranks_are_uneven(situation: Situation) -> Finding | None:
    """Say that ranks of one kind have pools of different size."""
    pools = [
        (rank.kv_pool.tokens, rank.rank.text, rank.kv_pool.lines)
        for rank in situation.boot.ranks
        if rank.kv_pool is not None
    ]
    if not pools or min(pools)[0] == max(pools)[0]:
        return None
    least, most = min(pools), max(pools)
    return Finding(
        "ranks-uneven",
        Severity.WARNING,
        f"KV pools differ between ranks: {least[0]:,} tokens on {least[1] or 'one'}, "
        f"{most[0]:,} on {most[1] or 'another'}; the smallest decides here",
        tuple(sorted({*least[2], *most[2]})),
    )


def rounding_is_wide(situation: Situation) -> Finding | None:
    """Say that two decimals leave a constant too open to decide by."""
    for what, quantity in (
        ("state bytes per slot", situation.calibration.slot),
        ("KV bytes per token", situation.calibration.token),
    ):
        if quantity is None or quantity.value == 0:
            continue
        width = (quantity.high - quantity.low) / quantity.value
        if width > WIDE:
            return Finding(
                "rounding-is-wide",
                Severity.WARNING,
                f"{what} are known to ± {width / 2:.0%} only, from two decimals; "
                "give --config with the model's config.json to make them exact",
                quantity.lines,
            )
    return None


def unified_pool(situation: Situation) -> Finding | None:
    """Say what still binds under unified memory."""
    if not situation.boot.unified:
        return None
    return Finding(
        "unified-memory",
        Severity.INFO,
        "unified memory: state and KV share one buffer at run time, so the split is "
        "not ours to advise; what still binds is slots ÷ S of the boot labels, and "
        "--max-running-requests",
    )


def post_capture(situation: Situation) -> Finding | None:
    """Say that the tokens were settled only after graph capture."""
    if not situation.boot.post_capture:
        return None
    return Finding(
        "post-capture-sizing",
        Severity.INFO,
        "the KV pool was sized after graph capture: slots are final before it, tokens "
        "can only shrink, and a prediction of them is an upper bound",
    )
