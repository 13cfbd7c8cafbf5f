"""Sizing inputs under SGLang's own names, and their reduction to a problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, TypedDict

from mamba_advisor.errors import InputError
from mamba_advisor.record import Record
from mamba_advisor.sizing.cells import (
    DraftKv,
    TargetKv,
    charged_cell,
    charged_layers,
    mha_layer_cell,
    mla_layer_cell,
    stage_bounds,
)
from mamba_advisor.sizing.problem import SizingProblem
from mamba_advisor.sizing.releases import since
from mamba_advisor.sizing.rings import RINGS, RingShape, layer_ring_bytes


class StateShape(TypedDict):
    """What one state slot is made of, per layer and rank."""

    conv_shape: Sequence[int]
    temporal_shape: Sequence[int]
    """Heads, head dim, state dim."""

    conv_dtype_bytes: int
    ssm_dtype_bytes: int
    k_heads_per_rank: int


class SizingInputs(Record):
    """What SGLang's sizing looks at, per rank unless said; flags as resolved."""

    state_bytes_per_slot: int
    """One slot over all state layers of the model, without ring and draft states."""

    num_hidden_layers: int
    linear_layer_ids: Sequence[int]
    """State layers of the model."""

    attention_layer_ids: Sequence[int]
    """Layers of the model that keep KV."""

    kv_heads_total: int
    head_dim: int
    v_head_dim: int
    kv_dtype_bytes: int
    context_len: int
    rest_memory_gib: float | None = None
    """What both pools share, in GiB; None: from the three fields below."""

    free_before_weights_gib: float | None = None
    free_after_weights_gib: float | None = None
    mem_fraction_static: float | None = None
    state_family: str = "gdn"
    """``gdn``, ``kda`` or ``mamba2``."""

    state_shape: StateShape | None = None
    """Needed for ReplaySSM only."""

    attn_tp_size: int = 1
    attention_kind: str = "mha"
    """``mha`` or ``mla``."""

    kv_lora_rank: int | None = None
    qk_rope_head_dim: int | None = None
    draft_kv_layers: int | None = None
    """Attention layers of an EAGLE draft that the release was told of."""

    mamba_full_memory_ratio: float = 0.9
    max_mamba_cache_size: int | None = None
    """The flag: global, before any division."""

    max_running_requests: int | None = None
    """The flag: global."""

    max_running_requests_resolved: int | None = None
    """The same after argument resolution; None: as `max_running_requests`."""

    max_total_tokens: int | None = None
    page_size: int = 1
    disable_radix_cache: bool = False
    strategy: str = "no_buffer"
    disable_overlap_schedule: bool = False
    skip_decode_lock: bool = False
    speculative_algorithm: str | None = None
    speculative_num_draft_tokens: int | None = None
    speculative_num_steps: int | None = None
    speculative_eagle_topk: int | None = None
    replayssm_spec: bool = False
    replayssm_cache_len: int = 16
    dp_size: int = 1
    enable_dp_attention: bool = False
    pp_size: int = 1
    dcp_size: int = 1
    disaggregation_mode: str = "null"
    model_shape: str = ""
    """A label, no more."""

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> SizingInputs:
        """Return the inputs that a mapping of field name to value holds.

        Raises:
            InputError: A name is unknown, or one without a default is missing.
        """
        known = {field.name: field for field in fields(cls)}
        if unknown := sorted(set(record) - set(known)):
            raise InputError(f"unknown sizing input: {', '.join(unknown)}")
        needed = {name for name, field in known.items() if field.default is MISSING}
        if missing := sorted(needed - set(record)):
            raise InputError(f"missing sizing input: {', '.join(missing)}")
        return cls(**record)


