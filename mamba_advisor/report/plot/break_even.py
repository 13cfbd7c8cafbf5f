"""Picture 2: today's split against the best one, over the average context."""

from __future__ import annotations

from collections.abc import Iterator

from mamba_advisor.advice.model import Advice, BreakEvenPoint
from mamba_advisor.report import words
from mamba_advisor.report.plot.chart import Chart, Fill, Mark, Series
from mamba_advisor.report.plot.scale import Axis

BEST, LOST = "best split", "lost"


def break_even(advice: Advice) -> Chart | None:
    """Return the picture, None where a curve would have fewer than two points.

    Both axes are logarithmic: the height between the curves is the share that is
    lost, whatever the context.
    """
    points = sorted(
        (point for point in advice.curves.break_even if point.avg_context > 0),
        key=lambda point: point.avg_context,
    )
    carried = [
        value
        for point in points
        for value in (point.today, point.best)
        if value is not None and value > 0
    ]
    if len(points) < 2 or not carried:  # noqa: PLR2004 -- a line
        return None
    worker = " of a worker" if advice.concurrency.workers > 1 else ""
    marks = tuple(_marks(advice, points[0].avg_context, points[-1].avg_context))
    return Chart(
        "break-even",
        f"Break-even: requests{worker} by average context",
        _description(_given(advice), points, marks),
        Axis(
            "tokens each",
            "average context, tokens",
            points[0].avg_context,
            points[-1].avg_context,
            "binary",
        ),
        Axis(
            "requests",
            "sustained requests",
            *_ends(carried),
            "log",
        ),
        tuple(point.avg_context for point in points),
        (
            Series(_given(advice), "line-now", tuple(point.today for point in points)),
            Series(BEST, "line-best", tuple(point.best for point in points)),
        ),
        fills=(Fill(LOST, "fill-lost", BEST, _given(advice)),),
        marks=marks,
    )


def _ends(carried: list[int]) -> tuple[float, float]:
    """Return the ends of the axis: some room below the least and above the most."""
    return max(0.7, min(carried) / 2), max(carried) * 1.5


def _marks(advice: Advice, first: int, last: int) -> Iterator[Mark]:
    context, even = advice.workload.avg_context, advice.balanced_context
    if context is not None and first <= context <= last:
        origin = "measured" if advice.workload.origin == "measured" else "workload"
        yield Mark(
            context, f"{origin} {context:,}", "plain", advice.concurrency.sustained
        )
    if even is not None and first <= even <= last:
        yield Mark(even, f"{_given(advice)} is right for {even:,}", "now")


def _given(advice: Advice) -> str:
    """Return what the split is called that is held against the best one."""
    return "planned split" if advice.is_plan else "today's split"


def _description(
    given: str, points: list[BreakEvenPoint], marks: tuple[Mark, ...]
) -> str:
    worst = max(points, key=lambda point: (point.best or 0) / (point.today or 0.5))
    text = (
        f"Average contexts from {points[0].avg_context:,} to"
        f" {points[-1].avg_context:,} tokens. Most is lost at {worst.avg_context:,}:"
        f" {given} carries {words.count(worst.today)} requests,"
        f" {BEST} {words.count(worst.best)}"
    )
    for mark in marks:
        text += f"; {mark.label} tokens"
    return text + "."
