"""What one token costs in the KV pool, one kind of attention each."""

from __future__ import annotations

import math
from typing import ClassVar, Protocol

from mamba_advisor.errors import ConfigError, InputError
from mamba_advisor.modelconfig.elements import FP4
from mamba_advisor.modelconfig.layout import Launch
from mamba_advisor.record import Record
from mamba_advisor.sizing.cells import HEADS
from mamba_advisor.sizing.releases import choose

SCALED_BLOCK = 128
"""FP8 values of sparse MLA that share one 4-byte scale."""

MX_BLOCK = 32
"""Values that share one scale byte under ``mxfp8``."""

FP4_BLOCK = 16
"""Values that share one scale byte under FP4."""

QSA_BYTES = {None: 2, "bfloat16": 2, "bf16": 2, "fp8_e4m3": 1}
"""``--qsa-indexer-dtype`` -> bytes of an index element."""


class Price(Record):
    """Charged bytes of one token on one rank, target model only."""

    total: int
    heads: int | None = None
    """KV heads on the rank; None without heads of their own."""

    full: int | None = None
    """Part of the full-attention layers, where sliding windows exist."""

    sliding: int | None = None
    """Bytes of one sliding-window row over all its layers."""

    ratio: float | None = None
    """Sliding-window rows ÷ full rows."""

    full_layers: int | None = None
    """Full-attention layers, where sliding windows exist."""

    sliding_layers: int | None = None
    index: int = 0
    """Part of `total` for a sparse index."""


class Attention(Protocol):
    """A kind of attention with its dimensions, unsplit."""

    kind: ClassVar[str]

    @property
    def is_dsa(self) -> bool:
        """Whether a sparse index stands beside latent rows."""
        ...

    def price(self, layers: tuple[int, ...], dtype: str, launch: Launch) -> Price:
        """Return what a token costs over *layers* of one stage.

        Args:
            layers: Attention layers of the stage.
            dtype: Element type, resolved.
            launch: The server's arguments.

        Raises:
            ConfigError: The dimensions do not allow the layout.
            InputError: An argument is unknown.
        """
        ...


def kv_heads_on_rank(heads: int, launch: Launch) -> int:
    """Return the KV heads that one rank holds, at least one."""
    rule = choose(HEADS, launch.era)
    return rule(heads, launch.attn_tp_size, launch.dcp_size)


def _gqa_bytes(
    heads: int, dims: tuple[int, int], layers: int, dtype: str, launch: Launch
) -> int:
    """Return the bytes of K and V over *layers*, by element type."""
    elements = heads * sum(dims) * layers
    if dtype in FP4:
        return _fp4_bytes(heads, dims[0], layers, dtype, launch)
    if dtype == "mxfp8":
        return elements + elements // MX_BLOCK
    return elements if dtype.startswith("fp8") else 2 * elements


