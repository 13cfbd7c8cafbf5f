"""Showing advice: reports on stdout, messages on stderr, and exit statuses."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn

import click

from mamba_advisor.cli.documents import Documents
from mamba_advisor.cli.terminal import wants_color, width
from mamba_advisor.errors import (
    FAILED_BOOT,
    InputError,
    NotHybridError,
    TooLittleError,
)

if TYPE_CHECKING:
    from mamba_advisor.advice.comparison import Comparison
    from mamba_advisor.advice.model import Advice
    from mamba_advisor.cli.call import Options
    from mamba_advisor.fleet import Outcome

GATE_NOT_MET = 6
"""Exit status: fewer requests at a time than ``--require-concurrency`` asks for."""

CRASHED = 70
"""Exit status after an error of this program itself: ``EX_SOFTWARE``."""

PRECEDENCE = (
    CRASHED,
    InputError.exit_code,
    FAILED_BOOT,
    TooLittleError.exit_code,
    NotHybridError.exit_code,
    GATE_NOT_MET,
)
"""Exit statuses; of those that apply, the first one is returned."""


def first_status(statuses: Iterable[int]) -> int:
    """Return the exit status of a call whose parts have *statuses*."""
    found = set(statuses)
    return next((status for status in PRECEDENCE if status in found), 0)


def crash(error: Exception) -> str:
    """Return what to say about an error of this program itself."""
    kind = type(error).__name__
    return f"this should not happen: {kind}: {error} (--debug shows more)"


def one_line(message: str) -> str:
    """Return *message* as one line that no text of a log can forge."""
    from mamba_advisor.report.safe import safe

    return safe(" ".join(message.split()))


def line(message: str, label: str = "Error") -> str:
    """Return what to say about *message*: a line."""
    return f"{label}: {one_line(message)}\n"


def say(message: str, label: str = "Error") -> None:
    """Say *message* on stderr, in one line."""
    click.echo(line(message, label), err=True, nl=False)


def verdict(outcome: Outcome, options: Options) -> tuple[int, list[str]]:
    """Return the exit status of *outcome*, and the lines to say about it."""
    lines = []
    if not options.quiet:
        lines += [line(one, "Note") for one in outcome.notes]
    if outcome.error:
        lines.append(line(outcome.error))
    wanted = options.require_concurrency
    if outcome.status or outcome.advice is None or wanted is None:
        return outcome.status, lines
    concurrency, runs = outcome.advice.concurrency, "an unknown number of"
    is_plan = outcome.advice.is_plan
    limit = concurrency.predicted if is_plan else concurrency.effective
    if limit is not None:
        whole = limit * concurrency.workers
        if whole >= wanted:
            return 0, lines
        runs = f"{whole:,}"
    missed = f"it runs {runs} requests at a time, {wanted:,} are required"
    return GATE_NOT_MET, [*lines, line(f"{outcome.source}: {missed}")]


def judge(outcome: Outcome, options: Options) -> int:
    """Say what there is to say about *outcome* on stderr; return its exit status."""
    status, lines = verdict(outcome, options)
    click.echo("".join(lines), err=True, nl=False)
    return status


def shown(outcomes: Iterable[Outcome], options: Options) -> list[Advice]:
    """Return the advice that a report tells of."""
    return [
        outcome.advice
        for outcome in outcomes
        if outcome.advice is not None and _tells(outcome, options)
    ]


def finish(
    ctx: click.Context, outcomes: Iterable[Outcome], options: Options
) -> NoReturn:
    """Report on *outcomes*, and leave with the exit status that they amount to.

    Raises:
        InputError: Flags are asked for, and a boot has no recommendation.
    """
    documents = Documents() if options.format == "json" and not options.plot else None
    statuses: list[int] = []
    said: dict[str, None] = {}
    advices: list[Advice] = []
    for outcome in outcomes:
        status, lines = verdict(outcome, options)
        statuses.append(status)
        said.update(dict.fromkeys(lines))
        if documents is None:
            advices += shown([outcome], options)
        elif document := outcome.document or outcome.advice:
            documents.add(document)
    click.echo("".join(said), err=True, nl=False)
    if documents is not None:
        documents.close()
        ctx.exit(first_status(statuses))
    if advices and options.plot is not None:
        from mamba_advisor.report.plot import render_plot

        save_plot(render_plot(advices, options.plot_format), options)
    if options.plot == "-":
        pass  # the picture has taken stdout
    elif advices or options.format == "json":
        put(page(advices, options))
    elif options.format == "flags":
        statuses.append(InputError.exit_code)
    ctx.exit(first_status(statuses))


def _tells(outcome: Outcome, options: Options) -> bool:
    """Return whether a report on *outcome* tells more than its error does."""
    if options.format in {"json", "flags"} or not outcome.error:
        return True
    advice = outcome.advice
    if advice is None or advice.hybrid is False:
        return False
    known = (
        advice.boot.runtime,
        advice.concurrency.effective,
        advice.state_pool,
        advice.kv_pool,
        *advice.boot.summaries,
    )
    return advice.is_plan or any(part is not None for part in known)


def page(advices: Sequence[Advice], options: Options, descriptor: int = 1) -> str:
    """Return the report on *advices* as it fits what *descriptor* writes to.

    Raises:
        InputError: Flags are asked for, and a boot has no recommendation.
    """
    from mamba_advisor.report import render

    return render(
        advices,
        options.format,
        width=width(descriptor),
        color=wants_color(options.color, descriptor),
        unicode=_draws(descriptor),
        explain=options.explain,
    )


def comparison_page(comparison: Comparison, options: Options) -> str:
    """Return the report on *comparison* as it fits stdout.

    Raises:
        InputError: Flags are asked for.
    """
    from mamba_advisor.report import render_comparison

    return render_comparison(
        comparison,
        options.format,
        width=width(),
        color=wants_color(options.color),
        unicode=_draws(),
    )


def save_plot(picture: bytes, options: Options) -> None:
    """Write *picture* where ``--plot`` wants it.

    Raises:
        InputError: The file cannot be written.
    """
    if options.plot == "-":
        sys.stdout.buffer.write(picture)
        sys.stdout.flush()
        return
    assert options.plot is not None
    try:
        with open(options.plot, "wb") as file:
            file.write(picture)
    except OSError as error:
        raise InputError(f"{options.plot!r}: {error.strerror}") from error
    note(f"pictures are in {options.plot}", options)


def note(message: str, options: Options) -> None:
    """Say *message* on stderr, unless the user wants to hear errors only."""
    if not options.quiet:
        say(message, "Note")


def put(text: str) -> None:
    """Write *text*, colours included, to stdout."""
    click.echo(text.removesuffix("\n"), color=True)


def _draws(descriptor: int = 1) -> bool:
    """Return whether arrows and bars can be written to *descriptor*."""
    from mamba_advisor.report.safe import can_draw

    stream = sys.stdout if descriptor == 1 else sys.stderr
    return can_draw(getattr(stream, "encoding", None))
