"""The ways configs say the same thing, family by family."""

from __future__ import annotations

from typing import Any

import pytest

from mamba_advisor.modelconfig import model_bytes
from mamba_advisor.modelconfig.published import all_published

PUBLISHED = {model.name: dict(model.config) for model in all_published()}
QWEN35 = PUBLISHED["Qwen/Qwen3.5-27B"]
QWEN_NEXT = PUBLISHED["Qwen/Qwen3-Next-80B-A3B-Instruct"]
FLASH_NEXT = PUBLISHED["Qwen/Qwen3.8-Flash-Next"]
KIMI = PUBLISHED["moonshotai/Kimi-Linear-48B-A3B-Instruct"]
GLM = PUBLISHED["zai-org/GLM-5.3-Flash"]
NANO = PUBLISHED["nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"]
FALCON = PUBLISHED["tiiuae/Falcon-H1-34B-Instruct"]
GRANITE = PUBLISHED["ibm-granite/granite-4.0-h-micro"]
LFM2 = PUBLISHED["LiquidAI/LFM2-1.2B"]
LING2 = PUBLISHED["inclusionAI/Ling-2.6-flash-fp8"]
LING3 = PUBLISHED["inclusionAI/Ling-3.0-tiny"]
GIGACHAT = PUBLISHED["ai-sage/GigaChat3.5-432B-A28B"]
ZAYA = PUBLISHED["Zyphra/ZAYA1-8B"]
SALA = PUBLISHED["openbmb/MiniCPM-SALA"]


def tower_of(config: dict[str, Any]) -> dict[str, Any]:
    """Return the text section of a wrapper."""
    section: dict[str, Any] = config["text_config"]
    return section


def nested(config: dict[str, Any], model_type: str, **text: Any) -> dict[str, Any]:
    """Return *config* as the text section of a wrapper."""
    return {"model_type": model_type, "text_config": {**config, **text}}


