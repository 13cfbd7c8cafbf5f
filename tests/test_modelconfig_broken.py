"""A ``config.json`` is untrusted: whatever it holds ends in an answer or an error."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mamba_advisor.errors import ConfigError, MambaAdvisorError
from mamba_advisor.modelconfig import model_bytes
from mamba_advisor.modelconfig.published import all_published

PUBLISHED = {model.name: dict(model.config) for model in all_published()}

ONE_EACH = {config.get("model_type", ""): config for config in PUBLISHED.values()} | {
    "bailing_v3": PUBLISHED["inclusionAI/Ling-3.0-tiny"]
}
"""``model_type`` -> a published config."""

QWEN = PUBLISHED["Qwen/Qwen3-Next-80B-A3B-Instruct"]
KIMI = PUBLISHED["moonshotai/Kimi-Linear-48B-A3B-Instruct"]
GRANITE = PUBLISHED["ibm-granite/granite-4.0-h-micro"]
NANO = PUBLISHED["nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"]
GIGACHAT = PUBLISHED["ai-sage/GigaChat3.5-432B-A28B"]
FALCON = PUBLISHED["tiiuae/Falcon-H1-34B-Instruct"]
JET = PUBLISHED["jet-ai/Jet-Nemotron-2B"]
FLASH = PUBLISHED["Qwen/Qwen3.8-Flash-Next"]


def without(config: dict[str, Any], *path: str) -> dict[str, Any]:
    """Return *config* less the field at *path*."""
    result = copy.deepcopy(config)
    section = result
    for name in path[:-1]:
        section = section[name]
    del section[path[-1]]
    return result


def changed(config: dict[str, Any], value: Any, *path: str) -> dict[str, Any]:
    """Return *config* with *value* at *path*."""
    result = copy.deepcopy(config)
    section = result
    for name in path[:-1]:
        section = section[name]
    section[path[-1]] = value
    return result


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", ("full_attention_interval",)),
        ("Qwen/Qwen3.5-27B", ("text_config", "full_attention_interval")),
        ("moonshotai/Kimi-K3", ("text_config", "linear_attn_config")),
        ("moonshotai/Kimi-K3", ("text_config", "linear_attn_config", "num_heads")),
        ("moonshotai/Kimi-Linear-48B-A3B-Instruct", ("kv_lora_rank",)),
        ("moonshotai/Kimi-Linear-48B-A3B-Instruct", ("num_hidden_layers",)),
        ("zai-org/GLM-5.3-Flash", ("text_config", "linear_head_dim")),
        ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", ("hybrid_override_pattern",)),
        ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", ("n_groups",)),
        ("nvidia/NVIDIA-Nemotron-Nano-12B-v2-VL", ("llm_config", "ssm_state_size")),
        ("tiiuae/Falcon-H1-0.5B-Base", ("mamba_d_state",)),
        ("ibm-granite/granite-4.0-h-small", ("mamba_n_groups",)),
        ("jet-ai/Jet-Nemotron-2B", ("efficient_attention_config", "jet", "expand_v")),
        ("LiquidAI/LFM2-1.2B", ("conv_L_cache",)),
        ("inclusionAI/Ling-2.6-flash-fp8", ("layer_group_size",)),
        ("inclusionAI/Ling-3.0-tiny", ("head_dim",)),
        ("thinkingmachines/Inkling", ("text_config", "sconv_kernel_size")),
        ("Zyphra/ZAYA1-8B", ("cca_time0",)),
        ("openbmb/MiniCPM-SALA", ("mixer_types",)),
        ("ai-sage/GigaChat3.5-432B-A28B", ("linear_num_key_heads",)),
        ("mistralai/Mamba-Codestral-7B-v0.1", ("intermediate_size",)),
        ("state-spaces/mamba-2.8b-hf", ("state_size",)),
    ],
)
def test_missing_field_is_named(model: str, path: tuple[str, ...]) -> None:
    """A truncated config is refused with the field's whole path."""
    with pytest.raises(ConfigError) as caught:
        model_bytes(without(PUBLISHED[model], *path))

    assert f"the config lacks {'.'.join(path)}" == str(caught.value)


