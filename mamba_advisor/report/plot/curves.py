"""Charts drawn: axes, curves, marks."""

from __future__ import annotations

from collections.abc import Iterator

from mamba_advisor.record import Record
from mamba_advisor.report.plot.chart import Chart, Fill, Mark, Series, numbers, sentence
from mamba_advisor.report.plot.markup import Markup, element
from mamba_advisor.report.plot.palette import attributes
from mamba_advisor.report.plot.parts import (
    Canvas,
    Look,
    area,
    box,
    line,
    path,
    spot,
    text,
)
from mamba_advisor.report.plot.scale import TICK_SIZE, text_width

Point = tuple[float, float]

FARTHEST = 40.0
"""Heights of the picture up to which a point outside is placed where it belongs."""

LABEL_SIZE = 12
MARK_LINE = 16


class Field(Record):
    """The rectangle of the curves, in pixels, and the chart that it shows."""

    chart: Chart
    left: float
    top: float
    width: float
    height: float

    @property
    def bottom(self) -> float:
        """Where the x axis runs."""
        return self.top + self.height

    def x(self, value: float) -> float:
        """Return where *value* of the x axis lies."""
        return self.left + self.chart.x.place(value) * self.width

    def y(self, value: float) -> float:
        """Return where *value* of the y axis lies."""
        place = min(max(self.chart.y.place(value), -1), FARTHEST)
        return self.bottom - place * self.height

    def shows(self, value: float | None) -> bool:
        """Whether *value* of the y axis lies inside."""
        return value is not None and 0 <= self.chart.y.place(value) <= 1

    def points(self, values: tuple[float | None, ...]) -> list[Point | None]:
        """Return the places of a series, None for its gaps."""
        return [
            None if value is None else (self.x(x), self.y(value))
            for x, value in zip(self.chart.xs, values, strict=True)
        ]


def draw_chart(chart: Chart, look: Look) -> Canvas:
    """Return *chart* as drawn."""
    canvas = Canvas(look)
    canvas.heading(chart.title)
    canvas.legend(_entries(chart))
    ticks = chart.y.ticks(look.height, upright=True)
    left = max((text_width(label, TICK_SIZE) for _, label in ticks), default=0) + 8
    field = Field(chart, left, 0, look.width - left - 10, look.height)
    rows = _mark_rows(field)
    canvas.add(text("tick", 0, canvas.y + MARK_LINE - 4, chart.y.title))
    canvas.y += MARK_LINE * (1 + max((row for row, _, _ in rows), default=-1) + 1)
    field = Field(chart, left, canvas.y, field.width, look.height)
    clip = f"{look.key}-clip"
    canvas.add(
        element(
            "clipPath",
            element(
                "rect", x=left, y=field.top, width=field.width, height=field.height
            ),
            id=clip,
        ),
        element("g", *_axes(field, ticks), class_="axes"),
        element("g", *_inside(field), class_="curves", clip_path=f"url(#{clip})"),
        element("g", *_marks(field, rows), class_="marks"),
    )
    if look.live:
        spots = _spots(field, hints=look.hints)
        canvas.add(element("g", *spots, class_="spots", fill_opacity=0))
    canvas.y = field.bottom + 36
    canvas.note(chart.note)
    canvas.y += 8
    return canvas


def _entries(chart: Chart) -> Iterator[tuple[str, str]]:
    for one in chart.series:
        if one.drawn:
            yield one.name + _above(chart, one), one.style
    for fill in chart.fills:
        if fill.name:
            yield fill.name, fill.style
    for level in chart.levels:
        yield level.label, f"line-{level.style}"
    for band in chart.bands:
        yield band.label, band.style


def _above(chart: Chart, one: Series) -> str:
    """Say of a curve that lies above the picture, and so is not seen, where it is."""
    known = [value for value in one.values if value is not None]
    if not known or min(known) <= chart.y.high:
        return ""
    ends = dict.fromkeys((one.write(min(known)), one.write(max(known))))
    return f" ({' to '.join(ends)}, above the picture)"


def _axes(field: Field, ticks: list[tuple[float, str]]) -> Iterator[Markup]:
    chart, right = field.chart, field.left + field.width
    for value, label in ticks:
        y = field.y(value)
        yield line("grid", field.left, y, right, y)
        yield text("tick", field.left - 6, y + 4, label, "end")
    for value, label in chart.x.ticks(field.width):
        x = field.x(value)
        yield line("axis", x, field.bottom, x, field.bottom + 4)
        yield text("tick", x, field.bottom + 17, label, _anchor(field, x, label))
    yield line("axis", field.left, field.bottom, right, field.bottom)
    yield text("tick", right, field.bottom + 33, chart.x.title, "end")


