"""``mamba-advisor analyze``: advice on the boots of one log or of many."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from mamba_advisor.cli.options import Command, advising
from mamba_advisor.cli.show import FAILED_BOOT, GATE_NOT_MET, first_status, page, put

if TYPE_CHECKING:
    from mamba_advisor.advice.model import Advice
    from mamba_advisor.cli.call import Options
    from mamba_advisor.fleet import Result, Task

SPREAD_FROM = 4
"""Logs from which on they are spread over the cores."""

PROGRESS_FROM = 20
"""Logs from which on a terminal shows how far the reading is."""


@click.command("analyze", cls=Command)
@click.argument("logs", nargs=-1, metavar="LOG...")
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Dask scheduler whose workers read the logs (extra: fleet).",
)
@advising("config", "metrics", "server", "follow")
@click.pass_context
def command(
    ctx: click.Context, options: Options, logs: tuple[str, ...], cluster: str | None
) -> None:
    """Read boot logs and say how to split the memory.

    LOG is a file, plain or compressed (.gz, .xz, .bz2, .zst), a folder, a pattern, a
    URL, or - for standard input.
    """
    from mamba_advisor.cli.sources import expand

    sources = expand(logs)
    if not sources:
        raise click.UsageError("Missing argument 'LOG...'.", ctx)
    results = list(_shown(_results(sources, _task(options), cluster), sources, options))
    advices = [advice for result in results for advice in result.advices]
    for result in results:
        if result.error:
            prefix = "" if len(sources) == 1 else f"{result.source}: "
            report_error(prefix + result.error)
    if advices or options.format == "json":
        put(page(advices, options))
    ctx.exit(
        first_status(
            [
                *(result.status for result in results),
                *(status_of(advice, options) for advice in advices),
            ]
        )
    )


def status_of(advice: Advice, options: Options) -> int:
    """Return the exit status that a boot alone would give."""
    if advice.boot.outcome == "failed":
        return FAILED_BOOT
    if options.require_concurrency is None:
        return 0
    effective = advice.concurrency.effective
    whole = None if effective is None else effective * advice.concurrency.workers
    if whole is not None and whole >= options.require_concurrency:
        return 0
    runs = "an unknown number of" if whole is None else f"{whole:,}"
    report_error(
        f"{advice.boot.source.name}: runs {runs} requests at a time, "
        f"{options.require_concurrency:,} are required"
    )
    return GATE_NOT_MET


def report_error(message: str) -> None:
    """Say *message* on stderr, in one line that no log text can forge."""
    from mamba_advisor.report.safe import safe

    click.echo("Error: " + safe(" ".join(message.split())), err=True)


def _task(options: Options) -> Task:
    from mamba_advisor.fleet import Task

    return Task(
        options.workload,
        options.overrides,
        options.parsers,
        options.boot,
        options.config,
        sweep=options.sweep,
        curves=options.plot is not None or options.format == "table",
        explain=options.explain,
    )


def _results(
    sources: Sequence[str], task: Task, cluster: str | None
) -> Iterator[Result]:
    from mamba_advisor.fleet import analyze_fleet, over_cluster, over_cores

    if cluster is not None:
        return analyze_fleet(sources, task, over_cluster(cluster))
    if len(sources) < SPREAD_FROM or "-" in sources:
        return analyze_fleet(sources, task)
    return analyze_fleet(sources, task, over_cores)


def _shown(
    results: Iterable[Result], sources: Sequence[str], options: Options
) -> Iterator[Result]:
    """Pass *results* on, with a progress bar where a person can see it."""
    stderr = click.get_text_stream("stderr")
    if len(sources) < PROGRESS_FROM or options.quiet or not os.isatty(2):
        yield from results
        return
    with click.progressbar(results, len(sources), "Reading", file=stderr) as bar:
        yield from bar
