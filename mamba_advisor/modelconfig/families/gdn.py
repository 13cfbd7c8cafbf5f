"""Families with Gated DeltaNet states: Qwen, GigaChat, Jet-Nemotron."""

from __future__ import annotations

from mamba_advisor.errors import ConfigError
from mamba_advisor.modelconfig.attention import QueryIndex
from mamba_advisor.modelconfig.families.attention import (
    read_gqa,
    read_mla,
    read_query_index,
)
from mamba_advisor.modelconfig.families.layers import (
    Layers,
    by_interval,
    checked_types,
    require_state,
    where,
    without,
)
from mamba_advisor.modelconfig.fields import Fields
from mamba_advisor.modelconfig.geometry import Geometry, Unbudgeted
from mamba_advisor.modelconfig.state import Gdn

QWEN_DEFAULTS = {
    "num_hidden_layers": 48,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "head_dim": 256,
    "hidden_size": 2048,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4,
}
"""What SGLang's Qwen3-Next class, and those after it, take without the field."""

QWEN_ATTENTION = ("full_attention", "qwen_sparse_attention", "indexed_attention")
"""Qwen4-Exp's layer types with a KV cache; every other one has a state."""

QSA_PAGE = 64
"""Page size that Qwen4-Exp's compressed index needs."""

CONV_BYTES = 2
"""Bytes of a bfloat16 convolution element."""


def _defaulted(tower: Fields, name: str) -> int:
    return tower.count(name, QWEN_DEFAULTS[name])


def _qwen_state(tower: Fields) -> Gdn:
    return Gdn(
        key_heads=_defaulted(tower, "linear_num_key_heads"),
        value_heads=_defaulted(tower, "linear_num_value_heads"),
        key_dim=_defaulted(tower, "linear_key_head_dim"),
        value_dim=_defaulted(tower, "linear_value_head_dim"),
        kernel=_defaulted(tower, "linear_conv_kernel_dim"),
        follows_full_tp=True,
    )


def _interval_layers(tower: Fields, layers: int) -> tuple[Layers, Layers]:
    """Return state and attention layers by ``full_attention_interval``.

    SGLang has no default for it, and never looks at ``layer_types`` here.
    """
    interval = tower.count("full_attention_interval")
    state, attention = by_interval(layers, interval)
    require_state(state, "full_attention_interval 1 leaves no linear-attention layer")
    return state, attention


def _qwen(
    tower: Fields,
    layers: int,
    kinds: tuple[Layers, Layers],
    *,
    index: QueryIndex | None = None,
    follows_dcp: bool = False,
    one_stage: bool = False,
    page: int = 1,
    unbudgeted: tuple[Unbudgeted, ...] = (),
) -> Geometry:
    return Geometry(
        layers=layers,
        state_layers=kinds[0],
        attention_layers=kinds[1],
        state=_qwen_state(tower),
        attention=read_gqa(
            tower,
            kv_default=QWEN_DEFAULTS["num_key_value_heads"],
            dim_default=QWEN_DEFAULTS["head_dim"],
            index=index,
        ),
        query_heads=_defaulted(tower, "num_attention_heads"),
        kv_follows_dcp=follows_dcp,
        one_stage=one_stage,
        min_page_size=page,
        unbudgeted=unbudgeted,
    )


def read_qwen3_next(tower: Fields) -> Geometry:
    """Return the geometry of Qwen3-Next.

    Raises:
        ConfigError: A field is missing or unusable.
        NotHybridError: Every layer is full attention.
    """
    layers = tower.layer_count(QWEN_DEFAULTS["num_hidden_layers"])
    return _qwen(tower, layers, _interval_layers(tower, layers), one_stage=True)


def read_qwen3_5(tower: Fields) -> Geometry:
    """Return the geometry of Qwen3.5, 3.6 and 3.8, dense and MoE.

    Raises:
        ConfigError: A field is missing or unusable.
        NotHybridError: Every layer is full attention.
    """
    layers = tower.layer_count(QWEN_DEFAULTS["num_hidden_layers"])
    return _qwen(tower, layers, _interval_layers(tower, layers), follows_dcp=True)


