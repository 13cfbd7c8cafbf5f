"""Which sections a report has, and in which order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mamba_advisor.advice.model import Advice
from mamba_advisor.record import replace
from mamba_advisor.report import words
from mamba_advisor.report.section import Drawing, Grid, Pairs, Section
from mamba_advisor.report.sections.answer import answer, basis, short_basis
from mamba_advisor.report.sections.balance import LEAST_WIDTH, balance
from mamba_advisor.report.sections.evidence import evidence, residency, workers
from mamba_advisor.report.sections.findings import findings
from mamba_advisor.report.sections.levers import levers
from mamba_advisor.report.sections.pools import pools, ranks
from mamba_advisor.report.sections.several import several, worst_first
from mamba_advisor.report.sections.sweep import sweep

if TYPE_CHECKING:
    from mamba_advisor.advice.comparison import Comparison

MARKED = re.compile(rf"\w{words.INFERRED}")
LEGEND = f"{words.INFERRED} inferred or given, not read from a log"

DETAILED_BOOTS = 20
"""Boots up to which the details of each follow the summary."""


def advice_page(
    advice: Advice, *, explain: bool = False, width: int = 0, draws: bool = True
) -> list[Section]:
    """Return the sections of one boot: the answer first, its evidence below.

    Args:
        advice: The boot.
        explain: Whether to show every formula, and where each figure stands.
        width: Columns of the screen; 0: none, so that nothing can scroll away.
        draws: Whether a wide terminal gets the drawing of the balance.
    """
    brief = width > 0 and not explain
    sections: list[Section | None] = [
        answer(advice, brief=brief),
        pools(advice),
        sweep(advice),
        levers(advice, all_of_them=explain),
        balance(advice, width) if draws and width >= LEAST_WIDTH else None,
        findings(advice, explain=explain, brief=brief),
        short_basis(advice, width) if brief else basis(advice),
        evidence(advice, brief=brief),
        workers(advice),
        None if brief else residency(advice),
    ]
    if explain:
        from mamba_advisor.report.sections import explain as by_hand

        sections += [
            by_hand.derivations(advice),
            ranks(advice),
            by_hand.settings(advice),
            by_hand.releases(advice),
            by_hand.excerpts(advice),
        ]
    return _with_legend([section for section in sections if section is not None])


def pages(
    advices: Sequence[Advice],
    *,
    explain: bool = False,
    width: int = 0,
    draws: bool = True,
) -> Iterator[tuple[str, list[Section]]]:
    """Yield the headline and the sections of each page; arguments as `advice_page`.

    With several boots a summary comes first, worst first, and the details follow in
    the same order; with more than `DETAILED_BOOTS` the summary is all.
    """
    if len(advices) == 1:
        (only,) = advices
        yield "", advice_page(only, explain=explain, width=width, draws=draws)
        return
    ordered = worst_first(advices)
    yield "", [several(ordered)]
    if len(ordered) <= DETAILED_BOOTS:
        for advice in ordered:
            yield (
                words.name(advice),
                advice_page(advice, explain=explain, width=width, draws=draws),
            )


def comparison_page(comparison: Comparison) -> list[Section]:
    """Return the sections of a comparison: the verdict first."""
    from mamba_advisor.report.sections import comparison as parts

    return [
        parts.verdict(comparison),
        parts.figures(comparison),
        parts.settings(comparison),
    ]


def _with_legend(sections: list[Section]) -> list[Section]:
    """Explain the mark of inferred figures below the first section that has one."""
    for index, section in enumerate(sections):
        if any(MARKED.search(text) for text in _texts(section)):
            note = words.sentence((section.note, LEGEND), "\n")
            return [
                *sections[:index],
                replace(section, note=note),
                *sections[index + 1 :],
            ]
    return sections


def _texts(section: Section) -> Iterator[str]:
    match section:
        case Pairs():
            yield from (cell.text for pair in section.rows for cell in pair.cells)
        case Grid():
            yield from (cell.text for row in section.rows for cell in row)
        case Drawing():
            yield from (cell.text for line in section.lines for cell in line)
