"""What a picture shows, before it is drawn: numbers and words, no pixels.

The table that stands for a picture where it cannot be seen, and what a pointer reads
off it, are made of the same numbers as the curves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from mamba_advisor.record import Record, replace
from mamba_advisor.report.plot.scale import Axis


class Series(Record):
    """A curve."""

    name: str
    style: str
    """A key of `mamba_advisor.report.plot.palette.STYLES`."""

    values: tuple[float | None, ...]
    """A value for every x of the chart; None leaves a gap."""

    write: Callable[[float], str] = "{:,.0f}".format
    """How a value reads in full."""

    drawn: bool = True
    """False: in the table only."""


class Fill(Record):
    """The area below one curve, down to another or to the axis."""

    name: str
    """In the legend; empty: not there."""

    style: str
    upper: str
    """Name of a series."""

    lower: str | None = None


class Mark(Record):
    """A place on the x axis, drawn as an upright line."""

    x: float
    label: str
    style: str
    y: float | None = None
    """Where a dot sits on the line; None: no dot."""


class Level(Record):
    """A place on the y axis, drawn as a level line."""

    y: float
    label: str
    style: str


class Band(Record):
    """A stretch of the x axis."""

    low: float
    high: float
    label: str
    style: str


class Chart(Record):
    """Curves over one axis."""

    name: str
    """Stable kebab-case word."""

    title: str
    description: str
    """The picture in sentences, for whoever cannot see it."""

    x: Axis
    y: Axis
    xs: tuple[float, ...]
    """Ascending."""

    series: tuple[Series, ...]
    fills: tuple[Fill, ...] = ()
    marks: tuple[Mark, ...] = ()
    levels: tuple[Level, ...] = ()
    bands: tuple[Band, ...] = ()
    note: str = ""

    def values(self, name: str) -> tuple[float | None, ...]:
        """Return the values of the series *name*."""
        return next(one.values for one in self.series if one.name == name)


class Part(Record):
    """A piece of a bar."""

    name: str
    value: float
    style: str


class StackedBar(Record):
    """Pieces one after the other."""

    label: str
    parts: tuple[Part, ...]


class Bars(Record):
    """Stacked bars below one another."""

    name: str
    title: str
    description: str
    x: Axis
    bars: tuple[StackedBar, ...]
    note: str = ""


Picture: TypeAlias = Chart | Bars


class Figure(Record):
    """A number as it is shown, and as it is."""

    text: str
    value: float | None = None
    """None: a word, or no number."""


class Numbers(Record):
    """The numbers behind a picture."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Figure, ...], ...]
    """In charts one for each x, in bars one for each piece."""


def numbers(picture: Picture) -> Numbers:
    """Return the table that says what *picture* shows."""
    if isinstance(picture, Bars):
        return Numbers(
            ("rank", "part", "size"),
            tuple(
                (
                    Figure(bar.label),
                    Figure(part.name),
                    Figure(picture.x.write(part.value), part.value),
                )
                for bar in picture.bars
                for part in bar.parts
            ),
        )
    return Numbers(
        (picture.x.name, *(one.name for one in picture.series)),
        tuple(
            (
                Figure(picture.x.write(x), x),
                *(_figure(one, index) for one in picture.series),
            )
            for index, x in enumerate(picture.xs)
        ),
    )


def sentence(row: tuple[Figure, ...], columns: tuple[str, ...]) -> str:
    """Return one row of numbers in words: ``ratio 0.9, state pool 26``."""
    return ", ".join(
        f"{column} {figure.text}" for column, figure in zip(columns, row, strict=True)
    )


def on_one_scale(pictures: tuple[Picture, ...]) -> tuple[Picture, ...]:
    """Return *pictures* with axes that hold the values of all, to be compared."""
    x = _union([picture.x for picture in pictures])
    shared: list[Picture] = []
    ys = [picture.y for picture in pictures if isinstance(picture, Chart)]
    for picture in pictures:
        if isinstance(picture, Chart):
            shared.append(replace(picture, x=x, y=_union(ys)))
        else:
            shared.append(replace(picture, x=x))
    return tuple(shared)


def _union(axes: list[Axis]) -> Axis:
    return replace(
        axes[0],
        low=min(axis.low for axis in axes),
        high=max(axis.high for axis in axes),
    )


def _figure(one: Series, index: int) -> Figure:
    value = one.values[index]
    return Figure("–") if value is None else Figure(one.write(value), value)
