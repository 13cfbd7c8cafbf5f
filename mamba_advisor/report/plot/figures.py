"""Pictures in a page: drawn for wide and for narrow, and as a table of numbers."""

from __future__ import annotations

from collections.abc import Iterable

from mamba_advisor.report.plot.blocks import table
from mamba_advisor.report.plot.chart import Bars, Figure, Picture, numbers
from mamba_advisor.report.plot.gallery import Row
from mamba_advisor.report.plot.markup import Markup, element, join
from mamba_advisor.report.plot.parts import Look
from mamba_advisor.report.plot.svg import ALONE, BESIDE, HEIGHT, figure

NARROW, LOW = 340, 220
"""Width and height of the curves in pixels, for a phone."""

HINT = "Point at a picture, or use the arrow keys in it, to read its numbers."
"""Hidden until the script has made it true."""


def gallery(rows: Iterable[Row], key: str) -> Markup:
    """Return pictures, two to a line where the page is wide enough.

    Args:
        rows: Pictures side by side; an empty place stays empty.
        key: Start of every id, unique in its document.
    """
    cells = (
        element("div")
        if picture is None
        else _picture(picture, f"{key}-{row}-{place}", alone=len(pictures) == 1)
        for row, pictures in enumerate(rows)
        for place, picture in enumerate(pictures)
    )
    return join(
        element("p", HINT, class_="hint muted", hidden=True),
        element("div", *cells, class_="pictures"),
    )


def _picture(picture: Picture, key: str, *, alone: bool) -> Markup:
    """Return a figure; bars that stand *alone* get the width of the page."""
    spans = alone and isinstance(picture, Bars)
    width = ALONE if spans else BESIDE
    looks = (
        ("wide", Look(width, HEIGHT, f"{key}-wide", heading=False, hints=False)),
        ("narrow", Look(NARROW, LOW, f"{key}-narrow", heading=False, hints=False)),
    )
    return element(
        "figure",
        element("figcaption", picture.title),
        element(
            "div",
            *(figure(picture, look, name) for name, look in looks),
            class_="plot",
            tabindex="0",
            role="group",
            aria_label=f"{picture.title}. Arrow keys read the numbers.",
        ),
        element("output", class_="readout", aria_live="polite"),
        element("details", element("summary", "All numbers"), _table(picture)),
        class_="picture spanning" if spans else "picture",
        data_picture=picture.name,
    )


def _table(picture: Picture) -> Markup:
    found = numbers(picture)
    kinds = [
        "number" if any(row[at].value is not None for row in found.rows) else None
        for at in range(len(found.columns))
    ]
    return table(
        f"{picture.title}: all numbers",
        zip(found.columns, kinds, strict=True),
        (map(_number, row) for row in found.rows),
    )


def _number(figure: Figure) -> Markup:
    if figure.value is None:
        return join(figure.text)
    return element("data", figure.text, value=repr(figure.value))
