"""SGLang's arguments as they stood: printed, changed by a later line, or implied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mamba_advisor.boot.model import UNKNOWN, Notice, Releases, Setting
from mamba_advisor.boot.pools import MAX_DCP
from mamba_advisor.boot.releases import release_key
from mamba_advisor.facts import Rank, Scalar

RENAMED = {
    "mamba_scheduler_strategy": "mamba_radix_cache_strategy",
    "enable_gdn_replayssm_spec": "enable_linear_replayssm_spec",
    "cuda_graph_max_bs": "cuda_graph_max_bs_decode",
}
"""Argument's former name -> its newest one."""

KEPT = frozenset(
    {
        "attention_backend",
        "attn_cp_size",
        "attn_dp_size",
        "chunked_prefill_size",
        "context_length",
        "cuda_graph_max_bs_decode",
        "dcp_size",
        "decode_attention_backend",
        "device",
        "disable_cuda_graph",
        "disable_decode_cuda_graph",
        "disable_overlap_schedule",
        "disable_prefill_cuda_graph",
        "disable_radix_cache",
        "disaggregation_decode_enable_radix_cache",
        "disaggregation_decode_extra_slots",
        "disaggregation_mode",
        "dp_size",
        "dtype",
        "enable_dp_attention",
        "enable_hierarchical_cache",
        "enable_int8_mamba_checkpoint",
        "enable_kv_cache_sharding",
        "enable_linear_replayssm",
        "enable_linear_replayssm_spec",
        "enable_lora",
        "enable_multimodal",
        "enable_page_major_kv_layout",
        "enable_unified_memory",
        "ep_size",
        "hicache_ratio",
        "hicache_size",
        "int8_mamba_ckpt_size",
        "kv_cache_dtype",
        "linear_attn_backend",
        "linear_attn_decode_backend",
        "linear_attn_prefill_backend",
        "linear_attn_verify_backend",
        "linear_replayssm_cache_len",
        "log_level",
        "mamba_backend",
        "mamba_full_memory_ratio",
        "mamba_max_states_per_path",
        "mamba_radix_cache_strategy",
        "mamba_ssm_dtype",
        "mamba_track_interval",
        "max_mamba_cache_size",
        "max_prefill_tokens",
        "max_running_requests",
        "max_total_tokens",
        "mem_fraction_static",
        "mm_feature_transport",
        "model_path",
        "moe_dp_size",
        "nnodes",
        "node_rank",
        "page_size",
        "pp_size",
        "prefill_attention_backend",
        "quantization",
        "served_model_name",
        "speculative_adaptive",
        "speculative_algorithm",
        "speculative_dflash_block_size",
        "speculative_draft_model_path",
        "speculative_dspark_block_size",
        "speculative_eagle_topk",
        "speculative_num_draft_tokens",
        "speculative_num_steps",
        "swa_full_tokens_ratio",
        "tp_size",
        "uses_mamba_radix_cache",
    }
)
"""Arguments that matter to the pools, or that tell the user which server it is."""

READ = KEPT | RENAMED.keys()
"""The same with the names that older releases print."""

INFERRED = "inferred"
"""Origin of a value that other lines imply."""


def settle(
    arguments: Mapping[str, tuple[Scalar, int]],
    notices: Iterable[Notice],
    ranks: Sequence[Rank],
    releases: Releases,
) -> dict[str, Setting]:
    """Return the arguments of one server start under SGLang's newest names.

    Args:
        arguments: Name -> value and line, as ``server_args`` printed them.
        notices: Lines that change or explain an argument.
        ranks: Tags of the ranks that printed pool or weight lines.
        releases: The releases that fit the log.

    Returns:
        Name -> value and origin.  What nothing states or implies is left out.
    """
    settings, printed = {}, {}
    for key in [key for key in arguments if key in READ]:
        name = RENAMED.get(key, key)
        value, line = arguments[key]
        settings[name] = Setting(value, f"log:{line}")
        printed[name] = line
    for notice in notices:
        for name, value in _changes(notice).items():
            # What comes before the arguments is in them already.
            if notice.line > printed.get(name, 0):
                settings[name] = Setting(value, f"log:{notice.line}")
    _infer_widths(settings, ranks, releases)
    _infer_switches(settings, releases)
    return settings


EFFECTS: Mapping[str, Mapping[str, Scalar]] = {
    "notice-radix-disabled": {"disable_radix_cache": True},
    "notice-decode-no-radix": {
        "disable_radix_cache": True,
        "disaggregation_mode": "decode",
    },
    "notice-overlap-disabled": {"disable_overlap_schedule": True},
    "notice-speculation-48": {"max_running_requests": 48},
    "notice-extra-buffer-disabled": {"mamba_radix_cache_strategy": "no_buffer"},
    "notice-state-dtype": {"mamba_ssm_dtype": "float32"},
}
"""Notice -> the arguments that it says were changed."""

