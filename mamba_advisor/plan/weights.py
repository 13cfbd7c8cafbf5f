"""What the weights take on one rank: stated, from the files, or estimated."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mamba_advisor.errors import ConfigError
from mamba_advisor.measured import Measured, format_bytes, format_range
from mamba_advisor.modelconfig.recognise import recognise
from mamba_advisor.plan.options import PlanOptions
from mamba_advisor.plan.parameters import Parameters, count_parameters
from mamba_advisor.record import Record
from mamba_advisor.sizing.releases import since

INDEX = "model.safetensors.index.json"
LARGEST_INDEX = 64 << 20
"""Bytes of the largest index file that is read."""

MOST_BYTES = 1 << 50
"""No checkpoint is larger."""

FOUND_SPREAD = (0.97, 1.03)
"""Loaded ÷ stored: buffers, merged projections, what is left out or added."""

ESTIMATE_SPREAD = (0.93, 1.10)
"""Loaded ÷ estimated for 16-bit weights; real ones came within 6 %."""

RANK_SPREAD = 1.02
"""A rank's share above an even split: norms and biases are on every rank."""

STAGE_SPREAD = 1.10
"""Likewise for a pipeline stage: the first and last hold the embeddings."""


class Weights(Record):
    """Weights on one rank."""

    size: Measured
    """In bytes."""

    sentence: str
    """Where it comes from."""

    origin: str
    """``"option"``, ``"files"`` or ``"estimate"``."""


class Width(Record):
    """Bytes of a parameter, best and ends."""

    value: float
    low: float
    high: float


WIDTHS: Mapping[str, Width] = {
    "plain": Width(2.0, 2.0, 2.0),
    "8-bit": Width(1.06, 1.0, 1.3),
    "4-bit": Width(0.62, 0.53, 0.95),
    "unknown": Width(1.0, 0.5, 2.0),
}
"""Kind of quantisation -> bytes of a parameter, its scales and what is left in 16
bits included.
"""

METHODS_8 = ("fp8", "w8a8_fp8", "w8a8_int8", "mxfp8", "modelopt_fp8")
METHODS_4 = ("awq", "mxfp4", "modelopt_fp4", "nvfp4", "petit_nvfp4", "fp4")


def weights_on_rank(
    config: Mapping[str, Any], folder: Path | None, options: PlanOptions
) -> Weights | None:
    """Return what the weights take on one rank.

    Args:
        config: The model's config.
        folder: Where it lies, for the files beside it; None: nowhere.
        options: The server's arguments.

    Returns:
        What the user states, else the size of the safetensors files or of their
        index, split over the ranks, else an estimate; None where the config does not
        tell enough for one.
    """
    if options.weights is not None:
        return Weights(
            options.weights,
            f"weights on one GPU as stated: {format_range(options.weights)}",
            "option",
        )
    try:
        parameters = _parameters(config)
    except ConfigError:
        parameters = None
    ranks = options.tp_size * options.pp_size
    share = _largest_share(parameters, options)
    stored = stored_bytes(folder) if folder is not None else None
    if stored is not None:
        low, high = FOUND_SPREAD
        size = _interval(stored * share, low, high * _spread(options))
        return Weights(
            size,
            f"weights from the safetensors files: {format_bytes(stored)}, "
            f"{_split_words(ranks)}{format_range(size)} per GPU",
            "files",
        )
    if parameters is None:
        return None
    width = WIDTHS[quantisation(config)]
    total = parameters.total + _draft_parameters(config, parameters, options)
    low, high = ESTIMATE_SPREAD
    size = Measured(
        math.floor(total * width.value * share),
        math.floor(total * width.low * share * low),
        math.ceil(total * width.high * share * high * _spread(options)),
    )
    return Weights(
        size,
        f"weights estimated from the config: about {total / 1e9:.1f} billion "
        f"parameters, {_split_words(ranks)}{format_range(size)} per GPU (an estimate: "
        "give --weights SIZE for one GPU)",
        "estimate",
    )


