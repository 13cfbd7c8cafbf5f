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
HEIGHT = 7
HEADROOM = 1.3
"""Height of the picture ÷ that of the best split: what either pool alone carries
shows above it."""

MARGIN = 9
"""Columns for the numbers on the left, axis included."""

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
    lines.append((Cell(f"{0:>7} ", "dim"), Cell("└" + "─" * columns, "dim")))
    lines.extend(_marks(advice, points, columns))
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


def _marks(advice: Advice, points: Sequence[BalancePoint], columns: int) -> list[Line]:
    """Return the lines that say where today's and the best ratio are."""
    ratios: tuple[tuple[str, float | None, Role], ...] = (
        ("best", advice.curves.ratio_best, "ok"),
        ("now", advice.curves.ratio_now, "strong"),
    )
    marks: list[tuple[int, str, Role]] = []
    for name, ratio, role in ratios:
        if ratio is not None and ratio > 0:
            column = _column_of(points, ratio, columns)
            text = f"▲ {name} {words.decimal(ratio)}"
            if column + len(text) > columns:
                text = f"{name} {words.decimal(ratio)} ▲"
                column = max(0, column + 1 - len(text))
            marks.append((MARGIN + column, text, role))
    marks.sort()
    lines: list[Line] = []
    end = 0
    cells: list[Cell] = []
    for start, text, role in marks:
        if start < end + 2 and cells:
            lines.append(tuple(cells))
            end, cells = 0, []
        cells += [Cell(" " * (start - end)), Cell(text, role)]
        end = start + len(text)
    if cells:
        lines.append(tuple(cells))
    return lines
