"""Published figures, and examples that were worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from mamba_advisor.sizing import (
    PoolSizes,
    SizingProblem,
    formula_ratio,
    request_limits,
    solve,
)

GIB = 1 << 30

QN4 = SizingProblem(
    rest_gib=28.833,
    slot_bytes=19_316_736,
    cells=(12_288,),
    context_len=262_144,
    strategy="extra_buffer",
)
"""Qwen3-Next-80B-A3B on one of four 80 GB GPUs: a slot costs 1572 tokens."""

DRAFTS: dict[str, Any] = {
    "speculative_algorithm": "NEXTN",
    "draft_tokens": 4,
    "draft_steps": 3,
    "draft_topk": 1,
    "max_running_requests": 48,
}
"""Four draft tokens, and the request limit that speculation sets."""

ON_ONE: dict[str, Any] = {
    "slot_bytes": 77_266_944,
    "cells": (24_576,),
    "attn_dp_size": 4,
}
"""The same model with DP attention: every worker has all heads."""


def outcome(sizes: PoolSizes) -> tuple[object, object, object]:
    """Return K, T and the limit in force."""
    return sizes.max_mamba_cache_size, sizes.kv_tokens, sizes.max_running_requests


@pytest.mark.parametrize(
    ("version", "changes", "expected"),
    [
        ("0.5.4", {}, (759, 1_326_317, 253)),
        ("0.5.6", DRAFTS, (151, 1_333_041, 48)),
        ("0.5.12", {}, (759, 1_326_317, 151)),
        ("0.5.12", DRAFTS, (668, 1_167_545, 48)),
        ("0.5.13", DRAFTS, (421, 1_555_829, 48)),
        ("0.5.16", DRAFTS | {"cells": (13_312,)}, (421, 1_436_150, 48)),
        ("0.5.17", {}, (758, 1_326_317, 151)),
        ("0.5.17", DRAFTS | {"cells": (13_312,)}, (418, 1_433_248, 48)),
        ("0.5.17", {"pin": 300}, (300, 2_046_293, 60)),
        ("0.5.16", ON_ONE, (189, 665_516, 37)),
        ("0.5.17", ON_ONE, (188, 665_516, 37)),
    ],
)
def test_qwen3_next(
    version: str, changes: Mapping[str, Any], expected: tuple[int, int, int]
) -> None:
    """K, T and limit of the running example, regime by regime."""
    assert expected == outcome(solve(version, replace(QN4, **changes)))


@pytest.mark.parametrize(
    ("version", "changes", "slots", "gib"),
    [
        ("0.5.4", ON_ONE, 47, 25.45),
        ("0.5.7", DRAFTS, 668, 13.362),
        ("0.5.7", DRAFTS | ON_ONE | {"max_running_requests": 96}, 7, 0.70),
        ("0.5.8", DRAFTS | ON_ONE | {"max_running_requests": 96}, 144, 11.562),
        ("0.5.8", {"disable_radix_cache": True}, 512, 19.622),
        ("0.5.9", {"disable_radix_cache": True}, 759, 15.179),
        ("0.5.16", DRAFTS, 421, 17.805),
        ("0.5.17", DRAFTS, 418, 17.769),
        (
            "0.5.17",
            {"disable_radix_cache": True, "max_running_requests": 128},
            128,
            26.512,
        ),
        (
            "0.5.17",
            DRAFTS | {"disable_radix_cache": True, "max_running_requests": 128},
            128,
            17.229,
        ),
    ],
)
def test_what_is_left_for_kv(
    version: str, changes: Mapping[str, Any], slots: int, gib: float
) -> None:
    """The KV budget is the rest less slots and draft reserve, to the page's digits."""
    sizes = solve(version, replace(QN4, **changes))

    assert slots == sizes.max_mamba_cache_size
    assert sizes.kv_budget_gib == pytest.approx(gib, abs=0.006)


@pytest.mark.parametrize(
    ("version", "limits"), [("0.5.16", (379, 94)), ("0.5.17", (758, 189))]
)
def test_stages_pay_for_themselves_from_0_5_17(
    version: str, limits: tuple[int, int]
) -> None:
    """Two stages of 18 state layers: before 0.5.17 each pays for all 36."""
    staged = replace(
        QN4,
        slot_bytes=38_633_472,
        cells=(6_144, 6_144),
        stage_state_layers=18,
        all_state_layers=36,
        disable_overlap_schedule=True,
    )
    sizes = solve(version, staged)

    assert limits == (sizes.max_mamba_cache_size, sizes.max_running_requests)


@pytest.mark.parametrize(
    ("version", "ring", "slots"), [("0.5.17", 451_584, 740), ("0.5.20", 3_557_376, 749)]
)
def test_rings_take_the_place_of_draft_states(
    version: str, ring: int, slots: int
) -> None:
    """A ring a slot up to 0.5.19; from 0.5.20 49 rings for 48 requests, 166 MiB."""
    replayed = replace(QN4, **DRAFTS, replayssm_spec=True, ring_bytes=ring)
    sizes = solve(version, replayed)

    assert slots == sizes.max_mamba_cache_size
    assert ring == sizes.replayssm_ring_bytes_per_slot
    assert 48 == sizes.max_running_requests


