"""The evidence of a run: what batch lines, or SGLang's metrics, have shown."""

from __future__ import annotations

from typing import Literal

from mamba_advisor.record import Record


class Spread(Record):
    """Mean and extremes of a series."""

    mean: float
    max: float
    low: float | None = None
    """10th percentile, None where not known."""

    high: float | None = None
    """90th percentile."""


class Bucket(Record):
    """A slice of the run, for drawing it over time."""

    stamp: str
    """Start of the slice as printed, empty without times."""

    running: float
    queued: float
    state_usage: float | None
    kv_usage: float | None


class WorkerEvidence(Record):
    """What one DP worker, or all of them together, have shown."""

    worker: str
    """``"DP1"``; empty: the only worker, or all together."""

    samples: int
    """Decode lines used."""

    left_out: int
    """Decode lines left out (idle, warm-up, ramps)."""

    left_out_why: str
    """Sentence on what was left out, empty for nothing."""

    avg_context: int | None
    """Resident tokens ÷ running requests, weighted by requests."""

    context: Spread | None
    running: Spread
    queued: Spread
    state_usage: Spread | None
    """0 to 1; None: the lines do not state it."""

    kv_usage: Spread | None
    slots_per_request: float | None
    """State slots held ÷ running requests."""

    queued_share: float
    """Share of the samples with a queue, 0 to 1."""

    queued_kv_usage: float | None
    """Mean KV usage of the samples with a queue."""

    queued_state_usage: float | None
    retractions: int
    prefix_hit_share: float | None
    """Cached ÷ (new + cached) prompt tokens, 0 to 1."""

    hot_pool: Literal["state", "kv"] | None
    """The pool that the evidence says is short."""

    hot_why: str
    """The sentence behind it, for example "in 39 % of decode lines …"."""

    retracted_requests: int = 0
    """Requests that the retractions sent back to the queue."""

    eviction_hint: str = ""
    """Sentence on prefix hits that fell while KV had room, empty without that."""


class Evidence(Record):
    """The run so far."""

    total: WorkerEvidence
    workers: tuple[WorkerEvidence, ...] = ()
    """Each DP worker, empty with one."""

    first_stamp: str = ""
    last_stamp: str = ""
    seconds: float | None = None
    """Time covered, None without times."""

    timeline: tuple[Bucket, ...] = ()
    """At most some 120 slices."""

    lines: tuple[int, ...] = ()
    """A few line numbers that the figures rest on (first, peak, last)."""

    origin: str = "log"
    """``"log"`` or ``"metrics"``."""

    exhausted: tuple[int, ...] = ()
    """Lines that say a pool ran out at run time."""

    state_slots: int | None = None
    """K of the smallest worker, where metrics state it."""

    kv_tokens: int | None = None
    """T of the smallest worker, where metrics state it."""
