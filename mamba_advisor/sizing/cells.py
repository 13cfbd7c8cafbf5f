"""KV bytes per token: what a release charges for the target and for its draft."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from mamba_advisor.record import Record
from mamba_advisor.sizing.releases import Eras, choose

# --- the target -------------------------------------------------------------------


def _width_by_keys(head_dim: int, v_head_dim: int) -> int:
    """0.5.4–0.5.6: values are priced as wide as keys."""
    return 2 * head_dim


def _width(head_dim: int, v_head_dim: int) -> int:
    """From 0.5.7: keys and values by their own width."""
    return head_dim + v_head_dim


WIDTHS: Eras[Callable[[int, int], int]] = (
    ("0.5.4", _width_by_keys),
    ("0.5.7", _width),
)
"""First release -> (head dim, value head dim) -> elements per head and token."""


def _heads(kv_heads: int, attn_tp: int, dcp: int) -> int:
    """Up to 0.5.17: KV heads are spread over attention TP, at least 1 on a rank."""
    return max(1, kv_heads // attn_tp)


def _heads_under_dcp(kv_heads: int, attn_tp: int, dcp: int) -> int:
    """From 0.5.18: ranks of one DCP group hold the same heads."""
    return max(1, kv_heads // max(1, attn_tp // dcp))


HEADS: Eras[Callable[[int, int, int], int]] = (
    ("0.5.4", _heads),
    ("0.5.18", _heads_under_dcp),
)
"""First release -> (KV heads, attention TP, DCP) -> KV heads on a rank."""


def mha_layer_cell(
    version: str,
    *,
    kv_heads: int,
    head_dim: int,
    v_head_dim: int,
    attn_tp_size: int,
    dcp_size: int,
    element_bytes: int,
) -> int:
    """Return the KV bytes per token that one attention layer is charged on a rank.

    Args:
        version: The release.
        kv_heads: KV heads of the model.
        head_dim: Elements of a key head.
        v_head_dim: Elements of a value head.
        attn_tp_size: Tensor-parallel width of attention.
        dcp_size: Decode-context-parallel width.
        element_bytes: Bytes per KV element.

    Raises:
        FactError: *version* is older than 0.5.4.
        InputError: *version* is not a release.
    """
    heads = choose(HEADS, version)(kv_heads, attn_tp_size, dcp_size)
    return heads * choose(WIDTHS, version)(head_dim, v_head_dim) * element_bytes


def mla_layer_cell(kv_lora_rank: int, rope_head_dim: int, element_bytes: int) -> int:
    """Return the KV bytes per token that one MLA layer is charged on a rank."""
    return (kv_lora_rank + rope_head_dim) * element_bytes


# --- layers of a stage ------------------------------------------------------------


def stage_bounds(layers: int, stages: int) -> list[range]:
    """Return the layers of each pipeline stage; the last ones get one more.

    Args:
        layers: Layers of the model.
        stages: ``--pp-size``.
    """
    base, longer = divmod(layers, stages)
    sizes = [base] * (stages - longer) + [base + 1] * longer
    ends = [sum(sizes[: index + 1]) for index in range(stages)]
    return [range(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def _layers_of_all(attention_layers: list[int]) -> list[int]:
    """Up to 0.5.7: every stage is charged the whole model."""
    return [sum(attention_layers)] * len(attention_layers)


def _layers_of_stage(attention_layers: list[int]) -> list[int]:
    """From 0.5.8: every stage is charged its own layers."""
    return attention_layers


CHARGED_LAYERS: Eras[Callable[[list[int]], list[int]]] = (
    ("0.5.4", _layers_of_all),
    ("0.5.8", _layers_of_stage),
)
"""First release -> attention layers by stage -> layers charged by stage."""


def charged_layers(version: str, attention_layers: list[int]) -> list[int]:
    """Return the attention layers that each stage is charged for.

    Args:
        version: The release.
        attention_layers: Attention layers of each stage.

    Raises:
        FactError: *version* is older than 0.5.4.
        InputError: *version* is not a release.
    """
    return choose(CHARGED_LAYERS, version)(attention_layers)


# --- the draft --------------------------------------------------------------------

EAGLE_KIND = frozenset({"EAGLE", "EAGLE3", "NEXTN", "STANDALONE"})
"""Algorithms whose draft keeps KV of its own, layer by layer like the target's."""

BLOCK_KIND = frozenset({"DFLASH", "DSPARK"})
"""Algorithms whose draft predicts a block and has KV of its own shape."""


class DraftKv(Record):
    """A draft model's KV, as far as the release or the log knows it."""

    algorithm: str
    """``--speculative-algorithm``."""

    layers: int | None
    """Attention layers that the release was told of; None: nobody told it."""

    own_cell: int | None = None
    """KV bytes per token that the draft stores on a rank; None: not known."""


class TargetKv(Record):
    """The target's KV on one rank."""

    cell: int
    """Charged bytes per token over all its layers of the stage."""

    layers: int
    """Attention layers of the stage."""

    dcp_size: int = 1
    indexed: bool = False
    """Whether it is a DSA model, with an indexer row beside every token."""


