"""What a family's reader makes of a ``config.json``."""

from __future__ import annotations

from mamba_advisor.modelconfig.attention import Attention
from mamba_advisor.modelconfig.state import State
from mamba_advisor.record import Record


class Unbudgeted(Record):
    """Memory that is allocated beside the pools without a place in the budget."""

    name: str
    bytes: int
    per: str
    """``"slot"`` or ``"request"``."""


class Geometry(Record):
    """A hybrid model's layers and dimensions, before any split over ranks."""

    layers: int
    """All layers."""

    state_layers: tuple[int, ...]
    """Layers with a recurrent or convolution state, counted from 0."""

    attention_layers: tuple[int, ...]
    """Layers with a KV cache, counted from 0."""

    state: State
    attention: Attention | None
    query_heads: int | None = None
    """Attention heads; None without attention."""

    kv_follows_dcp: bool = False
    """The model code splits KV heads over A ÷ DCP ranks, as Qwen3.5 does."""

    one_stage: bool = False
    """The model code knows no pipeline stages."""

    replicates_kv: bool = True
    """KV heads may be fewer than the ranks."""

    is_registry: bool = False
    """Hybrid only through SGLang's registry: no ReplaySSM."""

    speculates: bool = True
    group_norm_size: int | None = None
    """Groups that the ranks must divide (Ling-2.x)."""

    fixed_dtype: str | None = None
    """Element type of conv and state that nothing changes (Inkling)."""

    min_page_size: int = 1
    """Page size that the model forces."""

    refusals: tuple[str, ...] = ()
    """Why the file alone cannot load, a sentence each."""

    unbudgeted: tuple[Unbudgeted, ...] = ()
