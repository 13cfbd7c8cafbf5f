"""ReplaySSM rings: the bytes that stand in for draft states."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from mamba_advisor.record import Record
from mamba_advisor.sizing.releases import Eras, choose


class RingShape(Record):
    """What a ring of one state layer is made of, on one rank."""

    value_heads: int
    value_dim: int
    key_heads: int
    key_dim: int
    element_bytes: int
    """Bytes per element of the convolution state."""

    draft_tokens: int
    """D."""

    cache_len: int
    """``--linear-replayssm-cache-len``."""


def _gdn_by_drafts(shape: RingShape) -> int:
    """GDN, 0.5.17–0.5.19: D entries of values and keys, and two scalars per head."""
    length = shape.draft_tokens
    return _rows(shape, length) + 2 * shape.value_heads * length * 4


def _gdn_by_length(shape: RingShape) -> int:
    """GDN, from 0.5.20: values and keys twice (once in float32), one scalar."""
    length = shape.cache_len
    copies = 1 if shape.element_bytes == 4 else 2  # noqa: PLR2004
    return copies * _rows(shape, length) + shape.value_heads * length * 4


def _kda(shape: RingShape) -> int:
    """KDA, from 0.5.17: values and keys twice, a scalar and a key of float32."""
    length = shape.cache_len
    gates = shape.value_heads * length * 4 * (1 + shape.key_dim)
    return 2 * _rows(shape, length) + gates


def _rows(shape: RingShape, length: int) -> int:
    values = shape.value_heads * shape.value_dim
    keys = shape.key_heads * shape.key_dim
    return (values + keys) * length * shape.element_bytes


RingRule: TypeAlias = Callable[[RingShape], int]
"""Shape -> bytes of one layer's ring."""

RINGS: dict[str, Eras[RingRule]] = {
    "gdn": (("0.5.17", _gdn_by_drafts), ("0.5.20", _gdn_by_length)),
    "kda": (("0.5.17", _kda),),
}
"""State family -> first release -> rule."""


def layer_ring_bytes(version: str, family: str, shape: RingShape) -> int:
    """Return the bytes of one ring in one state layer.

    Args:
        version: The release, 0.5.17 or newer.
        family: ``gdn`` or ``kda``.
        shape: What the ring is made of.

    Raises:
        FactError: *version* is older than 0.5.17.
        InputError: *version* is not a release.
        KeyError: No ring exists for *family*.
    """
    return choose(RINGS[family], version)(shape)
