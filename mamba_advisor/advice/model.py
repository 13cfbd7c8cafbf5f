"""The answer: what the tables show and the JSON holds.

Names and meanings are those of the JSON object; renderers choose words, columns
and colours, and compute nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Literal

from mamba_advisor.boot.model import Boot
from mamba_advisor.facts import Scalar
from mamba_advisor.measured import Measured
from mamba_advisor.record import Record, field

Drawn = Literal["none", "balance", "all"]
Binding = Literal["state", "kv", "kv_floor", "request", "heuristic"]


class Severity(IntEnum):
    """How much a finding matters; the word is always shown."""

    OK = 0
    INFO = 1
    WARNING = 2
    PROBLEM = 3


class Finding(Record):
    """One answer, and the lines it rests on."""

    code: str
    """Stable kebab-case word, for example ``state-pool-binds``."""

    severity: Severity
    message: str
    """What is the case, in words, with numbers and units."""

    lines: tuple[int, ...] = ()
    """Log lines it rests on, counted from 1."""


class Workload(Record):
    """What the server is meant to carry."""

    avg_context: int | None = None
    """Mean resident tokens per request."""

    origin: str | None = None
    """``"option"``, ``"measured"`` or None."""

    concurrency: int | None = None
    """Requests at a time wanted, whole server."""

    sessions: int | None = None
    """Idle conversations that should stay resumable, whole server."""


class Interval(Record):
    """A plain number with its interval."""

    value: float
    low: float
    high: float
    lines: tuple[int, ...] = ()


class StatePoolAdvice(Record):
    """JSON ``state_pool``."""

    slots: int
    rows: int
    bytes: Measured | None
    bytes_per_slot: Measured | None
    conv_bytes: Measured | None
    ssm_bytes: Measured | None
    draft_state_bytes: Measured | None
    ring_bytes: Measured | None


class KvPoolAdvice(Record):
    """JSON ``kv_pool`` and ``draft_kv_pool``."""

    tokens: int
    logical_tokens: int
    bytes: Measured | None
    bytes_per_token: Measured | None
    draft_bytes_per_token: Measured | None
    charged_bytes_per_token: Measured | None
    dtype: str | None


class RankAdvice(Record):
    """JSON ``ranks[]``."""

    rank: str
    weights_bytes: Measured | None
    avail_before_bytes: Measured | None
    avail_after_bytes: Measured | None
    state_pool: StatePoolAdvice | None
    kv_pool: KvPoolAdvice | None
    draft_kv_pool: KvPoolAdvice | None
    idle_bytes: Measured | None


class Limits(Record):
    """JSON ``limits``: requests per DP worker, None where a limit does not apply."""

    state: int | None = None
    kv: int | None = None
    kv_floor: int | None = None
    request: int | None = None
    heuristic: int | None = None


class Prediction(Record):
    """What a setting gives, by the sizing model; per DP worker."""

    slots: int | None
    kv_tokens: int | None
    """Rows on one rank."""

    concurrency: int | None
    """Sustained requests at the workload's context (the limit without one)."""

    binding: Binding | None
    limits: Limits
    effective: int | None = None
    """The limit in force that the boot will print."""

    logical_tokens: int | None = None
    boots: bool = True
    """False: SGLang would refuse to start."""

    slots_low: int | None = None
    """Interval of `slots` where the log's rounding matters, else None."""

    slots_high: int | None = None
    tokens_low: int | None = None
    tokens_high: int | None = None
    concurrency_low: int | None = None
    concurrency_high: int | None = None


class Concurrency(Record):
    """JSON ``concurrency``; per DP worker."""

    requested: int | None
    effective: int | None
    sustained: int | None
    workers: int
    slots_per_request: int | None
    slots_per_request_candidates: tuple[int, ...]
    limits: Limits
    binding: Binding | None
    predicted: int | None
    requested_by: Literal["user", "speculation", "default"] | None = None


class SelfCheck(Record):
    """JSON ``self_check``: the sizing model against what was printed."""

    outcome: Literal["exact", "consistent", "differs"] | None
    slots: int | None
    kv_tokens: int | None
    concurrency: int | None
    message: str = ""
    """The sentence for the screen."""


class Cost(Record):
    """What a recommendation gives up, never negative."""

    kv_tokens: int = 0
    """Rows on one rank."""

    slots: int = 0


class Plateau(Record):
    """Ratios whose sustained concurrency is within 1 % of the best."""

    low: float
    high: float


