"""The best split: never worse than trying everything."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mamba_advisor.errors import FactError
from mamba_advisor.sizing import (
    SizingInputs,
    SizingProblem,
    best_split,
    decided_by,
    solve,
    sustained,
)
from mamba_advisor.sizing.inputs import reduce_inputs

RECORDS = json.loads(
    (Path(__file__).resolve().parent.parent / "fixtures/sizing/records.json").read_text(
        encoding="utf-8"
    )
)["records"]

QN4 = SizingProblem(
    rest_gib=28.833,
    slot_bytes=19_316_736,
    cells=(12_288,),
    context_len=262_144,
    strategy="extra_buffer",
)
"""Qwen3-Next-80B-A3B on one of four 80 GB GPUs."""

DRAFTING = replace(QN4, speculative_algorithm="NEXTN", draft_tokens=4, cells=(13_312,))
"""The same with four draft tokens, whose limit is 48 unless one is asked for."""


def scenarios(records: list[dict[str, Any]]) -> Iterator[tuple[str, SizingProblem]]:
    """Yield release and problem of every record."""
    for record in records:
        inputs = SizingInputs.from_record(record["inputs"])
        yield record["version"], reduce_inputs(record["version"], inputs)


def settings_to_try(
    version: str, problem: SizingProblem, draw: random.Random, count: int
) -> Iterator[SizingProblem]:
    """Yield *problem* with ratios of 0.001 to 1000, and with pins of any size.

    A pin of 0.5.7 takes its draft states from nowhere: it is no gain, so it is left
    out where a ratio decides.
    """
    for step in range(count):
        ratio = 10 ** (6 * (step + draw.random()) / count - 3)
        yield replace(problem, ratio=ratio, pin=None)
    unpinned = replace(problem, pin=None)
    trap = version == "0.5.7" and problem.draft_tokens > 0
    if trap and decided_by(version, unpinned) == "ratio":
        return
    most = max(1, int(problem.rest_gib * 2**30) // problem.slot_bytes)
    for step in range(count):
        slots = 1 + int(most * (step + draw.random()) / count)
        yield replace(problem, pin=slots * problem.attn_dp_size)


def check_against_grid(
    version: str, problem: SizingProblem, context: int, draw: random.Random, count: int
) -> None:
    """Assert that no setting that was tried carries more than the best split."""
    split = best_split(version, problem, context)
    tried = settings_to_try(version, problem, draw, count)
    found = [solve(version, setting) for setting in tried]
    most = max(sustained(sizes, context) for sizes in found)

    if split is None:
        assert not any(sizes.boots for sizes in found)
        return
    equal = [
        sizes.max_mamba_cache_size or 0
        for sizes in found
        if sustained(sizes, context) == most
    ]
    assert most <= split.sustained
    assert split.sustained == sustained(split.sizes, context)
    if most == split.sustained > 0:
        # The largest pool of equals, but for the digits of a ratio and for ratios
        # beyond 50, which serve the same pool in ever smaller steps.
        own = split.sizes.max_mamba_cache_size or 0
        assert own + 1 >= 0.98 * max(equal)


@pytest.mark.parametrize("context", [300, 4_000, 60_000])
def test_never_worse_than_the_grid(context: int) -> None:
    """Over the scenarios of the records, at short, usual and long contexts."""
    draw = random.Random(context)

    for version, problem in scenarios(RECORDS):
        check_against_grid(version, problem, context, draw, 40)


def test_never_worse_in_the_whole_oracle(shared: Path) -> None:
    """Over all scenarios of the oracle, at contexts of 64 to 256 Ki tokens."""
    path = shared / "oracle" / "sizing-cases.json"
    if not path.is_file():
        pytest.skip("needs the sizing oracle in ../shared")
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    draw = random.Random(420)

    for version, problem in scenarios(cases):
        check_against_grid(version, problem, int(2 ** draw.uniform(6, 18)), draw, 150)


@pytest.mark.parametrize("concurrency", [1, 7, 40])
def test_wanted_concurrency_is_carried_where_it_can_be(concurrency: int) -> None:
    """Reached by the smallest pool and its safety slot; if not, by none on the grid.

    A request may be given up for the safety slot, so the grid is asked for one more.
    """
    draw = random.Random(concurrency)

    for version, problem in scenarios(RECORDS):
        context = int(2 ** draw.uniform(8, 16))
        split = best_split(version, problem, context, concurrency)
        if split is None or not split.is_reached:
            for setting in settings_to_try(version, problem, draw, 25):
                assert sustained(solve(version, setting), context) < concurrency + 1
            continue
        reserved = split.sizes.slots_per_request or 0
        assert concurrency <= split.sustained
        if split.flag == "pin":
            slots = split.sizes.max_mamba_cache_size or 0
            assert slots == concurrency * reserved + 1 or split.sustained == concurrency


def test_request_limit_chosen_as_well_is_never_worse() -> None:
    """No limit on a coarse grid, with any ratio or pin, carries more than `beyond`."""
    draw = random.Random(5)

    for version, problem in list(scenarios(RECORDS))[::3]:
        context = int(2 ** draw.uniform(9, 15))
        split = best_split(version, problem, context)
        best = 0 if split is None else split.sustained
        if split is not None and split.beyond is not None:
            assert split.beyond.sustained > split.sustained
            best = split.beyond.sustained
        for asked in (1, 5, 20, 70, 200):
            limit = asked * problem.attn_dp_size
            limited = replace(problem, max_running_requests=limit)
            for setting in settings_to_try(version, limited, draw, 20):
                assert sustained(solve(version, setting), context) <= best


def test_running_example() -> None:
    """8192 tokens: 156 requests, as 780 slots and 156 × 8192 tokens just fit.

    5 P + 8192 c = 197,246,976 bytes a request; 28.833 GiB hold 156.9 of them, so 156:
    780 slots and padding are 14.05 GiB, 156 × 8192 tokens 14.63.
    """
    split = best_split("0.5.20", QN4, 8192)

    assert split is not None
    assert 156 == split.sustained
    assert "ratio" == split.flag
    assert split.ratio == pytest.approx(0.96, abs=0.015)
    assert split.pin == split.sizes.max_mamba_cache_size
    assert split.binding in {"state", "kv"}
    assert split.beyond is None


def test_plateau_holds_the_ratio_and_ends_at_one_per_cent() -> None:
    """Inside 156 × 0.99 → 155 requests are carried, just outside fewer."""
    split = best_split("0.5.20", QN4, 8192)
    assert split is not None
    assert split.plateau is not None
    low, high = split.plateau

    def carried(ratio: float) -> int:
        return sustained(solve("0.5.20", replace(QN4, ratio=ratio)), 8192)

    assert low < (split.ratio or 0) < high
    assert 155 == min(carried(low), carried(high))
    assert 155 > max(carried(low * 0.99), carried(high * 1.01))


def test_speculation_limit_is_named_and_lifted() -> None:
    """48 binds whatever the ratio; a limit of its own carries more.

    (5 + 4) P + 8192 c = 282.9 MB a request: 109 fit into 28.833 GiB.
    """
    split = best_split("0.5.20", DRAFTING, 8192)

    assert split is not None
    assert (48, "request") == (split.sustained, split.binding)
    assert split.beyond is not None
    assert 109 == split.beyond.sustained == split.beyond.max_running_requests


def test_wanted_concurrency_is_pinned_with_a_safety_slot() -> None:
    """40 requests of S = 5: 201 slots, everything else for tokens."""
    split = best_split("0.5.20", QN4, 8192, 40)

    assert split is not None
    assert ("pin", 201, 40) == (split.flag, split.pin, split.sustained)
    assert split.ratio is not None
    assert 40 == sustained(solve("0.5.20", replace(QN4, ratio=split.ratio)), 8192)


def test_pin_is_for_all_workers() -> None:
    """Ten requests on each of two workers: 2 × 51 slots."""
    split = best_split("0.5.20", replace(QN4, attn_dp_size=2), 8192, 10)

    assert split is not None
    assert (102, 51) == (split.pin, split.sizes.max_mamba_cache_size)


def test_checkpoints_are_kept_free() -> None:
    """100 idle sessions: 100 slots beside 40 × 5 + 1."""
    split = best_split("0.5.20", QN4, 8192, 40, spare_slots=100)

    assert split is not None
    assert 301 == split.pin


def test_wanted_concurrency_without_context() -> None:
    """A concurrency alone is enough for a pin."""
    split = best_split("0.5.20", QN4, None, 40)

    assert split is not None
    assert (201, None, 40) == (split.pin, split.kv_limit, split.sustained)


def test_out_of_reach_is_said_with_the_most_that_can() -> None:
    """1000 requests do not fit: 156 do, and nothing lifts that."""
    split = best_split("0.5.20", QN4, 8192, 1000)

    assert split is not None
    assert (False, 156) == (split.is_reached, split.sustained)


def test_wanted_concurrency_above_the_limit() -> None:
    """60 with drafts: 48 as it is, 60 with ``--max-running-requests 60``."""
    split = best_split("0.5.20", DRAFTING, 8192, 60)

    assert split is not None
    assert (False, 48) == (split.is_reached, split.sustained)
    assert split.beyond is not None
    assert (60, 60) == (split.beyond.max_running_requests, split.beyond.sustained)
    assert 301 == split.beyond.pin


def test_pin_trap_of_0_5_7_is_not_taken() -> None:
    """Its draft states beside a pin are in no budget: the ratio is set instead."""
    split = best_split("0.5.7", DRAFTING, 8192, 20)

    assert split is not None
    assert ("ratio", None, 0) == (split.flag, split.pin, split.unbudgeted_bytes)


def test_pin_trap_is_counted_where_nothing_else_decides() -> None:
    """Without a radix cache 0.5.7 heeds a pin only: 48 requests' drafts are unpaid."""
    split = best_split("0.5.7", replace(DRAFTING, disable_radix_cache=True), 8192)

    assert split is not None
    assert "pin" == split.flag
    assert 48 * 4 * QN4.slot_bytes == split.unbudgeted_bytes


