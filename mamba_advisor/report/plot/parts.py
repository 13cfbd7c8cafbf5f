"""The pieces that pictures are made of: texts, lines, legends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mamba_advisor.record import Record, field
from mamba_advisor.report.plot.markup import Markup, element, join, number
from mamba_advisor.report.plot.palette import attributes
from mamba_advisor.report.plot.scale import text_width

LEGEND_SIZE = 12
LEGEND_LINE = 20
SWATCH = 22
NOTE_LINE = 17


class Look(Record):
    """How a picture is to be drawn."""

    width: int
    """In pixels."""

    height: int
    """Of the curves alone, in pixels."""

    key: str
    """Start of every id in the picture, unique in its document."""

    heading: bool = True
    """Whether the title stands in the picture."""

    live: bool = True
    """Whether a pointer can find the numbers."""

    hints: bool = True
    """Whether the viewer is to show them: a page has a place of its own for that."""


class Canvas(Record, frozen=False):
    """What has been drawn so far, from top to bottom."""

    look: Look
    y: float = 0
    """Where the next piece begins."""

    drawn: list[Markup] = field(default_factory=list)

    def add(self, *pieces: Markup) -> None:
        """Draw *pieces*; what they take of the height is for the caller to add."""
        self.drawn.extend(pieces)

    def heading(self, title: str) -> None:
        """Draw the title, on as many lines as it takes."""
        if self.look.heading:
            for line in wrapped(title, self.look.width, 16):
                self.y += 20
                self.add(text("heading", 0, self.y, line))
            self.y += 4

    def legend(self, entries: Iterable[tuple[str, str]]) -> None:
        """Draw the legend: name and style of each entry."""
        x, self.y = 0.0, self.y + LEGEND_LINE
        pieces: list[Markup] = []
        for name, style in entries:
            room = SWATCH + 6 + text_width(name, LEGEND_SIZE) + 14
            if x and x + room > self.look.width:
                x, self.y = 0.0, self.y + LEGEND_LINE
            pieces += [
                swatch(style, x, self.y - 4),
                text("label", x + SWATCH + 6, self.y, name),
            ]
            x += room
        self.add(element("g", *pieces, class_="legend"))
        self.y += 8

    def note(self, sentences: str) -> None:
        """Draw a remark below everything else."""
        for line in wrapped(sentences, self.look.width, LEGEND_SIZE):
            self.y += NOTE_LINE
            self.add(text("note", 0, self.y, line))


def text(
    style: str, x: float, y: float, words: str, anchor: str | None = None
) -> Markup:
    """Return a line of text whose base line is at *y*."""
    return element("text", words, x=x, y=y, text_anchor=anchor, **attributes(style))


def line(style: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    """Return a straight line."""
    d = f"M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}"
    return element("path", d=d, **attributes(style))


def box(style: str, x: float, y: float, width: float, height: float) -> Markup:
    """Return a filled rectangle."""
    return element("rect", x=x, y=y, width=width, height=height, **attributes(style))


def swatch(style: str, x: float, y: float) -> Markup:
    """Return the sign of a legend: a line for lines, a box for areas."""
    if style.startswith(("line-", "mark-")):
        return line(style, x, y, x + SWATCH, y)
    return box(style, x + 3, y - 6, SWATCH - 6, 12)


def path(points: Sequence[tuple[float, float] | None]) -> str:
    """Return the ``d`` of a line through *points*, broken where one is None."""
    commands, pen = [], "M"
    for point in points:
        if point is None:
            pen = "M"
            continue
        commands.append(f"{pen}{number(point[0])} {number(point[1])}")
        pen = "L"
    return "".join(commands)


def area(
    upper: Sequence[tuple[float, float]], lower: Sequence[tuple[float, float]]
) -> str:
    """Return the ``d`` of what lies between two lines."""
    return path([*upper, *reversed(lower)]) + "Z" if upper else ""


def wrapped(sentences: str, width: float, size: float) -> Iterator[str]:
    """Yield *sentences* in lines that fit *width* pixels."""
    so_far = ""
    for word in sentences.split():
        longer = f"{so_far} {word}".lstrip()
        if so_far and text_width(longer, size) > width:
            yield so_far
            longer = word
        so_far = longer
    if so_far:
        yield so_far


def spot(row: int, title: str, hit: Markup, *shown: Markup) -> Markup:
    """Return a place that a pointer can find, and what then appears.

    Args:
        row: Row of `mamba_advisor.report.plot.chart.Numbers` that it stands for.
        title: The row in words, for the viewer to show; empty: none.
        hit: The place.
        shown: What appears.
    """
    hint = element("title", title) if title else Markup()
    marks = element("g", *shown, class_="shown", opacity=0) if shown else Markup()
    return element("g", hint, join(marks, hit), class_="spot", data_row=str(row))
