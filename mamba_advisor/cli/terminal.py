"""What the terminal can show: its width, and whether colour is wanted."""

from __future__ import annotations

import os

NARROWEST = 20
"""Columns below which nothing is laid out any more."""

DEFAULT_WIDTH = 80
"""Columns where there is no terminal and ``COLUMNS`` is not set."""


def width(descriptor: int = 1) -> int:
    """Return the columns of what *descriptor* writes to: ``COLUMNS`` wins."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns[:6]) > 0:
        return max(int(columns[:6]), NARROWEST)
    try:
        # A terminal that does not know its size says 0.
        return max(os.get_terminal_size(descriptor).columns or DEFAULT_WIDTH, NARROWEST)
    except OSError:
        return DEFAULT_WIDTH


def wants_color(option: str, descriptor: int = 1) -> bool:
    """Return whether to colour what goes to *descriptor*.

    Args:
        option: ``--color``: ``always``, ``never``, or ``auto``.  Then ``NO_COLOR``
            and ``TERM=dumb`` forbid it, ``FORCE_COLOR`` asks for it, and otherwise
            a terminal gets it.
        descriptor: Where the text goes.
    """
    if option != "auto":
        return option == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    try:
        return os.isatty(descriptor) and os.environ.get("TERM") != "dumb"
    except OSError:
        return False
