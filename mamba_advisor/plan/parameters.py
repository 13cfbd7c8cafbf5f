"""A model's parameters by a formula: what its weights about take."""

from __future__ import annotations

from mamba_advisor.errors import ConfigError
from mamba_advisor.modelconfig.attention import Gqa, Mla, SlidingGqa
from mamba_advisor.modelconfig.fields import Fields
from mamba_advisor.modelconfig.geometry import Geometry
from mamba_advisor.modelconfig.state import (
    Gdn,
    Kda,
    Lightning,
    Mamba1,
    Mamba2,
    ShortConv,
)
from mamba_advisor.record import Record

EXPERTS = ("n_routed_experts", "num_experts", "num_local_experts")
"""Names of the number of routed experts."""

DENSE_FIRST = ("first_k_dense_replace", "num_dense_layers", "dense_mlp_idx")
"""Names of the number of layers before the first with experts."""

GATED_PROJECTIONS = 3
"""Matrices of a gated MLP: gate, up, down."""

PLAIN_PROJECTIONS = 2
"""Matrices of Nemotron's MLP, which has no gate."""


class Parameters(Record):
    """Numbers of parameters, by how they are split over ranks."""

    experts: int
    """Routed experts: split over expert or tensor parallelism."""

    attention: int
    """Attention and state mixers: split over attention-TP."""

    replicated: int
    """The same on every rank: projections into latent space."""

    others: int
    """MLPs and shared experts: split over TP."""

    embeddings: int
    """Embeddings of input and output: split over TP."""

    @property
    def total(self) -> int:
        """All of them."""
        split = self.experts + self.attention + self.others + self.embeddings
        return split + self.replicated


def count_parameters(tower: Fields, geometry: Geometry) -> Parameters:
    """Return about how many parameters a text model has; norms are left out.

    Raises:
        ConfigError: A field that it needs is missing, such as ``vocab_size``.
    """
    hidden = tower.count("hidden_size")
    copies = 1 if tower.flag("tie_word_embeddings") else 2
    embeddings = tower.count("vocab_size") * hidden * copies
    split, shared = _attention(tower, geometry, hidden)
    mixers = len(geometry.state_layers) * _mixer(geometry, hidden)
    experts, dense = _mlps(tower, geometry, hidden)
    return Parameters(
        experts=experts,
        attention=len(geometry.attention_layers) * split + mixers,
        replicated=len(geometry.attention_layers) * shared,
        others=dense,
        embeddings=embeddings,
    )


def _attention(tower: Fields, geometry: Geometry, hidden: int) -> tuple[int, int]:
    """Return the parameters of an attention layer: split, and replicated."""
    attention, queries = geometry.attention, geometry.query_heads
    if attention is None or queries is None:
        return 0, 0
    if isinstance(attention, SlidingGqa):
        attention = attention.full
    if isinstance(attention, Gqa):
        # A gate on the output doubles the query projection in Qwen's hybrids.
        gated = 2 if isinstance(geometry.state, Gdn) else 1
        width = queries * attention.head_dim
        kv = attention.kv_heads * (attention.head_dim + attention.v_head_dim)
        return hidden * (width * gated + kv) + width * hidden, 0
    if not isinstance(attention, Mla):
        return 0, 0
    nope = tower.count("qk_nope_head_dim")
    values = tower.count("v_head_dim")
    rope = tower.count("qk_rope_head_dim", low=0)
    into = hidden * (attention.rank + rope)
    out_of = attention.rank * queries * (nope + values) + queries * values * hidden
    if "q_lora_rank" in tower:
        rank = tower.count("q_lora_rank")
        return out_of + rank * queries * (nope + rope), into + hidden * rank
    return out_of + hidden * queries * (nope + rope), into


def _mixer(geometry: Geometry, hidden: int) -> int:
    """Return the parameters of a state layer's mixer; bare windows have none."""
    size = 0
    match geometry.state:
        case Gdn() as state:
            keys = state.key_heads * state.key_dim
            values = state.value_heads * state.value_dim
            size = hidden * (2 * keys + 3 * values + 2 * state.value_heads)
        case Kda() as state:
            width = state.heads * state.head_dim
            gates = 2 * (hidden + width) * state.head_dim
            size = 4 * hidden * width + gates + hidden * state.heads
        case Mamba2() as state:
            groups = 2 * state.groups * state.state_dim
            size = hidden * (3 * state.inner + groups + state.heads)
        case Lightning() as state:
            size = 5 * hidden * state.heads * state.head_dim
        case Mamba1() as state:
            steps = -(-hidden // 16)
            size = state.inner * (3 * hidden + 2 * steps + 2 * state.state_dim)
        case ShortConv():
            size = 4 * hidden * hidden
    return size


def _mlps(tower: Fields, geometry: Geometry, hidden: int) -> tuple[int, int]:
    """Return the parameters of all MLPs: routed experts, and the rest."""
    if isinstance(geometry.state, Mamba1) or (
        isinstance(geometry.state, Mamba2) and geometry.attention is None
    ):
        return 0, 0
    kinds = _plain_kinds(tower)
    matrices = PLAIN_PROJECTIONS if kinds else GATED_PROJECTIONS
    experts = next((tower.count(n, low=0) for n in EXPERTS if n in tower), 0)
    if not experts:
        layers = kinds.count("mlp") if kinds else geometry.layers
        return 0, layers * matrices * hidden * tower.count("intermediate_size")
    if kinds:
        routed_layers, dense_layers = kinds.count("moe"), kinds.count("mlp")
    else:
        dense_layers = min(geometry.layers, _first(tower, DENSE_FIRST, 0))
        routed_layers = geometry.layers - dense_layers
    inner = _first(tower, ("moe_intermediate_size", "intermediate_size"), None)
    routed = routed_layers * experts * matrices * hidden * inner
    rest = routed_layers * (
        matrices * hidden * _shared(tower, inner) + experts * hidden
    )
    if dense_layers:
        rest += dense_layers * matrices * hidden * tower.count("intermediate_size")
    return routed, rest


def _plain_kinds(tower: Fields) -> list[str]:
    """Return Nemotron's layers with an MLP; empty for the other families."""
    if "layers_block_type" in tower:
        return list(tower.words("layers_block_type"))
    if "hybrid_override_pattern" in tower:
        words = {"-": "mlp", "E": "moe"}
        pattern = tower.word("hybrid_override_pattern")
        return [words.get(letter, "mixer") for letter in pattern]
    return []


def _shared(tower: Fields, inner: int) -> int:
    """Return the width of a layer's shared experts together."""
    for name in (
        "shared_expert_intermediate_size",
        "moe_shared_expert_intermediate_size",
        "shared_intermediate_size",
    ):
        if name in tower:
            return tower.count(name, low=0)
    return inner * _first(tower, ("n_shared_experts", "num_shared_experts"), 0)


def _first(tower: Fields, names: tuple[str, ...], default: int | None) -> int:
    """Return the first of *names* that the config has, else *default*."""
    for name in names:
        if name in tower:
            return tower.count(name, low=0)
    if default is None:
        raise ConfigError(f"the config lacks {names[0]}")
    return default
