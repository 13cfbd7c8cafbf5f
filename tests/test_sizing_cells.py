"""Bytes per token by release: target, draft, stages; rings; the other pools."""

from __future__ import annotations

import pytest

from mamba_advisor.errors import FactError
from mamba_advisor.sizing import PoolSizes
from mamba_advisor.sizing.cells import (
    DraftKv,
    TargetKv,
    charged_cell,
    charged_layers,
    mha_layer_cell,
    mla_layer_cell,
    stage_bounds,
    told_draft_layers,
)
from mamba_advisor.sizing.disaggregation import decode_slots
from mamba_advisor.sizing.rings import RingShape, layer_ring_bytes
from mamba_advisor.sizing.sliding import sliding_cell, window_tokens
from mamba_advisor.sizing.unified import unified_concurrency, unified_total_bytes

QN4 = TargetKv(cell=12_288, layers=12)
"""Qwen3-Next on one of four ranks: 12 layers of 1 head of 256 + 256 in 16 bits."""


@pytest.mark.parametrize(
    ("version", "expected"), [("0.5.6", 2 * 192 * 2), ("0.5.7", (192 + 128) * 2)]
)
def test_values_have_their_own_width_from_0_5_7(version: str, expected: int) -> None:
    """Before, they are priced as wide as the keys."""
    cell = mha_layer_cell(
        version,
        kv_heads=4,
        head_dim=192,
        v_head_dim=128,
        attn_tp_size=8,
        dcp_size=1,
        element_bytes=2,
    )

    assert expected == cell


@pytest.mark.parametrize(("version", "heads"), [("0.5.17", 1), ("0.5.18", 8)])
def test_dcp_ranks_share_heads_from_0_5_18(version: str, heads: int) -> None:
    """8 heads on TP 8 with DCP 8: all 8 on every rank, in place of one."""
    cell = mha_layer_cell(
        version,
        kv_heads=8,
        head_dim=128,
        v_head_dim=128,
        attn_tp_size=8,
        dcp_size=8,
        element_bytes=2,
    )

    assert heads * 256 * 2 == cell


def test_mla_token() -> None:
    """(512 + 64) × 2 bytes."""
    assert 1152 == mla_layer_cell(512, 64, 2)


def test_last_stages_are_longer() -> None:
    """40 layers over 3 stages are 13, 13 and 14."""
    assert [range(13), range(13, 26), range(26, 40)] == stage_bounds(40, 3)


def test_stages_are_charged_their_own_layers_from_0_5_8() -> None:
    """Before, every stage is charged the whole model."""
    assert [10, 10] == charged_layers("0.5.7", [4, 6])
    assert [4, 6] == charged_layers("0.5.8", [4, 6])


@pytest.mark.parametrize(
    ("version", "draft", "expected"),
    [
        ("0.5.13", DraftKv("EAGLE", 1), 12_288),
        ("0.5.14", DraftKv("NEXTN", 1), 13_312),
        ("0.5.14", DraftKv("EAGLE", None), 12_288),
        ("0.5.23", DraftKv("eagle3", 1), 13_312),
        ("0.5.10", DraftKv("DFLASH", 5), 12_288),
        ("0.5.11", DraftKv("DFLASH", 5), 17_408),
        ("0.5.18", DraftKv("DFLASH", 5, own_cell=3_000), 15_288),
        ("0.5.23", DraftKv("NGRAM", None), 12_288),
        ("0.5.23", None, 12_288),
    ],
)
def test_draft_is_charged(version: str, draft: DraftKv | None, expected: int) -> None:
    """One layer more is 1 ÷ 12: 1024 bytes, where the release knows of it."""
    assert expected == charged_cell(version, QN4, draft)


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.5.16", 17_408), ("0.5.17", 32_768), ("0.5.18", 24_288)],
)
def test_block_draft_is_stored_by_every_dcp_rank(version: str, expected: int) -> None:
    """DCP 4: five draft layers count as 20 in 0.5.17, later at their own size."""
    target = TargetKv(cell=12_288, layers=12, dcp_size=4)

    assert expected == charged_cell(version, target, DraftKv("DFLASH", 5, 3_000))


