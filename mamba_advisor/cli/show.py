"""Putting advice before people: reports on stdout, notes on stderr, exit statuses."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from mamba_advisor.cli.terminal import wants_color, width
from mamba_advisor.errors import InputError, NotHybridError, TooLittleError

if TYPE_CHECKING:
    from mamba_advisor.advice.model import Advice
    from mamba_advisor.cli.call import Options

FAILED_BOOT = 5
"""Exit status: the boot failed, advice is given all the same."""

GATE_NOT_MET = 6
"""Exit status: fewer requests at a time than ``--require-concurrency`` asks for."""

PRECEDENCE = (
    InputError.exit_code,
    FAILED_BOOT,
    TooLittleError.exit_code,
    NotHybridError.exit_code,
    GATE_NOT_MET,
)
"""Exit statuses; of those that apply, the first one is returned."""


def first_status(statuses: Iterable[int]) -> int:
    """Return the exit status of a call whose parts have *statuses*."""
    found = {status for status in statuses if status}
    for status in PRECEDENCE:
        if status in found:
            return status
    return max(found, default=0)


def note(text: str, options: Options) -> None:
    """Say *text* on stderr, unless notes are not wanted."""
    if not options.quiet:
        from mamba_advisor.report.safe import safe

        click.echo("Note: " + safe(text), err=True)


def page(advices: Sequence[Advice], options: Options, descriptor: int = 1) -> str:
    """Return the report on *advices* as it fits what *descriptor* writes to."""
    from mamba_advisor.report import render

    return render(
        advices,
        options.format,
        width=width(descriptor),
        color=wants_color(options.color, descriptor),
        unicode=draws(descriptor),
        explain=options.explain,
    )


def draws(descriptor: int = 1) -> bool:
    """Return whether arrows and bars can be written to *descriptor*."""
    from mamba_advisor.report.safe import can_draw

    stream = sys.stdout if descriptor == 1 else sys.stderr
    return can_draw(getattr(stream, "encoding", None))


def put(text: str) -> None:
    """Write *text*, colours included, to stdout."""
    click.echo(text.removesuffix("\n"), color=True)
