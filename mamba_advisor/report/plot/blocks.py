"""Sections of the report as HTML: the same words as on the screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mamba_advisor.report.plot.markup import Markup, element, join
from mamba_advisor.report.section import (
    Bar,
    Cell,
    Column,
    Drawing,
    Grid,
    Pair,
    Pairs,
    Section,
)


def section_block(section: Section, level: int) -> Markup:
    """Return *section* with its title as a heading of *level*."""
    head = element(f"h{level}", section.title) if section.title else Markup()
    note = join(*(element("p", text, class_="muted") for text in _lines(section.note)))
    return element("section", head, _body(section), note)


def pairs_list(rows: Iterable[Pair]) -> Markup:
    """Return labels and what they introduce; a row without a label goes on."""
    items: list[tuple[Pair, list[Cell]]] = []
    for pair in rows:
        if not pair.label and items:
            items[-1][1].extend(pair.cells)
        else:
            items.append((pair, list(pair.cells)))
    return element(
        "dl",
        *(
            element(
                "div",
                element("dt", pair.label, class_=pair.role),
                element("dd", *(_paragraph(cell) for cell in cells)),
            )
            for pair, cells in items
        ),
        class_="pairs",
    )


def flag(text: str) -> Markup:
    """Return a command line's part with a button that copies it.

    The button is hidden until the script has made it work.
    """
    return element(
        "span",
        element("code", text),
        element("button", "Copy", type="button", class_="copy", hidden=True),
        class_="flag",
    )


def table(
    caption: str,
    columns: Iterable[tuple[str, str | None]],
    rows: Iterable[Iterable[Markup]],
) -> Markup:
    """Return a table that scrolls by itself where it is too wide.

    Args:
        caption: What it shows, to be read aloud.
        columns: Name and class: ``"number"``, ``"folds"`` where words may be broken.
        rows: Cells; the first one of a row is its head.
    """
    named = tuple(columns)
    kinds = [kind for _, kind in named]
    head = element(
        "tr",
        *(element("th", name, scope="col", class_=kind) for name, kind in named),
    )
    body = (
        element(
            "tr",
            *(
                element("td", cell, class_=kind)
                if index
                else element("th", cell, scope="row", class_=kind)
                for index, (cell, kind) in enumerate(zip(row, kinds, strict=True))
            ),
        )
        for row in rows
    )
    return element(
        "div",
        element(
            "table", element("thead", head), element("tbody", *body), aria_label=caption
        ),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def _body(section: Section) -> Markup:
    match section:
        case Pairs():
            return pairs_list(section.rows)
        case Grid():
            caption = section.title or section.columns[0].name
            columns = ((column.name, _kind(column)) for column in section.columns)
            return table(caption, columns, (map(_cell, row) for row in section.rows))
        case Drawing():
            text = "\n".join("".join(c.text for c in line) for line in section.lines)
            return element("pre", text)


def _kind(column: Column) -> str | None:
    if column.right:
        return "number"
    return "folds" if column.folds else None


def _paragraph(cell: Cell) -> Markup:
    return element("div", flag(cell.text) if cell.role == "flag" else _cell(cell))


def _cell(cell: Cell | Bar) -> Markup:
    if isinstance(cell, Bar):
        meter = element("meter", cell.text, value=cell.part, max=cell.whole)
        return join(meter, " ", cell.text)
    if cell.role == "flag":
        return element("code", cell.text)
    if cell.role == "plain":
        return join(cell.text)
    return element("span", cell.text, class_=cell.role)


def _lines(text: str) -> Iterator[str]:
    yield from text.splitlines()
