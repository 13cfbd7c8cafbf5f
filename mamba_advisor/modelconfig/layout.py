"""How a server is laid out over its ranks, as far as bytes depend on it."""

from __future__ import annotations

from mamba_advisor.errors import ConfigError, InputError
from mamba_advisor.record import Record
from mamba_advisor.sizing.cells import stage_bounds
from mamba_advisor.sizing.releases import FIRST_RELEASE, LAST_RELEASE, since

MOST_RANKS = 4096
"""Largest parallel width that is taken for one."""


class Launch(Record):
    """SGLang arguments that change the bytes of a slot or of a token."""

    tp_size: int = 1
    pp_size: int = 1
    dcp_size: int = 1
    attn_dp_size: int = 1
    """Attention-DP width; 1 without DP attention."""

    attn_cp_size: int = 1
    share_cp_group: bool = False
    """Context-parallel and TP groups are shared (0.5.22 and later)."""

    pp_rank: int | None = None
    """The stage to report; None: the first one with most state layers."""

    pp_layer_partition: tuple[int, ...] | None = None
    """``SGLANG_PP_LAYER_PARTITION``: layers of each stage."""

    sglang_version: str = LAST_RELEASE
    mamba_ssm_dtype: str | None = None
    """``--mamba-ssm-dtype`` or ``SGLANG_MAMBA_SSM_DTYPE``."""

    conv_dtype: str | None = None
    """``SGLANG_MAMBA_CONV_DTYPE``."""

    kv_cache_dtype: str = "auto"
    sm: int | None = None
    """Compute capability × 10 (90: Hopper, 100: B200); None: unknown."""

    attention_backend: str | None = None
    prefill_attention_backend: str | None = None
    decode_attention_backend: str | None = None
    dsa_prefill_backend: str | None = None
    dsa_decode_backend: str | None = None
    qsa_indexer_dtype: str | None = None
    swa_full_tokens_ratio: float | None = None
    enable_scattered_sconv: bool = False
    speculative_num_draft_tokens: int = 0
    """D; 0: no speculation."""

    speculative_eagle_topk: int = 1
    enable_linear_replayssm_spec: bool = False
    enable_linear_replayssm: bool = False
    linear_replayssm_cache_len: int = 16
    enable_int8_mamba_checkpoint: bool = False

    def __post_init__(self) -> None:
        """Refuse widths that cannot be one.

        Raises:
            InputError: A width is no positive number, or one does not divide the
                one that it splits.
        """
        for name in (
            "tp_size",
            "pp_size",
            "dcp_size",
            "attn_dp_size",
            "attn_cp_size",
            "linear_replayssm_cache_len",
        ):
            width = getattr(self, name)
            if isinstance(width, bool) or not isinstance(width, int):
                raise InputError(f"{name} is {width!r}, not a whole number")
            if not 1 <= width <= MOST_RANKS:
                raise InputError(f"{name} is {width}, not between 1 and {MOST_RANKS}")
        if not 0 <= self.speculative_num_draft_tokens <= MOST_RANKS:
            raise InputError(
                f"{self.speculative_num_draft_tokens} draft tokens are out of range"
            )
        shares = self.attn_dp_size * self.attn_cp_size
        if self.tp_size % shares:
            raise InputError(
                f"tp_size {self.tp_size} does not divide by attention DP × CP = "
                f"{self.attn_dp_size} × {self.attn_cp_size}"
            )
        if self.attn_tp_size % self.dcp_size:
            raise InputError(
                f"dcp_size {self.dcp_size} does not divide the "
                f"{self.attn_tp_size} ranks of the attention-TP group"
            )

    @property
    def attn_tp_size(self) -> int:
        """Ranks that one copy of the attention is split over (A)."""
        return self.tp_size // self.attn_dp_size // self.attn_cp_size

    def since(self, first: str) -> bool:
        """Return whether the release is *first* or newer.

        Raises:
            InputError: The release cannot be read.
        """
        return since(self.sglang_version, first)

    @property
    def era(self) -> str:
        """The release to choose a rule of the pool arithmetic by.

        The arithmetic begins with 0.5.4; what it has in common with 0.5.2 and 0.5.3
        is the same.
        """
        return self.sglang_version if self.since(FIRST_RELEASE) else FIRST_RELEASE


class Cut(Record):
    """The layers of one pipeline stage."""

    start: int
    """First layer, counted from 0."""

    end: int
    """Layer behind the last."""

    def keep(self, layers: tuple[int, ...]) -> tuple[int, ...]:
        """Return those of *layers* that stand in this stage."""
        return tuple([layer for layer in layers if self.start <= layer < self.end])


def cut_stages(layers: int, launch: Launch) -> tuple[Cut, ...]:
    """Cut *layers* into the pipeline stages of *launch*.

    Returns:
        The stages in order, by the partition of the environment where there is one.

    Raises:
        ConfigError: There are fewer layers than stages.
        InputError: The given partition does not add up to *layers*.
    """
    stages, sizes = launch.pp_size, launch.pp_layer_partition
    if stages > layers:
        raise ConfigError(f"{layers} layers do not fill {stages} pipeline stages")
    if sizes is None:
        return tuple(
            Cut(stage.start, stage.stop) for stage in stage_bounds(layers, stages)
        )
    if len(sizes) != stages or sum(sizes) != layers or min(sizes) < 1:
        raise InputError(
            f"the layer partition {sizes} is not {stages} stages of {layers} layers"
        )
    ends = [sum(sizes[: stage + 1]) for stage in range(stages)]
    return tuple(Cut(end - size, end) for end, size in zip(ends, sizes, strict=True))


def split(count: int, ranks: int, what: str) -> int:
    """Return the share of one rank.

    Raises:
        ConfigError: *count* does not divide over *ranks*; SGLang asserts the same.
    """
    if count % ranks:
        raise ConfigError(f"{count} {what} do not divide over {ranks} ranks")
    return count // ranks
