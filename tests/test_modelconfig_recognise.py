"""Configs that are no hybrid, and hybrids that nobody knows yet."""

from __future__ import annotations

from typing import Any

import pytest

from mamba_advisor.errors import ConfigError, NotHybridError
from mamba_advisor.modelconfig import model_bytes
from mamba_advisor.modelconfig.published import all_published

PUBLISHED = {model.name: dict(model.config) for model in all_published()}
QWEN_NEXT = PUBLISHED["Qwen/Qwen3-Next-80B-A3B-Instruct"]
KIMI = PUBLISHED["moonshotai/Kimi-Linear-48B-A3B-Instruct"]
NANO = PUBLISHED["nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"]
GRANITE = PUBLISHED["ibm-granite/granite-4.0-h-micro"]
LFM2 = PUBLISHED["LiquidAI/LFM2-1.2B"]
SALA = PUBLISHED["openbmb/MiniCPM-SALA"]

NOT_HYBRID: dict[str, tuple[dict[str, Any], str]] = {
    "dense": ({"model_type": "qwen3", "num_hidden_layers": 4}, "describes no linear"),
    "dense with layer types": (
        {"model_type": "gemma3", "layer_types": ["full_attention"] * 4},
        "layer_types has no linear-attention layer",
    ),
    "dense wrapper": (
        {"model_type": "llava", "text_config": {"model_type": "llama"}},
        "describes no linear",
    ),
    "Granite of attention alone": (
        {**GRANITE, "layer_types": ["attention"] * 40},
        "layer_types has no mamba layer",
    ),
    "interval of one": (
        {**QWEN_NEXT, "full_attention_interval": 1},
        "full_attention_interval 1",
    ),
    "Kimi without KDA": (
        {
            **KIMI,
            "linear_attn_config": {**KIMI["linear_attn_config"], "kda_layers": []},
        },
        "kda_layers names no layer",
    ),
    "Nemotron without Mamba": (
        {**NANO, "hybrid_override_pattern": "*-*-"},
        "no Mamba layer",
    ),
    "LFM2 without convolutions": (
        {**LFM2, "layer_types": ["full_attention"] * 16},
        "no conv layer",
    ),
    "MiniCPM without lightning": (
        {**SALA, "mixer_types": ["minicpm4"]},
        "no lightning layer",
    ),
    "MiniMax-01": (
        {"model_type": "minimax_text_01", "attn_type_list": [0, 0, 1]},
        "keeps no state pool for MiniMax-01",
    ),
    "Jamba": ({"model_type": "jamba", "mamba_d_state": 16}, "no state pool for Jamba"),
    "Ring-linear-2.0": (
        {"model_type": "bailing_moe_linear", "layer_group_size": 4},
        "no state pool for Ring-linear-2.0",
    ),
}
"""Name -> config, and words of the reason."""


@pytest.mark.parametrize("name", NOT_HYBRID)
def test_not_a_hybrid(name: str) -> None:
    """The error says why there is no state pool; its exit status is 4."""
    config, words = NOT_HYBRID[name]

    with pytest.raises(NotHybridError, match=words) as caught:
        model_bytes(config)

    assert 4 == caught.value.exit_code


def test_unknown_hybrid_says_what_is_known() -> None:
    """A new family: its KV is known, its state is not, and two options help.

    2 · 128 elements of 4 KV heads in 2 bytes: 2 048 B per layer.
    """
    config = {
        "model_type": "somebodys_hybrid",
        "layer_types": ["mamba3", "mamba3", "full_attention"],
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 128,
        "ssm_state_size": 64,
    }

    with pytest.raises(ConfigError) as caught:
        model_bytes(config)

    message = str(caught.value)
    assert "unknown hybrid family 'somebodys_hybrid'" in message
    assert "2 of 3 layers keep a state" in message
    assert "2048 bytes per token" in message
    assert "ssm_state_size" in message
    assert "--state-bytes N" in message
    assert "--kv-bytes N" in message


def test_unknown_hybrid_without_readable_attention() -> None:
    """What cannot be read is said, too."""
    with pytest.raises(ConfigError, match="its attention cannot be read"):
        model_bytes({"model_type": "new", "linear_attn_config": {}})
