"""The best split over average contexts, and over concurrencies where asked."""

from __future__ import annotations

from collections.abc import Iterator

from mamba_advisor.advice.model import Advice, SweepRow
from mamba_advisor.report import words
from mamba_advisor.report.section import Cell, Column, Grid

Row = tuple[Cell, ...]


def sweep(advice: Advice) -> Grid | None:
    """Return the table over workloads, None where the advice has none.

    Today's split stands as a row of its own at the context for which it is right.
    """
    if not advice.sweep:
        return None
    wanted = any(row.concurrency is not None for row in advice.sweep)
    names = ["tokens each", "today", "best", "ratio", "pin", "then binds"]
    if wanted:
        names[1:3] = ["wanted", "today", "carries"]
    return Grid(
        "Best split by average context",
        tuple(Column(name, right=name != "then binds") for name in names),
        tuple(_rows(advice, wanted=wanted)),
        note=_note(advice, names[-4]),
    )


def _rows(advice: Advice, *, wanted: bool) -> Iterator[Row]:
    even = advice.balanced_context
    above: int | None = None
    for row in advice.sweep:
        if even is not None and row.avg_context > even:
            yield _break_even(even, wanted=wanted)
            even = None
        context = "" if row.avg_context == above else words.count(row.avg_context)
        above = row.avg_context
        yield _row(row, context, advice, wanted=wanted)
    if even is not None:
        yield _break_even(even, wanted=wanted)


def _row(row: SweepRow, context: str, advice: Advice, *, wanted: bool) -> Row:
    predicted = row.predicted
    missed = (
        row.concurrency is not None
        and predicted.concurrency is not None
        and predicted.concurrency * advice.concurrency.workers < row.concurrency
    )
    cells = [
        Cell(context, "strong"),
        Cell(_number(row.today)),
        Cell(_number(predicted.concurrency), "warning" if missed else "ok"),
        Cell(
            "-"
            if row.mamba_full_memory_ratio is None
            else words.decimal(row.mamba_full_memory_ratio)
        ),
        Cell(_number(row.max_mamba_cache_size)),
        Cell(
            "too few" * missed
            or (
                words.binding(predicted.binding, advice.concurrency).removeprefix(
                    "the "
                )
                if predicted.boots
                else "does not boot"
            )
        ),
    ]
    if wanted:
        asked = "most" if row.concurrency is None else words.count(row.concurrency)
        cells.insert(1, Cell(asked))
    return tuple(cells)


def _break_even(context: int, *, wanted: bool) -> Row:
    blank = (Cell(""),) * (5 if wanted else 4)
    return (
        Cell(words.count(context), "strong"),
        *blank,
        Cell("← today's split is right", "strong"),
    )


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _note(advice: Advice, best: str) -> str:
    each = " of a worker" if advice.concurrency.workers > 1 else ""
    return f"today, {best}: sustained requests{each} with today's and the row's split"
