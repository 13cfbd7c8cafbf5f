"""The JSON object of an advice, and of a comparison, as plain Python values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from mamba_advisor.advice.model import Advice, Interval
from mamba_advisor.boot.model import Boot
from mamba_advisor.record import Record
from mamba_advisor.runtime.model import Evidence, WorkerEvidence

if TYPE_CHECKING:
    from mamba_advisor.advice.comparison import Comparison

SCHEMA_VERSION = 1

SETTINGS = (
    "mamba_full_memory_ratio",
    "max_mamba_cache_size",
    "mamba_radix_cache_strategy",
    "disable_radix_cache",
    "disable_overlap_schedule",
    "speculative_algorithm",
    "speculative_num_draft_tokens",
    "tp_size",
    "dp_size",
    "attn_dp_size",
    "pp_size",
    "dcp_size",
    "page_size",
    "mem_fraction_static",
    "kv_cache_dtype",
    "mamba_ssm_dtype",
    "max_running_requests",
    "max_total_tokens",
    "context_length",
)
"""Settings that are always in the object, with null where nothing states them."""

SAME_NAMES = (
    "balanced_context",
    "budget_bytes",
    "concurrency",
    "curves",
    "derivations",
    "draft_kv_pool",
    "findings",
    "is_plan",
    "kv_pool",
    "levers",
    "ranks",
    "recommendation",
    "residency",
    "self_check",
    "state_pool",
    "sweep",
    "token_equivalent",
    "verdict",
    "workload",
)
"""Keys of the object that are fields of `Advice` as they stand."""

LEAVES = frozenset({int, str, bool, type(None)})
"""Types of most values, which JSON knows as they are."""


def to_dict(advice: Advice) -> dict[str, Any]:
    """Return the JSON object of *advice*, of plain values only.

    Returns:
        Every key of the schema; None where a value is unknown.  Numbers are finite:
        a number that is not is None.
    """
    boot = advice.boot
    document = {
        "schema_version": SCHEMA_VERSION,
        "source": _plain(boot.source),
        "boot": _place(boot),
        "sglang": {
            "version_low": boot.releases.low or None,
            "version_high": boot.releases.high or None,
            "evidence": list(boot.releases.evidence),
        },
        "model": {
            "architecture": boot.architecture,
            "hybrid": advice.hybrid,
            "draft_architecture": boot.draft_architecture,
            "evidence": boot.hybrid_evidence,
        },
        "outcome": boot.outcome,
        "failure": _failure(boot),
        "settings": _settings(advice),
        "runtime": None if boot.runtime is None else _runtime(boot.runtime),
        "excerpts": [
            {"line": line, "text": text} for line, text in sorted(boot.excerpts.items())
        ],
    }
    document |= {name: _plain(getattr(advice, name)) for name in SAME_NAMES}
    if advice.is_plan:
        document["self_check"] = None
    return document


def comparison_to_dict(comparison: Comparison) -> dict[str, Any]:
    """Return the JSON object of *comparison*, of plain values only."""
    return {
        "schema_version": SCHEMA_VERSION,
        "before": to_dict(comparison.before),
        "after": to_dict(comparison.after),
        "changes": _plain(comparison.changes),
        "verdict": _plain(comparison.verdict),
    }


def _place(boot: Boot) -> dict[str, Any]:
    return {
        "number": boot.number,
        "first_line": boot.first_line,
        "last_line": boot.last_line,
        "speaker": boot.speaker,
        "stamp": boot.stamp,
        "unified_memory": boot.unified,
        "post_capture": boot.post_capture,
    }


def _failure(boot: Boot) -> dict[str, Any] | None:
    failure = boot.failure
    if failure is None:
        return None
    return {
        "kind": failure.kind,
        "message": failure.message,
        "line": failure.line,
        "phase": failure.phase,
    }


def _settings(advice: Advice) -> dict[str, Any]:
    found = dict.fromkeys(SETTINGS, (None, None)) | dict(advice.settings)
    return {
        name: {"value": _plain(value), "origin": origin}
        for name, (value, origin) in found.items()
    }


def _runtime(evidence: Evidence) -> dict[str, Any]:
    """Return what all workers have shown, at the top; the rest below."""
    return {
        **_worker(evidence.total),
        "workers": [_worker(worker) for worker in evidence.workers],
        **{
            name: _plain(getattr(evidence, name))
            for name in (
                "first_stamp",
                "last_stamp",
                "seconds",
                "timeline",
                "lines",
                "origin",
                "exhausted",
            )
        },
    }


def _worker(worker: WorkerEvidence) -> dict[str, Any]:
    document: dict[str, Any] = _plain(worker)
    return document


def _plain(value: object) -> Any:
    """Return *value* as JSON knows it: data classes become objects of their fields."""
    if type(value) in LEAVES:
        return value
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, int | float | str):
        return _scalar(value)
    if isinstance(value, Interval) and not _is_finite(value):
        return None
    assert isinstance(value, Record | Mapping)
    return {str(name): _plain(item) for name, item in value.items()}


def _scalar(value: float | str) -> float | str | None:
    """Return a word for a severity, and None for what is no number."""
    if isinstance(value, IntEnum):
        return value.name.lower()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _is_finite(value: Interval) -> bool:
    """Return whether the value and both ends of its interval are numbers."""
    return all(map(math.isfinite, (value.value, value.low, value.high)))