HUGE = 10**5000
"""An integer that Python refuses to print."""

DEEP: Any = []
for _ in range(200):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ([], "no JSON object"),
        (None, "no JSON object"),
        ({}, "lacks model_type"),
        ({"model_type": 7}, "model_type is 7, not a string"),
        ({"model_type": ["qwen3_next"]}, "model_type is a list of 1"),
        (changed(QWEN, 0, "linear_num_value_heads"), "linear_num_value_heads is 0"),
        (changed(QWEN, -32, "linear_num_value_heads"), "linear_num_value_heads is -32"),
        (changed(QWEN, True, "num_hidden_layers"), "is True, not a whole number"),
        (changed(QWEN, "48", "num_hidden_layers"), "is '48', not a whole number"),
        (changed(QWEN, 48.0, "num_hidden_layers"), "is 48.0, not a whole number"),
        (changed(QWEN, float("nan"), "head_dim"), "is nan, not a whole number"),
        (changed(QWEN, HUGE, "head_dim"), "a number of 16610 bits"),
        (changed(QWEN, 10**12, "num_hidden_layers"), "between 1 and 4096"),
        (changed(QWEN, DEEP, "num_attention_heads"), "is a list of 1"),
        (changed(QWEN, {"a": 1}, "head_dim"), "head_dim is an object"),
        (changed(QWEN, 3, "mamba_ssm_dtype"), "mamba_ssm_dtype is 3, not a string"),
        (changed(KIMI, 4, "linear_attn_config"), "is 4, not an object"),
        (
            changed(KIMI, ["1"], "linear_attn_config", "kda_layers"),
            "linear_attn_config.kda_layers is '1', not a list of whole numbers",
        ),
        (
            changed(KIMI, [[1]], "linear_attn_config", "kda_layers"),
            "is a list of 1, not a list of numbers or words",
        ),
        (
            changed(KIMI, [1] * 5000, "linear_attn_config", "kda_layers"),
            "at most 4096 long",
        ),
        (changed(GRANITE, ["mamba"] * 3, "layer_types"), "names 3 layers of 40"),
        (changed(GRANITE, ["rwkv"] * 40, "layer_types"), "has 'rwkv'"),
        (changed(GRANITE, 3, "mamba_expand"), "is not mamba_expand × hidden_size"),
        (changed(GRANITE, float("inf"), "mamba_expand"), "mamba_expand is inf"),
        (changed(GRANITE, HUGE, "mamba_expand"), "a number of 16610 bits"),
        (changed(GRANITE, 1.0001, "mamba_expand"), "no whole number"),
        (changed(NANO, "M*X", "hybrid_override_pattern"), "has ['X']"),
        (changed(NANO, "M" * 5000, "hybrid_override_pattern"), "names 5000 layers"),
        (changed(NANO, 5, "hybrid_override_pattern"), "not a string"),
        (changed(GIGACHAT, [40], "full_attention_layers"), "beyond the 40 layers"),
        (changed(GIGACHAT, [-41], "full_attention_layers"), "beyond the 40 layers"),
        (changed(FALCON, "half", "mamba_d_head"), "neither a number nor 'auto'"),
        (changed(FALCON, 7, "mamba_d_head"), "is not the inner size"),
        (
            changed(JET, 1e-9, "efficient_attention_config", "jet", "expand_v"),
            "leaves no value dim",
        ),
        (without(FLASH, "text_config", "indexer_budget"), "without indexer_budget"),
        (changed(FLASH, 2, "text_config", "indexer_kv_heads"), "must be 1"),
        (changed(FLASH, ["x"] * 48, "text_config", "layer_types"), "unknown words"),
        (changed(FLASH, "none", "text_config"), "text_config is 'none', not an object"),
    ],
)
def test_unusable_value_is_named(config: Any, words: str) -> None:
    """A wrong type, a number out of range or a wrong length is quoted, briefly."""
    with pytest.raises(ConfigError) as caught:
        model_bytes(config)

    assert words in str(caught.value)
    assert len(str(caught.value)) < 400


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 70),
    st.integers(),
    st.just(HUGE),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["mamba", "attention", "auto", "M*", "float16", "text_config"]),
    st.lists(st.one_of(st.integers(-2, 50), st.text(max_size=4)), max_size=60),
    st.recursive(st.none(), lambda inner: st.lists(inner, max_size=2), max_leaves=6),
    st.dictionaries(st.text(max_size=6), st.integers(0, 9), max_size=3),
)
"""Values that a broken or hostile file may hold."""


