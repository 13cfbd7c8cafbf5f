"""One boot in the page: the answer, the pictures, the findings, the figures."""

from __future__ import annotations

from collections.abc import Iterator

from mamba_advisor.advice.model import Advice, Finding
from mamba_advisor.report import words
from mamba_advisor.report.plot.blocks import pairs_list, section_block
from mamba_advisor.report.plot.figures import gallery
from mamba_advisor.report.plot.gallery import pictures
from mamba_advisor.report.plot.markup import Markup, element
from mamba_advisor.report.section import Section
from mamba_advisor.report.sections import explain
from mamba_advisor.report.sections.answer import answer, basis
from mamba_advisor.report.sections.evidence import evidence, residency, workers
from mamba_advisor.report.sections.findings import ROLES
from mamba_advisor.report.sections.levers import levers
from mamba_advisor.report.sections.pools import pools, ranks
from mamba_advisor.report.sections.sweep import sweep

SAID_ABOVE = frozenset({"Log", "Plan", "Verdict"})
"""Labels of the answer whose texts the page has as headlines."""


def boot_article(advice: Advice, key: str, *, level: int) -> Markup:
    """Return everything on one boot.

    Args:
        advice: The boot.
        key: Start of every id, unique in its document.
        level: Of its headline.
    """
    kind, role = words.KINDS[advice.verdict.kind]
    drawn = [(picture,) for picture in pictures(advice)]
    rows = [pair for pair in answer(advice).rows if pair.label not in SAID_ABOVE]
    return element(
        "article",
        element(
            "header",
            element("p", _origin(advice), class_="origin"),
            element(f"h{level}", advice.verdict.headline),
            element("span", kind, class_=f"badge {role}"),
            _paragraph(advice.verdict.detail),
        ),
        _stats(advice),
        pairs_list(rows) if rows else Markup(),
        *_headed("Pictures", gallery(drawn, key) if drawn else None, level + 1),
        *_headed("Findings", _findings(advice), level + 1),
        *_sections(advice, level + 1),
        id=key,
    )


def _headed(title: str, body: Markup | None, level: int) -> Iterator[Markup]:
    if body is not None:
        yield element(f"h{level}", title)
        yield body


def _paragraph(text: str) -> Markup:
    return element("p", text, class_="detail") if text else Markup()


def _origin(advice: Advice) -> str:
    parts = (words.name(advice), words.released(advice), advice.boot.architecture or "")
    return words.sentence(parts, " · ")


def _stats(advice: Advice) -> Markup:
    """Return the requests at a glance, as far as they are known."""
    concurrency, advised = advice.concurrency, advice.recommendation
    then = advised.predicted.concurrency if advised and advised.flags else None
    found = {
        "requested": concurrency.requested,
        "effective": concurrency.effective,
        "sustained": concurrency.sustained,
        "with the advice": then,
    }
    known = {name: value for name, value in found.items() if value is not None}
    if not known:
        return Markup()
    return element(
        "dl",
        *(
            element(
                "div",
                element("dt", name),
                element("dd", element("data", f"{value:,}", value=str(value))),
                data_stat=name,
            )
            for name, value in known.items()
        ),
        class_="stats",
        aria_label="Requests" + (", per DP worker" * (concurrency.workers > 1)),
    )


def _findings(advice: Advice) -> Markup | None:
    if not advice.findings:
        return None
    ordered = sorted(advice.findings, key=lambda finding: -finding.severity)
    return element(
        "ul", *(_finding(finding, advice) for finding in ordered), class_="findings"
    )


def _finding(finding: Finding, advice: Advice) -> Markup:
    severity = finding.severity
    return element(
        "li",
        element("span", severity.name.lower(), class_=f"badge {ROLES[severity]}"),
        " ",
        element("code", finding.code, class_="muted"),
        element("p", finding.message),
        _cited(finding, advice),
    )


def _cited(finding: Finding, advice: Advice) -> Markup:
    """Return the log lines that *finding* rests on, in their own words."""
    where = words.lines(finding.lines)
    if not where:
        return Markup()
    texts = advice.boot.excerpts
    known = [(line, texts[line]) for line in finding.lines if line in texts]
    if not known:
        return element("p", where, class_="muted")
    return element(
        "details",
        element("summary", where),
        element(
            "ol",
            *(
                element("li", element("b", f"{line:,}"), text, class_="line")
                for line, text in known
            ),
            class_="lines",
        ),
    )


def _sections(advice: Advice, level: int) -> Iterator[Markup]:
    """Yield the figures, and folded up, how they come about."""
    figures = (
        pools(advice),
        sweep(advice),
        levers(advice, all_of_them=True),
        basis(advice),
        evidence(advice),
        workers(advice),
        residency(advice),
    )
    yield from _shown("Figures", figures, level)
    proofs = (
        explain.derivations(advice),
        ranks(advice),
        explain.settings(advice),
        explain.releases(advice),
        explain.excerpts(advice),
    )
    found = [section for section in proofs if section is not None]
    if found:
        yield element(
            "details",
            element("summary", "How the figures come about"),
            *(section_block(section, level + 1) for section in found),
            class_="more",
        )


def _shown(
    title: str, sections: tuple[Section | None, ...], level: int
) -> Iterator[Markup]:
    found = [section for section in sections if section is not None]
    if found:
        yield element(f"h{level}", title)
        yield from (section_block(section, level + 1) for section in found)
