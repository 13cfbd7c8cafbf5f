"""The options that the advising commands share, and how ``--help`` lists them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from mamba_advisor.cli.declared import EVIDENCE, SECTIONS


class Option(click.Option):
    """An option that ``--help`` lists under a headline of its own."""

    def __init__(
        self,
        declarations: Sequence[str],
        *,
        section: str = "Options",
        **settings: Any,
    ) -> None:
        # Given to click it would be cleaned, for which `inspect` would be loaded.
        text = settings.pop("help")
        super().__init__(declarations, **settings)
        self.help = text
        self.section = section


def leaving(*names: str, text: str, say: Callable[[click.Context], str]) -> Option:
    """Return an option at which the program says something and leaves.

    click's own look for a translation of their help, even where it is not shown.
    """

    def leave(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            click.echo(say(ctx), color=ctx.color)
            ctx.exit()

    return Option(
        names,
        help=text,
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=leave,
    )


HELP = leaving(
    "-h", "--help", text="Show this message and exit.", say=click.Context.get_help
)


class Command(click.Command):
    """A command that takes the shared options, as one argument ``options``.

    Args:
        evidence: Which options of `EVIDENCE` it takes, by name.
    """

    def __init__(
        self, *args: Any, evidence: Sequence[str] = (), **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self._evidence = evidence
        self._shared: list[Option] = []

    def shared(self) -> list[Option]:
        """Return the shared options that it takes; made when they are asked for."""
        if not self._shared:
            self._shared = [
                Option(names, section=section, **settings)
                for section, declared in SECTIONS.items()
                for names, settings in declared
                if declared is not EVIDENCE or names[0].lstrip("-") in self._evidence
            ]
        return self._shared

    def get_help_option(self, ctx: click.Context) -> click.Option:
        """Return ``--help``."""
        return HELP

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own parameters, ``--help`` and the shared options."""
        return [*self.params, HELP, *self.shared()]

    def invoke(self, ctx: click.Context) -> Any:
        """Run it, with the shared options as one argument; None if it took none."""
        from mamba_advisor.cli.call import gather

        shared = {option.name for option in self.shared()}
        own = {name: ctx.params[name] for name in ctx.params if name not in shared}
        given = {name: ctx.params[name] for name in ctx.params if name in shared}
        ctx.params = {**own, "options": gather(given) if given else None}
        return super().invoke(ctx)

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the options by headline; the command's own ones first."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record and isinstance(parameter, Option):
                sections.setdefault(parameter.section, []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
