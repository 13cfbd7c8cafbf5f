"""Element types by flag, environment and config, and what a token costs in them."""

from __future__ import annotations

from typing import Any

import pytest

from mamba_advisor.errors import ConfigError
from mamba_advisor.modelconfig import model_bytes
from mamba_advisor.modelconfig.published import all_published

PUBLISHED = {model.name: dict(model.config) for model in all_published()}
NEXT = PUBLISHED["Qwen/Qwen3-Next-80B-A3B-Instruct"]
QWEN35 = PUBLISHED["Qwen/Qwen3.5-27B"]
GRANITE = PUBLISHED["ibm-granite/granite-4.0-h-micro"]
GLM = PUBLISHED["zai-org/GLM-5.3-Flash"]
KIMI = PUBLISHED["moonshotai/Kimi-Linear-48B-A3B-Instruct"]
INKLING = PUBLISHED["thinkingmachines/Inkling"]


@pytest.mark.parametrize(
    ("config", "options", "dtype"),
    [
        (NEXT, {}, "float32"),
        ({**NEXT, "mamba_ssm_dtype": "bfloat16"}, {}, "bfloat16"),
        (
            {**NEXT, "mamba_ssm_dtype": "bfloat16"},
            {"mamba_ssm_dtype": "float16"},
            "float16",
        ),
        # 0.5.9 is the first release that reads the field.
        (
            {**NEXT, "mamba_ssm_dtype": "bfloat16"},
            {"sglang_version": "0.5.8"},
            "float32",
        ),
        # ReplaySSM for speculation sets the flag to float32 when it is unset.
        (
            {**NEXT, "mamba_ssm_dtype": "bfloat16"},
            {"enable_linear_replayssm_spec": True},
            "float32",
        ),
        # Granite's class takes the default, but the flag works everywhere.
        ({**GRANITE, "mamba_ssm_dtype": "bfloat16"}, {}, "float32"),
        (GRANITE, {"mamba_ssm_dtype": "bfloat16"}, "bfloat16"),
        # Inkling's windows are bfloat16 whatever anybody says.
        (INKLING, {"mamba_ssm_dtype": "float32"}, "bfloat16"),
        # NVIDIA's name for it is another engine's.
        (
            {
                **PUBLISHED["nvidia/NVIDIA-Nemotron-Nano-9B-v2"],
                "mamba_ssm_cache_dtype": "float16",
            },
            {},
            "float32",
        ),
    ],
)
def test_state_dtype(
    config: dict[str, Any], options: dict[str, Any], dtype: str
) -> None:
    """Flag, then config where the family reads it, then float32."""
    assert dtype == model_bytes(config, **options).ssm_dtype


def test_wrapper_reads_the_text_sections_dtype() -> None:
    """A root-level field beside a text section is not looked at."""
    tower = {**QWEN35["text_config"]}
    tower.pop("mamba_ssm_dtype", None)
    config = {**QWEN35, "mamba_ssm_dtype": "bfloat16", "text_config": tower}

    assert "float32" == model_bytes(config).ssm_dtype


def test_unknown_word_is_ignored_as_sglang_does() -> None:
    """SGLang warns and takes float32; so does the plan."""
    result = model_bytes({**NEXT, "mamba_ssm_dtype": "tf32"})

    assert "float32" == result.ssm_dtype
    assert any("'tf32'" in note for note in result.notes)


def test_convolution_follows_the_environment_alone() -> None:
    """float32 windows are twice bfloat16's; Inkling ignores the variable."""
    plain, wide = (model_bytes(NEXT, conv_dtype=dtype) for dtype in (None, "float32"))

    assert 2 * plain.conv_bytes_per_slot == wide.conv_bytes_per_slot
    assert "bfloat16" == model_bytes(INKLING, conv_dtype="float32").conv_dtype


@pytest.mark.parametrize(
    ("quantization", "bytes_per_token"),
    [
        (None, 65_536),
        ({"quant_method": "fp8"}, 65_536),
        ({"quant_method": "fp8", "kv_cache_quant_algo": "FP8"}, 32_768),
        ({"quantization": {"kv_cache_quant_algo": "fp8"}}, 32_768),
        (
            {
                "quant_method": "modelopt",
                "kv_cache_scheme": {"type": "float", "num_bits": 8},
            },
            32_768,
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "kv_cache_scheme": {"type": "float", "num_bits": 8},
            },
            65_536,
        ),
        ({"kv_cache_quant_algo": 8, "quantization": []}, 65_536),
        ("fp8", 65_536),
    ],
)
def test_auto_takes_the_weights_hint(quantization: Any, bytes_per_token: int) -> None:
    """``auto`` is two bytes, one where the quantisation declares FP8 KV.

    Qwen3.5-27B: 4 heads · 512 · 16 layers · 2 B = 65 536 B.
    """
    config = {**QWEN35, "quantization_config": quantization}

    assert bytes_per_token == model_bytes(config).kv_bytes_per_token