def test_ratio_where_pins_are_ignored() -> None:
    """0.5.6 overwrites a pin beside the radix cache."""
    split = best_split("0.5.6", QN4, 8192, 40)

    assert split is not None
    assert ("ratio", None) == (split.flag, split.pin)
    assert 121 <= (split.sizes.max_mamba_cache_size or 0) <= 122


def test_context_beyond_the_pool_gives_it_all_to_tokens() -> None:
    """Not even one request of 3 M tokens fits: the smallest pool that boots."""
    split = best_split("0.5.20", QN4, 3_000_000)

    assert split is not None
    assert (0, 5) == (split.sustained, split.sizes.max_mamba_cache_size)


@pytest.mark.parametrize(
    "changes",
    [
        {"rest_gib": -1.0},
        {"rest_gib": 0.05},
        {"strategy": "extra_buffer_lazy", "disable_overlap_schedule": True},
    ],
)
def test_nothing_boots(changes: dict[str, Any]) -> None:
    """Without memory, or with a refused strategy, there is no split to give."""
    assert best_split("0.5.20", replace(QN4, **changes), 8192) is None


def test_goal_is_needed() -> None:
    """Neither context nor concurrency: the message names both."""
    with pytest.raises(FactError, match="average context or a wanted concurrency"):
        best_split("0.5.20", QN4, None)


