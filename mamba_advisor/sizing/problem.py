"""The input of the pool arithmetic, in the form that a log or a config can give.

`size_pools` takes the fields of SGLang's own sizing (`SizingInputs`) and turns them
into one of these; a boot log or a model's config gives one directly.
"""

from __future__ import annotations

from mamba_advisor.errors import FactError
from mamba_advisor.record import Record

RATIOS = 1e-6, 1e6
"""Smallest and largest ratio that is reckoned with; one beyond is a typing error."""

SPECULATION_LIMIT = 48
"""``--max-running-requests`` that speculation sets when none is given."""


class SizingProblem(Record):
    """Everything that decides K, T and the request limit, on one rank."""

    rest_gib: float
    """Budget that both pools share, in GiB, as the release computes it."""

    slot_bytes: int
    """P: state bytes of one slot over **all** state layers of the model."""

    cells: tuple[int, ...]
    """c: *charged* KV bytes per token of each pipeline stage (one without PP)."""

    page_size: int = 1
    context_len: int = 131072
    stage_state_layers: int = 1
    """State layers of the stage with most of them (PP); else equal to all."""

    all_state_layers: int = 1
    state_family: str = "gdn"
    """``gdn``, ``kda``, ``mamba2`` or another name: see `pool-sizing` rules on DP."""

    ring_bytes: int = 0
    """R: ReplaySSM ring bytes of one slot or request (all layers); 0: none."""

    replayssm_spec: bool = False
    ratio: float = 0.9
    pin: int | None = None
    """``--max-mamba-cache-size``, global."""

    max_running_requests: int | None = None
    """M as resolved (48 where speculation set it), global."""

    max_total_tokens: int | None = None
    disable_radix_cache: bool = False
    disable_overlap_schedule: bool = False
    strategy: str = "no_buffer"
    """Resolved: ``no_buffer``, ``extra_buffer``, ``extra_buffer_lazy``."""

    skip_decode_lock: bool = False
    speculative_algorithm: str | None = None
    draft_tokens: int = 0
    """D; 0 without speculation."""

    draft_steps: int = 0
    draft_topk: int = 0
    attn_dp_size: int = 1
    """Attention-DP width; 1 without DP attention."""

    dcp_size: int = 1
    disaggregation_mode: str = "null"
    slots_per_request: int | None = None
    """S when it is known otherwise (printed by the log); None: by the rules."""

    def require_slot(self) -> None:
        """Refuse a slot without bytes.

        Raises:
            FactError: There would be no end of such slots.
        """
        if self.slot_bytes <= 0:
            raise FactError(f"a state slot of {self.slot_bytes} bytes cannot be sized")

    @property
    def speculative(self) -> bool:
        """Whether any speculation is on."""
        return self.draft_tokens > 0 or self.speculative_algorithm is not None

    @property
    def requested(self) -> int | None:
        """M, global: speculation sets 48 where nobody asked for a number."""
        if self.max_running_requests is None and self.speculative:
            return SPECULATION_LIMIT
        return self.max_running_requests
