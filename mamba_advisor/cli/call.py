"""What the shared options of one call amount to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from mamba_advisor.advice.model import Drawn, Workload
from mamba_advisor.advice.options import Overrides
from mamba_advisor.cli.terminal import width
from mamba_advisor.fleet import Task
from mamba_advisor.record import Record
from mamba_advisor.report import Form

if TYPE_CHECKING:
    from mamba_advisor.report.plot import PlotForm

WIDE = 100
"""Columns from which the screen has room for a drawing."""


class Options(Record):
    """The shared options of one call; picklable."""

    workload: Workload
    overrides: Overrides
    format: Form = "table"
    explain: bool = False
    sweep: bool = False
    plot: str | None = None
    """Where the pictures go, ``"-"`` for standard output."""

    plot_format: PlotForm = "svg"
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

    def task(self) -> Task:
        """Return what is to be done with every log."""
        return Task(
            self.workload,
            self.overrides,
            self.parsers,
            self.boot,
            self.config,
            self.server,
            self.metrics,
            sweep=self.sweep,
            curves=self._drawn(),
        )

    def _drawn(self) -> Drawn:
        """Return the data that pictures need: all, or those of the wide screen."""
        if self.plot is not None:
            return "all"
        wide = self.format == "table" and width(1) >= WIDE
        return "balance" if wide else "none"


def gather(given: Mapping[str, Any]) -> Options:
    """Return what the values of the shared options amount to.

    Args:
        given: Their values; an option that is not in it has its default.

    Raises:
        click.UsageError: Two of them contradict each other.
    """
    rest = dict(given)
    workload = _workload(rest)
    names = [name for name, _ in Overrides().items() if name in rest]
    overrides = Overrides(**{name: rest.pop(name) for name in names})
    if overrides.ratio is not None and overrides.pin is not None:
        raise click.UsageError(
            "--max-mamba-cache-size takes the place of --mamba-full-memory-ratio: "
            "give one of them."
        )
    rest["plot_format"] = _plot_format(rest.get("plot"), rest.get("plot_format"))
    return Options(workload=workload, overrides=overrides, **rest)


def _workload(rest: dict[str, Any]) -> Workload:
    """Take the workload's options out of *rest*."""
    context: int | None = rest.pop("avg_context", None)
    lengths = rest.pop("input_len", None), rest.pop("output_len", None)
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
        concurrency=rest.pop("concurrency", None),
        sessions=rest.pop("sessions", None),
    )


def _plot_format(plot: str | None, wanted: PlotForm | None) -> PlotForm:
    """Return the format of ``--plot`` *plot*: as *wanted*, else by its ending."""
    if plot is None and wanted:
        raise click.UsageError("--plot-format needs --plot.")
    if wanted or plot in {None, "-"}:
        return wanted or "svg"
    from mamba_advisor.report.plot import FORMS

    ending = plot.rpartition(".")[2].lower() if plot else ""
    for form in FORMS:
        if ending == form:
            return form
    raise click.BadParameter(
        f"{plot!r} ends in none of .svg, .png, .html (or give --plot-format).",
        param_hint="'--plot'",
    )