def _uncharged(target: TargetKv, draft: DraftKv) -> int:
    """Before the first rule: the draft's KV comes out of the slack."""
    return target.cell


def _eagle_product(target: TargetKv, draft: DraftKv) -> int:
    """0.5.14–0.5.21: the target's cell × (1 + d ÷ n), in floating point."""
    if draft.layers is None or not target.layers:
        return target.cell
    return int(target.cell * (1 + draft.layers / target.layers))


def _eagle_sum(target: TargetKv, draft: DraftKv) -> int:
    """From 0.5.22: the share is truncated first; × DCP where there is an indexer."""
    if draft.layers is None or not target.layers:
        return target.cell
    scale = target.dcp_size if target.indexed else 1
    return target.cell + int(target.cell * draft.layers / target.layers) * scale


def _block_rounded(target: TargetKv, draft: DraftKv) -> int:
    """0.5.11–0.5.16: the target's cell × (n + d) ÷ n, rounded up."""
    return _block_share(target, draft.layers or 0)


def _block_replicated(target: TargetKv, draft: DraftKv) -> int:
    """0.5.17: likewise, the draft's layers once per DCP rank."""
    return _block_share(target, (draft.layers or 0) * target.dcp_size)


def _block_own(target: TargetKv, draft: DraftKv) -> int:
    """From 0.5.18: the draft's own cell once per DCP rank."""
    if draft.own_cell is None:
        return _block_replicated(target, draft)
    return target.cell + draft.own_cell * target.dcp_size


def _block_share(target: TargetKv, layers: int) -> int:
    if not target.layers:
        return target.cell
    return -(-target.cell * (target.layers + layers) // target.layers)


DraftRule: TypeAlias = Callable[[TargetKv, DraftKv], int]
"""(target, draft) -> charged bytes per token."""

EAGLE_CHARGES: Eras[DraftRule] = (
    ("0.5.4", _uncharged),
    ("0.5.14", _eagle_product),
    ("0.5.22", _eagle_sum),
)
"""First release -> rule for `EAGLE_KIND`."""

BLOCK_CHARGES: Eras[DraftRule] = (
    ("0.5.4", _uncharged),
    ("0.5.11", _block_rounded),
    ("0.5.17", _block_replicated),
    ("0.5.18", _block_own),
)
"""First release -> rule for `BLOCK_KIND`."""


def charged_cell(version: str, target: TargetKv, draft: DraftKv | None) -> int:
    """Return c: the KV bytes that the budget pays for one token on one rank.

    Args:
        version: The release.
        target: The target model's KV of the stage.
        draft: The draft's; None without one.

    Returns:
        The target's cell, and the draft's share where the release charges one.  Up to
        0.5.21 an EAGLE share can be one byte low, as SGLang's product is.

    Raises:
        FactError: *version* is older than 0.5.4.
        InputError: *version* is not a release.
    """
    kind = "" if draft is None else draft.algorithm.upper()
    if draft is not None and kind in EAGLE_KIND:
        return choose(EAGLE_CHARGES, version)(target, draft)
    if draft is not None and kind in BLOCK_KIND:
        return choose(BLOCK_CHARGES, version)(target, draft)
    return target.cell


def _never_told(has_path: bool, draft_layers: int | None, nextn: int | None) -> None:
    """Up to 0.5.13: no release asks for the layers of an EAGLE draft."""
    return


def _told_by_path(
    has_path: bool, draft_layers: int | None, nextn: int | None
) -> int | None:
    """0.5.14–0.5.19: only by the config behind a draft model path."""
    return draft_layers if has_path else None


def _told_by_target(
    has_path: bool, draft_layers: int | None, nextn: int | None
) -> int | None:
    """From 0.5.20: without a path by ``num_nextn_predict_layers`` of the target."""
    return draft_layers if has_path else nextn


TOLD_LAYERS: Eras[Callable[[bool, int | None, int | None], int | None]] = (
    ("0.5.4", _never_told),
    ("0.5.14", _told_by_path),
    ("0.5.20", _told_by_target),
)
"""First release -> (path set, layers of the draft, field of the target) -> d."""


def told_draft_layers(
    version: str,
    has_path: bool,
    draft_layers: int | None,
    target_nextn_layers: int | None = None,
) -> int | None:
    """Return d: the layers of an EAGLE draft that the release knows of.

    Args:
        version: The release.
        has_path: Whether ``speculative_draft_model_path`` is set.
        draft_layers: ``num_nextn_predict_layers`` of the draft's config (1 for an MTP
            head), else its layer count.
        target_nextn_layers: ``num_nextn_predict_layers`` of the *target's* config as
            published, None where it lacks the field.

    Returns:
        None where nothing is charged, and the draft's KV comes out of the slack.

    Raises:
        FactError: *version* is older than 0.5.4.
        InputError: *version* is not a release.
    """
    rule = choose(TOLD_LAYERS, version)
    return rule(has_path, draft_layers, target_nextn_layers)
