"""JSON on stdout, boot by boot: thousands of logs need not be held in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from mamba_advisor.advice.model import Advice


def written(advice: Advice) -> str:
    """Return the object of *advice*."""
    from mamba_advisor.report import render

    return render([advice], "json").rstrip("\n")


class Documents:
    """Writes an object for one boot, and an array for any other number of them."""

    def __init__(self) -> None:
        self._count = 0
        self._first = ""

    def add(self, text: str) -> None:
        """Write the next boot's object, or keep it while it may be the only one."""
        self._count += 1
        if self._count == 1:
            self._first = text
            return
        click.echo(f"[\n{self._first},\n" if self._first else ",\n", nl=False)
        click.echo(text, nl=False)
        self._first = ""

    def close(self) -> None:
        """Write what is left: the only object, or the end of the array."""
        if self._count > 1:
            click.echo("\n]")
        else:
            click.echo(self._first or "[]")