@pytest.mark.parametrize("problem", [QN4, DRAFTING])
@pytest.mark.parametrize("spare_slots", [0, 100])
def test_bound_leaves_out_only_what_does_not_exceed_it(
    problem: SizingProblem, spare_slots: int
) -> None:
    """What is carried is more than one less, and not more than itself."""
    found = best_split("0.5.20", problem, 8192, spare_slots=spare_slots, bare=True)
    assert found is not None
    most = best_split("0.5.20", problem, 8192, bare=True)
    assert most is not None

    def bounded(over: int) -> object:
        return best_split(
            "0.5.20", problem, 8192, spare_slots=spare_slots, bare=True, over=over
        )

    assert found == bounded(found.sustained - 1)
    assert bounded(most.sustained) is None


def test_snug_split_serves_the_request_limit() -> None:
    """48 requests by default under drafts: the least pool that carries them."""
    wide = best_split("0.5.20", DRAFTING, 8192)
    snug = best_split("0.5.20", DRAFTING, 8192, snug=True)
    least = best_split("0.5.20", DRAFTING, 8192, 48)

    assert wide is not None
    assert snug is not None
    assert least is not None
    assert "request" == wide.binding
    assert replace(least, beyond=wide.beyond) == snug


def test_what_is_public_is_nobody_elses() -> None:
    """A caller may change the lists in a result; the next one gets them anew."""
    version, problem = next(
        (version, problem)
        for version, problem in scenarios(RECORDS)
        if solve(version, problem).warnings
    )
    solve(version, problem).warnings.clear()

    assert solve(version, problem).warnings
