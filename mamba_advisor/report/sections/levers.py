"""What else would help, each with its prediction and what to validate first."""

from __future__ import annotations

import shlex

from mamba_advisor.advice.model import Advice, Lever
from mamba_advisor.report import words
from mamba_advisor.report.section import Cell, Pair, Pairs
from mamba_advisor.report.sections.answer import prediction, requests, then_binds

BEST = 3
"""Levers on the first screen."""


def levers(advice: Advice, *, all_of_them: bool) -> Pairs | None:
    """Return the best levers, or all; None where there is none."""
    if not advice.levers:
        return None
    shown = advice.levers if all_of_them else advice.levers[:BEST]
    rest = len(advice.levers) - len(shown)
    return Pairs(
        f"Levers ({rest} more with --explain)" if rest else "Levers",
        tuple(_pair(lever, advice, in_full=all_of_them) for lever in shown),
    )


def _pair(lever: Lever, advice: Advice, *, in_full: bool) -> Pair:
    flags = Cell(shlex.join(lever.flags) or lever.name, "flag")
    if in_full:
        gives = prediction(lever.predicted, advice)
    else:
        gives = requests(lever.predicted, advice)
    gives = words.sentence((gives, then_binds(lever.predicted, advice)))
    text = words.sentence(
        (
            gives,
            lever.reason.rstrip("."),
            f"Validate first: {lever.gate}" if lever.gate else "",
        ),
        ". ",
    )
    gain = "" if lever.gain is None else words.signed(lever.gain)
    return Pair(gain, (flags, Cell(text)) if text else (flags,))
