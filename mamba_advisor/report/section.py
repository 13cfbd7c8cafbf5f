"""What a report consists of, before it becomes a screen or Markdown.

Sections hold words and numbers as text.  A renderer lays them out; it also makes the
text safe, so that nothing which comes from a log can be forgotten.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from mamba_advisor.record import Record

Role = Literal["plain", "strong", "dim", "flag", "ok", "info", "warning", "problem"]
"""What a text is, for its colour; never the only carrier of a meaning."""


LABEL_WIDTH = 10
"""Columns of the labels, so that texts of all sections stand below each other."""


class Cell(Record):
    """A piece of text."""

    text: str
    role: Role = "plain"


class Bar(Record):
    """A part of a whole, drawn and said: ``26 of 126``."""

    part: int
    whole: int
    role: Role = "plain"

    @property
    def text(self) -> str:
        """The two numbers."""
        return f"{self.part:,} of {self.whole:,}"


class Pair(Record):
    """A short label, and what it introduces: one cell a line."""

    label: str
    cells: tuple[Cell, ...]
    role: Role = "strong"
    """Of the label."""


class Pairs(Record):
    """A list of labels and texts."""

    title: str
    rows: tuple[Pair, ...]
    note: str = ""
    """A line below, such as a legend."""


class Column(Record):
    """A column's head."""

    name: str
    right: bool = False
    """Whether it holds numbers."""

    folds: bool = False
    """Whether it holds names or paths, which may be broken at ``-`` and ``/``."""


class Grid(Record):
    """A table."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell | Bar, ...], ...]
    note: str = ""


class Drawing(Record):
    """A picture made of characters; each line is a run of cells."""

    title: str
    lines: tuple[tuple[Cell, ...], ...]
    note: str = ""


Section: TypeAlias = Pairs | Grid | Drawing
