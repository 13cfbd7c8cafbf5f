"""Pictures as SVG, written by hand.

A plotting library would bring a hundred times the code, colours that know no dark
theme, and nothing to read aloud or to point at.  Five kinds of pieces (texts, lines,
areas, boxes, dots) and two kinds of axes are all that these pictures need.
"""

from __future__ import annotations

from collections.abc import Sequence

from mamba_advisor.report.plot.bars import draw_bars
from mamba_advisor.report.plot.chart import Bars, Picture
from mamba_advisor.report.plot.curves import draw_chart
from mamba_advisor.report.plot.gallery import Block
from mamba_advisor.report.plot.markup import Markup, element
from mamba_advisor.report.plot.palette import SANS, attributes, dark_rules, light_rules
from mamba_advisor.report.plot.parts import Canvas, Look, text, wrapped

NAMESPACE = "http://www.w3.org/2000/svg"

ALONE, BESIDE = 760, 560
"""Widths in pixels: of a picture on its own, of one of two."""

HEIGHT = 250
MARGIN = 24
BETWEEN = 40

POINTED = ".shown{fill-opacity:1}.spot:hover .shown,.spot.on .shown{opacity:1}"
"""What a pointer brings out."""


def draw(picture: Picture, look: Look) -> Canvas:
    """Return *picture* as drawn."""
    if isinstance(picture, Bars):
        return draw_bars(picture, look)
    return draw_chart(picture, look)


def figure(picture: Picture, look: Look, class_: str) -> Markup:
    """Return *picture* as an SVG element for a page that brings `style_sheet`."""
    canvas = draw(picture, look)
    title, description = f"{look.key}-title", f"{look.key}-description"
    return element(
        "svg",
        element("title", picture.title, id=title),
        element("desc", picture.description, id=description),
        *canvas.drawn,
        class_=class_,
        viewBox=f"0 0 {look.width} {canvas.y:.0f}",
        role="img",
        aria_labelledby=title,
        aria_describedby=description,
        font_family=SANS,
    )


def style_sheet() -> str:
    """Return the CSS of the pictures: what pointing does, and the dark theme."""
    return POINTED + light_rules() + dark_rules()


def sheet(blocks: Sequence[Block], *, live: bool = True) -> tuple[Markup, int]:
    """Return all *blocks* in one SVG document, and its height in pixels.

    Args:
        blocks: At least one.
        live: Whether it is for a viewer that knows CSS and pointers.
    """
    columns = max((len(row) for block in blocks for row in block.rows), default=1)
    each = ALONE if columns == 1 else BESIDE
    width = columns * each + (columns - 1) * BETWEEN
    page = Canvas(Look(width, HEIGHT, "sheet"), MARGIN)
    for number, block in enumerate(blocks, start=1):
        _draw_block(page, block, f"b{number}", each, live=live)
    outer, height = width + 2 * MARGIN, round(page.y + MARGIN)
    whole = element(
        "svg",
        element("title", "; ".join(block.title for block in blocks), id="title"),
        element("desc", _description(blocks), id="description"),
        element("style", Markup(style_sheet())) if live else Markup(),
        element("rect", width="100%", height="100%", **attributes("sheet")),
        element("g", *page.drawn, transform=f"translate({MARGIN} 0)"),
        xmlns=NAMESPACE,
        width=outer,
        height=height,
        viewBox=f"0 0 {outer} {height}",
        role="img",
        aria_labelledby="title",
        aria_describedby="description",
        font_family=SANS,
    )
    return whole, height


def _draw_block(page: Canvas, block: Block, key: str, each: int, *, live: bool) -> None:
    page.heading(block.title)
    for sentence in block.sentences:
        for line in wrapped(sentence, page.look.width, 12):
            page.y += 18
            page.add(text("label", 0, page.y, line))
    page.y += 18
    for index, row in enumerate(block.rows):
        top, bottom = page.y, page.y
        for column, picture in enumerate(row):
            if picture is None:
                continue
            look = Look(each, HEIGHT, f"{key}-{index}-{column}", live=live)
            canvas = draw(picture, look)
            place = f"translate({column * (each + BETWEEN)} {top:.0f})"
            page.add(
                element("g", *canvas.drawn, transform=place, data_picture=picture.name)
            )
            bottom = max(bottom, top + canvas.y)
        page.y = bottom + 22


def _description(blocks: Sequence[Block]) -> str:
    return " ".join(
        f"{picture.title}: {picture.description}"
        for block in blocks
        for row in block.rows
        for picture in row
        if picture is not None
    )