def reduce_inputs(version: str, inputs: SizingInputs) -> SizingProblem:
    """Return the problem that *inputs* put to *version*.

    Raises:
        FactError: *version* is older than 0.5.4.
        InputError: *version* is not a release, or a field that is needed is None.
    """
    stages = stage_bounds(inputs.num_hidden_layers, inputs.pp_size)
    asked = inputs.max_running_requests_resolved
    return SizingProblem(
        rest_gib=_rest_gib(inputs),
        slot_bytes=inputs.state_bytes_per_slot,
        cells=_cells(version, inputs, stages),
        page_size=inputs.page_size,
        context_len=inputs.context_len,
        stage_state_layers=max(_counts(inputs.linear_layer_ids, stages)),
        all_state_layers=sum(_counts(inputs.linear_layer_ids, stages)),
        state_family=inputs.state_family,
        ring_bytes=_ring_bytes(version, inputs),
        replayssm_spec=inputs.replayssm_spec,
        ratio=inputs.mamba_full_memory_ratio,
        pin=inputs.max_mamba_cache_size,
        max_running_requests=inputs.max_running_requests if asked is None else asked,
        max_total_tokens=inputs.max_total_tokens,
        disable_radix_cache=inputs.disable_radix_cache,
        disable_overlap_schedule=inputs.disable_overlap_schedule,
        strategy=inputs.strategy,
        skip_decode_lock=inputs.skip_decode_lock,
        speculative_algorithm=inputs.speculative_algorithm,
        draft_tokens=inputs.speculative_num_draft_tokens or 0,
        draft_steps=inputs.speculative_num_steps or 0,
        draft_topk=inputs.speculative_eagle_topk or 0,
        attn_dp_size=inputs.dp_size if inputs.enable_dp_attention else 1,
        dcp_size=inputs.dcp_size,
        disaggregation_mode=inputs.disaggregation_mode,
    )


def _rest_gib(inputs: SizingInputs) -> float:
    if inputs.rest_memory_gib is not None:
        return inputs.rest_memory_gib
    before, after = inputs.free_before_weights_gib, inputs.free_after_weights_gib
    fraction = inputs.mem_fraction_static
    if before is None or after is None or fraction is None:
        raise InputError(
            "rest_memory_gib is not given, nor all of free_before_weights_gib, "
            "free_after_weights_gib and mem_fraction_static"
        )
    return after - before * (1 - fraction)


def _counts(layers: Sequence[int], stages: list[range]) -> list[int]:
    """Return how many of *layers* each stage has; ids count only with stages."""
    if len(stages) == 1:
        return [len(layers)]
    return [sum(layer in stage for layer in layers) for stage in stages]


def _cells(version: str, inputs: SizingInputs, stages: list[range]) -> tuple[int, ...]:
    layer_cell = _layer_cell(version, inputs)
    draft = None
    if inputs.speculative_algorithm is not None:
        draft = DraftKv(inputs.speculative_algorithm, inputs.draft_kv_layers)
    counts = charged_layers(version, _counts(inputs.attention_layer_ids, stages))
    return tuple(
        charged_cell(
            version, TargetKv(layer_cell * count, count, inputs.dcp_size), draft
        )
        for count in counts
    )


def _layer_cell(version: str, inputs: SizingInputs) -> int:
    if inputs.attention_kind == "mla":
        if inputs.kv_lora_rank is None or inputs.qk_rope_head_dim is None:
            raise InputError("mla attention needs kv_lora_rank and qk_rope_head_dim")
        return mla_layer_cell(
            inputs.kv_lora_rank, inputs.qk_rope_head_dim, inputs.kv_dtype_bytes
        )
    return mha_layer_cell(
        version,
        kv_heads=inputs.kv_heads_total,
        head_dim=inputs.head_dim,
        v_head_dim=inputs.v_head_dim,
        attn_tp_size=inputs.attn_tp_size,
        dcp_size=inputs.dcp_size,
        element_bytes=inputs.kv_dtype_bytes,
    )


def _ring_bytes(version: str, inputs: SizingInputs) -> int:
    shape, family = inputs.state_shape, inputs.state_family
    if not inputs.replayssm_spec or shape is None or family not in RINGS:
        return 0
    if not since(version, "0.5.17"):
        return 0
    heads, head_dim, state_dim = shape["temporal_shape"]
    ring = RingShape(
        value_heads=heads,
        value_dim=head_dim,
        key_heads=shape["k_heads_per_rank"],
        key_dim=state_dim,
        element_bytes=shape["conv_dtype_bytes"],
        draft_tokens=inputs.speculative_num_draft_tokens or 0,
        cache_len=inputs.replayssm_cache_len,
    )
    return len(inputs.linear_layer_ids) * layer_ring_bytes(version, family, ring)
