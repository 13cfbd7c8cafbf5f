"""Two boots compared: what differs, and whether the change helped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from mamba_advisor.advice.model import (
    Advice,
    Interval,
    KvPoolAdvice,
    Prediction,
    StatePoolAdvice,
)
from mamba_advisor.facts import Scalar
from mamba_advisor.measured import Measured
from mamba_advisor.record import Record

ChangeValue: TypeAlias = "Scalar | Measured | Interval"

OLD_NAMES = {"mamba_scheduler_strategy": "mamba_radix_cache_strategy"}
"""Argument of an older release -> the newest name for it."""

STATE_FIGURES = (
    "slots",
    "rows",
    "bytes",
    "bytes_per_slot",
    "conv_bytes",
    "ssm_bytes",
    "draft_state_bytes",
    "ring_bytes",
)
KV_FIGURES = (
    "tokens",
    "logical_tokens",
    "bytes",
    "bytes_per_token",
    "draft_bytes_per_token",
    "charged_bytes_per_token",
    "dtype",
)
CONCURRENCY_FIGURES = (
    "requested",
    "effective",
    "sustained",
    "workers",
    "slots_per_request",
)
LIMIT_FIGURES = ("state", "kv", "kv_floor", "request", "heuristic")
SPLIT_SETTINGS = (
    "mamba_full_memory_ratio",
    "max_mamba_cache_size",
    "mem_fraction_static",
    "max_running_requests",
)
"""Settings that must stay for the advice "keep" to be put to the test."""


class Change(Record):
    """A value that differs; the path is that of the JSON object."""

    path: str
    before: ChangeValue
    after: ChangeValue


class ComparisonVerdict(Record):
    """Whether AFTER is the better boot."""

    better: bool | None
    """None: cannot be told.  Equal is not better."""

    gain: int | None
    """Requests more: sustained ones where both are known, else effective ones.

    Per DP worker; for the whole server where the boots differ in workers.
    """

    prediction_met: bool | None
    """Whether AFTER carries what BEFORE's recommendation promised; None: AFTER does
    not run with it, or there was none.
    """

    message: str
    """The verdict in sentences."""


class Comparison(Record):
    """JSON object of ``compare``."""

    before: Advice
    after: Advice
    changes: tuple[Change, ...]
    verdict: ComparisonVerdict


def compare(before: Advice, after: Advice) -> Comparison:
    """Return what differs between two boots, and whether it helped.

    A setting counts as changed only where both logs let it be known.  Sizes count as
    changed where their intervals do not touch, so that rounding is no change.
    Concurrency is compared at one context: that of *after*, else that of *before*.
    """
    changes = (*_setting_changes(before, after), *_figure_changes(before, after))
    return Comparison(before, after, changes, _verdict(before, after))


def _setting_changes(before: Advice, after: Advice) -> Iterator[Change]:
    for name in sorted(before.settings.keys() & after.settings.keys()):
        old, old_origin = before.settings[name]
        new, new_origin = after.settings[name]
        if old_origin is not None and new_origin is not None and old != new:
            yield Change(f"settings.{name}", old, new)


def _figure_changes(before: Advice, after: Advice) -> Iterator[Change]:
    old, new = dict(_figures(before)), dict(_figures(after))
    for path in old | new:
        if _differ(old.get(path), new.get(path)):
            yield Change(path, old.get(path), new.get(path))


def _differ(old: ChangeValue, new: ChangeValue) -> bool:
    if isinstance(old, Measured | Interval) and isinstance(new, Measured | Interval):
        return old.high < new.low or new.high < old.low
    return old != new


def _figures(advice: Advice) -> Iterator[tuple[str, ChangeValue]]:
    """Yield the figures under the paths of the JSON object."""
    boot = advice.boot
    yield "sglang.version_low", boot.releases.low or None
    yield "sglang.version_high", boot.releases.high or None
    yield "model.architecture", boot.architecture
    yield "outcome", boot.outcome
    yield from _pool_figures("state_pool", advice.state_pool, STATE_FIGURES)
    yield from _pool_figures("kv_pool", advice.kv_pool, KV_FIGURES)
    yield from _pool_figures("draft_kv_pool", advice.draft_kv_pool, KV_FIGURES)
    yield "budget_bytes", advice.budget_bytes
    yield "token_equivalent", advice.token_equivalent
    yield "balanced_context", advice.balanced_context
    for name in CONCURRENCY_FIGURES:
        yield f"concurrency.{name}", getattr(advice.concurrency, name)
    for name in LIMIT_FIGURES:
        yield f"concurrency.limits.{name}", getattr(advice.concurrency.limits, name)
    yield "concurrency.binding", advice.concurrency.binding
    yield "workload.avg_context", advice.workload.avg_context


def _pool_figures(
    path: str, pool: StatePoolAdvice | KvPoolAdvice | None, names: tuple[str, ...]
) -> Iterator[tuple[str, ChangeValue]]:
    for name in names:
        yield f"{path}.{name}", None if pool is None else getattr(pool, name)


def _verdict(before: Advice, after: Advice) -> ComparisonVerdict:
    context = after.workload.avg_context or before.workload.avg_context
    whole = before.concurrency.workers != after.concurrency.workers
    old, new = (_carried(advice, context, whole) for advice in (before, after))
    if context is not None and (old is None or new is None):
        context = None
        old, new = (_carried(advice, None, whole) for advice in (before, after))
    gain = None if old is None or new is None else new - old
    met, put_to_test = _prediction(before, after)
    sentences = (_outcome(old, new, gain, context, whole=whole), put_to_test)
    return ComparisonVerdict(
        None if gain is None else gain > 0,
        gain,
        met,
        " ".join(sentence for sentence in sentences if sentence),
    )


def _carried(advice: Advice, context: int | None, whole: bool) -> int | None:
    """Return the requests that a boot carries; a failed one carries none."""
    if advice.boot.outcome == "failed":
        return 0
    effective = advice.concurrency.effective
    if effective is None:
        return None
    factor = advice.concurrency.workers if whole else 1
    if context is None:
        return effective * factor
    if context == advice.workload.avg_context:
        sustained = advice.concurrency.sustained
        return None if sustained is None else sustained * factor
    if advice.kv_pool is None:
        return None
    return min(effective, advice.kv_pool.logical_tokens // context) * factor


def _outcome(
    old: int | None,
    new: int | None,
    gain: int | None,
    context: int | None,
    *,
    whole: bool,
) -> str:
    if gain is None:
        return "The logs do not say enough to compare the concurrency."
    kind = "requests" if context is None else "sustained requests"
    scope = " on the whole server" if whole else ""
    at = "" if context is None else f" at {context:,} tokens each"
    if gain == 0:
        return f"The same {new:,} {kind}{scope}{at}."
    change = f"{abs(gain):,} {'more' if gain > 0 else 'fewer'}"
    return f"From {old:,} to {new:,} {kind}{scope}{at}: {change}."


def _prediction(before: Advice, after: Advice) -> tuple[bool | None, str]:
    """Return whether the prediction was met, and the sentence on it."""
    advised = before.recommendation
    if advised is None:
        return None, ""
    if is_other_model(before, after):
        return None, "AFTER runs another model: the advice is not put to the test."
    if not _runs_with(after, advised.flags, before):
        return None, "AFTER does not run with what was advised for BEFORE."
    if after.boot.outcome == "failed":
        return False, "AFTER failed with the advised flags."
    return _reached(advised.predicted, after, before.workload.avg_context)


def is_other_model(before: Advice, after: Advice) -> bool:
    """Whether the boots are known to run two models: by class, else by name."""
    if False in (before.hybrid, after.hybrid) and before.hybrid != after.hybrid:
        return True
    old, new = before.boot.architecture, after.boot.architecture
    if old is None or new is None:
        old, new = (
            _model_name(advice.settings.get("model_path", (None, None))[0])
            for advice in (before, after)
        )
    return None not in (old, new) and old != new


def _model_name(path: Scalar) -> str | None:
    """Return the last part of a model's path: it may lie elsewhere now."""
    return path.rstrip("/").rpartition("/")[2] if isinstance(path, str) else None


