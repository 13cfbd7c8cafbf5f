"""The findings, worst first, and the log lines that they rest on."""

from __future__ import annotations

from mamba_advisor.advice.model import Advice, Finding, Severity
from mamba_advisor.report import words
from mamba_advisor.report.section import Cell, Pair, Pairs, Role
from mamba_advisor.report.sections.answer import DIFFERS

ROLES: dict[Severity, Role] = {
    Severity.PROBLEM: "problem",
    Severity.WARNING: "warning",
    Severity.INFO: "info",
    Severity.OK: "ok",
}


SELF_CHECK = "self-check"
"""Start of the codes that say how far the arithmetic can be trusted."""


def findings(advice: Advice, *, explain: bool, brief: bool = False) -> Pairs | None:
    """Return the findings by severity.

    Args:
        advice: The boot.
        explain: Whether to show their codes, and all lines that they rest on.
        brief: Whether to show only what needs a hand, and whether the model agrees;
            the rest is counted.
    """
    ordered = sorted(advice.findings, key=lambda finding: -finding.severity)
    if brief and advice.self_check.outcome == DIFFERS:
        # It stands beside the answer already.
        ordered = [one for one in ordered if one.message != advice.self_check.message]
    shown = [finding for finding in ordered if not brief or _is_urgent(finding)]
    rest = len(ordered) - len(shown)
    note = f"{words.counted(rest, 'more finding')} with --explain" if rest else ""
    if not shown and not note:
        return None
    return Pairs(
        "Findings" if shown else "",
        tuple(_pair(finding, explain) for finding in shown),
        note=note if shown else note.replace("more ", ""),
    )


def _is_urgent(finding: Finding) -> bool:
    return finding.severity >= Severity.WARNING or finding.code.startswith(SELF_CHECK)


def _pair(finding: Finding, explain: bool) -> Pair:
    where = words.sentence(
        (
            finding.code if explain else "",
            words.lines(finding.lines, most=None)
            if explain
            else words.lines(finding.lines),
        )
    )
    text = finding.message + (f" ({where})" if where else "")
    severity = finding.severity
    return Pair(severity.name.lower(), (Cell(text),), ROLES[severity])
