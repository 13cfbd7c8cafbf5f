"""Sections as Markdown, to paste into a ticket."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from mamba_advisor.report.safe import safe
from mamba_advisor.report.section import (
    Bar,
    Cell,
    Drawing,
    Grid,
    Pairs,
    Role,
    Section,
)

SPECIAL = re.compile(r"[\\`*\[\]|~]|(?<![^\W_])_|_(?![^\W_])")
"""What Markdown would obey inside a line.  An underscore between letters stands."""

MARKUP = re.compile(r"[&<>]|@(?=\w)|#(?=\d)")
"""What HTML would obey, or a forge as a mention or a reference."""

BOLD: frozenset[Role] = frozenset({"strong", "problem", "warning"})
"""Roles that are set in bold."""


def render_pages(
    pages: Iterable[tuple[str, Sequence[Section]]], *, unicode: bool = True
) -> str:
    """Return *pages* as Markdown; text that would be markup is escaped.

    Args:
        pages: Headline, empty for none, and sections of each page.
        unicode: Whether more than ASCII may be used.
    """
    blocks: list[str] = []
    for title, sections in pages:
        if title:
            blocks.append(f"## {escape(title, unicode=unicode)}")
        for section in sections:
            blocks.extend(_blocks(section, unicode))
    return "\n\n".join(blocks) + "\n"


def escape(text: str, *, unicode: bool = True) -> str:
    """Return *text* so that Markdown shows it as it is, on one line."""
    escaped = SPECIAL.sub(r"\\\g<0>", safe(text, unicode=unicode))
    return MARKUP.sub(lambda found: f"&#{ord(found[0])};", escaped)


def _blocks(section: Section, unicode: bool) -> Iterable[str]:
    if section.title:
        yield f"### {escape(section.title, unicode=unicode)}"
    match section:
        case Pairs():
            yield _pairs(section, unicode)
        case Grid() if not section.rows:
            yield f"**{escape(section.columns[0].name, unicode=unicode)}**"
        case Grid():
            yield _grid(section, unicode)
        case Drawing():
            lines = ("".join(cell.text for cell in line) for line in section.lines)
            body = "\n".join(safe(line, unicode=unicode) for line in lines)
            yield f"```text\n{body}\n```"
    for line in section.note.splitlines():
        yield escape(line, unicode=unicode)


def _pairs(section: Pairs, unicode: bool) -> str:
    """Return a list; what stands below a label becomes lines of its item."""
    lines = []
    for pair in section.rows:
        cells = [_cell(cell, unicode) for cell in pair.cells]
        label = f"**{escape(pair.label, unicode=unicode)}** " if pair.label else ""
        lines.append(f"- {label}" + "<br>".join(cells))
    return "\n".join(lines)


def _grid(grid: Grid, unicode: bool) -> str:
    rows = [
        [escape(column.name, unicode=unicode) for column in grid.columns],
        ["---:" if column.right else "---" for column in grid.columns],
        *([_cell(cell, unicode, "\\|") for cell in row] for row in grid.rows),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(cell: Cell | Bar, unicode: bool, pipe: str = "|") -> str:
    if cell.role == "flag":
        return _code(safe(cell.text, unicode=unicode)).replace("|", pipe)
    text = escape(cell.text, unicode=unicode)
    return f"**{text}**" if text and cell.role in BOLD else text


def _code(text: str) -> str:
    """Return *text* as code, whatever backticks it holds."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    blank = " " if longest else ""
    return f"{fence}{blank}{text}{blank}{fence}"
