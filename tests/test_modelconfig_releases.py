"""What older releases do differently with the same config."""

from __future__ import annotations

from typing import Any

import pytest

from mamba_advisor.modelconfig import model_bytes
from mamba_advisor.modelconfig.published import all_published

PUBLISHED = {model.name: dict(model.config) for model in all_published()}
NEXT = PUBLISHED["Qwen/Qwen3-Next-80B-A3B-Instruct"]
QWEN35 = PUBLISHED["Qwen/Qwen3.5-27B"]
MOE = PUBLISHED["Qwen/Qwen3.5-35B-A3B"]


@pytest.mark.parametrize(
    ("version", "channels"),
    [("0.5.3", (4096 + 2 * 16 * 128) // 32), ("0.5.4", (4096 + 2 * 32 * 128) // 32)],
)
def test_group_padding_since_0_5_4(version: str, channels: int) -> None:
    """16 key heads on 32 ranks: split as they are, then one per rank."""
    result = model_bytes(NEXT, tp_size=32, sglang_version=version)

    assert ((channels, 3),) == result.conv_shapes_per_layer


@pytest.mark.parametrize(
    ("version", "attention", "linear"),
    # 40 layers in two stages of 20: 15 states and 5 attention layers each.
    [("0.5.7", 10, 30), ("0.5.8", 5, 30), ("0.5.9", 5, 30), ("0.5.10", 5, 15)],
)
def test_stages_cut_attention_then_state(
    version: str, attention: int, linear: int
) -> None:
    """Attention is priced by stage from 0.5.8, states allocated from 0.5.10."""
    result = model_bytes(MOE, pp_size=2, sglang_version=version)

    assert attention * 2048 == result.kv_bytes_per_token
    assert linear == result.linear_layers


@pytest.mark.parametrize(("version", "share"), [("0.5.16", 1), ("0.5.17", 2)])
def test_state_charged_by_stage_since_0_5_17(version: str, share: int) -> None:
    """Before, every stage paid for all 64 389 120 B of a slot."""
    result = model_bytes(MOE, pp_size=2, sglang_version=version)

    assert 64_389_120 // share == result.budget_state_bytes_per_slot


@pytest.mark.parametrize(("version", "columns"), [("0.5.13", 12), ("0.5.14", 6)])
def test_windows_shared_since_0_5_14(version: str, columns: int) -> None:
    """Four drafts: 4 · 3 columns, then 4 + 4 − 2; 10 240 channels, 48 layers, 2 B."""
    result = model_bytes(QWEN35, speculative_num_draft_tokens=4, sglang_version=version)

    assert 48 * 10_240 * columns * 2 == result.intermediate_conv_bytes_per_request


@pytest.mark.parametrize(("version", "heads"), [("0.5.17", 1), ("0.5.18", 4)])
def test_kv_heads_know_dcp_since_0_5_18(version: str, heads: int) -> None:
    """TP 4, DCP 4: one of four heads a rank, then all four."""
    result = model_bytes(QWEN35, tp_size=4, dcp_size=4, sglang_version=version)

    assert heads == result.kv_heads_per_rank
    assert heads * 16_384 == result.kv_bytes_per_token


@pytest.mark.parametrize(
    ("version", "index"), [("0.5.20", 132), ("0.5.21", 132), ("0.5.22", 9)]
)
def test_index_divided_by_its_pool_since_0_5_22(version: str, index: int) -> None:
    """GLM's index row: 128 + 4 B a layer, then a sixteenth, rounded up."""
    result = model_bytes(
        PUBLISHED["zai-org/GLM-5.3-Flash"], tp_size=8, sglang_version=version
    )

    assert 11 * (1024 + index) == result.kv_bytes_per_token


@pytest.mark.parametrize(
    ("version", "ring", "per"),
    [
        # Qwen3-Next TP 4, D = 4: the reference's worked figures.
        ("0.5.19", 451_584, "slot"),
        ("0.5.20", 3_557_376, "request"),
    ],
)
def test_gdn_ring_by_release(version: str, ring: int, per: str) -> None:
    """One raw copy of D tokens per slot, then full rings per request."""
    result = model_bytes(
        NEXT,
        tp_size=4,
        speculative_num_draft_tokens=4,
        enable_linear_replayssm_spec=True,
        sglang_version=version,
    )

    assert (ring, per) == (result.replayssm_ring_bytes, result.replayssm_ring_per)


def test_kda_ring_of_the_reference() -> None:
    """Kimi-Linear TP 4: 3 942 400 B per slot."""
    config = PUBLISHED["moonshotai/Kimi-Linear-48B-A3B-Instruct"]
    options: dict[str, Any] = {
        "speculative_num_draft_tokens": 4,
        "enable_linear_replayssm_spec": True,
    }

    result = model_bytes(config, tp_size=4, **options)

    assert (3_942_400, "slot") == (
        result.replayssm_ring_bytes,
        result.replayssm_ring_per,
    )


def test_gdn_ring_in_float32_has_no_low_part() -> None:
    """48 layers · 16 · ((48·128 + 16·128)·4 + 4·48) B: the factor two is gone."""
    result = model_bytes(
        QWEN35,
        conv_dtype="float32",
        speculative_num_draft_tokens=4,
        enable_linear_replayssm_spec=True,
    )

    assert 48 * 16 * (8192 * 4 + 192) == result.replayssm_ring_bytes