@pytest.mark.parametrize(
    ("version", "expected"), [("0.5.21", 47_999), ("0.5.22", 48_000)]
)
def test_product_can_be_a_byte_low(version: str, expected: int) -> None:
    """47 layers and one draft layer: 1 + 1 ÷ 47 in floating point, up to 0.5.21.

    The sum of 0.5.22 is exact here.
    """
    target = TargetKv(cell=47_000, layers=47)

    assert expected == charged_cell(version, target, DraftKv("EAGLE", 1))


@pytest.mark.parametrize(
    ("version", "has_path", "expected"),
    [
        ("0.5.13", True, None),
        ("0.5.14", True, 2),
        ("0.5.19", False, None),
        ("0.5.20", False, 1),
        ("0.5.20", True, 2),
    ],
)
def test_who_tells_of_the_draft(
    version: str, has_path: bool, expected: int | None
) -> None:
    """A path from 0.5.14; without one the target's own field from 0.5.20."""
    assert expected == told_draft_layers(version, has_path, 2, 1)


@pytest.mark.parametrize(
    ("version", "family", "layers", "expected"),
    [
        ("0.5.17", "gdn", 36, 451_584),
        ("0.5.20", "gdn", 36, 3_557_376),
        ("0.5.17", "kda", 20, 3_942_400),
    ],
)
def test_rings(version: str, family: str, layers: int, expected: int) -> None:
    """Qwen3-Next and Kimi-Linear on one of four ranks, with 4 drafts and length 16."""
    heads, keys = (8, 4) if family == "gdn" else (8, 8)
    shape = RingShape(heads, 128, keys, 128, 2, draft_tokens=4, cache_len=16)

    assert expected == layers * layer_ring_bytes(version, family, shape)


@pytest.mark.parametrize(
    ("version", "sizes", "token_bytes", "slot_bytes", "expected"),
    [
        (
            "0.5.15",
            PoolSizes(max_mamba_cache_size=758, kv_tokens=1_326_317),
            12_288,
            19_316_736,
            30_939_869_184,
        ),
        (
            "0.5.23",
            PoolSizes(
                max_mamba_cache_size=2_309,
                kv_tokens=2_064_434,
                kv_tokens_profiled=2_064_434,
                kv_budget_bytes=2_113_981_000,
            ),
            1_024,
            823_296,
            4_014_968_832,
        ),
    ],
)
def test_unified_buffer(
    version: str, sizes: PoolSizes, token_bytes: int, slot_bytes: int, expected: int
) -> None:
    """T rows and K slots; from 0.5.19 the KV budget in blocks of 4 KiB in place of T.

    The second is a real boot: 516,108 blocks and 2309 slots.
    """
    assert expected == unified_total_bytes(version, sizes, token_bytes, slot_bytes)


def test_unified_memory_begins_with_0_5_15() -> None:
    """Before there is no such buffer."""
    with pytest.raises(FactError):
        unified_total_bytes("0.5.14", PoolSizes(), 1, 1)


def test_unified_buffer_carries() -> None:
    """5 slots of 10 and 100 tokens of 1 byte are 150 a request: 6 in 1000 bytes."""
    assert 6 == unified_concurrency(1000, 1, 10, context=100, slots=5)


def test_sliding_window() -> None:
    """Ratio 0.1: 1000 + 0.1 × 500 bytes; 10,000 full rows go with 15 pages of 64."""
    assert 1050 == sliding_cell(1000, 500, 0.1)
    assert 500 == sliding_cell(0, 500, 0.1)
    assert 960 == window_tokens(10_000, 0.1, 64)


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.5.8", 72), ("0.5.9", 148), ("0.5.10", 72), ("0.5.11", 100)],
)
def test_decode_server(version: str, expected: int) -> None:
    """K = 100, limit 24: twice the limit is taken in advance, 72 requests in all."""
    assert expected == decode_slots(version, slots=100, requests=24)


def test_decode_server_with_many_requests_takes_none_in_advance() -> None:
    """Above a limit of 32 nothing is added; three slots each where reuse is on."""
    assert 33 == decode_slots("0.5.8", slots=100, requests=33)
    assert 120 == decode_slots("0.5.11", slots=100, requests=40, per_request=3)
