"""What else would help, each with its prediction and what to validate first."""

from __future__ import annotations

import re
import shlex

from mamba_advisor.advice.model import Advice, Lever
from mamba_advisor.report import words
from mamba_advisor.report.section import LABEL_WIDTH, Cell, Pair, Pairs
from mamba_advisor.report.sections.answer import prediction, then_binds

BEST = 3
"""Levers on the first screen."""

CUT = " …"
"""End of a text that is told in full with ``--explain``."""


def levers(advice: Advice, *, all_of_them: bool, room: int = 0) -> Pairs | None:
    """Return the best levers, or all; None where there is none.

    Args:
        advice: The boot.
        all_of_them: Whether to show all, and all about them.
        room: Columns of a line that a text may not leave; 0: it may.
    """
    if not advice.levers:
        return None
    shown = advice.levers if all_of_them else advice.levers[:BEST]
    labels = [_requests(lever) for lever in shown]
    room -= max(LABEL_WIDTH, *(len(label) + 1 for label in labels)) if room else 0
    rows = tuple(
        Pair(label, _cells(lever, advice, in_full=all_of_them, room=room))
        for label, lever in zip(labels, shown, strict=True)
    )
    known = advice.workload.avg_context is not None
    title = f"Levers: {'sustained requests' if known else 'request limit'} (gain)"
    if rest := len(advice.levers) - len(shown):
        title += f"; {rest} more with --explain"
    elif any(pair.cells[-1].text.endswith(CUT) for pair in rows):
        title += "; more with --explain"
    return Pairs(title, rows)


def _cells(
    lever: Lever, advice: Advice, *, in_full: bool, room: int
) -> tuple[Cell, ...]:
    flags = Cell(shlex.join(lever.flags) or lever.name, "flag")
    texts = [lever.reason, _gate(lever.gate)]
    if in_full:
        predicted = lever.predicted
        texts[:0] = [prediction(predicted, advice), then_binds(predicted, advice)]
    text = words.sentence((text.rstrip(".") for text in texts), "; ")
    if lever.gate and not in_full and 0 < room < len(text):
        text = _gate(f"{re.split('[:;] ', lever.gate)[0]}{CUT}")
    return (flags, Cell(text)) if text else (flags,)


def _gate(gate: str | None) -> str:
    return f"validate first: {gate}" if gate else ""


def _requests(lever: Lever) -> str:
    requests = lever.predicted.concurrency
    if lever.gain is None:
        return "" if requests is None else f"{requests:,}"
    gain = words.signed(lever.gain)
    return gain if requests is None else f"{requests:,} ({gain})"
