"""Shapes of the recurrent state, one kind of layer each."""

from __future__ import annotations

from math import prod
from typing import ClassVar, Protocol

from mamba_advisor.modelconfig.layout import Launch, split
from mamba_advisor.record import Record


class StateShapes(Record):
    """The state of one slot in one layer, on one rank."""

    conv: tuple[tuple[int, int], ...]
    """Convolution states: channels × columns, or columns × channels."""

    temporal: tuple[int, int, int]
    """Recurrent state: heads × value dim × key (state) dim."""

    columns: int
    """Columns of the convolution window: kernel length − 1."""

    dedups_windows: bool = True
    """A chain of draft tokens shares one window (0.5.14+, CUDA)."""

    key_heads: int = 0
    """Key heads on the rank, for ReplaySSM rings; 0: no ring exists."""

    @property
    def conv_elements(self) -> int:
        """Elements of all convolution states."""
        return sum(prod(shape) for shape in self.conv)

    @property
    def temporal_elements(self) -> int:
        """Elements of the recurrent state."""
        return prod(self.temporal)


class State(Protocol):
    """A kind of state layer with its dimensions, unsplit."""

    kind: ClassVar[str]
    """As the pool arithmetic names it: ``gdn``, ``kda``, ``mamba2``, …"""

    def shapes(self, launch: Launch) -> StateShapes:
        """Return the shapes on one rank.

        Raises:
            ConfigError: A head or channel count does not divide over the ranks.
        """
        ...


def pad_groups(groups: int, ranks: int, launch: Launch) -> int:
    """Return the key groups that all ranks together hold.

    Where they do not divide, every rank holds a copy of one: exactly *ranks* of
    them.  0.5.2 and 0.5.3 split them as they are.

    Source:
        SGLang ``srt/configs/mamba_utils.py``, ``extra_groups_for_head_shards``.
    """
    if groups % ranks == 0 or not launch.since("0.5.4"):
        return groups
    return ranks


def _grouped_channels(inner: int, keys: int, ranks: int) -> int:
    """Return the convolution channels on a rank: values, and keys twice."""
    return split(inner + 2 * keys, ranks, "convolution channels")


class Gdn(Record):
    """Gated DeltaNet: Qwen3-Next and its heirs, Jet-Nemotron, GigaChat."""

    kind: ClassVar[str] = "gdn"
    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    kernel: int
    follows_full_tp: bool = False
    """The state splits over the full TP group where CP shares it (0.5.22+)."""

    def shapes(self, launch: Launch) -> StateShapes:
        """Return the shapes on one rank."""
        ranks = _linear_ranks(launch, self.follows_full_tp)
        heads = split(self.value_heads, ranks, "value heads")
        inner = self.value_heads * self.value_dim
        keys = pad_groups(self.key_heads, ranks, launch)
        channels = _grouped_channels(inner, keys * self.key_dim, ranks)
        return StateShapes(
            ((channels, self.kernel - 1),),
            (heads, self.value_dim, self.key_dim),
            self.kernel - 1,
            key_heads=keys // ranks,
        )


class Mamba2(Record):
    """Mamba-2 mixers: Nemotron-H, Falcon-H1, Granite, Codestral Mamba."""

    kind: ClassVar[str] = "mamba2"
    inner: int
    groups: int
    heads: int
    head_dim: int
    state_dim: int
    kernel: int
    global_tp: bool = False
    """Split over the global TP group, not the attention's."""

    def shapes(self, launch: Launch) -> StateShapes:
        """Return the shapes on one rank."""
        ranks = launch.tp_size if self.global_tp else launch.attn_tp_size
        heads = split(self.heads, ranks, "Mamba heads")
        keys = pad_groups(self.groups, ranks, launch) * self.state_dim
        channels = _grouped_channels(self.inner, keys, ranks)
        return StateShapes(
            ((channels, self.kernel - 1),),
            (heads, self.head_dim, self.state_dim),
            self.kernel - 1,
        )


