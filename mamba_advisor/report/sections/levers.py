"""What else would help, each with its prediction and what to validate first."""

from __future__ import annotations

import shlex

from mamba_advisor.advice.model import Advice, Lever
from mamba_advisor.report import words
from mamba_advisor.report.section import Cell, Pair, Pairs
from mamba_advisor.report.sections.answer import prediction, then_binds

BEST = 3
"""Levers on the first screen."""


def levers(advice: Advice, *, all_of_them: bool) -> Pairs | None:
    """Return the best levers, or all; None where there is none.

    Args:
        advice: The boot.
        all_of_them: Whether to show all, and all about them.
    """
    if not advice.levers:
        return None
    shown = advice.levers if all_of_them else advice.levers[:BEST]
    labels = [_requests(lever) for lever in shown]
    rows = tuple(
        Pair(label, _cells(lever, advice, in_full=all_of_them))
        for label, lever in zip(labels, shown, strict=True)
    )
    known = advice.workload.avg_context is not None
    title = f"Levers: {'sustained requests' if known else 'request limit'} (gain)"
    if rest := len(advice.levers) - len(shown):
        title += f"; {rest} more with --explain"
    return Pairs(title, rows)


def _cells(lever: Lever, advice: Advice, *, in_full: bool) -> tuple[Cell, ...]:
    flags = Cell(shlex.join(lever.flags) or lever.name, "flag")
    texts = [lever.reason, _gate(lever.gate)]
    if in_full:
        predicted = lever.predicted
        texts[:0] = [prediction(predicted, advice), then_binds(predicted, advice)]
    text = words.sentence((text.rstrip(".") for text in texts), "; ")
    return (flags, Cell(text)) if text else (flags,)


def _gate(gate: str | None) -> str:
    return f"validate first: {gate}" if gate else ""


def _requests(lever: Lever) -> str:
    requests = lever.predicted.concurrency
    if lever.gain is None:
        return "" if requests is None else f"{requests:,}"
    gain = words.signed(lever.gain)
    return gain if requests is None else f"{requests:,} ({gain})"
