"""Which family a ``config.json`` belongs to, or why none can be told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mamba_advisor.errors import ConfigError, NotHybridError
from mamba_advisor.modelconfig.families import Family, find_family
from mamba_advisor.modelconfig.families.attention import read_gqa, read_mla
from mamba_advisor.modelconfig.fields import Fields
from mamba_advisor.modelconfig.layout import Launch
from mamba_advisor.sizing.releases import LAST_RELEASE

TOWERS = ("text_config", "llm_config")
"""Sections that hold the text model of a multimodal wrapper."""

NOT_POOLED: Mapping[str, str] = {
    "minimax": "MiniMax-01's lightning attention",
    "minimax_text_01": "MiniMax-01's lightning attention",
    "minimax_m2": "MiniMax-M2",
    "minimax_m3": "MiniMax-M3",
    "minimax_m3_vl": "MiniMax-M3",
    "zamba": "Zamba",
    "zamba2": "Zamba",
    "bamba": "Bamba",
    "jamba": "Jamba",
    "olmo_hybrid": "OLMo-hybrid",
    "bailing_moe_linear": "Ring-linear-2.0",
    "deepseek_v4": "DeepSeek-V4",
}
"""``model_type`` -> model that SGLang's state pool does not know."""

STATE_HINTS = (
    "conv_L_cache",
    "efficient_attention_config",
    "full_attention_interval",
    "hybrid_override_pattern",
    "layers_block_type",
    "linear_attn_config",
    "linear_num_heads",
    "linear_num_key_heads",
    "linear_num_value_heads",
    "mamba_d_conv",
    "mamba_d_ssm",
    "mamba_d_state",
    "mamba_n_heads",
    "mamba_num_heads",
    "mamba_ssm_dtype",
    "mixer_types",
    "short_conv_kernel_size",
    "ssm_cfg",
    "ssm_state_size",
    "state_size",
)
"""Fields that only models with a recurrent or convolution state have."""

STATE_WORDS = ("conv", "gdn", "jet", "kda", "lightning", "linear", "mamba", "ssm")
"""Parts of the layer types that keep a state."""


def recognise(config: Mapping[str, Any]) -> tuple[Family, Fields]:
    """Return the family of *config*, and the fields of its text model.

    Raises:
        ConfigError: There is no ``model_type``, the text section is no object, or
            the family is unknown and looks like a hybrid.
        NotHybridError: SGLang keeps no state pool for the model.
    """
    root = Fields(config)
    model_type = root.word("model_type", "")
    family = find_family(model_type, root)
    if family is not None:
        return family, _tower(family, root)
    for name in TOWERS:
        if isinstance(config.get(name), Mapping):
            section = root.section(name)
            family = find_family(section.word("model_type", ""), section)
            if family is not None:
                section.notes.append(
                    f"the wrapper {model_type!r:.60} is unknown: its {name} is read "
                    f"as {family.name}"
                )
                return family, section
    raise _unknown(config, model_type)


def _tower(family: Family, root: Fields) -> Fields:
    """Return the text model's fields; without the section, the root's."""
    if not family.tower or family.tower not in root:
        return root
    section = root.section(family.tower)
    return section.under(root) if family.merges_root else section


def _unknown(config: Mapping[str, Any], model_type: str) -> Exception:
    """Return the error for a config of no known family."""
    if model_type in NOT_POOLED:
        return NotHybridError(
            f"SGLang {LAST_RELEASE} keeps no state pool for {NOT_POOLED[model_type]} "
            f"(model_type {model_type!r}): there is no ratio to set"
        )
    tower = next(
        (config[name] for name in TOWERS if isinstance(config.get(name), Mapping)),
        config,
    )
    hints = sorted(name for name in STATE_HINTS if tower.get(name) is not None)
    types = _layer_types(tower)
    if not hints and not any(_keeps_state(kind) for kind in types):
        if not model_type and not types:
            return ConfigError("the config lacks model_type: is it a config.json?")
        reason = (
            "layer_types has no linear-attention layer"
            if types
            else "the config describes no linear-attention or Mamba layer"
        )
        return NotHybridError(f"not a hybrid: {reason} (model_type {model_type!r:.60})")
    return ConfigError(
        f"unknown hybrid family {model_type!r:.60}: {_known(Fields(tower), types)}; "
        f"unknown: the bytes of a state slot (the config has "
        f"{', '.join(hints) or 'state layers'}). Give both constants by hand: "
        "--state-bytes N (one slot on one rank) and --kv-bytes N (one token on one "
        "rank)"
    )


def _layer_types(tower: Mapping[str, Any]) -> tuple[str, ...]:
    types = tower.get("layer_types")
    if not isinstance(types, list | tuple):
        return ()
    return tuple(kind for kind in types if isinstance(kind, str))


def _keeps_state(kind: str) -> bool:
    return any(word in kind for word in STATE_WORDS)


def _known(tower: Fields, types: tuple[str, ...]) -> str:
    """Return in words what an unknown hybrid's config still tells."""
    parts = []
    if types:
        state = sum(map(_keeps_state, types))
        parts.append(f"{state} of {len(types)} layers keep a state")
    try:
        mla = "kv_lora_rank" in tower
        attention = read_mla(tower) if mla else read_gqa(tower)
        price = attention.price((0,), "bfloat16", Launch())
        parts.append(
            f"an attention layer takes {price.total} bytes per token (bfloat16, TP 1)"
        )
    except ConfigError:
        parts.append("its attention cannot be read")
    return "known: " + ", ".join(parts)
