"""What the user says about the server that is to be planned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mamba_advisor.measured import Measured
from mamba_advisor.record import Record
from mamba_advisor.sizing.releases import LAST_RELEASE


class PlanOptions(Record):
    """Arguments of a server that has not been started; None: SGLang's default."""

    tp_size: int = 1
    pp_size: int = 1
    dcp_size: int = 1
    dp_size: int = 1
    """``--dp-size``: workers under DP attention, else whole replicas."""

    attn_dp_size: int = 1
    """Attention-DP width; 1 without DP attention."""

    ep_size: int = 1
    mamba_ssm_dtype: str | None = None
    conv_dtype: str | None = None
    """``SGLANG_MAMBA_CONV_DTYPE``."""

    kv_cache_dtype: str = "auto"
    mem_fraction_static: float | None = None
    gpus: str | None = None
    """A name in the table of GPUs, such as ``"h200"``."""

    gpu_memory: int | None = None
    """Memory of one GPU as it is sold, in bytes; wins over `gpus`."""

    weights: Measured | None = None
    """Weights on one rank, as SGLang prints them when loaded, in bytes."""

    budget: Measured | None = None
    """What both pools share on one rank, in bytes, where it is known."""

    strategy: str = "auto"
    """``auto``, ``no_buffer``, ``extra_buffer`` or ``extra_buffer_lazy``."""

    radix_cache: bool | None = None
    overlap: bool | None = None
    """The overlap scheduler."""

    skip_decode_lock: bool = False
    draft_tokens: int | None = None
    """D; 0 or None without an algorithm: no speculation."""

    speculative_algorithm: str | None = None
    speculative_num_steps: int | None = None
    speculative_eagle_topk: int | None = None
    draft_config: Mapping[str, Any] | None = None
    """``config.json`` behind ``--speculative-draft-model-path``; None: no path."""

    max_running_requests: int | None = None
    max_total_tokens: int | None = None
    page_size: int | None = None
    ratio: float | None = None
    """``--mamba-full-memory-ratio``."""

    pin: int | None = None
    """``--max-mamba-cache-size``, global as SGLang's flag is."""

    context_length: int | None = None
    replayssm: bool = False
    """ReplaySSM: for speculation where there is any, else for decoding."""

    swa_full_tokens_ratio: float | None = None
    sglang_version: str = LAST_RELEASE
    state_bytes: int | None = None
    """Bytes of one state slot on one rank, by hand."""

    kv_bytes: int | None = None
    """KV bytes of one token on one rank, by hand."""
