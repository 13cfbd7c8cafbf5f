"""Memory beside the plain state: draft tokens' states, rings, checkpoints."""

from __future__ import annotations

from mamba_advisor.modelconfig.elements import Elements
from mamba_advisor.modelconfig.geometry import Unbudgeted
from mamba_advisor.modelconfig.layout import Launch
from mamba_advisor.modelconfig.state import StateShapes
from mamba_advisor.record import Record

GATE_BYTES = 4
"""Bytes of a gate's element: float32 always."""


class DraftBytes(Record):
    """What speculation keeps for one request, in bytes; None without speculation."""

    ssm: int | None = None
    conv: int | None = None
    budget: int | None = None
    ring: int | None = None
    """One ReplaySSM ring; None: there is none."""

    ring_per: str | None = None
    """``"slot"`` or ``"request"``."""


def draft_bytes(
    kind: str, shapes: StateShapes, layers: int, elements: Elements, launch: Launch
) -> DraftBytes:
    """Return a request's draft states, allocated and charged, in bytes.

    Args:
        kind: Kind of state; ReplaySSM works for those in `RINGS` alone.
        shapes: State of one layer on the rank.
        layers: State layers on the rank.
        elements: Element types.
        launch: The arguments.

    The budget charges every draft token as a whole slot.  Allocated is less from
    0.5.14 on, where a chain of tokens shares one window of D + K − 2 columns.

    Source:
        SGLang ``srt/mem_cache/memory_pool.py``, ``MambaPool``.
    """
    drafts = launch.speculative_num_draft_tokens
    if not drafts:
        return DraftBytes()
    conv_layer = shapes.conv_elements * elements.conv_bytes
    ssm = drafts * layers * shapes.temporal_elements * elements.ssm_bytes
    conv = drafts * layers * conv_layer
    budget = ssm + conv
    shares = shapes.dedups_windows and launch.speculative_eagle_topk <= 1
    if shares and launch.since("0.5.14") and shapes.columns:
        columns = drafts + shapes.columns - 1
        conv = layers * conv_layer // shapes.columns * columns
    if (
        launch.enable_linear_replayssm_spec
        and _has_rings(kind)
        and launch.since("0.5.17")
    ):
        ring = layers * _layer_ring(kind, shapes, elements, launch)
        per_request = kind == "gdn" and launch.since("0.5.20")
        return DraftBytes(0, conv, 0, ring, "request" if per_request else "slot")
    return DraftBytes(ssm, conv, budget)


def _has_rings(kind: str) -> bool:
    """Return whether ReplaySSM works for this kind of state."""
    from mamba_advisor.sizing.rings import RINGS

    return kind in RINGS


def _layer_ring(
    kind: str, shapes: StateShapes, elements: Elements, launch: Launch
) -> int:
    """Return the bytes of one ReplaySSM ring for speculation, in one layer."""
    from mamba_advisor.sizing.rings import RingShape, layer_ring_bytes

    heads, value_dim, key_dim = shapes.temporal
    ring = RingShape(
        value_heads=heads,
        value_dim=value_dim,
        key_heads=shapes.key_heads,
        key_dim=key_dim,
        element_bytes=elements.conv_bytes,
        draft_tokens=launch.speculative_num_draft_tokens,
        cache_len=launch.linear_replayssm_cache_len,
    )
    return layer_ring_bytes(launch.sglang_version, kind, ring)


def side_pools(
    kind: str, shapes: StateShapes, layers: int, elements: Elements, launch: Launch
) -> tuple[Unbudgeted, ...]:
    """Return the decode ring and the int8 checkpoints, where switched on."""
    heads, value_dim, key_dim = shapes.temporal
    found = []
    if launch.enable_linear_replayssm and _has_rings(kind):
        rows = heads * value_dim + shapes.key_heads * key_dim
        gates = GATE_BYTES * heads * (key_dim if kind == "kda" else 1)
        token = rows * elements.ssm_bytes + gates
        size = layers * launch.linear_replayssm_cache_len * token
        found.append(Unbudgeted("ReplaySSM decode ring", size, "slot"))
    if launch.enable_int8_mamba_checkpoint:
        scales = heads * key_dim * elements.ssm_bytes
        conv = shapes.conv_elements * elements.conv_bytes
        size = layers * (shapes.temporal_elements + scales + conv)
        found.append(Unbudgeted("int8 checkpoint", size, "checkpoint"))
    return tuple(found)
