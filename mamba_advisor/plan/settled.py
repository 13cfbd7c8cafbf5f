"""The server's arguments as they will stand: given, SGLang's defaults, implied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mamba_advisor.boot.model import Setting
from mamba_advisor.errors import InputError
from mamba_advisor.facts import Scalar
from mamba_advisor.modelconfig import ModelBytes
from mamba_advisor.modelconfig.recognise import TOWERS
from mamba_advisor.plan.gpus import Gpu
from mamba_advisor.plan.options import PlanOptions
from mamba_advisor.record import Record, field
from mamba_advisor.sizing.problem import RATIOS
from mamba_advisor.sizing.releases import since
from mamba_advisor.sizing.strategy import buffer_support, resolve_auto

OPTION, DEFAULT, INFERRED = "option", "default", "inferred"

STRATEGIES = ("auto", "no_buffer", "extra_buffer", "extra_buffer_lazy")

RATIO = 0.9
INKLING_RATIO = 0.1
DRAFT_TOKENS = 4
"""Draft tokens that are taken where only an algorithm is named."""

TRTLLM_PAGE = 64
"""Page size that comes with TensorRT-LLM's attention on SM100."""

CONTEXT = 131_072
"""Context length that is taken where the config has none."""

LONGEST = 1 << 40
"""No context is longer."""

CONTEXT_FIELDS = (
    "max_position_embeddings",
    "model_max_length",
    "max_sequence_length",
    "seq_length",
)

RADIX_OFF: Mapping[str, tuple[str, str]] = {
    "falcon_h1": ("0.5.4", "0.5.6"),
    "nemotron_h": ("0.5.4", "0.5.6"),
    "nemotron_h_nano_vl": ("0.5.4", "0.5.6"),
    "kimi_linear": ("0.5.5", "0.5.13"),
    "bailing_hybrid": ("0.5.9", "0.5.12"),
    "minicpm_sala": ("0.5.19", ""),
}
"""Family -> first and last release that switch the radix cache off for it."""

SM100_PAGED = ("qwen3_next", "qwen3_5", "qwen3_5_moe", "intern_s2_preview")
"""Families that SGLang gives TensorRT-LLM's attention on SM100."""


class Settled(Record, frozen=False):
    """Arguments in force; built step by step, then read only."""

    settings: dict[str, Setting] = field(default_factory=dict)
    """Under SGLang's newest names."""

    assumptions: list[str] = field(default_factory=list)
    """What was taken without being stated, a sentence each."""

    def put(self, name: str, value: Scalar, origin: str) -> None:
        """Set the argument *name*."""
        self.settings[name] = Setting(value, origin)

    def number(self, name: str) -> int:
        """Return a whole number that is set."""
        value = self.settings[name].value
        assert isinstance(value, int)
        return value

    def switch(self, name: str) -> bool:
        """Return whether a switch is on."""
        setting = self.settings.get(name)
        return setting is not None and setting.value is True

    def text(self, name: str) -> str | None:
        """Return a word, None where it is not set."""
        setting = self.settings.get(name)
        return setting.value if setting and isinstance(setting.value, str) else None

    def choose(self, name: str, given: Scalar, default: Scalar) -> None:
        """Set *name* to what is given, else to SGLang's default."""
        if given is None:
            self.put(name, default, DEFAULT)
        else:
            self.put(name, given, OPTION)


def settle(
    config: Mapping[str, Any], model: ModelBytes, options: PlanOptions, gpu: Gpu | None
) -> Settled:
    """Return the arguments of the planned server.

    Args:
        config: The model's config.
        model: Its byte constants.
        options: What the user says.
        gpu: The GPU, None where nothing says which; SM100 has other page sizes.

    Raises:
        InputError: A value cannot be.
    """
    _check(options)
    settled = Settled()
    _widths(settled, options)
    _speculation(settled, options)
    _context(settled, config, options)
    inkling = model.family == "inkling"
    settled.choose(
        "mamba_full_memory_ratio", options.ratio, INKLING_RATIO if inkling else RATIO
    )
    settled.choose("max_mamba_cache_size", options.pin, None)
    settled.choose("max_running_requests", options.max_running_requests, None)
    settled.choose("max_total_tokens", options.max_total_tokens, None)
    settled.choose("mamba_ssm_dtype", options.mamba_ssm_dtype, None)
    automatic = options.kv_cache_dtype == "auto"
    settled.put(
        "kv_cache_dtype", options.kv_cache_dtype, DEFAULT if automatic else OPTION
    )
    _radix(settled, model, options)
    _strategy(settled, model, options, gpu)
    _page(settled, model, options, gpu)
    return settled


