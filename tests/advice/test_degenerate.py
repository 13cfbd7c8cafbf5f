"""Pools of no rows, no bytes, or any number of them: no crash, and no slot of 0 B."""

from __future__ import annotations

import pytest

from mamba_advisor.advice.lattice import state_candidates, token_candidates
from mamba_advisor.measured import Measured

NEXT = "Qwen3NextForCausalLM"


def gib(text: str) -> Measured:
    """Return a size as printed."""
    return Measured.from_text(text, "GiB")


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
