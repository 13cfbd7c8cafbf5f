"""The options that the advising commands share, and how ``--help`` lists them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import click

from mamba_advisor.cli.declared import EVIDENCE, SECTIONS


class Option(click.Option):
    """An option that ``--help`` lists under a headline of its own."""

    def __init__(
        self, declarations: Sequence[str], *, section: str, **settings: Any
    ) -> None:
        super().__init__(declarations, **settings)
        self.section = section


class Command(click.Command):
    """A command whose ``--help`` lists its options under headlines."""

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the options, a section each; the command's own ones first."""
        write_options(self, ctx, formatter)


def write_options(
    command: click.Command, ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    """Write the options of *command* by headline."""
    sections: dict[str, list[tuple[str, str]]] = {"Options": []}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record and isinstance(parameter, click.Option):
            section = getattr(parameter, "section", "Options")
            sections.setdefault(section, []).append(record)
    for title, records in sections.items():
        if records:
            with formatter.section(title):
                formatter.write_dl(records)


def advising(
    *evidence: str,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the shared options, as one argument ``options``.

    Args:
        evidence: Which options of `EVIDENCE` the command takes, by name.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        shared = [
            Option(names, section=section, **settings)
            for section, declared in SECTIONS.items()
            for names, settings in declared
            if declared is not EVIDENCE or names[0].lstrip("-") in evidence
        ]
        own = {option.name for option in shared}

        @functools.wraps(command)
        def wrapper(**given: Any) -> None:
            from mamba_advisor.cli.call import gather

            mine = {name: given.pop(name) for name in list(given) if name in own}
            command(options=gather(mine), **given)

        wrapper.__click_params__ = [  # type: ignore[attr-defined]  # click's own place
            *reversed(shared),
            *getattr(command, "__click_params__", []),
        ]
        return wrapper

    return decorate
