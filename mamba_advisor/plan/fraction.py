"""``--mem-fraction-static`` as SGLang chooses it when nobody does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mamba_advisor.errors import InputError
from mamba_advisor.plan.gpus import MIB, Gpu
from mamba_advisor.record import Record
from mamba_advisor.sizing.releases import since


class Fraction(Record):
    """The share of the free memory for weights and pools."""

    value: float
    low: float
    high: float
    is_given: bool = False


class _Class(Record):
    """What SGLang takes for GPUs below a size."""

    below_gib: int
    chunk: int
    """``--chunked-prefill-size``."""

    batch: tuple[int, int]
    """Largest graph batch: below TP 4, and from TP 4 on."""


CLASSES = (
    _Class(20, 2048, (8, 8)),
    _Class(35, 2048, (24, 80)),
    _Class(60, 4096, (32, 160)),
    _Class(160, 8192, (256, 512)),
    _Class(4097, 16384, (512, 512)),
)
"""Sizes of GPUs, as SGLang sorts them."""

SMALL_0_5_23 = _Class(35, 4096, (48, 160))
"""0.5.23 gives GPUs of 20 to 35 GiB more."""

GRAPH_SIZES = (*range(4, 33, 4), *range(48, 257, 16), *range(288, 513, 32))
MORE_SIZES = (*range(576, 1025, 64), *range(1280, 4097, 256))
"""Token counts that prefill graphs are captured for; beyond them every 512."""

ROUNDING = 0.002
"""SGLang rounds to three digits; and the reading of the GPU's memory varies."""

UNSURE = 0.03
"""How far releases that were not executed may differ, and drafts in old ones."""

LEAST = 0.05


def given_fraction(value: float) -> Fraction:
    """Return the fraction that the user states.

    Raises:
        InputError: It is not above 0 and below 1.
    """
    # NaN fails the comparison, too.
    if not 0 < value < 1:
        raise InputError(f"--mem-fraction-static {value} is not between 0 and 1")
    return Fraction(value, value, value, is_given=True)


def default_fraction(
    version: str,
    gpu: Gpu,
    *,
    tp_size: int,
    pp_size: int,
    attn_dp_size: int,
    is_mla: bool,
    is_kda: bool,
    config: Mapping[str, Any],
    max_running_requests: int | None = None,
    speculative: bool = False,
) -> Fraction:
    """Return what SGLang reserves by the GPU's size, as a fraction.

    It keeps room for activations (1.5 MiB per token of a prefill chunk), for graphs
    (2 MiB per request of the largest batch, more under DP attention and for prefill
    graphs), for each rank, and at least 10 GiB on GPUs above 60 GiB.  Multimodal
    models get less, by the size of their vision tower.

    Args:
        version: The release.
        gpu: The GPU.
        tp_size: ``--tp-size``.
        pp_size: ``--pp-size``.
        attn_dp_size: Attention-DP width.
        is_mla: The model has latent attention, whose prefill graphs take more.
        is_kda: Its states are Kimi Delta Attention's, which have none in 0.5.23.
        config: The model's config, for its vision tower.
        max_running_requests: The flag, which 0.5.23 caps the graphs by.
        speculative: Drafts are on: releases before 0.5.18 may keep 2 GiB more.

    Returns:
        The usual value, and the interval over what is not known.

    Source:
        SGLang ``srt/server_args.py`` (0.5.18) and
        ``srt/arg_groups/memory_hook.py`` (0.5.23).
    """
    memory = gpu.memory / MIB
    size = next(row for row in CLASSES if memory < row.below_gib * 1024)
    if size.below_gib == SMALL_0_5_23.below_gib and since(version, "0.5.23"):
        size = SMALL_0_5_23
    batch = size.batch[tp_size >= 4]  # noqa: PLR2004 - SGLang's own bound
    if max_running_requests and since(version, "0.5.23"):
        batch = min(batch, max_running_requests)
    reserved = 512 + max(size.chunk, 2048) * 1.5 + tp_size * pp_size * 128
    reserved += batch * 2
    if attn_dp_size > 1:
        reserved += batch * attn_dp_size * (4.5 if batch > 300 else 3)  # noqa: PLR2004
    graphs = 1536 if is_mla else 8 * _graph_sizes(size.chunk)
    captured = since(version, "0.5.12") and not (is_kda and since(version, "0.5.23"))
    factor = vision_factor(config)
    with_graphs, without = (
        factor * _left(memory, reserved + extra) for extra in (graphs, 0)
    )
    executed = since(version, "0.5.18")
    below = ROUNDING if executed else UNSURE
    if speculative and not executed:
        below += 2048 / memory
    above = ROUNDING if executed else UNSURE / 2
    # Whether prefill graphs are captured is not certain for these.
    open_question = is_kda or factor != 1.0
    best = with_graphs if captured else without
    high = without if open_question else best
    return Fraction(best, max(LEAST, best - below), min(0.99, high + above))


def _left(memory: float, reserved: float) -> float:
    """Return the part of *memory* that is left, both in MiB, as SGLang rounds it."""
    if memory > 60 * 1024:
        reserved = max(reserved, 10 * 1024)
    return max(LEAST, round((memory - reserved) / memory, 3))


def _graph_sizes(chunk: int) -> int:
    """Return how many token counts prefill graphs are captured for."""
    sizes = (*GRAPH_SIZES, *MORE_SIZES, *range(4608, chunk + 1, 512))
    return sum(size <= chunk for size in sizes)


def vision_factor(config: Mapping[str, Any]) -> float:
    """Return what a vision tower leaves of the fraction, 1 without one.

    95 %, and a tenth less for every further ViT-L (24 layers of width 1024) that it
    is worth, within 0.8 and 1.05.
    """
    vision = config.get("vision_config")
    if not isinstance(vision, Mapping):
        return 1.0
    layers = _number(vision.get("num_hidden_layers"), 24)
    width = _number(vision.get("hidden_size"), 1024)
    towers = layers * width**2 / (24 * 1024**2)
    return 0.95 * max(0.8, min(1.05, 1.0 - 0.1 * (towers - 1.0)))


def _number(value: object, default: int) -> int:
    usable = isinstance(value, int) and not isinstance(value, bool)
    return (
        int(value)
        if usable and isinstance(value, int) and 0 < value < 1 << 20
        else default
    )
