"""What one server start of a log amounts to, before any arithmetic.

Everything here was read, or is null.  Nothing is computed from two figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from mamba_advisor.facts import Rank, Scalar
from mamba_advisor.measured import Measured
from mamba_advisor.record import Record, field
from mamba_advisor.runtime.model import Evidence

Outcome = Literal["ready", "failed", "incomplete"]


class Source(Record):
    """The log that a boot stands in."""

    name: str
    """Path as given, ``"-"`` for standard input."""

    lines: int
    """Lines read."""

    boots: int
    """Server starts found."""


class Setting(Record):
    """One SGLang argument as it stood, and how that is known."""

    value: Scalar
    """The value; None is what ``server_args`` prints as ``None``."""

    origin: str | None
    """``"log:LINE"``, ``"option"``, ``"inferred"``, ``"default"``; None: unknown."""

    @property
    def known(self) -> bool:
        """Whether anything states or implies the value."""
        return self.origin is not None


UNKNOWN = Setting(None, None)
"""A setting that nothing states."""


class Releases(Record):
    """The releases whose wording fits the log."""

    low: str
    """Earliest, for example ``"0.5.10"``."""

    high: str
    """Latest."""

    evidence: tuple[str, ...] = ()
    """Why, a sentence each, with line numbers."""

    given: bool = False
    """An option named the release."""


class StatePool(Record):
    """A rank's state pool as printed."""

    slots: int
    """K: usable slots (unified memory: the banner's)."""

    conv: Measured | None
    """Convolution states of all K + 1 rows, in bytes; None: not printed."""

    ssm: Measured | None
    """Recurrent states of all K + 1 rows, in bytes."""

    draft_ssm: Measured | None = None
    """Per-draft-token recurrent states, in bytes."""

    draft_conv: Measured | None = None
    """Per-draft-token convolution windows, in bytes."""

    rings: Measured | None = None
    """ReplaySSM rings, in bytes."""

    checkpoints: Measured | None = None
    """int8 checkpoint pool, in bytes."""

    entry_bytes: int | None = None
    """Exact bytes of one slot, printed under unified memory only."""

    lines: tuple[int, ...] = ()
    """Log lines that it rests on."""


class KvPool(Record):
    """A rank's pool of KV tokens as printed."""

    tokens: int
    """Rows without the padding page (unified memory: the banner's tokens)."""

    size: Measured | None
    """K and V together, in bytes, padding page included; None: not printed."""

    dtype: str | None = None
    """Element type without ``torch.``."""

    label: str = ""
    """``"Full"``, ``"SWA"`` or empty."""

    upper_bound: bool = False
    """``VA upper bound`` without a later figure: address space, not memory."""

    entry_bytes: int | None = None
    """Exact bytes of one token, printed under unified memory only."""

    is_mla: bool = False
    """One combined size was printed, not K and V apart."""

    lines: tuple[int, ...] = ()
    """Log lines that it rests on."""


class RankBoot(Record):
    """What one rank of one server start printed."""

    rank: Rank
    weights: Measured | None = None
    """Sum of ``mem usage`` of its ``Load weight end`` lines, in bytes."""

    draft_weights: Measured | None = None
    """The part of it that the draft model took; None without a draft."""

    avail_before: Measured | None = None
    """Free before the first weights, in bytes."""

    avail_after: Measured | None = None
    """Free when the pools were sized, in bytes."""

    state_pool: StatePool | None = None
    kv_pool: KvPool | None = None
    """The target's."""

    swa_pool: KvPool | None = None
    """Sliding-window rows of a SWA hybrid."""

    draft_kv_pool: KvPool | None = None
    draft_state_pool: StatePool | None = None
    pool_end: Measured | None = None
    """Free after the (last) ``Memory pool end``, in bytes."""

    graphs: Measured | None = None
    """Sum of ``mem usage`` of graph captures, in bytes."""

    idle: Measured | None = None
    """Its last ``avail mem`` or ``available_gpu_mem`` of the boot, in bytes."""

    unplaced: Mapping[str, Measured] = field(default_factory=dict)
    """Fact name -> size of a state-pool line without a slot count, in bytes."""


