"""Many boots at a glance: a row each, worst first."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from posixpath import commonprefix

from mamba_advisor.advice.model import Advice, Recommendation
from mamba_advisor.report import words
from mamba_advisor.report.section import Cell, Column, Grid

ORDER = ("failed", "improve", "unknown", "no-help", "good")
"""Kinds of verdict, worst first."""


def worst_first(advices: Sequence[Advice]) -> list[Advice]:
    """Return *advices* with what needs a hand first; in each kind the largest gain."""

    def badness(advice: Advice) -> tuple[int, int]:
        advised = advice.recommendation
        gain = 0 if advised is None or advised.gain is None else advised.gain
        return ORDER.index(advice.verdict.kind), -gain

    return sorted(advices, key=badness)


def several(advices: Sequence[Advice]) -> Grid:
    """Return the summary of *advices*, in their order."""
    folder = _common_folder([advice.boot.source.name for advice in advices])
    within = f", in {folder.rstrip('/')}" if folder else ""
    return Grid(
        f"{words.counted(len(advices), 'boot')}, worst first{within}",
        (
            Column("log", folds=True),
            Column("verdict"),
            Column("requests"),
            Column("gain", right=True),
            Column("do this"),
        ),
        tuple(_row(advice, folder) for advice in advices),
        note="requests, per DP worker: requested → effective → sustained",
    )


def _common_folder(names: Sequence[str]) -> str:
    """Return the folders that all *names* begin with, ``/`` last; empty for none."""
    shared = commonprefix([name.split("/")[:-1] for name in names])
    return "/".join([*shared, ""]) if any(shared) else ""


def _row(advice: Advice, folder: str) -> tuple[Cell, ...]:
    verdict, role = words.kind(advice)
    concurrency, advised = advice.concurrency, advice.recommendation
    figures = (concurrency.requested, concurrency.effective, concurrency.sustained)
    gain = None if advised is None else advised.gain
    return (
        Cell(words.name(advice).removeprefix(folder)),
        Cell(verdict, role),
        Cell(_steps(figures)),
        Cell(words.signed(gain) if gain else ""),
        Cell(_advised(advised), "flag"),
    )


def _steps(figures: Sequence[int | None]) -> str:
    """Return ``62 → 26 → 26``, empty where nothing is known."""
    if not any(figure is not None for figure in figures):
        return ""
    return " → ".join("?" if figure is None else f"{figure:,}" for figure in figures)


def _advised(advised: Recommendation | None) -> str:
    if advised is None:
        return ""
    return shlex.join(advised.flags) or advised.action