STATED = {
    "strategy": "mamba_radix_cache_strategy",
    "page_size": "page_size",
    "dcp_size": "dcp_size",
    "mamba_ssm_dtype": "mamba_ssm_dtype",
}
"""Fact of a notice -> the argument whose value it is."""


def _changes(notice: Notice) -> Mapping[str, Scalar]:
    """Return the arguments that *notice* changes or states, with their values."""
    if not notice.code.startswith("notice-"):
        return {}
    stated = {
        name: notice.figures[fact]
        for fact, name in STATED.items()
        if fact in notice.figures
    }
    return {**EFFECTS.get(notice.code, {}), **stated}


def _infer_widths(
    settings: dict[str, Setting], ranks: Sequence[Rank], releases: Releases
) -> None:
    """Fill in the widths of parallelism that other arguments or rank tags imply.

    Up to 0.5.21 the attention-DP width is ``dp_size`` under DP attention; from
    0.5.22 it is an argument of its own.  A tag is printed only where the width is
    above 1.  Under DP attention TP tags are global, so workers share none of them.
    """
    if "attn_dp_size" not in settings and "enable_dp_attention" in settings:
        wide = settings["enable_dp_attention"].value is True
        dp_size = settings.get("dp_size")
        if not wide:
            settings["attn_dp_size"] = Setting(1, INFERRED)
        elif dp_size is not None:
            settings["attn_dp_size"] = Setting(dp_size.value, INFERRED)
    if "tp_size" in settings or not ranks:
        return
    for name, values in (
        ("tp_size", {rank.tp for rank in ranks}),
        ("pp_size", {rank.pp for rank in ranks}),
    ):
        width = max(values) + 1
        if values == set(range(width)) and width > 1:
            settings.setdefault(name, Setting(width, INFERRED))
    workers = {rank.dp for rank in ranks}
    if len(workers) > 1:
        owners: dict[int, set[int]] = {}
        for rank in ranks:
            owners.setdefault(rank.tp, set()).add(rank.dp)
        shared = any(len(owner) > 1 for owner in owners.values())
        width = len(workers)
        settings.setdefault("attn_dp_size", Setting(1 if shared else width, INFERRED))
        separate = release_key(releases.low) >= release_key("0.5.22")
        if shared or not separate:
            settings.setdefault("dp_size", Setting(width, INFERRED))


def _infer_switches(settings: dict[str, Setting], releases: Releases) -> None:
    """Fill in what other arguments or the release leave no choice about."""
    if _value(settings, "pp_size", 1) > 1:
        overlap = settings.get("disable_overlap_schedule")
        if overlap is None or overlap.value is not True:
            settings["disable_overlap_schedule"] = Setting(True, INFERRED)
    if release_key(releases.high) < release_key("0.5.15"):
        settings.setdefault("dcp_size", Setting(1, INFERRED))
        settings.setdefault("enable_unified_memory", Setting(False, INFERRED))
    if release_key(releases.high) < release_key("0.5.4"):
        # Every hybrid of these releases runs without a radix cache.
        settings["disable_radix_cache"] = Setting(True, INFERRED)


def _value(settings: Mapping[str, Setting], name: str, default: int) -> int:
    setting = settings.get(name)
    value = setting.value if setting is not None else None
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def infer_strategy(settings: Mapping[str, Setting], slots_per_request: int) -> Setting:
    """Return the strategy that a printed S leaves, unknown when several do.

    Only ``extra_buffer`` with overlap reserves five slots.  Four and three have
    several causes, an environment variable among them.

    Source:
        Slots per request by release, strategy and overlap, 0.5.8 and later.
    """
    known = settings.get("mamba_radix_cache_strategy")
    if known is not None and known.value not in (None, "auto"):
        return known
    if slots_per_request == EXTRA_BUFFER_SLOTS:
        return Setting("extra_buffer", INFERRED)
    return known or UNKNOWN


def infer_radix(tree_cache: str | None, slots_per_request: int | None) -> Setting:
    """Return whether the radix cache is off, by the cache's class or a printed S.

    ``ChunkCache`` is what serves without one; a single slot per request is reserved
    in no other case.
    """
    if tree_cache is not None and tree_cache.endswith(("ChunkCache", "RadixCache")):
        return Setting(tree_cache.endswith("ChunkCache"), INFERRED)
    return Setting(True, INFERRED) if slots_per_request == 1 else UNKNOWN


def infer_dcp(summed: int | None, rows: int | None) -> Setting:
    """Return the DCP width that a summary of logical tokens shows (0.5.21+).

    Args:
        summed: Tokens of the summary line.
        rows: Tokens of the KV pool on a rank.
    """
    if not summed or not rows or summed % rows or not 1 < summed // rows <= MAX_DCP:
        return UNKNOWN
    return Setting(summed // rows, INFERRED)


EXTRA_BUFFER_SLOTS = 5
"""Slots that a request reserves under ``extra_buffer`` with overlap."""
