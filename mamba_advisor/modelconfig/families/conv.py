"""Families whose state is a convolution window: LFM2, Inkling, ZAYA."""

from __future__ import annotations

from mamba_advisor.errors import ConfigError
from mamba_advisor.modelconfig.attention import Gqa, SlidingGqa
from mamba_advisor.modelconfig.families.attention import read_gqa, read_v_dim
from mamba_advisor.modelconfig.families.layers import (
    listed,
    require_state,
    where,
    without,
)
from mamba_advisor.modelconfig.fields import Fields
from mamba_advisor.modelconfig.geometry import Geometry
from mamba_advisor.modelconfig.state import Cca, InklingConv, ShortConv

INKLING_SWA_RATIO = 0.1
"""Inkling's default ``--swa-full-tokens-ratio``; SGLang's general one is 0.8."""


def read_lfm2(tower: Fields) -> Geometry:
    """Return the geometry of LFM2, LFM2-MoE and LFM2-VL.

    Raises:
        ConfigError: A field is missing or unusable.
        NotHybridError: No layer is a convolution.
    """
    if "layer_types" in tower:
        types = tower.words("layer_types")
        layers = len(types)
        state = where(types, ("conv", "short_conv"))
        attention = where(types, ("full_attention",))
    else:
        # Old files name the attention layers; transformers makes the rest "conv".
        layers = tower.layer_count()
        attention = listed(tower, "full_attn_idxs", 0, layers)
        state = without(layers, attention)
    require_state(state, "layer_types has no conv layer")
    return Geometry(
        layers=layers,
        state_layers=state,
        attention_layers=attention,
        state=ShortConv(tower.count("hidden_size"), tower.count("conv_L_cache")),
        attention=read_gqa(tower),
        query_heads=tower.count("num_attention_heads"),
        one_stage=True,
    )


def read_inkling(tower: Fields) -> Geometry:
    """Return the geometry of Inkling: windows everywhere, full and sliding GQA.

    Raises:
        ConfigError: A field is missing or unusable.
    """
    layers = tower.layer_count()
    every = tuple(range(layers))
    full = read_gqa(tower)
    local_dim = tower.count("swa_head_dim")
    local = Gqa(
        tower.count("swa_num_key_value_heads"),
        local_dim,
        read_v_dim(tower, "swa_v_head_dim", local_dim),
    )
    return Geometry(
        layers=layers,
        state_layers=every,
        attention_layers=every,
        state=InklingConv(
            full_heads=full.kv_heads,
            full_dim=full.head_dim,
            local_heads=local.kv_heads,
            local_dim=local.head_dim,
            hidden=tower.count("hidden_size"),
            kernel=tower.count("sconv_kernel_size"),
        ),
        attention=SlidingGqa(
            full=full,
            local=local,
            local_layers=frozenset(listed(tower, "local_layer_ids", 0, layers)),
            default_ratio=INKLING_SWA_RATIO,
        ),
        query_heads=tower.count("num_attention_heads"),
        one_stage=True,
        fixed_dtype="bfloat16",
    )


def read_zaya(tower: Fields) -> Geometry:
    """Return the geometry of ZAYA1: state and KV in the same layers.

    Raises:
        ConfigError: A field is missing or unusable.
        NotHybridError: ``zaya_layers`` names no attention layer.
    """
    if "zaya_layers" in tower and (entries := tower.entries("zaya_layers")):
        layers = len(entries)
        both = where(entries, ("a",))
    else:
        layers = tower.layer_count()
        both = tuple(range(0, layers, 2))
    require_state(both, "zaya_layers has no attention layer")
    name = "head_dim" if "head_dim" in tower else "kv_channels"
    attention = read_gqa(tower, dim_name=name)
    queries = _zaya_queries(tower)
    columns = tower.count("cca_time0") + tower.count("cca_time1") - 2
    return Geometry(
        layers=layers,
        state_layers=both,
        attention_layers=both,
        state=Cca(
            heads=queries + attention.kv_heads,
            head_dim=attention.head_dim,
            columns=columns,
            hidden=tower.count("hidden_size"),
        ),
        attention=attention,
        query_heads=queries,
        replicates_kv=False,
        speculates=False,
    )


def _zaya_queries(tower: Fields) -> int:
    """Return the query heads: the first non-zero entry of the list, if any."""
    if "cca_num_q_heads" in tower:
        for heads in tower.numbers("cca_num_q_heads"):
            if heads:
                if heads < 0:
                    raise ConfigError(f"cca_num_q_heads has {heads}")
                return heads
    return tower.count("num_attention_heads")
