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
    """Return the best levers, or all; None where there is none."""
    if not advice.levers:
        return None
    shown = advice.levers if all_of_them else advice.levers[:BEST]
    rest = len(advice.levers) - len(shown)
    known = advice.workload.avg_context is not None
    title = f"Levers: {'sustained requests' if known else 'request limit'} (gain)"
    return Pairs(
        title + (f"; {rest} more with --explain" if rest else ""),
        tuple(_pair(lever, advice, in_full=all_of_them) for lever in shown),
    )


def _pair(lever: Lever, advice: Advice, *, in_full: bool) -> Pair:
    predicted = lever.predicted
    texts = [lever.reason, f"validate first: {lever.gate}" if lever.gate else ""]
    if in_full:
        texts[:0] = [prediction(predicted, advice), then_binds(predicted, advice)]
    text = words.sentence((text.rstrip(".") for text in texts), "; ")
    flags = Cell(shlex.join(lever.flags) or lever.name, "flag")
    return Pair(_requests(lever), (flags, Cell(text)) if text else (flags,))


def _requests(lever: Lever) -> str:
    requests = lever.predicted.concurrency
    if lever.gain is None:
        return "" if requests is None else f"{requests:,}"
    gain = words.signed(lever.gain)
    return gain if requests is None else f"{requests:,} ({gain})"