SAME: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "text-only export": (QWEN35, {**tower_of(QWEN35), "model_type": "qwen3_5_text"}),
    "text-only under the wrapper's name": (
        QWEN35,
        {**tower_of(QWEN35), "model_type": "qwen3_5"},
    ),
    "Intern-S2 wrapper": (QWEN35, {**QWEN35, "model_type": "intern_s2_preview"}),
    "Intern-S2-Mobius wrapper": (QWEN35, {**QWEN35, "model_type": "interns2_mobius"}),
    "MiniCPM-V 4.6 wrapper": (QWEN35, {**QWEN35, "model_type": "minicpmv4_6"}),
    "MiniCPM-V 4.7 wrapper": (QWEN35, {**QWEN35, "model_type": "minicpmv4_7"}),
    "unknown wrapper": (QWEN35, {**QWEN35, "model_type": "somebodys_vl"}),
    "layer_types of Qwen3.5 is not read": (
        QWEN35,
        nested(tower_of(QWEN35), "qwen3_5", layer_types=["full_attention"] * 64),
    ),
    "layer_types of Qwen3-Next is not read": (
        QWEN_NEXT,
        {**QWEN_NEXT, "layer_types": ["full_attention"] * 48},
    ),
    "layer_types of Qwen4-Exp is read": (
        FLASH_NEXT,
        nested(
            {**tower_of(FLASH_NEXT), "full_attention_interval": 2},
            "qwen4_exp",
            layer_types=(
                ["linear_attention"] * 36
                + ["full_attention"] * 4
                + ["qwen_sparse_attention"] * 4
                + ["indexed_attention"] * 4
            ),
        ),
    ),
    "old text-only Qwen4-Exp": (
        FLASH_NEXT,
        {**tower_of(FLASH_NEXT), "model_type": "qwen4_exp"},
    ),
    "Kimi-K3 wrapper": (KIMI, nested(KIMI, "kimi_k3")),
    "Kimi's full_attn_layers is not read": (
        KIMI,
        {
            **KIMI,
            "linear_attn_config": {
                **KIMI["linear_attn_config"],
                "full_attn_layers": [],
            },
        },
    ),
    "GLM's linear_attn_config counts from 0": (
        GLM,
        nested(
            {
                name: value
                for name, value in tower_of(GLM).items()
                if not name.startswith("linear_")
            },
            "glm5_next",
            linear_attn_config={
                "kda_layers": [layer for layer in range(45) if layer % 4 != 3],
                "full_attn_layers": [layer for layer in range(45) if layer % 4 == 3],
                "num_heads": 64,
                "head_dim": 128,
                "short_conv_kernel_size": 4,
            },
        ),
    ),
    "GLM's root stands in": (
        GLM,
        {
            **GLM,
            "kv_lora_rank": 512,
            "text_config": {
                name: value
                for name, value in tower_of(GLM).items()
                if name != "kv_lora_rank"
            },
        },
    ),
    "GLM's layer_types": (
        GLM,
        nested(
            tower_of(GLM),
            "glm5_next",
            layer_types=[
                "full_attention" if layer % 4 == 3 else "linear_attention"
                for layer in range(45)
            ],
        ),
    ),
    "Nemotron's list instead of the pattern": (
        NANO,
        {
            **{name: NANO[name] for name in NANO if name != "hybrid_override_pattern"},
            "layers_block_type": [
                {"M": "mamba", "*": "attention", "E": "moe"}[letter]
                for letter in NANO["hybrid_override_pattern"]
            ],
        },
    ),
    "Nemotron's num_hidden_layers is not read": (
        NANO,
        {**NANO, "num_hidden_layers": 3},
    ),
    "Nemotron's expand is not read": (NANO, {**NANO, "expand": 17}),
    "Nemotron Omni wrapper": (
        NANO,
        {"model_type": "nemotron_h_omni", "llm_config": NANO},
    ),
    "Puzzle": (NANO, {**NANO, "model_type": "nemotron_h_puzzle"}),
    "Nemotron's mamba_ssm_cache_dtype is not read": (
        NANO,
        {**NANO, "mamba_ssm_cache_dtype": "float16"},
    ),
    "Falcon-H1's automatic head dim": (FALCON, {**FALCON, "mamba_d_head": "auto"}),
    "Granite's newer words": (
        GRANITE,
        {
            **GRANITE,
            "layer_types": [
                {"mamba": "linear_attention", "attention": "full_attention"}[kind]
                for kind in GRANITE["layer_types"]
            ],
        },
    ),
    "LFM2's old index list": (
        LFM2,
        {
            **{name: LFM2[name] for name in LFM2 if name != "layer_types"},
            "full_attn_idxs": [
                layer
                for layer, kind in enumerate(LFM2["layer_types"])
                if kind == "full_attention"
            ],
        },
    ),
    "LFM2-VL wrapper": (LFM2, nested(LFM2, "lfm2_vl")),
    "Ling-2's list of groups": (
        LING2,
        {**LING2, "layer_group_size": ([1] * 7 + [0]) * 4},
    ),
    "Ling-2's num_kv_heads_for_linear_attn is not read": (
        LING2,
        {**LING2, "num_kv_heads_for_linear_attn": 4},
    ),
    "Ling-3 VL wrapper": (LING3, nested(LING3, "bailing_moe_v3_vl")),
    "GigaChat's layer_types": (
        GIGACHAT,
        {
            **{n: GIGACHAT[n] for n in GIGACHAT if n != "full_attention_layers"},
            "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 10,
        },
    ),
    "GigaChat counts from the end, too": (
        GIGACHAT,
        {
            **GIGACHAT,
            "full_attention_layers": [3, 7, 11, 15, 19, 23, 27, 31, -5, -1],
        },
    ),
    "ZAYA's list": (
        ZAYA,
        {**ZAYA, "zaya_layers": ["a", 16] * 40, "num_hidden_layers": 3},
    ),
    "ZAYA's query list": (
        ZAYA,
        {**ZAYA, "cca_num_q_heads": [0, 8, 0], "num_attention_heads": 64},
    ),
    "ZAYA's kv_channels": (
        ZAYA,
        {
            **{name: ZAYA[name] for name in ZAYA if name != "head_dim"},
            "kv_channels": 128,
        },
    ),
    "MiniCPM's mixers repeat": (
        {**SALA, "mixer_types": ["lightning-attn", "minicpm4"] * 16},
        {**SALA, "mixer_types": ["lightning", "attn"]},
    ),
}
"""Name -> two configs that mean the same model."""


