"""The balance of the two pools over the ratio, drawn with characters."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mamba_advisor.advice.model import Advice, BalancePoint
from mamba_advisor.report import words
from mamba_advisor.report.section import Cell, Drawing, Role

LEAST_WIDTH = 100
"""Columns below which the drawing is left out."""

MOST_WIDTH = 120
HEIGHT = 4
"""Rows of the picture; axis and marks take two more."""

HEADROOM = 1.3
"""Height of the picture ÷ that of the best split: what either pool alone carries
shows above it."""

MARGIN = 9
"""Columns for the numbers on the left, axis included."""

GAP = 2
"""Columns between the words below two marks."""

EIGHTHS = " ▁▂▃▄▅▆▇█"
STATE, KV = "s", "k"

Line = tuple[Cell, ...]


def balance(advice: Advice, width: int) -> Drawing | None:
    """Return the drawing, None where there is nothing to draw or too little room.

    Over the ratio (logarithmic): filled, what both pools carry; the letters, what
    either would carry alone.
    """
    points = sorted(
        (point for point in advice.curves.balance if point.ratio > 0),
        key=lambda point: point.ratio,
    )
    best = max((point.sustained or 0 for point in points), default=0)
    top = math.ceil(best * HEADROOM)
    if width < LEAST_WIDTH or len(points) < 2 or not top:  # noqa: PLR2004 -- a line
        return None
    columns = min(width, MOST_WIDTH) - MARGIN
    drawn = _resample(points, columns)
    at_best = math.ceil(best / top * HEIGHT)
    lines = [
        (_axis(best if level == at_best else None), *_row(drawn, top, level))
        for level in range(HEIGHT, 0, -1)
    ]
    lines.extend(_foot(advice, points, columns))
    context = advice.curves.balance_context
    at = "" if context is None else f" at {context:,} tokens each"
    return Drawing(
        f"Balance: sustained requests{at} over the ratio",
        tuple(lines),
        note=f"filled: both pools carry it; {STATE}: the state pool alone;"
        f" {KV}: the KV pool alone",
    )


def _resample(points: Sequence[BalancePoint], columns: int) -> list[BalancePoint]:
    """Return the nearest point of each column, on a logarithmic axis."""
    drawn, index = [], 0
    for column in range(columns):
        ratio = _ratio_at(points, column, columns)
        while index + 1 < len(points) and points[index + 1].ratio <= ratio:
            index += 1
        follower = points[min(index + 1, len(points) - 1)]
        nearer = ratio * ratio > points[index].ratio * follower.ratio
        drawn.append(follower if nearer else points[index])
    return drawn


def _ratio_at(points: Sequence[BalancePoint], column: int, columns: int) -> float:
    low, high = points[0].ratio, points[-1].ratio
    return low * math.exp(math.log(high / low) * column / max(1, columns - 1))


def _column_of(points: Sequence[BalancePoint], ratio: float, columns: int) -> int:
    low, high = points[0].ratio, points[-1].ratio
    if high <= low or ratio <= low:
        return 0
    place = math.log(ratio / low) / math.log(high / low)
    return min(columns - 1, round(place * (columns - 1)))


def _row(drawn: Sequence[BalancePoint], top: int, level: int) -> Line:
    """Draw one row of the picture; *level* counts from 1 at the bottom."""
    cells = []
    run, role = "", _fill_role(drawn[0])
    for point in drawn:
        if _fill_role(point) != role:
            cells.append(Cell(run, role))
            run, role = "", _fill_role(point)
        run += _sign(point, top, level)
    return (*cells, Cell(run, role))


def _axis(value: int | None) -> Cell:
    return Cell(f"{'' if value is None else f'{value:,}':>7} │", "dim")


def _fill_role(point: BalancePoint) -> Role:
    return "info" if point.kv is None or point.state <= point.kv else "ok"


def _sign(point: BalancePoint, top: int, level: int) -> str:
    def height(value: int) -> float:
        return value / top * HEIGHT

    filled = min(1.0, height(point.sustained or 0) - (level - 1))
    if filled > 0:
        return EIGHTHS[max(1, round(filled * 8))]
    for letter, value in ((STATE, point.state), (KV, point.kv)):
        if value is not None and level - 1 < height(value) <= level:
            return letter
    return " "


def _foot(advice: Advice, points: Sequence[BalancePoint], columns: int) -> list[Line]:
    """Return the axis with today's and the best ratio, and what they are below it."""
    marks: list[tuple[int, Cell]] = []
    ratios: tuple[tuple[str, float | None, Role], ...] = (
        ("best", advice.curves.ratio_best, "ok"),
        ("now", advice.curves.ratio_now, "strong"),
    )
    for name, ratio, role in ratios:
        if ratio is not None and ratio > 0:
            column = _column_of(points, ratio, columns)
            marks.append((column, Cell(f"{name} {words.decimal(ratio)}", role)))
    marks.sort(key=lambda mark: mark[0])
    axis = [Cell(f"{0:>7} └", "dim")]
    drawn = 0
    for column, label in marks:
        if column >= drawn:
            axis += [Cell("─" * (column - drawn), "dim"), Cell("▲", label.role)]
            drawn = column + 1
    axis.append(Cell("─" * (columns - drawn), "dim"))
    labels, written = [Cell(" " * MARGIN)], 0
    for start, label in _apart(marks, columns):
        labels += [Cell(" " * (start - written)), label]
        written = start + len(label.text)
    return [tuple(axis), tuple(labels)] if marks else [tuple(axis)]


def _apart(marks: Sequence[tuple[int, Cell]], columns: int) -> list[tuple[int, Cell]]:
    """Return *marks* moved as far as it takes for all to be read."""
    moved: list[tuple[int, Cell]] = []
    first = 0
    for column, label in marks:
        start = max(column, first)
        first = start + len(label.text) + GAP
        moved.append((start, label))
    last = columns
    for index in reversed(range(len(moved))):
        start, label = moved[index]
        moved[index] = min(start, last - len(label.text)), label
        last = moved[index][0] - GAP
    return moved