@pytest.mark.parametrize(
    ("dtype", "bytes_per_token"),
    [
        ("bf16", 65_536),
        ("bfloat16", 65_536),
        ("float16", 65_536),
        ("fp8_e4m3", 32_768),
        ("fp8_e5m2", 32_768),
        ("mxfp8", 32_768 + 1024),
        ("fp4_mx_block16", 18_432),
        ("fp4_e2m1", 18_432),
        ("nvfp4", 18_432),
    ],
)
def test_kv_dtypes_of_grouped_attention(dtype: str, bytes_per_token: int) -> None:
    """32 768 elements: 2 B, 1 B, 1 + 1/32 B, and 9/16 B each."""
    result = model_bytes(QWEN35, kv_cache_dtype=dtype)

    assert bytes_per_token == result.kv_bytes_per_token


@pytest.mark.parametrize(
    ("options", "extra"),
    [
        ({"attention_backend": "trtllm_mha"}, 0),
        # One fp8 row: 2 · 4 heads · 256.
        ({"attention_backend": "flashinfer"}, 2048),
        (
            {
                "prefill_attention_backend": "flashinfer",
                "decode_attention_backend": "trtllm_mha",
            },
            2048,
        ),
        # SM100 keeps a second layout of 2 · 16 · 4 · 16 scales.
        (
            {
                "prefill_attention_backend": "flashinfer",
                "decode_attention_backend": "trtllm_mha",
                "sm": 100,
            },
            2048 + 2048,
        ),
    ],
)
def test_nvfp4_by_backends(options: dict[str, Any], extra: int) -> None:
    """A dequantising prefill adds a shared row, mixed layouts further scales."""
    result = model_bytes(QWEN35, kv_cache_dtype="nvfp4", **options)

    assert 18_432 + extra == result.kv_bytes_per_token


def test_fp4_of_latent_attention() -> None:
    """Kimi-Linear: 576 · 7 // 2 + 576 // 16 · 7 = 2 268 B."""
    result = model_bytes(KIMI, kv_cache_dtype="fp4_mx_block16")

    assert 2268 == result.kv_bytes_per_token


@pytest.mark.parametrize(
    ("options", "dtype", "bytes_per_token"),
    [
        ({}, "bfloat16", 11_363),
        ({"sm": 90}, "bfloat16", 11_363),
        ({"sm": 100}, "fp8_e4m3", 5731),
        ({"kv_cache_dtype": "fp8_e4m3", "sm": 90}, "fp8_e4m3", 5907),
        (
            {
                "kv_cache_dtype": "fp8_e4m3",
                "dsa_prefill_backend": "tilelang",
                "dsa_decode_backend": "tilelang",
            },
            "fp8_e4m3",
            5731,
        ),
        (
            {
                "kv_cache_dtype": "fp8_e4m3",
                "dsa_prefill_backend": "tilelang",
                "dsa_decode_backend": "flashmla_kv",
            },
            "fp8_e4m3",
            5907,
        ),
    ],
)
def test_sparse_latent_attention_depends_on_the_gpu(
    options: dict[str, Any], dtype: str, bytes_per_token: int
) -> None:
    """``auto`` is fp8 from SM100 on; the fp8 row has scales unless raw."""
    result = model_bytes(GLM, tp_size=8, **options)

    assert (dtype, bytes_per_token) == (result.kv_dtype, result.kv_bytes_per_token)


def test_platform_dependence_is_said() -> None:
    """Without a GPU the notes say what was taken."""
    assert any("depends on the GPU" in note for note in model_bytes(GLM).notes)
    assert () == model_bytes(GLM, sm=90).notes


def test_scaled_rows_need_whole_blocks() -> None:
    """SGLang asserts that the latent rank divides by 128."""
    config = {**GLM, "text_config": {**GLM["text_config"], "kv_lora_rank": 500}}

    with pytest.raises(ConfigError, match="kv_lora_rank 500"):
        model_bytes(config, kv_cache_dtype="fp8_e4m3", sm=90)


def test_query_index_in_fp8() -> None:
    """Qwen4-Exp's index: 1 · 128 · 1 // 4 = 32 B a layer instead of 64."""
    config = PUBLISHED["Qwen/Qwen3.8-Flash-Next"]

    result = model_bytes(config, qsa_indexer_dtype="fp8_e4m3")

    assert 24_576 + 12 * 32 == result.kv_bytes_per_token
