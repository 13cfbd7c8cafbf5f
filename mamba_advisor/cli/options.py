"""The options that the advising commands share, and how ``--help`` lists them."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from itertools import chain
from typing import Any

import click

from mamba_advisor.cli.declared import EVIDENCE, SECTIONS

NAMED = "mamba_advisor.named"
"""In the context: names among the arguments; None where all options may be."""


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


def _spelled(names: tuple[str, ...]) -> list[str]:
    """Return every way to spell an option on the command line."""
    return [one for name in names for one in name.split("/") if one.startswith("-")]


class Command(click.Command):
    """A command that takes the shared options, as one argument ``options``.

    Args:
        evidence: Which options of `EVIDENCE` it takes, by name.
    """

    def __init__(
        self, *args: Any, evidence: Sequence[str] = (), **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self._declared = [
            (names, settings | {"section": section})
            for section, declared in SECTIONS.items()
            for names, settings in declared
            if declared is not EVIDENCE or names[0].lstrip("-") in evidence
        ]
        self._made: dict[tuple[str, ...], Option] = {}

    def shared(self, words: Set[str] | None = None) -> list[Option]:
        """Return the shared options that it takes.

        Args:
            words: Only those with one of these names; None: all of them.
        """
        found = []
        for names, settings in self._declared:
            if words is None or not words.isdisjoint(_spelled(names)):
                if names not in self._made:
                    self._made[names] = Option(names, **settings)
                found.append(self._made[names])
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; shared options that no argument names are not even made.

        There are forty, and to make them takes longer than to read the log.
        """
        words = {word.partition("=")[0] for word in args if word.startswith("-")}
        known = {"-", *chain.from_iterable(_spelled(n) for n, _ in self._declared)}
        known.update(*(parameter.opts for parameter in self.params))
        is_plain = words <= known and not ctx.default_map
        ctx.meta[NAMED] = words if is_plain and not ctx.resilient_parsing else None
        return super().parse_args(ctx, args)

    def get_help_option(self, ctx: click.Context) -> click.Option:
        """Return ``--help``."""
        return HELP

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own parameters, ``--help`` and the shared options."""
        return [*self.params, HELP, *self.shared(ctx.meta.get(NAMED))]

    def invoke(self, ctx: click.Context) -> Any:
        """Run it, with the shared options as one argument; None if it took none."""
        from mamba_advisor.cli.call import gather

        shared = {option.name for option in self.shared(ctx.meta.get(NAMED))}
        is_bare = not self.get_params(ctx)
        own = {name: ctx.params[name] for name in ctx.params if name not in shared}
        given = {name: ctx.params[name] for name in ctx.params if name in shared}
        ctx.params = {**own, "options": None if is_bare else gather(given)}
        return super().invoke(ctx)

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the options by headline; the command's own ones first."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in [*self.params, HELP, *self.shared()]:
            record = parameter.get_help_record(ctx)
            if record and isinstance(parameter, Option):
                sections.setdefault(parameter.section, []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
