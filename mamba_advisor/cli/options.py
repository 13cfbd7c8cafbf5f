"""The options that the advising commands share, and what a call made of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from mamba_advisor.cli.declared import EVIDENCE, PLOT_FORMATS, SECTIONS

if TYPE_CHECKING:
    from mamba_advisor.advice.model import Workload
    from mamba_advisor.advice.options import Overrides


class Option(click.Option):
    """An option that ``--help`` lists under a headline of its own."""

    def __init__(self, *declarations: str, section: str, **settings: Any) -> None:
        super().__init__(list(declarations), **settings)
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
        if record := parameter.get_help_record(ctx):
            section = getattr(parameter, "section", "Options")
            sections.setdefault(section, []).append(record)
    for title, records in sections.items():
        if records:
            with formatter.section(title):
                formatter.write_dl(records)


@dataclass(frozen=True, slots=True)
class Options:
    """What the shared options of one call amount to; picklable."""

    workload: Workload
    overrides: Overrides
    format: str = "table"
    explain: bool = False
    sweep: bool = False
    plot: str | None = None
    """Where the pictures go, ``"-"`` for standard output."""

    plot_format: str = "svg"
    color: str = "auto"
    parsers: tuple[str, ...] = ()
    """Dialect files, by path."""

    boot: str | int = "last"
    require_concurrency: int | None = None
    quiet: bool = False
    config: str | None = None
    metrics: str | None = None
    server: str | None = None
    follow: bool = False


def advising(
    *evidence: str,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the shared options, as one argument ``options``.

    Args:
        evidence: Which options of `EVIDENCE` the command takes, by name.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        shared = [
            Option(*names, section=section, **settings)
            for section, declared in SECTIONS.items()
            for names, settings in declared
            if declared is not EVIDENCE or names[0].lstrip("-") in evidence
        ]
        own = {option.name for option in shared}

        @functools.wraps(command)
        def wrapper(**given: Any) -> None:
            mine = {name: given.pop(name) for name in list(given) if name in own}
            command(options=gather(mine), **given)

        wrapper.__click_params__ = [  # type: ignore[attr-defined]  # click's own place
            *reversed(shared),
            *getattr(command, "__click_params__", []),
        ]
        return wrapper

    return decorate


def gather(given: Mapping[str, Any]) -> Options:
    """Return what the values of the shared options amount to.

    Raises:
        click.UsageError: Two of them contradict each other.
    """
    from mamba_advisor.advice.options import Overrides

    rest = dict(given)
    workload = _workload(rest)
    names = [name for name in Overrides.__slots__ if name in rest]
    overrides = Overrides(**{name: rest.pop(name) for name in names})
    if overrides.ratio is not None and overrides.pin is not None:
        raise click.UsageError(
            "--max-mamba-cache-size takes the place of --mamba-full-memory-ratio: "
            "give one of them."
        )
    rest["plot_format"] = _plot_format(rest["plot"], rest["plot_format"])
    return Options(workload=workload, overrides=overrides, **rest)


def _workload(rest: dict[str, Any]) -> Workload:
    """Take the workload's options out of *rest*."""
    from mamba_advisor.advice.model import Workload

    context: int | None = rest.pop("avg_context")
    lengths = rest.pop("input_len"), rest.pop("output_len")
    if lengths != (None, None):
        if context is not None:
            raise click.UsageError(
                "-L is the sum of --input-len and --output-len: give one or the other."
            )
        if None in lengths:
            raise click.UsageError("--input-len and --output-len go together.")
        context = sum(lengths)
    return Workload(
        avg_context=context,
        origin=None if context is None else "option",
        concurrency=rest.pop("concurrency"),
        sessions=rest.pop("sessions"),
    )


def _plot_format(plot: str | None, wanted: str | None) -> str:
    """Return the format of ``--plot`` *plot*: as *wanted*, else by its ending."""
    if plot is None and wanted:
        raise click.UsageError("--plot-format needs --plot.")
    if wanted or plot in {None, "-"}:
        return wanted or "svg"
    ending = plot.rpartition(".")[2].lower() if plot else ""
    if ending not in PLOT_FORMATS:
        raise click.BadParameter(
            f"{plot!r} ends in none of .svg, .png, .html (or give --plot-format).",
            param_hint="'--plot'",
        )
    return ending
