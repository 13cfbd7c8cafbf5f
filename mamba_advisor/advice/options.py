"""What the user states beyond the log: values that win over what was read."""

from __future__ import annotations

from collections.abc import Iterator

from mamba_advisor.facts import Scalar
from mamba_advisor.record import Record

SETTINGS = {
    "strategy": "mamba_radix_cache_strategy",
    "draft_tokens": "speculative_num_draft_tokens",
    "pin": "max_mamba_cache_size",
    "ratio": "mamba_full_memory_ratio",
    "max_running_requests": "max_running_requests",
    "tp_size": "tp_size",
    "dp_size": "dp_size",
    "pp_size": "pp_size",
    "dcp_size": "dcp_size",
    "kv_cache_dtype": "kv_cache_dtype",
    "mamba_ssm_dtype": "mamba_ssm_dtype",
    "mem_fraction_static": "mem_fraction_static",
}
"""Field of `Overrides` -> SGLang's newest argument name for the same value."""


class Overrides(Record):
    """Facts given by options; None: the log decides.

    Options are what-if values, too: they win over the log, and the output says so.
    """

    strategy: str | None = None
    """``auto``, ``no_buffer``, ``extra_buffer`` or ``extra_buffer_lazy``."""

    radix_cache: bool | None = None
    overlap: bool | None = None
    """The overlap scheduler."""

    skip_decode_lock: bool | None = None
    """The environment switch of 0.5.17 and later."""

    draft_tokens: int | None = None
    """D; 0: no speculation."""

    replayssm: bool | None = None
    tp_size: int | None = None
    dp_size: int | None = None
    """Workers or replicas, as SGLang's flag counts them."""

    pp_size: int | None = None
    dcp_size: int | None = None
    kv_cache_dtype: str | None = None
    mamba_ssm_dtype: str | None = None
    mem_fraction_static: float | None = None
    gpu_memory: int | None = None
    """Memory of one GPU, in bytes."""

    sglang_version: str | None = None
    """``"0.5.17"``."""

    ratio: float | None = None
    """``--mamba-full-memory-ratio`` of a plan or a what-if."""

    pin: int | None = None
    """``--max-mamba-cache-size``, global as SGLang's flag is."""

    max_running_requests: int | None = None
    """Global, as SGLang's flag is."""

    def settings(self) -> Iterator[tuple[str, Scalar]]:
        """Yield every given value under SGLang's newest argument name.

        Switches appear as SGLang has them (``disable_radix_cache``); the GPU's
        memory and the release are no SGLang arguments and stay out.
        """
        for field, name in SETTINGS.items():
            value = getattr(self, field)
            if value is not None:
                yield name, value
        if self.radix_cache is not None:
            yield "disable_radix_cache", not self.radix_cache
        if self.overlap is not None:
            yield "disable_overlap_schedule", not self.overlap

    def __bool__(self) -> bool:
        return any(value is not None for _, value in self.items())