def _draft_parameters(
    config: Mapping[str, Any], parameters: Parameters, options: PlanOptions
) -> int:
    """Return about what an MTP head adds: a layer each, as wide as the target's.

    From 0.5.14 the draft is loaded before the pools are sized.
    """
    speculative = options.draft_tokens or options.speculative_algorithm
    if not speculative or not since(options.sglang_version, "0.5.14"):
        return 0
    family, tower = recognise(config)
    layers = family.read(tower).layers
    return (
        parameters.total - parameters.embeddings
    ) // layers + parameters.embeddings // 2


def _spread(options: PlanOptions) -> float:
    """Return how far the largest rank's share may lie above an even split."""
    uneven = RANK_SPREAD if options.tp_size > 1 else 1.0
    return uneven * (STAGE_SPREAD if options.pp_size > 1 else 1.0)


def _split_words(ranks: int) -> str:
    return f"over {ranks} ranks " if ranks > 1 else ""


def _interval(best: float, low: float, high: float) -> Measured:
    return Measured(round(best), math.floor(best * low), math.ceil(best * high))


def _parameters(config: Mapping[str, Any]) -> Parameters:
    family, tower = recognise(config)
    if "ple_layer_ids" in tower:
        raise ConfigError("the embeddings of single layers cannot be counted")
    return count_parameters(tower, family.read(tower))


def _largest_share(parameters: Parameters | None, options: PlanOptions) -> float:
    """Return the part of all weights that one rank holds.

    Experts and MLPs split over TP, mixers over attention-TP; latent projections are
    on every rank.  Without a count, everything is taken to split over TP.
    """
    stages, ranks = options.pp_size, options.tp_size
    if parameters is None or not parameters.total:
        return 1 / (stages * ranks)
    held = parameters.experts / ranks
    held += (parameters.others + parameters.embeddings) / ranks
    held += parameters.attention * options.attn_dp_size / ranks
    held += parameters.replicated
    return held / (stages * parameters.total)


def quantisation(config: Mapping[str, Any]) -> str:
    """Return the kind of the weights' quantisation, a key of `WIDTHS`."""
    quant = config.get("quantization_config")
    if not isinstance(quant, Mapping):
        text = config.get("text_config")
        quant = text.get("quantization_config") if isinstance(text, Mapping) else None
    if not isinstance(quant, Mapping):
        return "plain"
    nested = quant.get("quantization")
    section = nested if isinstance(nested, Mapping) else quant
    method = str(quant.get("quant_method", ""))[:40].lower()
    algo = str(section.get("quant_algo", ""))[:40].lower()
    bits = quant.get("bits")
    if method in METHODS_4 or "fp4" in algo or bits == 4:  # noqa: PLR2004
        return "4-bit"
    if method in METHODS_8 or "fp8" in algo or bits == 8:  # noqa: PLR2004
        return "8-bit"
    return {4: "4-bit", 8: "8-bit"}.get(_group_bits(quant), "unknown")


def _group_bits(quant: Mapping[str, Any]) -> int:
    """Return the bits of compressed-tensors' first group, 0 when it names none."""
    groups = quant.get("config_groups")
    for group in groups.values() if isinstance(groups, Mapping) else ():
        weights = group.get("weights") if isinstance(group, Mapping) else None
        bits = weights.get("num_bits") if isinstance(weights, Mapping) else None
        if isinstance(bits, int):
            return bits
    return 0


def stored_bytes(folder: Path) -> int | None:
    """Return the bytes of the checkpoint in *folder*, None without one.

    The index's ``total_size`` counts, else the sizes of the ``*.safetensors`` files;
    a ``consolidated`` copy of the same weights is left out.
    """
    total = _indexed(folder / INDEX)
    if total is not None:
        return total
    try:
        files = [path for path in folder.glob("*.safetensors") if path.is_file()]
        names = [path for path in files if not path.name.startswith("consolidated")]
        total = sum(path.stat().st_size for path in names or files)
    except OSError:
        return None
    return total if 0 < total < MOST_BYTES else None


def _indexed(path: Path) -> int | None:
    """Return ``total_size`` of an index, None where there is none to be had."""
    try:
        if not path.is_file() or path.stat().st_size > LARGEST_INDEX:
            return None
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    metadata = content.get("metadata") if isinstance(content, dict) else None
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    if isinstance(total, float) and total.is_integer():
        total = int(total)
    if isinstance(total, bool) or not isinstance(total, int):
        return None
    return total if 0 < total < MOST_BYTES else None
