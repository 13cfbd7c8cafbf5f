"""Read the attention of a text tower."""

from __future__ import annotations

from mamba_advisor.errors import ConfigError
from mamba_advisor.modelconfig.attention import Gqa, Mla, QueryIndex
from mamba_advisor.modelconfig.fields import Fields

QSA_FIELDS = (
    "indexer_n_heads",
    "indexer_kv_heads",
    "indexer_head_dim",
    "indexer_budget",
    "indexer_compress_ratio",
)
"""Fields of Qwen4-Exp's sparse attention: all of them or none."""


def read_gqa(
    tower: Fields,
    *,
    kv_default: int | None = None,
    dim_default: int | None = None,
    dim_name: str = "head_dim",
    index: QueryIndex | None = None,
) -> Gqa:
    """Return grouped-query attention.

    Args:
        tower: The text model's fields.
        kv_default: KV heads that the family's class takes without the field;
            None: as many as attention heads.
        dim_default: Head dim likewise; None: hidden size ÷ attention heads.
        dim_name: The head dim's field.
        index: Sparse index beside it.

    Raises:
        ConfigError: A field is missing or unusable.
    """
    if "num_key_value_heads" in tower or kv_default is not None:
        heads = tower.count("num_key_value_heads", kv_default)
    else:
        heads = tower.count("num_attention_heads")
    if dim_name in tower or dim_default is not None:
        dim = tower.count(dim_name, dim_default)
    else:
        queries = tower.count("num_attention_heads")
        dim = tower.count("hidden_size") // queries
        if not dim:
            raise ConfigError(f"hidden_size is below num_attention_heads ({queries})")
    return Gqa(heads, dim, read_v_dim(tower, "v_head_dim", dim), index)


def read_v_dim(tower: Fields, name: str, dim: int) -> int:
    """Return the V heads' dim: *dim* without the field, or with 0."""
    return (tower.count(name, low=0) or dim) if name in tower else dim


def read_mla(tower: Fields, *, drops_rope: bool = False) -> Mla:
    """Return latent attention.

    Args:
        tower: The text model's fields.
        drops_rope: The cache keeps no rope part.

    Raises:
        ConfigError: A field is missing or unusable.
    """
    rank = tower.count("kv_lora_rank")
    return Mla(rank, 0 if drops_rope else tower.count("qk_rope_head_dim", low=0))


def read_query_index(tower: Fields) -> QueryIndex | None:
    """Return Qwen4-Exp's index, None when the config has none.

    Raises:
        ConfigError: Some of the five fields are missing, or unusable.
    """
    given = [name for name in QSA_FIELDS if name in tower]
    if not given:
        return None
    if missing := [name for name in QSA_FIELDS if name not in tower]:
        raise ConfigError(f"{given[0]} stands without {', '.join(missing)}")
    if tower.count("indexer_kv_heads") != 1:
        raise ConfigError("indexer_kv_heads must be 1")
    return QueryIndex(
        1, tower.count("indexer_head_dim"), tower.count("indexer_compress_ratio")
    )
