"""A ``config.json`` and a layout -> byte constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mamba_advisor.errors import InputError
from mamba_advisor.modelconfig.attention import Mla, Price
from mamba_advisor.modelconfig.drafts import draft_bytes, side_pools
from mamba_advisor.modelconfig.elements import (
    Elements,
    conv_dtype,
    kv_dtype,
    ssm_dtype,
)
from mamba_advisor.modelconfig.families import Family
from mamba_advisor.modelconfig.fields import Fields
from mamba_advisor.modelconfig.geometry import Geometry
from mamba_advisor.modelconfig.layout import Cut, Launch, cut_stages
from mamba_advisor.modelconfig.loadable import find_refusals
from mamba_advisor.modelconfig.model import ModelBytes, StageBytes
from mamba_advisor.modelconfig.recognise import recognise
from mamba_advisor.sizing.problem import SizingProblem
from mamba_advisor.sizing.releases import choose
from mamba_advisor.sizing.terms import CHARGES


def measure(config: Mapping[str, Any], launch: Launch) -> ModelBytes:
    """Return the byte constants of *config* under *launch*.

    Args:
        config: The content of a ``config.json``; nothing in it is trusted.
        launch: The server's arguments.

    Raises:
        ConfigError: A field is missing or unusable, a head count does not divide
            over the ranks, or the family is unknown.
        InputError: An argument is unusable.
        NotHybridError: SGLang keeps no state pool for the model.
    """
    family, tower = recognise(config)
    geometry = family.read(tower)
    elements = _elements(config, family, tower, geometry, launch)
    shapes = geometry.state.shapes(launch)
    cuts = cut_stages(geometry.layers, launch)
    rank = _reported_stage(geometry, cuts, launch)
    stages = tuple(_stage(geometry, cut, elements, launch) for cut in cuts)
    allocates = Cut(0, geometry.layers) if not launch.since("0.5.10") else cuts[rank]
    layers = len(allocates.keep(geometry.state_layers))
    conv = layers * shapes.conv_elements * elements.conv_bytes
    ssm = layers * shapes.temporal_elements * elements.ssm_bytes
    slot = shapes.conv_elements * elements.conv_bytes
    slot += shapes.temporal_elements * elements.ssm_bytes
    everywhere = slot * len(geometry.state_layers)
    price = _price(geometry, cuts[rank], elements, launch)
    kind = geometry.state.kind
    has_rings = kind if not geometry.is_registry else ""
    drafts = draft_bytes(has_rings, shapes, layers, elements, launch)
    sides = side_pools(has_rings, shapes, layers, elements, launch)
    return ModelBytes(
        family=family.name,
        architecture=architecture_of(config),
        state_kind=kind,
        attention_kind=geometry.attention.kind if geometry.attention else "none",
        linear_layers=layers,
        attention_layers=stages[rank].attention_layers,
        conv_bytes_per_slot=conv,
        ssm_bytes_per_slot=ssm,
        state_bytes_per_slot=conv + ssm,
        kv_bytes_per_token=price.total,
        conv_shapes_per_layer=shapes.conv,
        ssm_shape_per_layer=shapes.temporal,
        conv_dtype=elements.conv,
        ssm_dtype=elements.ssm,
        kv_dtype=elements.kv,
        pp_rank=rank,
        pp_layer_range=(cuts[rank].start, cuts[rank].end),
        stages=stages,
        all_state_layers=len(geometry.state_layers),
        model_state_bytes=everywhere,
        budget_state_bytes_per_slot=_charged_slot(everywhere, stages, launch),
        kv_heads_per_rank=price.heads,
        intermediate_ssm_bytes_per_request=drafts.ssm,
        intermediate_conv_bytes_per_request=drafts.conv,
        budget_intermediate_bytes_per_request=drafts.budget,
        replayssm_ring_bytes=drafts.ring,
        replayssm_ring_per=drafts.ring_per,
        swa_attention_layers=price.sliding_layers,
        full_only_attention_layers=price.full_layers,
        full_kv_bytes_per_token=price.full,
        swa_kv_bytes_per_token=price.sliding,
        swa_full_tokens_ratio=price.ratio,
        min_page_size=geometry.min_page_size,
        printed_page_bytes=_printed_page(geometry, cuts[rank], price, launch),
        unbudgeted=geometry.unbudgeted + sides,
        refusals=find_refusals(family, geometry, launch),
        notes=(*tower.notes, *_kv_notes(geometry, elements, launch)),
    )


def architecture_of(config: Mapping[str, Any]) -> str | None:
    """Return the first of ``architectures``, None without one."""
    names = config.get("architectures")
    if isinstance(names, list | tuple) and names and isinstance(names[0], str):
        return names[0]
    return None


def _elements(
    config: Mapping[str, Any],
    family: Family,
    tower: Fields,
    geometry: Geometry,
    launch: Launch,
) -> Elements:
    is_dsa = geometry.attention is not None and geometry.attention.is_dsa
    kv = kv_dtype(launch, config, is_dsa=is_dsa)
    conv = conv_dtype(launch)
    ssm = ssm_dtype(launch, tower, family.reads_dtype)
    if fixed := geometry.fixed_dtype:
        return Elements(fixed, fixed, kv)
    return Elements(conv, ssm, kv)


def _reported_stage(geometry: Geometry, cuts: tuple[Cut, ...], launch: Launch) -> int:
    """Return the stage to report: the wanted one, or the first largest one."""
    if launch.pp_rank is None:
        counts = [len(cut.keep(geometry.state_layers)) for cut in cuts]
        return counts.index(max(counts))
    if not 0 <= launch.pp_rank < len(cuts):
        raise InputError(f"pp_rank {launch.pp_rank} is none of {len(cuts)} stages")
    return launch.pp_rank


def _price(geometry: Geometry, cut: Cut, elements: Elements, launch: Launch) -> Price:
    """Return what a token costs on a stage; up to 0.5.7 every stage pays for all."""
    if geometry.attention is None:
        return Price(0)
    layers = geometry.attention_layers
    priced = cut.keep(layers) if launch.since("0.5.8") else layers
    return geometry.attention.price(priced, elements.kv, launch)


def _printed_page(geometry: Geometry, cut: Cut, price: Price, launch: Launch) -> int:
    """Return the bytes of a page in the figure that the pool line prints."""
    plain = price.total if price.full is None else price.full
    page = (plain - price.index) * geometry.min_page_size
    attention = geometry.attention
    if isinstance(attention, Mla) and attention.index is not None:
        layers = cut.keep(geometry.attention_layers)
        index = attention.index.stored(layers, geometry.min_page_size)
        page += index * launch.dcp_size
    return page


def _stage(
    geometry: Geometry, cut: Cut, elements: Elements, launch: Launch
) -> StageBytes:
    return StageBytes(
        start=cut.start,
        end=cut.end,
        state_layers=len(cut.keep(geometry.state_layers)),
        attention_layers=len(cut.keep(geometry.attention_layers)),
        kv_bytes_per_token=_price(geometry, cut, elements, launch).total,
    )


def _charged_slot(
    everywhere: int, stages: tuple[StageBytes, ...], launch: Launch
) -> int:
    """Return what the budget charges for a slot on every rank."""
    counts = [stage.state_layers for stage in stages]
    problem = SizingProblem(
        rest_gib=0.0,
        slot_bytes=everywhere,
        cells=(),
        stage_state_layers=max(counts),
        all_state_layers=sum(counts),
    )
    slot, _, _ = choose(CHARGES, launch.era)(problem)
    return slot


def _kv_notes(geometry: Geometry, elements: Elements, launch: Launch) -> list[str]:
    """Return what the KV price takes for granted."""
    notes = []
    if geometry.attention is not None and geometry.attention.is_dsa:
        if launch.kv_cache_dtype == "auto" and launch.sm is None:
            notes.append(
                "--kv-cache-dtype auto depends on the GPU for this model: bfloat16 "
                "is taken, from SM100 (B200) on it is fp8_e4m3"
            )
        unset = launch.dsa_prefill_backend is None and launch.dsa_decode_backend is None
        if elements.kv == "fp8_e4m3" and unset and launch.sm is None:
            notes.append(
                "the fp8 row of sparse attention is taken with scales, as on Hopper; "
                "TensorRT-LLM's backends store it without"
            )
    if elements.kv == "nvfp4" and not (
        launch.prefill_attention_backend or launch.attention_backend
    ):
        notes.append(
            "nvfp4 is priced for a native prefill; a FlashInfer prefill adds one fp8 "
            "row of one layer"
        )
    return notes


def model_bytes(
    config: Mapping[str, Any],
    *,
    tp_size: int = 1,
    pp_size: int = 1,
    dcp_size: int = 1,
    mamba_ssm_dtype: str | None = None,
    conv_dtype: str | None = None,
    kv_cache_dtype: str = "auto",
    **further: Any,
) -> ModelBytes:
    """Return what one state slot and one KV token of a model take, on one rank.

    Args:
        config: The content of a Hugging Face ``config.json``.
        tp_size: ``--tp-size``.
        pp_size: ``--pp-size``.
        dcp_size: ``--dcp-size``.
        mamba_ssm_dtype: ``--mamba-ssm-dtype``; None: the config's, or float32.
        conv_dtype: ``SGLANG_MAMBA_CONV_DTYPE``; None: bfloat16.
        kv_cache_dtype: ``--kv-cache-dtype``.
        **further: Further fields of `Launch`, such as *attn_dp_size*, *pp_rank*,
            *speculative_num_draft_tokens* or *sglang_version*.

    Returns:
        Bytes for the stage *pp_rank*; without one, for the first of the stages with
        most state layers.

    Raises:
        ConfigError: A field is missing or unusable, a head count does not divide
            over the ranks, or the family is unknown.
        InputError: An argument is unusable.
        NotHybridError: SGLang keeps no state pool for the model.
    """
    if unknown := sorted(further.keys() - Launch.__dataclass_fields__.keys()):
        raise InputError(f"unknown arguments: {', '.join(unknown)}")
    launch = Launch(
        tp_size=tp_size,
        pp_size=pp_size,
        dcp_size=dcp_size,
        mamba_ssm_dtype=mamba_ssm_dtype,
        conv_dtype=conv_dtype,
        kv_cache_dtype=kv_cache_dtype,
        **further,
    )
    return measure(config, launch)
