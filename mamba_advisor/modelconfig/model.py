"""Byte constants of a model: what one state slot and one KV token take."""

from __future__ import annotations

from mamba_advisor.modelconfig.geometry import Unbudgeted
from mamba_advisor.record import Record


class StageBytes(Record):
    """One pipeline stage."""

    start: int
    """First layer, counted from 0."""

    end: int
    """Layer behind the last."""

    state_layers: int
    attention_layers: int
    """Attention layers that the release prices on this stage."""

    kv_bytes_per_token: int
    """Bytes of one pool row on one rank, the target's alone."""


class ModelBytes(Record):
    """The byte constants of a model on one rank of a given layout."""

    family: str
    architecture: str | None
    state_kind: str
    """``gdn``, ``kda``, ``mamba2``, ``lightning``, ``mamba1``, ``shortconv``,
    ``sconv``, ``cca``, or ``given`` for constants by hand.
    """

    attention_kind: str
    """``gqa``, ``mla``, ``swa``, ``none`` or ``given``."""

    linear_layers: int
    """State layers on the rank of `pp_rank`."""

    attention_layers: int
    """Layers with a KV cache on that rank."""

    conv_bytes_per_slot: int
    ssm_bytes_per_slot: int
    state_bytes_per_slot: int
    """Bytes of one slot on that rank: conv + recurrent."""

    kv_bytes_per_token: int
    """Price of one pool row on that rank; draft layers not counted."""

    conv_shapes_per_layer: tuple[tuple[int, int], ...]
    ssm_shape_per_layer: tuple[int, int, int]
    conv_dtype: str
    ssm_dtype: str
    kv_dtype: str
    pp_rank: int
    pp_layer_range: tuple[int, int]
    """The rank's layers: first, and the one behind the last."""

    stages: tuple[StageBytes, ...]
    """Every pipeline stage; a single one without PP."""

    all_state_layers: int
    """State layers of the whole model."""

    model_state_bytes: int
    """Bytes of one slot over all state layers of the model, on one rank's share."""

    budget_state_bytes_per_slot: int
    """What the budget charges for a slot (0.5.17+: the largest stage's share)."""

    kv_heads_per_rank: int | None = None
    """None where KV has no heads to split (MLA), or there is none."""

    intermediate_ssm_bytes_per_request: int | None = None
    """Draft tokens' recurrent states of a request; None without speculation."""

    intermediate_conv_bytes_per_request: int | None = None
    budget_intermediate_bytes_per_request: int | None = None
    """What the budget charges for a request's draft states."""

    replayssm_ring_bytes: int | None = None
    """Bytes of one ReplaySSM ring for speculation; None: there is none."""

    replayssm_ring_per: str | None = None
    """``"slot"`` or ``"request"``."""

    swa_attention_layers: int | None = None
    full_only_attention_layers: int | None = None
    full_kv_bytes_per_token: int | None = None
    swa_kv_bytes_per_token: int | None = None
    swa_full_tokens_ratio: float | None = None
    min_page_size: int = 1
    """Page size that the model forces."""

    printed_page_bytes: int = 0
    """Bytes of a page of `min_page_size` tokens in the pool line's figure.

    A compressed index of its own (Qwen4-Exp) is not in that figure, nor are
    sliding-window rows; a pooled one (GLM-5.3) is stored below its price.
    """

    unbudgeted: tuple[Unbudgeted, ...] = ()
    """What is allocated beside the pools and charged nowhere."""

    refusals: tuple[str, ...] = ()
    """Why SGLang would not load this, a sentence each; empty: it loads."""

    notes: tuple[str, ...] = ()
    """What was taken without being stated, a sentence each."""

    @property
    def loadable(self) -> bool:
        """Whether SGLang loads the model in this layout, as far as is known."""
        return not self.refusals

    @property
    def printed_kv_bytes_per_token(self) -> int:
        """Bytes of a token in the pool line's figure, rounded down."""
        return self.printed_page_bytes // self.min_page_size

    @property
    def largest_kv_bytes(self) -> int:
        """Bytes of a row on the stage that pays most: it sets the token count."""
        return max(stage.kv_bytes_per_token for stage in self.stages)

    @property
    def largest_stage_layers(self) -> int:
        """State layers of the stage with most of them."""
        return max(stage.state_layers for stage in self.stages)