def _fp4_bytes(heads: int, dim: int, layers: int, dtype: str, launch: Launch) -> int:
    """Return packed values and scales, and what NVFP4's backends add.

    A FlashInfer prefill reads NVFP4 through one fp8 row shared by all layers; on
    SM100 it also keeps a second layout of the scales beside a native decode's.
    """
    values = 2 * layers * heads * (dim // 2)
    blocks = heads * (dim // FP4_BLOCK)
    scales = 2 * layers * (blocks if dtype == "nvfp4" else heads * dim // FP4_BLOCK)
    prefill = launch.prefill_attention_backend or launch.attention_backend
    if dtype != "nvfp4" or prefill != "flashinfer":
        return values + scales
    decode = launch.decode_attention_backend or launch.attention_backend
    layouts = 1 + (launch.sm in (100, 103) and decode == "trtllm_mha")
    return values + layouts * scales + 2 * heads * dim


class QueryIndex(Record):
    """Compressed index rows of Qwen4-Exp's sparse attention."""

    heads: int
    head_dim: int
    compress_ratio: int

    def bytes(self, layers: int, launch: Launch) -> int:
        """Return what a token adds over *layers*.

        Raises:
            InputError: ``qsa_indexer_dtype`` is unknown.
        """
        if launch.qsa_indexer_dtype not in QSA_BYTES:
            raise InputError(f"unknown qsa_indexer_dtype {launch.qsa_indexer_dtype!r}")
        size = QSA_BYTES[launch.qsa_indexer_dtype]
        return layers * (self.heads * self.head_dim * size // self.compress_ratio)


class Gqa(Record):
    """Grouped-query attention (MHA with fewer KV heads)."""

    kind: ClassVar[str] = "gqa"
    kv_heads: int
    head_dim: int
    v_head_dim: int
    index: QueryIndex | None = None

    @property
    def is_dsa(self) -> bool:
        """Whether a sparse index stands beside latent rows: never here."""
        return False

    def price(self, layers: tuple[int, ...], dtype: str, launch: Launch) -> Price:
        """Return what a token costs over *layers* of one stage."""
        heads, count = kv_heads_on_rank(self.kv_heads, launch), len(layers)
        if not count:
            return Price(0, heads)
        dims = (self.head_dim, self.v_head_dim)
        total = _gqa_bytes(heads, dims, count, dtype, launch)
        index = self.index.bytes(count, launch) if self.index is not None else 0
        return Price(total + index, heads, index=index)


class SparseIndex(Record):
    """Index keys of sparse MLA (GLM-5.3), and which layers keep their own."""

    head_dim: int
    pool: int
    """Tokens that share one index row (``index_kpool``)."""

    shared: frozenset[int]
    """Layers that reuse another layer's choice and store no keys."""

    @property
    def row(self) -> int:
        """Bytes of one row: keys, and their scales."""
        return self.head_dim + self.head_dim // SCALED_BLOCK * 4

    def stored(self, layers: tuple[int, ...], tokens: int) -> int:
        """Return the bytes that *tokens* store: a row for each pool of them."""
        own = sum(layer not in self.shared for layer in layers)
        return own * self.row * tokens // self.pool

    def bytes(self, layers: tuple[int, ...], launch: Launch) -> int:
        """Return what a token adds to the price, replicated under DCP."""
        row, own = self.row, len(layers)
        if launch.since("0.5.22"):
            row = -(-row // self.pool)
            own = sum(layer not in self.shared for layer in layers)
            return row * own * launch.dcp_size
        return row * own


class Mla(Record):
    """Multi-head latent attention: one latent row, the same on every rank."""

    kind: ClassVar[str] = "mla"
    rank: int
    rope_dim: int
    index: SparseIndex | None = None

    @property
    def is_dsa(self) -> bool:
        """Whether a sparse index stands beside the latent rows."""
        return self.index is not None

    def price(self, layers: tuple[int, ...], dtype: str, launch: Launch) -> Price:
        """Return what a token costs over *layers* of one stage."""
        width, count = self.rank + self.rope_dim, len(layers)
        if not count:
            return Price(0)
        if self.is_dsa and dtype == "fp8_e4m3" and not _raw_rows(launch):
            if self.rank % SCALED_BLOCK:
                raise ConfigError(
                    f"kv_lora_rank {self.rank} does not divide into blocks of "
                    f"{SCALED_BLOCK} for scaled fp8 rows"
                )
            width = self.rank + self.rank // SCALED_BLOCK * 4 + 2 * self.rope_dim
        if dtype in FP4:
            total = width * count // 2 + width // FP4_BLOCK * count
        else:
            total = width * count * (2 if dtype in ("bfloat16", "float16") else 1)
        index = self.index.bytes(layers, launch) if self.index is not None else 0
        return Price(total + index, index=index)


def _raw_rows(launch: Launch) -> bool:
    """Return whether sparse MLA keeps fp8 rows without scales.

    TensorRT-LLM's kernels do, and TileLang on both phases.  Without a backend
    SGLang picks TensorRT-LLM from SM100 on.
    """
    backends = (launch.dsa_prefill_backend, launch.dsa_decode_backend)
    if backends == (None, None):
        return launch.sm is not None and launch.sm >= 100  # noqa: PLR2004
    return "trtllm" in backends or backends == ("tilelang", "tilelang")


class SlidingGqa(Record):
    """Full layers and sliding-window layers with heads of their own (Inkling)."""

    kind: ClassVar[str] = "swa"
    full: Gqa
    local: Gqa
    local_layers: frozenset[int]
    default_ratio: float

    @property
    def is_dsa(self) -> bool:
        """Whether a sparse index stands beside latent rows: never here."""
        return False

    def price(self, layers: tuple[int, ...], dtype: str, launch: Launch) -> Price:
        """Return what a full token costs, with its share of sliding rows.

        Raises:
            InputError: ``swa_full_tokens_ratio`` is not in (0, 1].
        """
        ratio = launch.swa_full_tokens_ratio
        ratio = self.default_ratio if ratio is None else ratio
        from fractions import Fraction

        if not (math.isfinite(ratio) and 0 < ratio <= 1):
            raise InputError(f"swa_full_tokens_ratio is {ratio}, not above 0 and ≤ 1")
        sliding = tuple(layer for layer in layers if layer in self.local_layers)
        rest = tuple(layer for layer in layers if layer not in self.local_layers)
        full = self.full.price(rest, dtype, launch)
        local = self.local.price(sliding, dtype, launch)
        total = full.total + math.floor(Fraction(str(ratio)) * local.total)
        return Price(
            total=total,
            heads=full.heads,
            full=full.total,
            sliding=local.total,
            ratio=ratio,
            full_layers=len(rest),
            sliding_layers=len(sliding),
        )