def _check(options: PlanOptions) -> None:
    """Refuse numbers that cannot be an argument's value."""
    for name, low in (
        ("dp_size", 1),
        ("ep_size", 1),
        ("pin", 1),
        ("max_running_requests", 1),
        ("max_total_tokens", 1),
        ("page_size", 1),
        ("context_length", 1),
        ("draft_tokens", 0),
        ("state_bytes", 1),
        ("kv_bytes", 0),
    ):
        value = getattr(options, name)
        if value is not None and not low <= value < 1 << 50:
            raise InputError(f"{name} is {value}, not at least {low}")
    least, most = RATIOS
    # NaN fails the comparison, too.
    if options.ratio is not None and not least <= options.ratio <= most:
        raise InputError(
            f"--mamba-full-memory-ratio {options.ratio} does not lie between {least:g} "
            f"and {most:,.0f}"
        )
    if options.strategy not in STRATEGIES:
        raise InputError(
            f"unknown strategy {options.strategy!r:.40} (one of "
            f"{', '.join(STRATEGIES)})"
        )


def _widths(settled: Settled, options: PlanOptions) -> None:
    for name in ("tp_size", "pp_size", "dcp_size", "dp_size", "attn_dp_size"):
        value = getattr(options, name)
        settled.put(name, value, DEFAULT if value == 1 else OPTION)
    wide = options.attn_dp_size > 1
    settled.put("enable_dp_attention", wide, OPTION if wide else DEFAULT)
    if wide:
        # As --dp-size and --enable-dp-attention together have it, in every release.
        settled.put("dp_size", options.attn_dp_size, OPTION)
        settled.put("attn_dp_size", options.attn_dp_size, INFERRED)


def planned_drafts(options: PlanOptions) -> int:
    """Return D, the draft tokens per step; 0 without speculation."""
    if options.draft_tokens is None and options.speculative_algorithm is not None:
        return DRAFT_TOKENS
    return options.draft_tokens or 0


def _speculation(settled: Settled, options: PlanOptions) -> None:
    algorithm, drafts = options.speculative_algorithm, planned_drafts(options)
    settled.choose("speculative_algorithm", algorithm, None)
    if algorithm is not None and options.draft_tokens is None:
        settled.put("speculative_num_draft_tokens", drafts, INFERRED)
        settled.assumptions.append(
            f"{algorithm} is taken with {drafts} draft tokens: SGLang chooses the "
            "number by the model (give --draft-tokens N)"
        )
    else:
        settled.choose("speculative_num_draft_tokens", drafts or None, None)
    on = bool(drafts)
    steps = options.speculative_num_steps
    settled.choose("speculative_num_steps", steps, drafts - 1 if on else None)
    settled.choose(
        "speculative_eagle_topk", options.speculative_eagle_topk, 1 if on else None
    )
    settled.put(
        "enable_linear_replayssm_spec",
        options.replayssm and on,
        OPTION if options.replayssm and on else DEFAULT,
    )
    settled.put(
        "enable_linear_replayssm",
        options.replayssm and not on,
        OPTION if options.replayssm and not on else DEFAULT,
    )


def _context(settled: Settled, config: Mapping[str, Any], options: PlanOptions) -> None:
    """Set the context length: the flag, else the config's, else an assumption."""
    if options.context_length is not None:
        settled.put("context_length", options.context_length, OPTION)
        return
    for section in (*(config.get(name) for name in TOWERS), config):
        for name in CONTEXT_FIELDS:
            value = section.get(name) if isinstance(section, Mapping) else None
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                settled.put("context_length", min(value, LONGEST), INFERRED)
                return
    settled.put("context_length", CONTEXT, INFERRED)
    settled.assumptions.append(
        f"the config has no context length: {CONTEXT} tokens are taken (it matters to "
        "SGLang's own ceiling of 2048 to 4096 requests only)"
    )


