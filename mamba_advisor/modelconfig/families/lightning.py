"""Families with lightning attention states: Ling-2.x, MiniCPM-SALA."""

from __future__ import annotations

from mamba_advisor.errors import ConfigError
from mamba_advisor.modelconfig.families.attention import read_gqa, read_mla
from mamba_advisor.modelconfig.families.kda import grouped_layers
from mamba_advisor.modelconfig.families.layers import require_state, where
from mamba_advisor.modelconfig.fields import Fields
from mamba_advisor.modelconfig.geometry import Geometry
from mamba_advisor.modelconfig.state import Lightning

FULL_MIXERS = ("minicpm4", "minicpm", "standard", "attention", "attn")
LIGHTNING_MIXERS = ("lightning", "lightning_attn", "lightning-attn")


def read_bailing_v2_5(tower: Fields) -> Geometry:
    """Return the geometry of Bailing V2.5 (Ling-2.x, Ring-2.5).

    The state uses ``num_attention_heads``; ``num_kv_heads_for_linear_attn`` is not
    read by SGLang.

    Raises:
        ConfigError: A field is missing or unusable.
        NotHybridError: No layer is linear attention.
    """
    layers, state, attention = grouped_layers(tower)
    heads = tower.count("num_attention_heads")
    groups = tower.count("group_norm_size") if "group_norm_size" in tower else 1
    return Geometry(
        layers=layers,
        state_layers=state,
        attention_layers=attention,
        state=Lightning(heads, tower.count("head_dim")),
        attention=read_mla(tower),
        query_heads=heads,
        group_norm_size=groups,
    )


def read_minicpm_sala(tower: Fields) -> Geometry:
    """Return the geometry of MiniCPM-SALA; its mixers repeat over the layers.

    Raises:
        ConfigError: A field is missing or unusable.
        NotHybridError: No mixer is lightning attention.
    """
    layers = tower.layer_count()
    mixers = tower.words("mixer_types")
    if not 1 <= len(mixers) <= layers:
        raise ConfigError(f"mixer_types names {len(mixers)} mixers for {layers} layers")
    for mixer in mixers:
        if mixer not in FULL_MIXERS + LIGHTNING_MIXERS:
            raise ConfigError(f"mixer_types has {mixer!r:.60}, which SGLang refuses")
    kinds = tuple(mixers[layer % len(mixers)] for layer in range(layers))
    state = require_state(
        where(kinds, LIGHTNING_MIXERS), "mixer_types has no lightning layer"
    )
    attention = read_gqa(tower)
    queries = tower.count("num_attention_heads")
    heads = _or(tower, "lightning_nkv", attention.kv_heads)
    lightning_queries = _or(tower, "lightning_nh", queries)
    refusals: tuple[str, ...] = ()
    if lightning_queries != heads:
        refusals = (
            f"lightning attention needs as many query as KV heads, and the config "
            f"has {lightning_queries} and {heads}",
        )
    return Geometry(
        layers=layers,
        state_layers=state,
        attention_layers=where(kinds, FULL_MIXERS),
        state=Lightning(heads, _or(tower, "lightning_head_dim", attention.head_dim)),
        attention=attention,
        query_heads=queries,
        one_stage=True,
        refusals=refusals,
    )


def _or(tower: Fields, name: str, otherwise: int) -> int:
    return tower.count(name) if name in tower else otherwise
