"""Families with Kimi Delta Attention states: Kimi, GLM-5.3, Ling-3."""

from __future__ import annotations

from mamba_advisor.errors import ConfigError
from mamba_advisor.modelconfig.attention import SparseIndex
from mamba_advisor.modelconfig.families.attention import read_mla
from mamba_advisor.modelconfig.families.layers import (
    Layers,
    by_interval,
    listed,
    require_state,
    where,
    without,
)
from mamba_advisor.modelconfig.fields import Fields
from mamba_advisor.modelconfig.geometry import Geometry
from mamba_advisor.modelconfig.state import Kda
from mamba_advisor.record import replace

GLM_PAGE = 64
"""Tokens per pooled index row's page: GLM-5.3 forces page size 64 × ``index_kpool``."""


def read_kimi(tower: Fields) -> Geometry:
    """Return the geometry of Kimi-Linear and Kimi-K3; their lists count from 1.

    Raises:
        ConfigError: A field is missing or unusable.
        NotHybridError: ``kda_layers`` is empty.
    """
    layers = tower.layer_count()
    linear = tower.section("linear_attn_config")
    state = require_state(
        listed(linear, "kda_layers", 1, layers), "kda_layers names no layer"
    )
    return Geometry(
        layers=layers,
        state_layers=state,
        attention_layers=without(layers, state),
        state=Kda(
            heads=linear.count("num_heads"),
            head_dim=linear.count("head_dim"),
            kernel=linear.count("short_conv_kernel_size"),
        ),
        attention=read_mla(tower),
        query_heads=tower.count("num_attention_heads"),
    )


def read_glm5_next(tower: Fields) -> Geometry:
    """Return the geometry of GLM-5.3-Flash; its lists count from 0.

    Raises:
        ConfigError: A field is missing or unusable.
        NotHybridError: No layer is linear attention.
    """
    layers = tower.layer_count()
    if "linear_attn_config" in tower:
        linear = tower.section("linear_attn_config")
        state = listed(linear, "kda_layers", 0, layers)
        names = ("num_heads", "head_dim", "short_conv_kernel_size")
    else:
        linear, state = tower, _glm_layers(tower, layers)
        names = ("linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim")
    require_state(state, "layer_types has no linear_attention layer")
    heads, dim, kernel = (linear.count(name) for name in names)
    attention = without(layers, state)
    index = _glm_index(tower, attention)
    return Geometry(
        layers=layers,
        state_layers=state,
        attention_layers=attention,
        state=Kda(heads, dim, kernel, follows_full_tp=True),
        attention=replace(read_mla(tower), index=index),
        query_heads=tower.count("num_attention_heads"),
        min_page_size=GLM_PAGE * index.pool if index else 1,
    )


def _glm_layers(tower: Fields, layers: int) -> Layers:
    if "layer_types" in tower:
        types = where(tower.words("layer_types"), ("linear_attention",))
        return tuple(layer for layer in types if layer < layers)
    return by_interval(layers, 4)[0]


def _glm_index(tower: Fields, attention: Layers) -> SparseIndex | None:
    """Return the sparse index, None where the config sets no ``index_topk``."""
    if "index_topk" not in tower:
        return None
    shared = frozenset(layer for layer in attention if _shares_topk(tower, layer))
    pool = tower.count("index_kpool") if "index_kpool" in tower else 1
    return SparseIndex(tower.count("index_head_dim"), pool, shared)


def _shares_topk(tower: Fields, layer: int) -> bool:
    """Return whether *layer* reuses the choice of a layer before it.

    Source:
        SGLang ``srt/configs/model_config.py``, ``dsa_layer_skips_topk``.
    """
    if "indexer_types" in tower:
        types = tower.words("indexer_types")
        return layer < len(types) and types[layer] == "shared"
    if "index_topk_pattern" in tower:
        pattern = tower.word("index_topk_pattern")
        return layer < len(pattern) and pattern[layer] == "S"
    every = tower.count("index_topk_freq") if "index_topk_freq" in tower else 1
    offset = 2
    if "index_skip_topk_offset" in tower:
        offset = tower.count("index_skip_topk_offset")
    return max(layer - offset + 1, 0) % every != 0


def grouped_layers(tower: Fields) -> tuple[int, Layers, Layers]:
    """Return Bailing's layers: all, those with a state, those with attention.

    ``layer_group_size`` is a number (the last layer of each group is attention) or
    a list with 1 for a linear layer.

    Raises:
        ConfigError: A field is missing or unusable.
        NotHybridError: No layer is linear attention.
    """
    layers = tower.layer_count()
    if tower.kind("layer_group_size") == "list":
        marks = tower.numbers("layer_group_size")
        if len(marks) != layers:
            raise ConfigError(f"layer_group_size marks {len(marks)} of {layers} layers")
        state = tuple(layer for layer, mark in enumerate(marks) if mark == 1)
    else:
        state, _ = by_interval(layers, tower.count("layer_group_size"))
    require_state(state, "layer_group_size leaves no linear-attention layer")
    return layers, state, without(layers, state)


def read_bailing_v3(tower: Fields) -> Geometry:
    """Return the geometry of Bailing V3 (Ling-3.x).

    Raises:
        ConfigError: A field is missing or unusable.
        NotHybridError: No layer is linear attention.
    """
    layers, state, attention = grouped_layers(tower)
    heads = tower.count("num_attention_heads")
    return Geometry(
        layers=layers,
        state_layers=state,
        attention_layers=attention,
        state=Kda(
            heads, tower.count("head_dim"), tower.count("short_conv_kernel_size")
        ),
        attention=read_mla(tower, drops_rope=tower.flag("use_mla_nope")),
        query_heads=heads,
    )
