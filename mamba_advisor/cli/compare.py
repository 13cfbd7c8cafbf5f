"""``mamba-advisor compare``: two boots side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mamba_advisor.cli.options import Command
from mamba_advisor.cli.show import comparison_page, first_status, judge, put, save_plot

if TYPE_CHECKING:
    from mamba_advisor.cli.call import Options


@click.command("compare", cls=Command, evidence=("config",))
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
@click.pass_context
def command(ctx: click.Context, options: Options, before: str, after: str) -> None:
    """Set two logs side by side and judge the change.

    BEFORE and AFTER are files, URLs, or - for standard input (one of them). What-if
    options count for both.
    """
    from mamba_advisor.advice.comparison import compare
    from mamba_advisor.fleet import analyze_fleet

    if options.boot == "all":
        raise click.UsageError("compare takes one boot of each log: --boot last or N.")
    if before == after == "-":
        raise click.UsageError("Only one of the logs can be standard input.")
    outcomes = [
        outcome
        for found in analyze_fleet([before, after], options.task())
        for outcome in found
    ]
    statuses = [judge(outcome, options) for outcome in outcomes]
    old, new = (outcome.advice for outcome in outcomes)
    if old is not None and new is not None:
        comparison = compare(old, new)
        if options.plot is not None:
            from mamba_advisor.report.plot import render_comparison_plot

            picture = render_comparison_plot(comparison, options.plot_format)
            save_plot(picture, options)
        if options.plot != "-":
            put(comparison_page(comparison, options))
    ctx.exit(first_status(statuses))
