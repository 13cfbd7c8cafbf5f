"""The draft model of a planned server: what its KV costs, and who pays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mamba_advisor.errors import ConfigError
from mamba_advisor.modelconfig import Launch, ModelBytes
from mamba_advisor.modelconfig.families.attention import read_gqa, read_mla
from mamba_advisor.modelconfig.fields import Fields
from mamba_advisor.modelconfig.recognise import TOWERS
from mamba_advisor.plan.options import PlanOptions
from mamba_advisor.record import Record, replace
from mamba_advisor.sizing.cells import (
    BLOCK_KIND,
    EAGLE_KIND,
    DraftKv,
    TargetKv,
    charged_cell,
    told_draft_layers,
)
from mamba_advisor.sizing.releases import since

NEXTN = "num_nextn_predict_layers"

OWN_PATH = {"bailing_hybrid": "0.5.14", "qwen4_exp": "0.5.20"}
"""Family -> release from which SGLang fills the draft's path in by itself."""


class DraftPlan(Record):
    """KV of a draft."""

    cells: tuple[int, ...]
    """Charged bytes per token of each stage, draft included where it is charged."""

    uncharged: int | None
    """Bytes per token that the draft stores beyond them; None: none, or unknown."""

    assumptions: tuple[str, ...] = ()


def plan_drafts(
    config: Mapping[str, Any],
    model: ModelBytes,
    options: PlanOptions,
    launch: Launch,
    algorithm: str | None,
) -> DraftPlan:
    """Return what a token costs with the draft.

    Args:
        config: The target's config.
        model: The target's bytes.
        options: The server's arguments.
        launch: The target's layout.
        algorithm: ``--speculative-algorithm`` in force; None: no draft model.

    Raises:
        ConfigError: The draft's config lacks a field.
    """
    plain = tuple(stage.kv_bytes_per_token for stage in model.stages)
    kind = (algorithm or "").upper()
    if kind not in EAGLE_KIND | BLOCK_KIND:
        return DraftPlan(plain, None)
    layers, own = _own_cell(options, launch)
    nextn = _nextn(config)
    version = options.sglang_version
    filled_in = OWN_PATH.get(model.family)
    has_path = options.draft_config is not None or bool(
        filled_in and since(version, filled_in)
    )
    if kind in EAGLE_KIND:
        known = layers if options.draft_config is not None else nextn or 1
        told = told_draft_layers(version, has_path, known, nextn)
    else:
        known = told = layers
    draft = DraftKv(algorithm or "", told, own if kind in BLOCK_KIND else None)
    cells = tuple(
        charged_cell(
            version,
            TargetKv(
                cell=stage.kv_bytes_per_token,
                layers=stage.attention_layers,
                dcp_size=launch.dcp_size,
                indexed=model.attention_kind == "mla" and model.min_page_size > 1,
            ),
            draft,
        )
        for stage in model.stages
    )
    if cells != plain:
        return DraftPlan(cells, None)
    return DraftPlan(cells, *_uncharged(model, known, own, kind))


def _uncharged(
    model: ModelBytes, layers: int | None, own: int | None, kind: str
) -> tuple[int | None, tuple[str, ...]]:
    """Return what an uncharged draft stores per token, and the sentence on it."""
    stage = model.stages[-1]
    if own is None and layers is not None and stage.attention_layers:
        own = stage.kv_bytes_per_token * layers // stage.attention_layers
    if own is None:
        return None, (
            f"the {kind} draft's KV is unknown and not in the budget: give the draft's "
            "config",
        )
    return own, (
        f"this release does not charge the draft's KV: {own} bytes per token come out "
        "of what --mem-fraction-static leaves",
    )


def _own_cell(options: PlanOptions, launch: Launch) -> tuple[int | None, int | None]:
    """Return the draft's layers and bytes per token by its own config."""
    if options.draft_config is None:
        return None, None
    root = Fields(options.draft_config, "draft config: ")
    section = next((root.section(name) for name in TOWERS if name in root), root)
    layers = section.count(NEXTN) if NEXTN in section else section.layer_count()
    if layers < 1:
        raise ConfigError("the draft has no layers")
    attention = read_mla(section) if "kv_lora_rank" in section else read_gqa(section)
    dtype = launch.kv_cache_dtype if launch.kv_cache_dtype != "auto" else "bfloat16"
    single = replace(launch, dcp_size=1, pp_size=1, pp_rank=None)
    return layers, attention.price(tuple(range(layers)), dtype, single).total


def _nextn(config: Mapping[str, Any]) -> int | None:
    """Return ``num_nextn_predict_layers`` of the target, text section first."""
    for section in (*(config.get(name) for name in TOWERS), config):
        value = section.get(NEXTN) if isinstance(section, Mapping) else None
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1000:  # noqa: PLR2004
            return value
    return None
