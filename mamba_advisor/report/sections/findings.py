"""The findings, worst first, and the log lines that they rest on."""

from __future__ import annotations

from mamba_advisor.advice.model import Advice, Finding, Severity
from mamba_advisor.report import words
from mamba_advisor.report.section import Cell, Pair, Pairs, Role

ROLES: dict[Severity, Role] = {
    Severity.PROBLEM: "problem",
    Severity.WARNING: "warning",
    Severity.INFO: "info",
    Severity.OK: "ok",
}


def findings(advice: Advice, *, explain: bool) -> Pairs | None:
    """Return the findings by severity, with their codes when explaining."""
    if not advice.findings:
        return None
    ordered = sorted(advice.findings, key=lambda finding: -finding.severity)
    return Pairs("Findings", tuple(_pair(finding, explain) for finding in ordered))


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
