"""The scale of problems with nothing to share, or nothing to pay."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from mamba_advisor.errors import FactError
from mamba_advisor.record import replace
from mamba_advisor.sizing import SizingProblem, best_split, solve
from mamba_advisor.sizing.inverse import (
    formula_ratio,
    pin_for_concurrency,
    pin_for_slots,
    ratio_for_concurrency,
    ratio_for_slots,
)
from mamba_advisor.sizing.rules import settle
from mamba_advisor.sizing.scale import Scale, Span


def scale(rest_gib: float, slot_bytes: int, cell: int, spare_slots: int = 0) -> Scale:
    """Return the scale of a problem of 0.5.18."""
    problem = SizingProblem(rest_gib=rest_gib, slot_bytes=slot_bytes, cells=(cell,))
    return Scale.of(*settle("0.5.18", problem), 1000, spare_slots)


@pytest.mark.parametrize("rest_gib", [0.0, -1.0, -1e6])
def test_nothing_to_share(rest_gib: float) -> None:
    """Without a budget no pool is looked at, and none carries a request."""
    nothing = scale(rest_gib, 19_316_736, 12_288)

    assert 0 == nothing.most
    assert 0 == nothing.carries(0) == nothing.others(0) == nothing.others(5)
    assert Span(0, -1, 0) == nothing.best()


def test_slots_that_weigh_nothing() -> None:
    """Slots of 0 bytes are no divisor."""
    assert scale(1.0, 0, 12_288).most == 1 << 30


def test_tokens_and_slots_that_weigh_nothing() -> None:
    """Where no request takes anything, the guess is what the largest pool carries."""
    free = scale(1e-9, 0, 0)

    assert free.about_best() == free.state(free.most)


def test_fewer_slots_than_are_spared() -> None:
    """A pool that is smaller than what it spares carries nothing, not less."""
    assert 0 == scale(1.0, 19_316_736, 12_288, spare_slots=9).state(3)


DEGENERATE: dict[str, dict[str, Any]] = {
    "no budget": {"rest_gib": 0.0},
    "less than none": {"rest_gib": -3.0},
    "a byte": {"rest_gib": 1e-9},
    "all memory there is": {"rest_gib": 1e9},
    "tokens of nothing": {"cells": (0,)},
    "stages of nothing": {"cells": (0, 12_288)},
    "smallest ratio": {"ratio": 5e-324},
    "largest ratio": {"ratio": 1e300},
    "no request": {"max_running_requests": 0},
    "no tokens": {"max_total_tokens": 0},
    "page beyond the pool": {"page_size": 1 << 40},
    "many workers": {"attn_dp_size": 1 << 20, "max_running_requests": 3},
    "many drafts": {"draft_tokens": 1 << 30, "speculative_algorithm": "EAGLE"},
    "rings of nothing": {"replayssm_spec": True, "draft_tokens": 4},
}


@pytest.mark.parametrize("version", ["0.5.4", "0.5.9", "0.5.14", "0.5.18", "0.5.23"])
@pytest.mark.parametrize("what", DEGENERATE)
def test_every_question_has_an_answer(version: str, what: str) -> None:
    """No problem divides by zero, nor gives a figure below zero or without end."""
    usual = SizingProblem(rest_gib=40.0, slot_bytes=19_316_736, cells=(12_288,))
    problem = replace(usual, **DEGENERATE[what])
    sizes = solve(version, problem)
    split = best_split(version, problem, 8192)
    answers = (
        sizes.max_mamba_cache_size if sizes.boots else None,
        sizes.kv_tokens if sizes.boots else None,
        sizes.max_running_requests,
        ratio_for_slots(version, problem, 9),
        ratio_for_concurrency(version, problem, 4, 8192),
        pin_for_slots(version, problem, 9),
        pin_for_concurrency(version, problem, 4, 8192),
        formula_ratio(version, problem, 8192),
        split.sustained if split else None,
    )

    for answer in answers:
        assert answer is None or (math.isfinite(answer) and answer >= 0)


@pytest.mark.parametrize("version", ["0.5.4", "0.5.9", "0.5.14", "0.5.18", "0.5.23"])
@pytest.mark.parametrize("ask", [solve, partial(best_split, avg_context=8192)])
def test_slot_of_nothing_is_refused(
    version: str, ask: Callable[[str, SizingProblem], object]
) -> None:
    """There would be no end of slots that take no memory."""
    problem = SizingProblem(rest_gib=40.0, slot_bytes=0, cells=(12_288,))
    with pytest.raises(FactError, match="0 bytes"):
        ask(version, problem)