class Summary(Record):
    """The scheduler's ``max_total_num_tokens=…`` line."""

    tokens: int
    """As printed: per rank, or logical under DCP from 0.5.21."""

    max_running_requests: int | None
    """The limit in force, per DP worker."""

    context_len: int | None
    chunked_prefill_size: int | None
    max_prefill_tokens: int | None
    rank: Rank
    line: int
    avail: Measured | None = None
    """Free at this moment (``available_gpu_mem``), in bytes."""


class Notice(Record):
    """A line that explains S, K or a disabled feature (or warns of something)."""

    code: str
    """The reading's event, for example ``"notice-radix-disabled"``."""

    message: str
    """The line as printed, without prefix."""

    line: int
    figures: Mapping[str, int | float | str | bool | None] = field(default_factory=dict)


class Failure(Record):
    """The line on which a boot failed."""

    kind: str
    """Kebab-case: ``state-cache-not-positive``, ``no-request-fits-state-cache``,
    ``no-memory-for-kv``, ``kv-tokens-not-positive``, ``max-running-requests-zero``,
    ``cuda-out-of-memory``, ``graph-capture-failed``, ``strategy-refused``,
    ``unified-budget-too-small``, ``swa-pool``, ``checkpoint-pool``,
    ``scheduler-exception``, ``child-died``.
    """

    message: str
    line: int
    figures: Mapping[str, int | float | str] = field(default_factory=dict)
    """Figures that the failure prints: ``state_slots``, ``rest_bytes``,
    ``slot_bytes``, ``slots_per_request``, ``mem_fraction_static``,
    ``minimum_fraction``, ``tried_bytes``, ``free_bytes``; sizes as exact ints of
    the printed decimals (use the reading at `line` for the interval).
    """

    rest: Measured | None = None
    """Printed rest memory, in bytes."""

    slot: Measured | None = None
    """Printed state bytes per slot, in bytes."""

    phase: str = ""
    """Where the boot stood: ``arguments``, ``weights``, ``pools``, ``graphs``,
    ``warm-up``; empty when unknown.
    """


class Note(Record):
    """Something about the reading itself that the user should know."""

    severity: Literal["problem", "warning", "info"]
    code: str
    message: str
    lines: tuple[int, ...] = ()


class Boot(Record):
    """One server start of a log."""

    source: Source
    number: int
    """Which start of the log, counted from 1."""

    outcome: Outcome | None
    """None: no boot at all, for example a plan from a config."""

    releases: Releases
    hybrid: bool | None
    hybrid_evidence: str
    """The sentence behind `hybrid`, with its line."""

    architecture: str | None
    """The target's model class."""

    draft_architecture: str | None
    settings: Mapping[str, Setting]
    """Under SGLang's newest argument names; absent keys are unknown."""

    ranks: tuple[RankBoot, ...]
    """Ranks that printed a pool or weight line, sorted."""

    summaries: tuple[Summary, ...] = ()
    capped: Notice | None = None
    """The "capped to … by the mamba state cache" line."""

    reduced: Notice | None = None
    """The "was reduced from the requested" line."""

    multimodal_reserve: Measured | None = None
    unified: bool = False
    post_capture: bool = False
    failure: Failure | None = None
    notices: tuple[Notice, ...] = ()
    notes: tuple[Note, ...] = ()
    runtime: Evidence | None = None
    excerpts: Mapping[int, str] = field(default_factory=dict)
    """Line number -> the line's text (cut), for every line that a fact rests on."""

    first_line: int = 1
    last_line: int = 0
    speaker: str = ""
    stamp: str = ""

    def setting(self, name: str) -> Setting:
        """Return the setting *name*, `UNKNOWN` when nothing states it."""
        return self.settings.get(name, UNKNOWN)
