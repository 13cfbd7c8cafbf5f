"""For a colleague who checks by hand: formulas, settings, and the log's own words."""

from __future__ import annotations

from mamba_advisor.advice.model import Advice, Derivation
from mamba_advisor.report import words
from mamba_advisor.report.section import Cell, Column, Grid, Pair, Pairs


def derivations(advice: Advice) -> Pairs | None:
    """Return every formula, in words and with its numbers put in."""
    if not advice.derivations:
        return None
    return Pairs(
        "How the figures come about",
        tuple(
            _derivation(number, derivation)
            for number, derivation in enumerate(advice.derivations, start=1)
        ),
    )


def settings(advice: Advice) -> Grid | None:
    """Return the settings with where each comes from."""
    known = {
        name: (value, origin)
        for name, (value, origin) in advice.settings.items()
        if origin is not None
    }
    if not known:
        return None
    return Grid(
        "",
        (Column("Settings", folds=True), Column("value", folds=True), Column("from")),
        tuple(
            (Cell(name), Cell(words.scalar(value)), Cell(words.origin(origin)))
            for name, (value, origin) in sorted(known.items())
        ),
    )


def releases(advice: Advice) -> Pairs | None:
    """Return why these releases of SGLang, and why a hybrid or not."""
    reasons = [Cell(text) for text in advice.boot.releases.evidence]
    rows = []
    if reasons:
        rows.append(Pair("Release", tuple(reasons)))
    if advice.boot.hybrid_evidence:
        rows.append(Pair("Hybrid", (Cell(advice.boot.hybrid_evidence),)))
    return Pairs("What it was told by", tuple(rows)) if rows else None


def excerpts(advice: Advice) -> Pairs | None:
    """Return the log lines behind the figures and the findings, as they read."""
    cited = {
        *(line for derivation in advice.derivations for line in derivation.lines),
        *(line for finding in advice.findings for line in finding.lines),
    }
    rows = tuple(
        Pair(str(line), (Cell(text, "dim"),), "plain")
        for line, text in sorted(advice.boot.excerpts.items())
        if line in cited
    )
    return Pairs("Log lines", rows) if rows else None


def _derivation(number: int, derivation: Derivation) -> Pair:
    where = words.sentence(
        (
            words.lines(derivation.lines, most=None),
            "some of it inferred" if derivation.inferred else "",
        )
    )
    cells = [
        Cell(derivation.name, "strong"),
        Cell(derivation.formula),
        Cell(f"= {derivation.substituted}"),
        Cell(f"= {derivation.result}", "strong"),
    ]
    if where:
        cells.append(Cell(where, "dim"))
    return Pair(str(number), tuple(cells), "plain")