class Recommendation(Record):
    """JSON ``recommendation``."""

    action: str
    """``keep``, ``ratio``, ``pin``, ``mem-fraction``, ``max-running-requests`` or
    another lever's name.
    """

    mamba_full_memory_ratio: float | None
    formula_ratio: float | None
    max_mamba_cache_size: int | None
    """Global, as SGLang's flag is."""

    flags: tuple[str, ...]
    predicted: Prediction
    gain: int | None
    cost: Cost
    reason: str = ""
    """One or two sentences: what it gives, which pool then binds, what it costs."""

    before: str = ""
    """What must be true first (free memory, a release); empty for nothing."""

    plateau: Plateau | None = None
    equivalent: tuple[str, ...] = ()
    """The other flag (ratio or pin) that would do the same; empty: none."""


class Lever(Record):
    """JSON ``levers[]``."""

    name: str
    flags: tuple[str, ...]
    predicted: Prediction
    gain: int | None
    gate: str | None
    """What must be validated before production; None: nothing."""

    reason: str = ""


class SweepRow(Record):
    """JSON ``sweep[]``."""

    avg_context: int
    concurrency: int | None
    """Concurrency wanted in this cell; None: as many as possible."""

    mamba_full_memory_ratio: float | None
    max_mamba_cache_size: int | None
    predicted: Prediction
    today: int | None = None
    """Sustained concurrency of today's split at this context."""


class Residency(Record):
    """JSON ``residency``: room for the prefix checkpoints of idle conversations."""

    live_slots: int | None
    spare_slots: int | None
    resumable_sessions: int | None
    saturation: bool | None
    message: str = ""


class BalancePoint(Record):
    """One point of the balance curve, per DP worker."""

    ratio: float
    state: int
    """Requests that the state pool carries (K // S)."""

    kv: int | None
    """Requests that the KV pool carries at the workload's context."""

    sustained: int | None
    limit: int | None
    """The limit in force there."""


class BreakEvenPoint(Record):
    """One point of the break-even curve, per DP worker."""

    avg_context: int
    today: int | None
    best: int | None


class MemoryPart(Record):
    """A part of a rank's memory, for the stacked bar."""

    name: str
    """``weights``, ``state``, ``draft states``, ``KV``, ``draft KV``, ``graphs``,
    ``idle``, ``other``.
    """

    bytes: int
    inferred: bool = False


class MemoryBar(Record):
    """One rank's memory."""

    rank: str
    parts: tuple[MemoryPart, ...]


class Curves(Record):
    """Data of the pictures."""

    balance: tuple[BalancePoint, ...] = ()
    balance_context: int | None = None
    """The context behind `balance`: the workload's, else the balanced one."""

    ratio_now: float | None = None
    """Ratio in force, or the equivalent of the pin in force."""

    ratio_best: float | None = None
    break_even: tuple[BreakEvenPoint, ...] = ()
    memory: tuple[MemoryBar, ...] = ()


class Derivation(Record):
    """One line of ``--explain``: a formula in words, with its numbers put in."""

    name: str
    """For example "state bytes per slot"."""

    formula: str
    """For example "(conv + ssm) ÷ (slots + 1)"."""

    substituted: str
    """For example "(0.46 GiB + 13.04 GiB) ÷ (257 + 1)"."""

    result: str
    """For example "53.58 MiB (53.54 to 53.62 MiB)"."""

    lines: tuple[int, ...] = ()
    """Log lines of its numbers."""

    inferred: bool = False
    """Some number in it was inferred, not read."""


class Verdict(Record):
    """The first lines of the screen."""

    headline: str
    """Requested → effective → sustained, and the one limit that set it."""

    detail: str = ""
    kind: Literal["good", "improve", "no-help", "failed", "unknown"] = "unknown"


class Advice(Record):
    """Everything that one boot, or one plan, amounts to."""

    boot: Boot
    workload: Workload
    hybrid: bool | None
    verdict: Verdict
    settings: Mapping[str, tuple[Scalar, str | None]]
    """Name -> (value, origin), options applied."""

    ranks: tuple[RankAdvice, ...]
    state_pool: StatePoolAdvice | None
    kv_pool: KvPoolAdvice | None
    draft_kv_pool: KvPoolAdvice | None
    budget_bytes: Measured | None
    token_equivalent: Interval | None
    balanced_context: int | None
    concurrency: Concurrency
    self_check: SelfCheck
    recommendation: Recommendation | None
    levers: tuple[Lever, ...] = ()
    sweep: tuple[SweepRow, ...] = ()
    residency: Residency | None = None
    findings: tuple[Finding, ...] = ()
    derivations: tuple[Derivation, ...] = ()
    curves: Curves = field(default_factory=Curves)
    is_plan: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object: every key of the schema, plain values only."""
        from mamba_advisor.advice.document import to_dict

        return to_dict(self)
