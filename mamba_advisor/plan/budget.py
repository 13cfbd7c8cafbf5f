"""What both pools will share: memory × fraction − weights − reserves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mamba_advisor.measured import UNITS, Measured, format_range
from mamba_advisor.modelconfig import ModelBytes
from mamba_advisor.plan.fraction import Fraction, default_fraction, given_fraction
from mamba_advisor.plan.gpus import Gpu
from mamba_advisor.plan.options import PlanOptions
from mamba_advisor.plan.weights import Weights
from mamba_advisor.record import Record
from mamba_advisor.sizing.releases import since

NO_RESERVE = Measured.exact(0)

EMBEDDING_CACHE = 100 * UNITS["MiB"]
"""Multimodal models keep this much for embeddings, from 0.5.18."""

FEATURE_TRANSPORT = 1024 * UNITS["MiB"]
"""And this much where features move between processes on the GPU."""


class Budget(Record):
    """The budget, and what it is made of."""

    shared: Measured
    """What both pools share, in bytes."""

    fraction: Fraction
    reserve: Measured


def shared_budget(
    config: Mapping[str, Any],
    model: ModelBytes,
    options: PlanOptions,
    gpu: Gpu,
    weights: Weights,
) -> Budget:
    """Return the budget of one rank.

    SGLang leaves (1 − fraction) of the memory that was free *before* the weights, so
    free × fraction − weights − multimodal reserve remain.

    Raises:
        InputError: The given fraction is none.

    Source:
        SGLang ``srt/model_executor`` and ``srt/mem_cache/kv_cache_configurator.py``:
        available − before × (1 − fraction).
    """
    fraction = (
        given_fraction(options.mem_fraction_static)
        if options.mem_fraction_static is not None
        else default_fraction(
            options.sglang_version,
            gpu,
            tp_size=options.tp_size,
            pp_size=options.pp_size,
            attn_dp_size=options.attn_dp_size,
            is_mla=model.attention_kind == "mla",
            is_kda=model.state_kind == "kda",
            config=config,
            max_running_requests=options.max_running_requests,
            speculative=bool(options.draft_tokens or options.speculative_algorithm),
        )
    )
    reserve = multimodal_reserve(config, options)
    static = Measured(
        round(gpu.free.value * fraction.value),
        math.floor(gpu.free.low * fraction.low),
        math.ceil(gpu.free.high * fraction.high),
    )
    return Budget(static - weights.size - reserve, fraction, reserve)


def multimodal_reserve(config: Mapping[str, Any], options: PlanOptions) -> Measured:
    """Return what a multimodal model's embeddings keep: nothing before 0.5.18."""
    multimodal = isinstance(config.get("vision_config"), Mapping)
    if not multimodal or not since(options.sglang_version, "0.5.18"):
        return NO_RESERVE
    most = EMBEDDING_CACHE + FEATURE_TRANSPORT
    return Measured(EMBEDDING_CACHE, EMBEDDING_CACHE, most)


def budget_sentences(budget: Budget, gpu: Gpu, weights: Weights) -> list[str]:
    """Return what was assumed for the budget, and what it makes of it."""
    fraction = budget.fraction
    share = (
        f"--mem-fraction-static {fraction.value:g}"
        if fraction.is_given
        else f"--mem-fraction-static {fraction.value:.3f} as SGLang chooses it by the "
        f"GPU's size ({fraction.low:.3f} to {fraction.high:.3f})"
    )
    found = [
        f"{gpu.title}: {format_range(gpu.free)} free before the weights",
        share,
        weights.sentence,
    ]
    if budget.reserve.high:
        found.append(f"{format_range(budget.reserve)} kept for multimodal embeddings")
    return found
