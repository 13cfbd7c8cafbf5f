"""JSON on stdout, boot by boot: thousands of logs need not be held in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from mamba_advisor.advice.model import Advice


class Documents:
    """Writes an object for one boot, and an array for any other number of them."""

    def __init__(self) -> None:
        self._count = 0
        self._first: Advice | str | None = None

    def add(self, document: Advice | str) -> None:
        """Write the object of the next boot, or keep it while it may be the only one.

        Args:
            document: The advice on the boot, or its object on a line.
        """
        self._count += 1
        if self._count == 1:
            self._first = document
            return
        if self._first is not None:
            click.echo(f"[\n{_line(self._first)}", nl=False)
            self._first = None
        click.echo(f",\n{_line(document)}", nl=False)

    def close(self) -> None:
        """Write what is left: the only object, or the end of the array."""
        from mamba_advisor.report import render

        first = self._first
        if first is None:
            click.echo("\n]" if self._count else "[]")
            return
        text = f"{first}\n" if isinstance(first, str) else render([first], "json")
        click.echo(text, nl=False)


def _line(document: Advice | str) -> str:
    """Return the object of a boot on a line."""
    from mamba_advisor.report.jsondoc import line_of

    return document if isinstance(document, str) else line_of(document)
