"""Pools of no rows, no bytes, or any number of them: no crash, and no slot of 0 B."""

from __future__ import annotations

import pytest

from mamba_advisor.advice.lattice import state_candidates, token_candidates
from mamba_advisor.advice.stages import SINGLE, shares_of
from mamba_advisor.boot.model import (
    Boot,
    KvPool,
    RankBoot,
    Releases,
    Setting,
    Source,
    StatePool,
)
from mamba_advisor.facts import Rank
from mamba_advisor.measured import Measured

NEXT = "Qwen3NextForCausalLM"


def gib(text: str) -> Measured:
    """Return a size as printed."""
    return Measured.from_text(text, "GiB")


def boot(*ranks: RankBoot) -> Boot:
    """Return a boot of two stages."""
    return Boot(
        source=Source("-", 1, 1),
        number=1,
        outcome="ready",
        releases=Releases("0.5.12", "0.5.18"),
        hybrid=True,
        hybrid_evidence="",
        architecture=None,
        draft_architecture=None,
        settings={"pp_size": Setting(2, "log:1")},
        ranks=ranks,
    )


def stage(number: int, ssm: str | None) -> RankBoot:
    """Return a stage with 100 rows of state, or without any."""
    return RankBoot(
        Rank(pp=number, tp=0, text=f"PP{number} TP0"),
        state_pool=None if ssm is None else StatePool(99, gib("0.00"), gib(ssm)),
        kv_pool=KvPool(999_999, gib("6.00")),
    )


@pytest.mark.parametrize("version", ["0.5.9", "0.5.12", "0.5.18"])
def test_stage_without_state_bytes_is_no_divisor(version: str) -> None:
    """A stage that prints 0.00 GB is taken to pay what the others do."""
    first, second = stage(0, "0.00"), stage(1, "9.00")
    shares = shares_of(boot(first, second), first, version)

    assert shares.slot_factor in (1, 2)
    assert (1, 1) == shares.cell_factors


def test_stage_without_a_state_pool_changes_nothing() -> None:
    """What others store cannot be told from what is not there."""
    first, second = stage(0, None), stage(1, "9.00")

    assert SINGLE == shares_of(boot(first, second), first, "0.5.18")


@pytest.mark.parametrize("rows", [0, -1])
def test_pool_without_rows_has_no_slot(rows: int) -> None:
    """Nothing is divided by the rows of an empty pool."""
    assert () == state_candidates(NEXT, gib("0.41"), gib("17.61"), rows)


def test_pool_that_prints_nothing_has_no_slot_of_nothing() -> None:
    """0.00 GB in few rows leave small slots open, but none of 0 bytes."""
    found = state_candidates(NEXT, gib("0.00"), gib("0.00"), 9)

    assert found
    assert all(slot.ssm > 0 and slot.conv > 0 for slot in found)


def test_candidates_without_end_are_not_counted() -> None:
    """A pool that may have any size says nothing, and takes no time."""
    size = Measured(1 << 29, 1, 1 << 30)

    assert () == state_candidates(NEXT, size, size, 1)


@pytest.mark.parametrize("is_mla", [False, True])
def test_tokens_of_nothing_are_none(is_mla: bool) -> None:
    """0.00 GB of KV may be tokens of few bytes, but not of 0."""
    found = token_candidates("KimiK3", gib("0.00"), 9, "bfloat16", is_mla=is_mla)

    assert found
    assert min(found) > 0
