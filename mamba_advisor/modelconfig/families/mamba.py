"""Families with Mamba states: Nemotron-H, Falcon-H1, Granite, pure SSM models."""

from __future__ import annotations

from mamba_advisor.errors import ConfigError
from mamba_advisor.modelconfig.families.attention import read_gqa
from mamba_advisor.modelconfig.families.layers import (
    by_interval,
    checked_types,
    require_state,
    where,
)
from mamba_advisor.modelconfig.fields import MOST_LAYERS, Fields
from mamba_advisor.modelconfig.geometry import Geometry
from mamba_advisor.modelconfig.state import Mamba1, Mamba2

NEMOTRON_LETTERS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
"""Letter of ``hybrid_override_pattern`` -> word of ``layers_block_type``."""

NEMOTRON_HEAD_DIM = 128
DEFAULT_KERNEL = 4

GRANITE_INTERVAL = 6
"""Without ``layer_types`` every sixth Granite layer is attention."""


def read_nemotron_h(tower: Fields) -> Geometry:
    """Return the geometry of Nemotron-H, Nemotron-3 and Nano-v2.

    The layer list decides how many layers there are; ``num_hidden_layers``,
    ``expand`` and ``attention_head_dim`` are not read by SGLang.

    Raises:
        ConfigError: A field is missing or unusable.
        NotHybridError: No layer is Mamba.
    """
    kinds = _nemotron_kinds(tower)
    state = require_state(where(kinds, ("mamba",)), "the layer list has no Mamba layer")
    attention = where(kinds, ("attention",))
    heads, dim = tower.count("mamba_num_heads"), tower.count("mamba_head_dim")
    kernel = "conv_kernel" if "conv_kernel" in tower else "mamba_d_conv"
    return Geometry(
        layers=len(kinds),
        state_layers=state,
        attention_layers=attention,
        state=Mamba2(
            inner=heads * dim,
            groups=tower.count("n_groups"),
            heads=heads,
            head_dim=dim,
            state_dim=tower.count("ssm_state_size"),
            kernel=tower.count(kernel, DEFAULT_KERNEL),
        ),
        attention=read_gqa(tower, dim_default=NEMOTRON_HEAD_DIM) if attention else None,
        query_heads=tower.count("num_attention_heads") if attention else None,
    )


def _nemotron_kinds(tower: Fields) -> tuple[str, ...]:
    """Return the kind of every layer, from the list or else the pattern."""
    if "layers_block_type" in tower:
        words = tuple(NEMOTRON_LETTERS.values())
        return checked_types(tower, "layers_block_type", None, words)
    pattern = tower.word("hybrid_override_pattern")
    if strange := sorted(set(pattern) - set(NEMOTRON_LETTERS)):
        raise ConfigError(f"hybrid_override_pattern has {strange!r:.60}")
    if len(pattern) > MOST_LAYERS:
        raise ConfigError(f"hybrid_override_pattern names {len(pattern)} layers")
    return tuple(NEMOTRON_LETTERS[letter] for letter in pattern)


def read_falcon_h1(tower: Fields) -> Geometry:
    """Return the geometry of Falcon-H1: Mamba-2 and attention in every layer.

    Raises:
        ConfigError: A field is missing or unusable.
    """
    every = tuple(range(tower.layer_count()))
    heads = tower.count("mamba_n_heads")
    inner = (
        tower.count("mamba_d_ssm")
        if "mamba_d_ssm" in tower
        else _expanded(tower, "mamba_expand")
    )
    # "auto" is the only word that the field may hold.
    if tower.kind("mamba_d_head") == "count":
        dim = tower.count("mamba_d_head")
    elif tower.word("mamba_d_head", "auto") == "auto":
        dim = inner // heads
    else:
        raise ConfigError("mamba_d_head is neither a number nor 'auto'")
    if inner != heads * dim:
        raise ConfigError(
            f"mamba_n_heads {heads} × mamba_d_head {dim} is not the inner size {inner}"
        )
    return Geometry(
        layers=len(every),
        state_layers=every,
        attention_layers=every,
        state=Mamba2(
            inner=inner,
            groups=tower.count("mamba_n_groups"),
            heads=heads,
            head_dim=dim,
            state_dim=tower.count("mamba_d_state"),
            kernel=tower.count("mamba_d_conv"),
        ),
        attention=read_gqa(tower),
        query_heads=tower.count("num_attention_heads"),
        one_stage=True,
    )


def read_granite(tower: Fields) -> Geometry:
    """Return the geometry of a Granite 4 hybrid.

    Raises:
        ConfigError: A field is missing or unusable.
        NotHybridError: Every layer is attention.
    """
    layers = tower.layer_count()
    if "layer_types" in tower:
        known = ("mamba", "linear_attention", "attention", "full_attention")
        types = checked_types(tower, "layer_types", layers, known)
        state = where(types, known[:2])
        attention = where(types, known[2:])
    else:
        state, attention = by_interval(layers, GRANITE_INTERVAL)
    require_state(state, "layer_types has no mamba layer")
    heads, dim = tower.count("mamba_n_heads"), tower.count("mamba_d_head")
    inner = _expanded(tower, "mamba_expand")
    if inner != heads * dim:
        raise ConfigError(
            f"mamba_n_heads {heads} × mamba_d_head {dim} is not mamba_expand × "
            f"hidden_size = {inner}"
        )
    return Geometry(
        layers=layers,
        state_layers=state,
        attention_layers=attention,
        state=Mamba2(
            inner=inner,
            groups=tower.count("mamba_n_groups"),
            heads=heads,
            head_dim=dim,
            state_dim=tower.count("mamba_d_state"),
            kernel=tower.count("mamba_d_conv"),
        ),
        attention=read_gqa(tower),
        query_heads=tower.count("num_attention_heads"),
    )


def read_mamba2(tower: Fields) -> Geometry:
    """Return the geometry of a pure Mamba-2 model.

    Raises:
        ConfigError: A field is missing or unusable; ``intermediate_size`` has to be
            in the file.
    """
    every = tuple(range(tower.layer_count()))
    return Geometry(
        layers=len(every),
        state_layers=every,
        attention_layers=(),
        state=Mamba2(
            inner=tower.count("intermediate_size"),
            groups=tower.count("n_groups"),
            heads=tower.count("num_heads"),
            head_dim=tower.count("head_dim"),
            state_dim=tower.count("state_size"),
            kernel=tower.count("conv_kernel"),
            global_tp=True,
        ),
        attention=None,
        one_stage=True,
    )


def read_mamba1(tower: Fields) -> Geometry:
    """Return the geometry of a pure Mamba-1 model, Falcon-Mamba included.

    Raises:
        ConfigError: A field is missing or unusable.
    """
    every = tuple(range(tower.layer_count()))
    inner = (
        tower.count("intermediate_size")
        if "intermediate_size" in tower
        else _expanded(tower, "expand")
    )
    return Geometry(
        layers=len(every),
        state_layers=every,
        attention_layers=(),
        state=Mamba1(inner, tower.count("state_size"), tower.count("conv_kernel")),
        attention=None,
        one_stage=True,
    )


def _expanded(tower: Fields, name: str) -> int:
    """Return the inner size: the factor *name* × hidden size."""
    inner = tower.number(name) * tower.count("hidden_size")
    if inner != int(inner):
        raise ConfigError(f"{name} × hidden_size is no whole number")
    return int(inner)
