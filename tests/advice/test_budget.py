"""The budget where inversion alone does not give it."""

from __future__ import annotations

from dataclasses import replace

from mamba_advisor.advice.budget import budget_by_slots, budget_of, probe_of
from mamba_advisor.boot.model import RankBoot
from mamba_advisor.facts import Rank
from mamba_advisor.measured import Measured
from mamba_advisor.sizing import SizingProblem, solve
from mamba_advisor.sizing.rules import settle

GIB = 1 << 30
QN4 = SizingProblem(
    28.833, 19_316_736, (12_288,), context_len=262_144, strategy="extra_buffer"
)


def test_uncapped_tokens_give_the_budget_to_a_page() -> None:
    """758 slots and 1 326 317 tokens: the budget lies in 12 288 bytes."""
    low, high = budget_of(*settle("0.5.17", QN4), 758, 1_326_317, None)

    assert low <= 28.833 * GIB <= high
    assert 12_288 == high - low


def test_capped_tokens_leave_it_to_the_slots() -> None:
    """With 100 000 tokens by option K alone narrows it: 1.9 ÷ 0.9 slots wide."""
    capped = replace(QN4, max_total_tokens=100_000)
    sizes = solve("0.5.17", capped)
    assert sizes.kv_tokens == 100_000

    low, high = budget_of(*settle("0.5.17", capped), 758, 100_000, None)

    assert low <= 28.833 * GIB <= high
    width = 19_316_736 * 1.9 / 0.9
    assert width * 0.99 <= high - low <= width * 1.01


def test_slots_bound_the_budget() -> None:
    """Both ends reproduce 758 slots, one byte outside does not."""
    low, high = budget_by_slots(*settle("0.5.17", QN4), 758)

    def slots(budget: int) -> int | None:
        problem = replace(QN4, rest_gib=budget / GIB)
        return solve("0.5.17", problem).max_mamba_cache_size

    assert 758 == slots(low + 1)
    assert 758 == slots(high - 1)
    assert 757 == slots(low - 1)
    assert 759 == slots(high + 1)


def test_pinned_and_capped_boot_falls_back_on_free_memory() -> None:
    """40.62 − 78.58 × 0.15 is 28.83 GiB, good to a hundredth."""
    rank = RankBoot(
        Rank(),
        avail_before=Measured.from_text("78.58", "GiB"),
        avail_after=Measured.from_text("40.62", "GiB"),
    )
    probe = probe_of(rank, 0.85, None)
    assert probe
    pinned = replace(QN4, pin=100, max_total_tokens=100_000)

    low, high = budget_of(*settle("0.5.17", pinned), 100, 100_000, probe)

    assert low <= 28.833 * GIB <= high
    assert high - low < 0.02 * GIB