@pytest.mark.parametrize(
    ("version", "slot_bytes", "kv_gib", "slots", "answer"),
    [
        ("0.5.20", 73_809_920, 32.89, 429, 429),
        ("0.5.20", 56_171_520, 15.03, 257, 257),
        ("0.5.20", 153_944_064, 24.66, 154, 153),
        ("0.5.12", 153_944_064, 24.66, 154, 154),
        ("0.5.9", 96_030_000, 8.302, 82, 82),
    ],
)
@pytest.mark.parametrize("error_gib", [-0.005, 0, 0.005])
def test_published_pools(  # noqa: PLR0917 - a row of the table
    version: str,
    slot_bytes: int,
    kv_gib: float,
    slots: int,
    answer: int,
    error_gib: float,
) -> None:
    """Budget = printed KV + charged slots; ratio 0.9 then gives the printed K.

    The last but one shows the release: 154 slots are what 0.5.12 gives, 0.5.20 would
    have charged the padding slot and given 153.
    """
    charged = slots + (version == "0.5.20")
    rest = kv_gib + error_gib + charged * slot_bytes / GIB
    sizes = solve(version, SizingProblem(rest, slot_bytes, (10_000,)))

    assert answer == sizes.max_mamba_cache_size


def test_published_exchange_rate() -> None:
    """Eleven slots at 2253.18 tokens each are 24,785 tokens: 158,116 become 182,901."""
    slot, cell = 78_446_592, 34_816
    rest = (22 * slot + 158_116 * cell + cell // 2) / GIB
    pinned = SizingProblem(rest, slot, (cell,), pin=10)

    assert 182_901 == solve("0.5.20", pinned).kv_tokens


CLAMPS = [
    *[("extra_buffer", 5, slots, limit) for slots, limit in
      [(451, 90), (474, 94), (257, 51), (429, 85), (1000, 200), (131, 26), (64, 12),
       (47, 9), (40, 8), (33, 6), (32, 6), (28, 5), (24, 4), (21, 4), (10, 2), (9, 1),
       (8, 1)]],
    ("extra_buffer_lazy", 4, 149, 37),
    ("no_buffer", 3, 48, 16),
    ("no_buffer", 3, 60, 20),
]  # fmt: skip
"""(strategy, S, K, limit) as boots have printed them."""


@pytest.mark.parametrize(("strategy", "reserved", "slots", "limit"), CLAMPS)
def test_published_limits(strategy: str, reserved: int, slots: int, limit: int) -> None:
    """The limit is K // S where nothing else is smaller, and 0.5.17+ says so."""
    roomy = replace(QN4, rest_gib=100.0, strategy=strategy, pin=slots)
    sizes = solve("0.5.20", roomy)

    assert (reserved, limit) == (sizes.slots_per_request, sizes.max_running_requests)
    assert [limit] == [warning["granted"] for warning in sizes.warnings]


def test_two_slots_carry_no_request() -> None:
    """2 slots for S = 5 are fatal: 2 // 5 = 0."""
    sizes = solve("0.5.20", replace(QN4, pin=2))

    assert "no_request_fits_state_cache" == sizes.error
    assert (2, 5) == (sizes.max_mamba_cache_size, sizes.slots_per_request)


@pytest.mark.parametrize(("dcp", "ratio"), [(1, 1.8), (8, 14)])
def test_published_rule(dcp: int, ratio: float) -> None:
    """Kimi-K3, S = 4, L = 9216: 4 × 4063.3 ÷ 9216 = 1.76, eight times that with DCP 8.

    4063.3 tokens is one slot: 56,171,520 ÷ 13,824.
    """
    kimi = SizingProblem(
        28.5, 56_171_520, (13_824,), strategy="extra_buffer_lazy", dcp_size=dcp
    )
    rule = formula_ratio("0.5.20", kimi, 9216)

    assert rule == pytest.approx(ratio, rel=0.025)


def test_published_rule_counts_drafts() -> None:
    """QN4, D = 4, S = 5, L = 8192: 9 × 1572 ÷ 8192 = 1.727; with ReplaySSM 5 × ..."""
    drafting = replace(QN4, **DRAFTS)

    assert formula_ratio("0.5.20", drafting, 8192) == pytest.approx(1.727, abs=5e-4)
    assert formula_ratio(
        "0.5.20", replace(drafting, replayssm_spec=True), 8192
    ) == pytest.approx(0.9595, abs=5e-5)


def test_limits_by_name() -> None:
    """0.5.12 bounds a request for 200 by the heuristic: 1,326,317 ÷ 262,144 × 512."""
    asked = replace(QN4, max_running_requests=200)
    early = request_limits("0.5.12", asked, 759, 1_326_317)
    late = request_limits("0.5.20", asked, 759, 1_326_317)

    assert (151, 200, None, 2590) == (
        early.state,
        early.request,
        early.kv_floor,
        early.heuristic,
    )
    assert (151, 200, 663_158, None) == (
        late.state,
        late.request,
        late.kv_floor,
        late.heuristic,
    )
    assert ("state", "kv") == (late.binding(), late.binding(kv=150))


def test_ties_name_the_request_limit_first() -> None:
    """Of equal limits the one that a user can change is named."""
    limits = request_limits("0.5.20", replace(QN4, max_running_requests=151), 759, 9999)

    assert "request" == limits.binding(kv=151)
