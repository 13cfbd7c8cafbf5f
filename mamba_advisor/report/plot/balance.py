"""Picture 1: what both pools carry over the ratio, and where this boot stands."""

from __future__ import annotations

from collections.abc import Iterator

from mamba_advisor.advice.model import Advice, BalancePoint
from mamba_advisor.report import words
from mamba_advisor.report.plot.chart import Band, Chart, Fill, Mark, Series
from mamba_advisor.report.plot.scale import Axis

STATE, KV, BOTH, LIMIT = "state pool", "KV pool", "both", "request limit"

HEADROOM = 1.45
"""Height of the picture ÷ the best that both pools carry: what either pool carries
alone shows above it."""

SPLITS = frozenset({"keep", "ratio", "pin"})
"""Actions whose prediction lies on the curve: the split changes, and nothing else."""


def balance(advice: Advice) -> Chart | None:
    """Return the picture, None where a curve would have fewer than two points."""
    curves = advice.curves
    points = sorted(
        (point for point in curves.balance if point.ratio > 0),
        key=lambda point: point.ratio,
    )
    best = max((point.sustained or 0 for point in points), default=0)
    if len(points) < 2 or best == 0:  # noqa: PLR2004 -- a line
        return None
    marks = tuple(_marks(advice))
    context = curves.balance_context
    at = f" at {context:,} tokens each" if context is not None else ""
    worker = " of a worker" if advice.concurrency.workers > 1 else ""
    top = HEADROOM * max(best, *(mark.y or 0 for mark in marks), 1)
    return Chart(
        "balance",
        f"Balance: requests{worker} carried{at}",
        _description(points, marks, at),
        Axis(
            "ratio",
            "ratio, state pool : KV pool",
            points[0].ratio,
            points[-1].ratio,
            "log",
            words.decimal,
        ),
        Axis("requests", "requests", 0, top, "count"),
        tuple(point.ratio for point in points),
        tuple(_series(points)),
        fills=(Fill("", "fill-both", BOTH),),
        marks=marks,
        bands=tuple(_bands(advice)),
    )


def _series(points: list[BalancePoint]) -> Iterator[Series]:
    yield Series(STATE, "line-state", tuple(point.state for point in points))
    if any(point.kv is not None for point in points):
        yield Series(KV, "line-kv", tuple(point.kv for point in points))
    yield Series(BOTH, "line-both", tuple(point.sustained for point in points))
    if any(point.limit is not None for point in points):
        yield Series(LIMIT, "line-limit", tuple(point.limit for point in points))


def _marks(advice: Advice) -> Iterator[Mark]:
    curves, advised = advice.curves, advice.recommendation
    known = advice.workload.avg_context is not None
    now, best = curves.ratio_now, curves.ratio_best
    if now is not None and now > 0:
        y = advice.concurrency.sustained if known else None
        name = "planned" if advice.is_plan else "now"
        if best == now:
            name += " and best"
        yield Mark(now, f"{name} {words.decimal(now)}", "now", y)
    if best is not None and best > 0 and best != now:
        y = None
        if known and advised is not None and advised.action in SPLITS:
            y = advised.predicted.concurrency
        yield Mark(best, f"best {words.decimal(best)}", "best", y)


def _bands(advice: Advice) -> Iterator[Band]:
    plateau = advice.recommendation.plateau if advice.recommendation else None
    if plateau is not None and plateau.low < plateau.high:
        yield Band(plateau.low, plateau.high, "within 1 % of the best", "band")


def _description(points: list[BalancePoint], marks: tuple[Mark, ...], at: str) -> str:
    first, last = points[0], points[-1]
    text = (
        f"Over the ratio, from {words.decimal(first.ratio)} to"
        f" {words.decimal(last.ratio)}, the state pool carries {first.state:,} to"
        f" {last.state:,} requests"
    )
    if first.kv is not None and last.kv is not None:
        text += f", the KV pool {first.kv:,} to {last.kv:,}{at}"
    best = max(points, key=lambda point: point.sustained or 0)
    text += (
        f"; both carry most, {best.sustained:,}, near ratio {words.decimal(best.ratio)}"
    )
    for mark in marks:
        carries = "" if mark.y is None else f" carries {mark.y:,.0f}"
        text += f"; {mark.label}{carries}"
    return text + "."