class Kda(Record):
    """Kimi Delta Attention: Kimi-Linear, Kimi-K3, GLM-5.3, Ling-3."""

    kind: ClassVar[str] = "kda"
    heads: int
    head_dim: int
    kernel: int
    follows_full_tp: bool = False

    def shapes(self, launch: Launch) -> StateShapes:
        """Return the shapes on one rank; the window's columns come first."""
        ranks = _linear_ranks(launch, self.follows_full_tp)
        heads = split(self.heads, ranks, "KDA heads")
        channels = 3 * heads * self.head_dim
        return StateShapes(
            ((self.kernel - 1, channels),),
            (heads, self.head_dim, self.head_dim),
            self.kernel - 1,
            dedups_windows=False,
            key_heads=heads,
        )


class Lightning(Record):
    """Lightning attention, without a convolution: Ling-2.x, MiniCPM-SALA."""

    kind: ClassVar[str] = "lightning"
    heads: int
    head_dim: int

    def shapes(self, launch: Launch) -> StateShapes:
        """Return the shapes on one rank."""
        heads = split(self.heads, launch.attn_tp_size, "lightning heads")
        return StateShapes(((0, 0),), (heads, self.head_dim, self.head_dim), 0)


class Mamba1(Record):
    """Mamba-1: one head per channel, split over the global TP group."""

    kind: ClassVar[str] = "mamba1"
    inner: int
    state_dim: int
    kernel: int

    def shapes(self, launch: Launch) -> StateShapes:
        """Return the shapes on one rank."""
        channels = split(self.inner, launch.tp_size, "Mamba channels")
        conv = (channels, self.kernel - 1)
        return StateShapes((conv,), (channels, 1, self.state_dim), self.kernel - 1)


class ShortConv(Record):
    """LFM2's short convolution: no recurrent state."""

    kind: ClassVar[str] = "shortconv"
    hidden: int
    kernel: int

    def shapes(self, launch: Launch) -> StateShapes:
        """Return the shapes on one rank."""
        channels = split(self.hidden, launch.attn_tp_size, "hidden channels")
        conv = (channels, self.kernel - 1)
        return StateShapes((conv,), (1, self.hidden, 0), self.kernel - 1)


class InklingConv(Record):
    """Inkling's four pairs of short convolutions, in every layer."""

    kind: ClassVar[str] = "sconv"
    full_heads: int
    full_dim: int
    local_heads: int
    local_dim: int
    hidden: int
    kernel: int

    def shapes(self, launch: Launch) -> StateShapes:
        """Return the shapes on one rank; every layer pays for both attentions."""
        ranks, columns = launch.attn_tp_size, self.kernel - 1
        stream = self.hidden
        if launch.enable_scattered_sconv:
            stream = split(self.hidden, ranks, "hidden channels")
        widths = (
            max(1, self.full_heads // ranks) * self.full_dim,
            max(1, self.local_heads // ranks) * self.local_dim,
            stream,
        )
        conv = tuple((columns, width) for width in widths for _ in range(2))
        return StateShapes(conv, (0, 0, 0), columns, dedups_windows=False)


class Cca(Record):
    """ZAYA's compressed convolutional attention: a window, and a hidden state."""

    kind: ClassVar[str] = "cca"
    heads: int
    """Query and KV heads together."""

    head_dim: int
    columns: int
    """``cca_time0 + cca_time1 − 2``."""

    hidden: int

    def shapes(self, launch: Launch) -> StateShapes:
        """Return the shapes on one rank; the hidden state is replicated."""
        channels = split(self.heads * self.head_dim, launch.tp_size, "CCA channels")
        return StateShapes(
            ((channels, self.columns), (self.hidden, 1)),
            (1, 1, 0),
            self.columns,
            dedups_windows=False,
        )


def _linear_ranks(launch: Launch, follows_full_tp: bool) -> int:
    """Return the ranks that a linear-attention state splits over."""
    if follows_full_tp and launch.share_cp_group and launch.since("0.5.22"):
        return launch.tp_size
    return launch.attn_tp_size