def _runs_with(after: Advice, flags: tuple[str, ...], before: Advice) -> bool:
    """Whether *after* runs with *flags*; without flags: with *before*'s split."""
    wanted: dict[str, Scalar]
    if flags:
        wanted = dict(_parsed(flags))
    else:
        wanted = {
            name: before.settings[name][0]
            for name in SPLIT_SETTINGS
            if name in before.settings
        }
    return all(
        name in after.settings and _same(after.settings[name][0], value)
        for name, value in wanted.items()
    )


def _parsed(flags: tuple[str, ...]) -> Iterator[tuple[str, Scalar]]:
    """Yield setting and value of each flag; one without a value is true."""
    for index, flag in enumerate(flags):
        if not flag.startswith("--"):
            continue
        name, _, glued = flag[2:].partition("=")
        following = flags[index + 1 : index + 2]
        value: Scalar = True
        if glued:
            value = glued
        elif following and not following[0].startswith("--"):
            value = following[0]
        name = name.replace("-", "_")
        yield OLD_NAMES.get(name, name), value


def _same(setting: Scalar, flag: Scalar) -> bool:
    if setting == flag:
        return True
    try:
        return float(str(setting)) == float(str(flag))
    except ValueError:
        return str(setting) == str(flag)


def _reached(
    predicted: Prediction, after: Advice, context: int | None
) -> tuple[bool | None, str]:
    """Compare the promised requests with those carried at the same context."""
    carried = _carried(after, context, whole=False)
    if predicted.concurrency is None or carried is None:
        return None, "The prediction cannot be checked: AFTER states no limit."
    least = predicted.concurrency
    if predicted.concurrency_low is not None:
        least = predicted.concurrency_low
    met = carried >= least
    text = "The prediction was met" if met else "The prediction was not met"
    return met, f"{text}: {_predicted_and_found(predicted, after, carried)}."


def _predicted_and_found(predicted: Prediction, after: Advice, carried: int) -> str:
    state, kv = after.state_pool, after.kv_pool
    figures = (
        ("requests", predicted.concurrency, carried),
        ("slots", predicted.slots, state.slots if state else None),
        ("KV tokens", predicted.kv_tokens, kv.tokens if kv else None),
    )
    return ", ".join(
        f"{found:,} {name}"
        + (" as predicted" if found == promised else f" for {promised:,} predicted")
        for name, promised, found in figures
        if promised is not None and found is not None
    )