def _anchor(field: Field, x: float, label: str, size: float = TICK_SIZE) -> str:
    """Return how a label is hung up at *x* so that it stays inside."""
    half = text_width(label, size) / 2
    if x + half > field.left + field.width + 10:
        return "end"
    return "start" if x - half < 0 else "middle"


def _inside(field: Field) -> Iterator[Markup]:
    """Yield what is cut off at the edges: bands, areas, curves, levels."""
    chart = field.chart
    for band in chart.bands:
        left, right = field.x(band.low), field.x(band.high)
        yield box(band.style, left, field.top, max(2, right - left), field.height)
    for fill in chart.fills:
        yield element("path", d=_filled(field, fill), **attributes(fill.style))
    for level in chart.levels:
        y = field.y(level.y)
        yield line(f"line-{level.style}", field.left, y, field.left + field.width, y)
    for one in chart.series:
        if one.drawn:
            yield element(
                "path",
                d=path(field.points(one.values)),
                data_series=one.name,
                stroke_linejoin="round",
                **attributes(one.style),
            )


def _filled(field: Field, fill: Fill) -> str:
    upper = field.points(field.chart.values(fill.upper))
    if fill.lower is None:
        known = [point for point in upper if point is not None]
        return area(known, [(x, field.bottom) for x, _ in known])
    lower = field.points(field.chart.values(fill.lower))
    both = [
        (above, below)
        for above, below in zip(upper, lower, strict=True)
        if above is not None and below is not None
    ]
    return area([above for above, _ in both], [below for _, below in both])


def _mark_rows(field: Field) -> list[tuple[int, float, Mark]]:
    """Return line and left end of every mark's label, so that none hides another."""
    placed: list[tuple[int, float, Mark]] = []
    ends: list[float] = [text_width(field.chart.y.title, TICK_SIZE)]
    for mark in sorted(field.chart.marks, key=lambda mark: mark.x):
        width = text_width(mark.label, LABEL_SIZE)
        right = field.left + field.width + 10
        start = max(0.0, min(field.x(mark.x) - width / 2, right - width))
        row = next((r for r, end in enumerate(ends) if start >= end + 8), len(ends))
        ends[row : row + 1] = [start + width]
        placed.append((row, start, mark))
    return placed


def _marks(field: Field, rows: list[tuple[int, float, Mark]]) -> Iterator[Markup]:
    """Yield the lines, then the labels: no line runs through a label."""
    last = max((row for row, _, _ in rows), default=0)
    tops = [field.top - (last - row) * MARK_LINE - 5 for row, _, _ in rows]
    for (_, _, mark), top in zip(rows, tops, strict=True):
        x = field.x(mark.x)
        yield line(f"mark-{mark.style}", x, top + 4, x, field.bottom)
    for (_, start, mark), top in zip(rows, tops, strict=True):
        x = field.x(mark.x)
        yield text("halo", start, top, mark.label)
        if mark.y is not None and field.shows(mark.y):
            yield _dot(f"dot-{mark.style}", x, field.y(mark.y))


def _dot(style: str, x: float, y: float) -> Markup:
    return element("circle", cx=x, cy=y, r=5, **attributes(style))


def _spots(field: Field, *, hints: bool) -> Iterator[Markup]:
    """Yield an upright stripe for every x: what a pointer finds.

    Only a viewer that knows CSS shows them, so that a class is all that they need.
    """
    chart = field.chart
    table = numbers(chart)
    places = [field.x(x) for x in chart.xs]
    for index, x in enumerate(places):
        left = (places[index - 1] + x) / 2 if index else field.left
        last = index + 1 == len(places)
        right = field.left + field.width if last else (places[index + 1] + x) / 2
        yield spot(
            index,
            sentence(table.rows[index], table.columns) if hints else "",
            element(
                "rect",
                x=left,
                y=field.top,
                width=max(0, right - left),
                height=field.height,
            ),
            element(
                "path",
                d=path([(x, field.top), (x, field.bottom)]),
                class_="mark-plain",
            ),
            *_readings(field, chart.series, index, x),
        )


def _readings(
    field: Field, series: tuple[Series, ...], index: int, x: float
) -> Iterator[Markup]:
    for one in series:
        value = one.values[index]
        if one.drawn and value is not None and field.shows(value):
            style = one.style.replace("line-", "dot-", 1)
            yield element("circle", cx=x, cy=field.y(value), r=3.5, class_=style)
