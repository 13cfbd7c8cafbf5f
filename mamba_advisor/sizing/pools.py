"""The outcome of the pool arithmetic."""

from __future__ import annotations

from typing import TypeAlias

from mamba_advisor.record import Record, field

PoolWarning: TypeAlias = dict[str, "int | str"]
"""``kind`` and its figures, as `oracle` records have them."""


class PoolSizes(Record):
    """What a release decides for one rank; None: not settled, or not applicable."""

    error: str | None = None
    """Why SGLang refuses to start: ``lazy_strategy_needs_overlap``,
    ``state_cache_not_positive``, ``no_memory_left_for_kv``,
    ``kv_tokens_not_positive``, ``no_request_fits_state_cache`` or
    ``max_running_requests_zero``.  None: it starts.
    """

    slots_per_request: int | None = None
    """S: slots reserved for one running request."""

    max_mamba_cache_size: int | None = None
    """K: usable slots per rank and DP worker, without the padding slot."""

    kv_budget_gib: float | None = None
    """Left for KV, in GiB; can be negative."""

    kv_budget_bytes: int | None = None
    """The same in bytes, truncated."""

    cell_size_bytes: int | None = None
    """KV bytes charged per token: largest stage, after an error the first one."""

    kv_tokens_profiled: int | None = None
    """Tokens that the budget holds, before ``--max-total-tokens``."""

    kv_tokens: int | None = None
    """T: rows of the KV pool on one rank."""

    kv_tokens_logical: int | None = None
    """Tokens that requests can use: T × DCP width."""

    kv_tokens_printed: int | None = None
    """``max_total_num_tokens`` of the summary line."""

    max_running_requests: int | None = None
    """Limit in force per DP worker."""

    spec_state_slots: int | None = None
    """Requests that draft states are allocated for, without the padding one."""

    replayssm_ring_bytes_per_slot: int | None = None
    """R: one ReplaySSM ring, all layers, in bytes."""

    warnings: list[PoolWarning] = field(default_factory=list)
    """What the boot will print on the way, in order."""

    cell_size_bytes_by_stage: list[int] | None = None
    """Per pipeline stage; None with one stage."""

    kv_tokens_profiled_by_stage: list[int] | None = None
    """Per pipeline stage; None with one stage."""

    note: str = ""
    """Not from SGLang: says when a release is newer than the arithmetic known."""

    @property
    def boots(self) -> bool:
        """Whether the pools can be allocated as sized."""
        return self.error is None
