"""Sections laid out for a terminal, by rich."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from mamba_advisor.report.safe import safe
from mamba_advisor.report.section import (
    LABEL_WIDTH,
    Bar,
    Cell,
    Column,
    Drawing,
    Grid,
    Pair,
    Pairs,
    Role,
    Section,
)

STYLES: dict[Role, str] = {
    "plain": "",
    "strong": "bold",
    "dim": "color(243)",
    "flag": "bold color(29)",
    "ok": "color(29)",
    "info": "color(31)",
    "warning": "bold color(130)",
    "problem": "bold color(196)",
}
"""Role -> style.  Colours come from the fixed part of the 256: a theme shifts the first
sixteen, and its green is often too bright for paper.  These have a contrast of 4
on black as on white; faint text, which some terminals do not know, is grey.
"""

LEAST_WIDTH = 20
STACKED_BELOW = 44
"""Columns below which a label stands above its text."""

LEAST_COLUMN = 16
"""Columns that a name keeps before a table is given up for a list."""

BAR_WIDTHS = (6, 20)
GAP = 2
"""Columns between the columns of a table."""

PIECE = re.compile(r"[^-/ ]+[-/ ]*|[-/ ]+")
"""What of a name or a path stays together: a line may end after ``-`` and ``/``."""

TRAILING = re.compile(r" +((?:\x1b\[[0-9;]*m)*)$", re.MULTILINE)


class Screen:
    """A text that grows by sections."""

    def __init__(self, width: int, *, color: bool, unicode: bool) -> None:
        self.width = max(LEAST_WIDTH, width)
        self._unicode = unicode
        self._empty = True
        self._file = io.StringIO()
        self._console = Console(
            file=self._file,
            width=self.width,
            height=100,
            force_terminal=color,
            color_system="256" if color else None,
            no_color=not color,
            legacy_windows=False,
            force_jupyter=False,
            force_interactive=False,
            markup=False,
            emoji=False,
            highlight=False,
            _environ={},
        )

    def add(self, title: str, sections: Iterable[Section]) -> None:
        """Lay *sections* out below what is there, under a headline if one is given."""
        if title:
            self._gap()
            line = f"── {title} "
            line += "─" * max(0, self.width - cell_len(line))
            self._print(self._text(line, "strong"))
        for section in sections:
            self._gap()
            if section.title:
                self._print(self._text(section.title, "strong"))
            match section:
                case Pairs():
                    self._pairs(section)
                case Grid():
                    self._grid(section)
                case Drawing():
                    for cells in section.lines:
                        self._print(self._run(cells))
            for line in section.note.splitlines():
                self._print(self._text(line, "dim"))

    def text(self) -> str:
        """Return what was laid out, without blanks at the ends of lines."""
        return TRAILING.sub(r"\1", self._file.getvalue())

    def _gap(self) -> None:
        if not self._empty:
            self._file.write("\n")
        self._empty = False

    def _print(self, renderable: RenderableType) -> None:
        self._console.print(renderable, overflow="fold")

    def _text(self, text: str, role: Role) -> Text:
        return Text(safe(text, unicode=self._unicode), STYLES[role], overflow="fold")

    def _run(self, cells: Sequence[Cell], joint: str = "") -> Text:
        joined = Text(joint, overflow="fold").join(
            self._text(cell.text, cell.role) for cell in cells
        )
        joined.overflow = "fold"
        return joined

    def _pairs(self, section: Pairs) -> None:
        if self.width < STACKED_BELOW:
            self._stack((pair.label, pair.role, pair) for pair in section.rows)
            return
        longest = max((cell_len(pair.label) for pair in section.rows), default=0)
        table = Table.grid(padding=0)
        table.add_column(width=max(LABEL_WIDTH, longest + 1), no_wrap=True)
        table.add_column(overflow="fold")
        for pair in section.rows:
            table.add_row(
                self._text(pair.label, pair.role), self._run(pair.cells, "\n")
            )
        self._print(table)

    def _stack(self, rows: Iterable[tuple[str, Role, Pair]]) -> None:
        """Print labels above their texts, which are indented."""
        for label, role, pair in rows:
            if label:
                self._print(self._text(label, role))
            table = Table.grid(padding=0)
            table.add_column(width=GAP)
            table.add_column(overflow="fold")
            table.add_row("", self._run(pair.cells, "\n"))
            self._print(table)

    def _grid(self, grid: Grid) -> None:
        head = grid.columns[0].name
        bar_width = self._bar_width(grid)
        widths = _widths(grid, self.width, bar_width) if grid.rows else None
        if widths is None:
            if not grid.title:
                self._print(self._text(head, "strong"))
            self._stack(
                (row[0].text, "strong", _as_pair(grid, row)) for row in grid.rows
            )
            return
        # rich lays a cell with a margin out twice: where nothing is folded, the gap is
        # a part of the column.
        is_full = sum(widths) + GAP * (len(widths) - 1) >= self.width
        margin, gap = (GAP, 0) if is_full else (0, GAP)
        table = Table(box=None, pad_edge=False, padding=(0, margin, 0, 0))
        shapes = tuple(zip(grid.columns, widths, strict=True))
        for column, width in shapes:
            name = Cell(column.name, "strong")
            table.add_column(
                self._cell(name, column, width),
                width=width + gap,
                overflow="fold",
            )
        for row in grid.rows:
            cells = zip(row, shapes, strict=True)
            table.add_row(
                *(
                    self._bar(cell, bar_width)
                    if isinstance(cell, Bar)
                    else self._cell(cell, column, width)
                    for cell, (column, width) in cells
                )
            )
        self._print(table)

    def _cell(self, cell: Cell, column: Column, width: int) -> Text:
        """Lay out a cell; a name is broken where it may be."""
        text = self._text(cell.text, cell.role)
        if column.folds and text.cell_len > width:
            text.plain = _broken(text.plain, width)
        elif column.right:
            text.pad_left(width - text.cell_len)
        return text

    def _bar(self, cell: Bar, bar_width: int) -> Text:
        filled = 0
        if cell.whole > 0:
            filled = min(bar_width, round(cell.part / cell.whole * bar_width))
        return self._run(
            (
                Cell("█" * filled, cell.role),
                Cell("░" * (bar_width - filled), "dim"),
                Cell(f" {cell.text}"),
            )
        )

    def _bar_width(self, grid: Grid) -> int:
        bars = [cell for row in grid.rows for cell in row if isinstance(cell, Bar)]
        if not bars:
            return 0
        column = self.width // len(grid.columns) - GAP
        room = column - 1 - max(len(bar.text) for bar in bars)
        return min(BAR_WIDTHS[1], max(BAR_WIDTHS[0], room))


def _widths(grid: Grid, room: int, bar_width: int) -> list[int] | None:
    """Return the columns' widths; None where words or numbers would be torn.

    What does not fit is taken from the widest columns.
    """
    room -= GAP * (len(grid.columns) - 1)
    widths, least = [], []
    for index, column in enumerate(grid.columns):
        cells = (Cell(column.name), *(row[index] for row in grid.rows))
        widths.append(max(_extent(cell, bar_width) for cell in cells))
        longest = max(_least_extent(cell, column, bar_width) for cell in cells)
        least.append(min(LEAST_COLUMN, longest) if column.folds else longest)
    if sum(least) > room:
        return None
    while sum(widths) > room:
        shrinkable = [index for index, low in enumerate(least) if widths[index] > low]
        widths[max(shrinkable, key=widths.__getitem__)] -= 1
    return widths


def _extent(cell: Cell | Bar, bar_width: int) -> int:
    """Return the columns that a cell takes on one line."""
    return cell_len(cell.text) + (bar_width + 1 if isinstance(cell, Bar) else 0)


def _least_extent(cell: Cell | Bar, column: Column, bar_width: int) -> int:
    """Return the columns of what must stay on one line: numbers, bars, words."""
    if column.right or isinstance(cell, Bar):
        return _extent(cell, bar_width)
    pieces = PIECE.findall(cell.text) if column.folds else cell.text.split()
    return max((cell_len(piece.rstrip()) for piece in pieces), default=0)


def _broken(text: str, room: int) -> str:
    """Return a name in lines of at most *room* columns, unless a piece is longer."""
    lines = [""]
    for piece in PIECE.findall(text):
        if lines[-1] and cell_len(lines[-1] + piece.rstrip()) > room:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def _as_pair(grid: Grid, row: Sequence[Cell | Bar]) -> Pair:
    """Return a table row as a list of ``head: value``."""
    cells = [
        Cell(f"{column.name}: {cell.text}" if column.name else cell.text, cell.role)
        for column, cell in zip(grid.columns[1:], row[1:], strict=True)
        if cell.text
    ]
    return Pair("", tuple(cells))
