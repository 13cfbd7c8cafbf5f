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
        self._first: tuple[Advice, str] | None = None

    def add(self, advice: Advice, line: str = "") -> None:
        """Write the object of the next boot, or keep it while it may be the only one.

        Args:
            advice: On the boot.
            line: The object on a line, where somebody has written it.
        """
        self._count += 1
        if self._count == 1:
            self._first = advice, line
            return
        if self._first is not None:
            click.echo(f"[\n{_line(*self._first)}", nl=False)
            self._first = None
        click.echo(f",\n{_line(advice, line)}", nl=False)

    def close(self) -> None:
        """Write what is left: the only object, or the end of the array."""
        from mamba_advisor.report import render

        if self._first is None:
            click.echo("\n]" if self._count else "[]")
            return
        advice, line = self._first
        click.echo(f"{line}\n" if line else render([advice], "json"), nl=False)


def _line(advice: Advice, line: str) -> str:
    """Return the object of a boot on a line."""
    from mamba_advisor.report.jsondoc import line_of

    return line or line_of(advice)