def paths(config: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the path of every field, nested ones too."""
    found: list[tuple[str, ...]] = []
    for name, value in config.items():
        found.append((name,))
        if isinstance(value, dict):
            found.extend((name, *path) for path in paths(value))
    return found


@st.composite
def damaged_configs(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a published config with up to three fields changed or dropped."""
    name = draw(st.sampled_from(sorted(ONE_EACH)))
    config: dict[str, Any] = copy.deepcopy(ONE_EACH[name])
    for _ in range(draw(st.integers(1, 3))):
        fields = paths(config)
        if not fields:
            break
        path = draw(st.sampled_from(fields))
        if draw(st.integers(0, 4)):
            config = changed(config, draw(VALUES), *path)
        else:
            config = without(config, *path)
    return config


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "tp_size": st.sampled_from([1, 2, 3, 4, 8, 16, 32]),
        "pp_size": st.integers(1, 5),
        "dcp_size": st.sampled_from([1, 2, 4]),
        "attn_dp_size": st.sampled_from([1, 2]),
        "kv_cache_dtype": st.sampled_from(["auto", "fp8_e4m3", "nvfp4", "mxfp8"]),
        "mamba_ssm_dtype": st.sampled_from(["bfloat16", "float32"]),
        "speculative_num_draft_tokens": st.integers(0, 9),
        "enable_linear_replayssm_spec": st.booleans(),
        "enable_linear_replayssm": st.booleans(),
        "enable_int8_mamba_checkpoint": st.booleans(),
        "sglang_version": st.sampled_from(["0.5.4", "0.5.9", "0.5.17", "0.5.23"]),
    },
)
"""Launch arguments in use."""


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(config=damaged_configs(), options=OPTIONS)
def test_damaged_config_never_crashes(
    config: dict[str, Any], options: dict[str, Any]
) -> None:
    """Either an error of ours, or counts that add up and are not negative."""
    try:
        result = model_bytes(config, **options)
    except MambaAdvisorError:
        return

    assert result.state_bytes_per_slot == (
        result.conv_bytes_per_slot + result.ssm_bytes_per_slot
    )
    assert min(result.conv_bytes_per_slot, result.ssm_bytes_per_slot) >= 0
    assert result.kv_bytes_per_token >= 0
    assert result.linear_layers <= result.all_state_layers
    assert sum(stage.end - stage.start for stage in result.stages) >= (
        result.all_state_layers
    )


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=10,
)


@settings(max_examples=100, deadline=None)
@given(
    config=st.dictionaries(
        st.sampled_from(
            ["model_type", "architectures", "text_config", "layer_types", "state_size"]
        ),
        JSON,
    )
)
def test_any_json_ends_in_an_error(config: dict[str, Any]) -> None:
    """A random object is no hybrid, and says so."""
    with pytest.raises(MambaAdvisorError):
        model_bytes(config)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(PUBLISHED)),
    tp=st.sampled_from([1, 2, 4, 8]),
)
def test_more_ranks_never_cost_more(name: str, tp: int) -> None:
    """Twice the ranks hold at most as much each, for the state and for a token."""
    try:
        few = model_bytes(PUBLISHED[name], tp_size=tp)
        many = model_bytes(PUBLISHED[name], tp_size=2 * tp)
    except ConfigError:
        return

    assert many.state_bytes_per_slot <= few.state_bytes_per_slot
    assert many.kv_bytes_per_token <= few.kv_bytes_per_token
