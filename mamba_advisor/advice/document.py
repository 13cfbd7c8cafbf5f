"""The JSON object of an advice, and of a comparison."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mamba_advisor.advice.model import Advice, Finding, Interval
from mamba_advisor.boot.model import Boot
from mamba_advisor.record import Record
from mamba_advisor.runtime.model import Evidence

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


def to_dict(advice: Advice) -> dict[str, Any]:
    """Return the JSON object of *advice*, of plain values only.

    Returns:
        Every key of the schema; None where a value is unknown.  Numbers are finite:
        a number that is not is None.
    """
    document: dict[str, Any] = plain(outline(advice))
    return document


def outline(advice: Advice) -> dict[str, Any]:
    """Return the JSON object of *advice*, with records yet to be `opened` in it."""
    boot = advice.boot
    document = {
        "schema_version": SCHEMA_VERSION,
        "source": boot.source,
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
    document |= {name: getattr(advice, name) for name in SAME_NAMES}
    if advice.is_plan:
        document["self_check"] = None
    return document


def outline_comparison(comparison: Comparison) -> dict[str, Any]:
    """Return the JSON object of *comparison*, with records yet to be `opened` in it."""
    return {
        "schema_version": SCHEMA_VERSION,
        "before": outline(comparison.before),
        "after": outline(comparison.after),
        "changes": comparison.changes,
        "verdict": comparison.verdict,
    }


def opened(value: object) -> dict[str, Any] | None:
    """Return as JSON knows it what its writer does not know.

    Args:
        value: A record or a mapping.

    Returns:
        Its fields, in which records may stand again; None where a number of an
        interval is not finite.

    Raises:
        TypeError: It is neither.
    """
    if not isinstance(value, Record) and not isinstance(value, Mapping):
        raise TypeError(f"{type(value).__name__} has no place in JSON")
    if isinstance(value, Interval) and not _is_finite(value):
        return None
    fields = dict(value.items())
    if isinstance(value, Finding):
        fields["severity"] = value.severity.name.lower()
    return fields


def plain(document: Any) -> Any:
    """Return *document* of plain values only; a number that is not finite is None."""
    text = json.dumps(document, default=opened)
    return json.loads(text, parse_constant=lambda _: None)


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
        name: {"value": value, "origin": origin}
        for name, (value, origin) in found.items()
    }


def _runtime(evidence: Evidence) -> dict[str, Any]:
    """Return what all workers have shown, at the top; the rest below."""
    return {
        **dict(evidence.total.items()),
        "workers": evidence.workers,
        **{
            name: getattr(evidence, name)
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


def _is_finite(value: Interval) -> bool:
    """Return whether the value and both ends of its interval are numbers."""
    return all(map(math.isfinite, (value.value, value.low, value.high)))
