"""Picture 4: what a run has shown over time, where there is one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from mamba_advisor.advice.model import Advice
from mamba_advisor.report import words
from mamba_advisor.report.plot.chart import Chart, Level, Series
from mamba_advisor.report.plot.scale import Axis, duration
from mamba_advisor.runtime.model import Bucket

RUNNING, QUEUED = "running", "queued"
STATE, KV = "state pool", "KV pool"

ROOM = 1.5
"""Height of a limit ÷ what the run reached, above which it is left out."""


def run(advice: Advice) -> Iterator[Chart]:
    """Yield two pictures: how full the pools were, and the requests."""
    evidence = advice.boot.runtime
    slices = evidence.timeline if evidence is not None else ()
    if len(slices) < 2:  # noqa: PLR2004 -- a line
        return
    xs, axis = _times(slices)
    usage = _usage(slices)
    if usage:
        yield Chart(
            "run-usage",
            "The run: how full the pools were",
            _description("Over the run", usage, "full"),
            axis,
            Axis("used", "used", 0, 1.08, "linear", words.share),
            xs,
            usage,
            levels=(Level(1.0, "full", "limit"),),
        )
    requests = (
        Series(RUNNING, "line-best", tuple(s.running for s in slices), _count),
        Series(QUEUED, "line-queued", tuple(s.queued for s in slices), _count),
    )
    top = max(1.0, *(max(one.running, one.queued) for one in slices))
    levels = tuple(_limits(advice, top))
    top = max(top, *(level.y for level in levels), 0)
    yield Chart(
        "run-requests",
        "The run: requests" + (" of a worker" * (advice.concurrency.workers > 1)),
        _description("Over the run", requests, "requests"),
        axis,
        Axis("requests", "requests", 0, top * 1.1, "count"),
        xs,
        requests,
        levels=levels,
    )


def _usage(slices: Sequence[Bucket]) -> tuple[Series, ...]:
    found = (
        Series(STATE, "line-state", tuple(s.state_usage for s in slices), words.share),
        Series(KV, "line-kv", tuple(s.kv_usage for s in slices), words.share),
    )
    return tuple(one for one in found if any(value is not None for value in one.values))


def _limits(advice: Advice, seen: float) -> Iterator[Level]:
    """Yield the limit in force, and the KV pool's where the picture has room for it."""
    effective, kv = advice.concurrency.effective, advice.concurrency.limits.kv
    if effective is not None:
        yield Level(effective, f"limit in force {effective:,}", "limit")
    if kv is not None and kv != effective and kv <= ROOM * max(seen, effective or 0):
        context = advice.workload.avg_context
        yield Level(kv, f"the KV pool carries {kv:,} at {context:,} tokens", "kv")


def _times(slices: Sequence[Bucket]) -> tuple[tuple[float, ...], Axis]:
    """Return seconds since the first slice; without times, its number."""
    try:
        stamps = [datetime.fromisoformat(one.stamp) for one in slices]
        seconds = tuple((stamp - stamps[0]).total_seconds() for stamp in stamps)
    except (ValueError, TypeError):
        # TypeError: stamps with a zone among others without one.
        seconds = ()
    if seconds and list(seconds) == sorted(set(seconds)):
        title = f"time since {slices[0].stamp}"
        return seconds, Axis("time", title, 0, seconds[-1], "time", duration)
    count = len(slices)
    return tuple(map(float, range(1, count + 1))), Axis(
        "slice", "slice of the run", 1, count, "count"
    )


def _count(value: float) -> str:
    return f"{value:,.1f}"


def _description(start: str, series: Sequence[Series], unit: str) -> str:
    parts = []
    for one in series:
        known = [value for value in one.values if value is not None]
        mean = sum(known) / len(known)
        parts.append(
            f"{one.name} {one.write(min(known))} to {one.write(max(known))} {unit},"
            f" {one.write(mean)} in the mean"
        )
    return f"{start}: {'; '.join(parts)}."