def _radix(settled: Settled, model: ModelBytes, options: PlanOptions) -> None:
    """Set whether the radix cache is on; some families are forced to go without."""
    off = options.radix_cache is False
    settled.put(
        "disable_radix_cache", off, DEFAULT if options.radix_cache is None else OPTION
    )
    first, last = RADIX_OFF.get(model.family, ("", ""))
    version = options.sglang_version
    if first and since(version, first) and not (last and _newer(version, last)):
        settled.put("disable_radix_cache", True, INFERRED)
        if not off:
            settled.assumptions.append(
                f"SGLang {version} switches the radix cache off for {model.family}: a "
                "request takes one slot"
            )


def _newer(version: str, last: str) -> bool:
    return since(version, last) and not since(last, version)


def _strategy(
    settled: Settled, model: ModelBytes, options: PlanOptions, gpu: Gpu | None
) -> None:
    """Set the state cache's strategy and the overlap scheduler."""
    version, pages = options.sglang_version, options.page_size or 1
    overlap = options.overlap is not False
    origin = DEFAULT if options.overlap is None else OPTION
    strategy = options.strategy
    if strategy == "auto" and _is_pinned(settled, model, options, gpu):
        settled.put("mamba_radix_cache_strategy", "extra_buffer", INFERRED)
    elif strategy == "auto":
        support = buffer_support(version, model.architecture or "")
        if support is None:
            support = "unlisted"
            settled.assumptions.append(
                f"{model.architecture or 'the model'} is in no radix-cache list known "
                "here: a request is taken to need 3 slots"
            )
        radix = not settled.switch("disable_radix_cache")
        strategy, keeps = resolve_auto(
            version, support, radix=radix, overlap=overlap, page_size=pages
        )
        if keeps != overlap:
            overlap, origin = keeps, INFERRED
        settled.put("mamba_radix_cache_strategy", strategy, INFERRED)
    else:
        settled.put("mamba_radix_cache_strategy", strategy, OPTION)
    if options.pp_size > 1 and overlap:
        overlap, origin = False, INFERRED
    settled.put("disable_overlap_schedule", not overlap, origin)


def _is_pinned(
    settled: Settled, model: ModelBytes, options: PlanOptions, gpu: Gpu | None
) -> bool:
    """Return whether a model's own rule sets ``extra_buffer`` before all others."""
    if model.family == "inkling":
        return since(options.sglang_version, "0.5.16")
    return (
        model.family.startswith("nemotron_h")
        and gpu is not None
        and gpu.is_sm100
        and since(options.sglang_version, "0.5.19")
        and settled.settings["speculative_num_draft_tokens"].value is not None
        and settled.number("speculative_eagle_topk") == 1
    )


def _page(
    settled: Settled, model: ModelBytes, options: PlanOptions, gpu: Gpu | None
) -> None:
    """Set the page size: the model's own, the flag, or the attention backend's."""
    if model.min_page_size > 1:
        settled.put("page_size", model.min_page_size, INFERRED)
        return
    if options.page_size is not None:
        settled.put("page_size", options.page_size, OPTION)
        return
    settled.put("page_size", 1, DEFAULT)
    if gpu is None or not gpu.is_sm100:
        return
    drafts = settled.settings["speculative_num_draft_tokens"].value is not None
    buffered = settled.text("mamba_radix_cache_strategy") != "no_buffer"
    paged = buffered or settled.switch("disable_radix_cache") or drafts
    if model.family in SM100_PAGED and paged:
        settled.put("page_size", TRTLLM_PAGE, INFERRED)
        settled.assumptions.append(
            f"page size {TRTLLM_PAGE}: on {gpu.title} SGLang takes TensorRT-LLM's "
            "attention for this model"
        )
    elif _is_pinned(settled, model, options, gpu):
        settled.put("page_size", TRTLLM_PAGE, INFERRED)