def read_qwen4_exp(tower: Fields) -> Geometry:
    """Return the geometry of Qwen4-Exp (Qwen3.8-Flash-Next).

    Raises:
        ConfigError: A field is missing or unusable.
        NotHybridError: Every layer is full attention.
    """
    layers = tower.layer_count(QWEN_DEFAULTS["num_hidden_layers"])
    if "layer_types" in tower:
        types = tower.words("layer_types")
        if len(types) != layers:
            raise ConfigError(f"layer_types names {len(types)} layers of {layers}")
        attention = where(types, QWEN_ATTENTION)
        state = where(types, ("linear_attention",))
        if len(attention) + len(state) != layers:
            strange = sorted(set(types) - {*QWEN_ATTENTION, "linear_attention"})
            raise ConfigError(f"layer_types has unknown words: {strange!r:.60}")
        require_state(state, "layer_types has no linear_attention layer")
        kinds = (state, attention)
    else:
        kinds = _interval_layers(tower, layers)
    index = read_query_index(tower)
    return _qwen(
        tower,
        layers,
        kinds,
        index=index,
        follows_dcp=True,
        page=QSA_PAGE if index else 1,
        unbudgeted=_qwen4_extras(tower, len(kinds[1]), index),
    )


def _qwen4_extras(
    tower: Fields, attention_layers: int, index: QueryIndex | None
) -> tuple[Unbudgeted, ...]:
    """Return per-layer embeddings' windows and the index's pending keys."""
    extras = []
    entries = tower.numbers("ple_layer_ids") if "ple_layer_ids" in tower else ()
    if layers := len(set(entries)):
        ngram = tower.count("ngram_size", 3)
        channels = _defaulted(tower, "hidden_size") * tower.count("hc_count", 4)
        columns = (tower.count("ple_conv_kernel_size", 4) - 1) * ngram
        window = channels * columns * CONV_BYTES * layers
        extras.append(Unbudgeted("embedding windows (PLE)", window, "slot"))
        extras.append(Unbudgeted("n-gram context", 8 * (ngram - 1), "slot"))
    if index is not None:
        ring = index.head_dim * CONV_BYTES * attention_layers + 24
        size = index.compress_ratio * ring
        extras.append(Unbudgeted("pending index keys", size, "request"))
    return tuple(extras)


def read_gigachat(tower: Fields) -> Geometry:
    """Return the geometry of GigaChat-3.5: GDN and latent attention.

    Raises:
        ConfigError: A field is missing or unusable.
        NotHybridError: No layer is linear attention.
    """
    layers = tower.layer_count()
    full = ("attention", "full_attention")
    if "layer_types" in tower:
        known = (*full, "linear_attention")
        types = checked_types(tower, "layer_types", layers, known)
        attention = where(types, full)
    elif "full_attention_layers" in tower:
        attention = _python_indexes(tower, "full_attention_layers", layers)
    else:
        attention = ()
    state = require_state(
        without(layers, attention), "layer_types has no linear_attention layer"
    )
    return Geometry(
        layers=layers,
        state_layers=state,
        attention_layers=attention,
        state=Gdn(
            key_heads=tower.count("linear_num_key_heads"),
            value_heads=tower.count("linear_num_value_heads"),
            key_dim=tower.count("linear_key_head_dim"),
            value_dim=tower.count("linear_value_head_dim"),
            kernel=tower.count("linear_conv_kernel_dim"),
        ),
        attention=read_mla(tower) if attention else None,
        query_heads=tower.count("num_attention_heads") if attention else None,
        is_registry=True,
    )


def _python_indexes(tower: Fields, name: str, layers: int) -> Layers:
    """Return layers by list indexes, of which a negative one counts from the end."""
    found = set()
    for number in tower.numbers(name):
        if not -layers <= number < layers:
            raise ConfigError(f"{name} has {number}, beyond the {layers} layers")
        found.add(number % layers)
    return tuple(sorted(found))


def read_jet(tower: Fields) -> Geometry:
    """Return the geometry of Jet-Nemotron: sliding windows count at full length.

    Raises:
        ConfigError: A field is missing or unusable.
        NotHybridError: No layer is a Jet block.
    """
    types = tower.words("layer_types")
    state = require_state(where(types, ("jet",)), "layer_types has no jet layer")
    block = tower.section("efficient_attention_config").section("jet")
    heads, dim = block.count("num_heads"), block.count("head_dim")
    value_dim = int(dim * block.number("expand_v"))
    if value_dim < 1:
        raise ConfigError("expand_v leaves no value dim")
    return Geometry(
        layers=len(types),
        state_layers=state,
        attention_layers=where(types, ("attn", "swa")),
        state=Gdn(heads, heads, dim, value_dim, block.count("conv_size")),
        attention=read_gqa(tower),
        query_heads=tower.count("num_attention_heads"),
        one_stage=True,
    )
