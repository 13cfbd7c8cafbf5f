"""``mamba-advisor analyze``: advice on the boots of one log or of many."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import click

from mamba_advisor.cli.options import Command, Option
from mamba_advisor.cli.show import CRASHED, crash, finish
from mamba_advisor.record import replace

if TYPE_CHECKING:
    from mamba_advisor.advice.model import Advice
    from mamba_advisor.cli.call import Options
    from mamba_advisor.fleet import Engine, Outcome, Work

SPREAD_FROM = 4
"""Logs from which on they are spread over the cores."""

PROGRESS_FROM = 20
"""Logs from which on a terminal shows how far the reading is."""


@click.command(
    "analyze", cls=Command, evidence=("config", "metrics", "server", "follow")
)
@click.argument("logs", nargs=-1, metavar="LOG...")
@click.option(
    "--cluster",
    cls=Option,
    metavar="ADDRESS",
    help="Dask scheduler whose workers read the logs (extra: fleet).",
)
@click.pass_context
def command(
    ctx: click.Context, options: Options, logs: tuple[str, ...], cluster: str | None
) -> None:
    """Read boot logs and say how to split the memory.

    LOG is a file, plain or compressed (.gz, .xz, .bz2, .zst), a folder, a pattern, a
    URL, or - for standard input.
    """
    from mamba_advisor.cli.sources import expand
    from mamba_advisor.fleet import Analysis

    sources = expand(logs)
    task = options.task()
    if not sources and options.server is not None:
        from mamba_advisor.fleet import advise_boot
        from mamba_advisor.live import boot_of_server

        boot = boot_of_server(options.server, options.metrics)
        finish(ctx, [advise_boot(options.server, boot, task)], options)
    if not sources:
        raise click.UsageError("Missing argument 'LOG...'.", ctx)
    if len(sources) > 1 and (options.server or options.metrics):
        raise click.UsageError("--server and --metrics go with one log.", ctx)
    if options.follow:
        if len(sources) > 1 or "://" in sources[0]:
            raise click.UsageError("--follow goes with one file.", ctx)
        if sources != ["-"]:
            from mamba_advisor.cli.following import follow

            ctx.exit(follow(sources[0], options))
    debug = bool(ctx.meta.get("debug"))
    task = replace(task, brief=_is_summary(sources, options))
    work: Work = Analysis(task)
    engine = _engine(sources, cluster)
    if engine is not map and options.format == "json" and not options.plot:
        is_judged = options.require_concurrency is not None
        work = partial(_write, work, is_judged=is_judged)
    found = engine(work if debug else partial(_guard, work), sources)
    outcomes = chain.from_iterable(_with_progress(found, len(sources), options))
    finish(ctx, outcomes, options)


def _is_summary(sources: Sequence[str], options: Options) -> bool:
    """Return whether there are so many logs that a row is all that each gets."""
    if len(sources) < PROGRESS_FROM or options.plot is not None:
        return False
    from mamba_advisor.report.page import DETAILED_BOOTS

    return options.format in {"table", "markdown"} and len(sources) > DETAILED_BOOTS


def _engine(sources: Sequence[str], cluster: str | None) -> Engine:
    """Return what analyzes *sources*: one by one, over the cores, or on a cluster."""
    from mamba_advisor.fleet import over_cluster, over_cores

    if cluster is not None:
        return over_cluster(cluster)
    spread = len(sources) >= SPREAD_FROM and "-" not in sources
    return over_cores if spread else map


def _write(work: Work, source: str, *, is_judged: bool) -> tuple[Outcome, ...]:
    """Analyze one log, and write the JSON where that is done: text travels fast.

    The advice itself comes along, in brief, only where the outcome *is_judged* by it.
    """
    from mamba_advisor.fleet import in_brief
    from mamba_advisor.report.jsondoc import line_of

    def written(outcome: Outcome, advice: Advice) -> Outcome:
        brief = in_brief(advice) if is_judged else None
        return replace(outcome, advice=brief, document=line_of(advice))

    return tuple(
        outcome if outcome.advice is None else written(outcome, outcome.advice)
        for outcome in work(source)
    )


def _guard(work: Work, source: str) -> tuple[Outcome, ...]:
    """Analyze one log; an error of this program does not keep others from theirs."""
    from mamba_advisor.fleet import Outcome

    try:
        return work(source)
    except Exception as error:  # as for the whole program: no traceback
        return (Outcome(source, None, f"{source}: {crash(error)}", CRASHED),)


def _with_progress(
    found: Iterable[tuple[Outcome, ...]], count: int, options: Options
) -> Iterator[tuple[Outcome, ...]]:
    """Pass on what was *found*, with a progress bar where a person can see it."""
    if count < PROGRESS_FROM or options.quiet or not os.isatty(2):
        yield from found
        return
    with click.progressbar(found, count, "Reading", file=sys.stderr) as bar:
        yield from bar