@pytest.mark.parametrize("name", SAME)
def test_two_spellings_of_one_model(name: str) -> None:
    """Both give the same layers and bytes."""
    one, other = (model_bytes(config) for config in SAME[name])

    fields = (
        "linear_layers",
        "attention_layers",
        "state_bytes_per_slot",
        "kv_bytes_per_token",
        "conv_shapes_per_layer",
        "ssm_shape_per_layer",
        "ssm_dtype",
    )
    for field in fields:
        assert getattr(one, field) == getattr(other, field), field


def test_mla_without_rope_part() -> None:
    """Ling-3 with use_mla_nope: 512 · 6 layers · 2 B = 6 144 B instead of 6 912."""
    assert 6912 == model_bytes(LING3).kv_bytes_per_token
    assert 6144 == model_bytes({**LING3, "use_mla_nope": True}).kv_bytes_per_token


def test_short_convolution_tells_ling3_from_ling2() -> None:
    """The presence of short_conv_kernel_size selects KDA."""
    assert "kda" == model_bytes(LING3).state_kind
    without = {n: LING3[n] for n in LING3 if n != "short_conv_kernel_size"}
    assert "lightning" == model_bytes(without).state_kind


def test_granite_without_a_layer_list() -> None:
    """Every sixth of 40 layers is attention: 6 of them."""
    config = {name: GRANITE[name] for name in GRANITE if name != "layer_types"}

    result = model_bytes(config)

    assert (34, 6) == (result.linear_layers, result.attention_layers)


def test_defaults_are_said() -> None:
    """Qwen3-Next's class fills in what the file lacks; the notes name it."""
    config = {
        name: QWEN_NEXT[name]
        for name in QWEN_NEXT
        if name not in ("linear_num_value_heads", "num_key_value_heads")
    }

    result = model_bytes(config)

    assert 77_266_944 == result.state_bytes_per_slot
    assert any("linear_num_value_heads" in note for note in result.notes)
    assert any("num_key_value_heads" in note for note in result.notes)


def test_shared_index_layers_store_no_keys() -> None:
    """Of GLM's 11 attention layers 3, 7, … every second shares its choice.

    9 B per layer with keys of its own: 11 · 1024 + 6 · 9 or 11 · 1024 + 5 · 9.
    """
    kinds = ["shared" if layer % 8 == 3 else "full" for layer in range(45)]
    config = nested(tower_of(GLM), "glm5_next", indexer_types=kinds)

    result = model_bytes(config, tp_size=8)

    assert 11 * 1024 + 5 * 9 == result.kv_bytes_per_token


def test_pattern_and_frequency_of_the_index() -> None:
    """The pattern's S, or all but every n-th layer from 1 on, share."""
    pattern = "".join("S" if layer % 8 == 3 else "F" for layer in range(45))
    by_pattern = nested(tower_of(GLM), "glm5_next", index_topk_pattern=pattern)
    # Layers 3, 7, … 43 less 1 are 2, 6, … 42, of which 6, 18, 30, 42 divide by 3.
    by_frequency = nested(tower_of(GLM), "glm5_next", index_topk_freq=3)

    assert 11 * 1024 + 5 * 9 == model_bytes(by_pattern).kv_bytes_per_token
    assert 11 * 1024 + 4 * 9 == model_bytes(by_frequency).kv_bytes_per_token


def test_without_topk_there_is_no_index() -> None:
    """GLM without index_topk pays for latent rows alone, at any page size."""
    config = nested(
        {n: v for n, v in tower_of(GLM).items() if n != "index_topk"}, "glm5_next"
    )

    result = model_bytes(config)

    assert (11 * 1024, 1) == (result.kv_bytes_per_token, result.min_page_size)
    assert 1024 == model_bytes(GLM).min_page_size
