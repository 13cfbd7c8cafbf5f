"""The report as one HTML file that needs nothing else: no network, no other file."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from mamba_advisor import __version__
from mamba_advisor.advice.model import Advice
from mamba_advisor.report import words
from mamba_advisor.report.page import LEGEND, comparison_page
from mamba_advisor.report.plot.blocks import section_block
from mamba_advisor.report.plot.boot import boot_article
from mamba_advisor.report.plot.figures import gallery
from mamba_advisor.report.plot.gallery import (
    chosen,
    comparison_block,
    left_out,
)
from mamba_advisor.report.plot.markup import Markup, element, join
from mamba_advisor.report.plot.palette import INKS, Theme
from mamba_advisor.report.plot.svg import style_sheet
from mamba_advisor.report.sections.comparison import verdict
from mamba_advisor.report.sections.several import several

if TYPE_CHECKING:
    from mamba_advisor.advice.comparison import Comparison


def render_html(advices: Sequence[Advice]) -> str:
    """Return the report on *advices*; with several, a summary comes first."""
    if len(advices) == 1:
        name = words.name(advices[0])
        return _document(name, boot_article(advices[0], "boot-1", level=1))
    shown = chosen(advices)
    rest = left_out(advices)
    body = join(
        element("h1", f"{len(advices):,} boots"),
        element("p", rest, class_="muted") if rest else Markup(),
        section_block(several(shown), 2),
        *(
            boot_article(advice, f"boot-{number}", level=2)
            for number, advice in enumerate(shown, start=1)
        ),
    )
    return _document(f"{len(advices):,} boots", body)


def render_comparison_html(comparison: Comparison) -> str:
    """Return the report on *comparison*, its pictures side by side."""
    block = comparison_block(comparison)
    _, *rest = comparison_page(comparison)
    body = join(
        element("h1", block.title),
        section_block(verdict(comparison), 2),
        element("h2", "Pictures"),
        gallery(block.rows, "compare"),
        element("h2", "Figures"),
        *(section_block(section, 3) for section in rest),
    )
    return _document(block.title, body)


def _document(title: str, body: Markup) -> str:
    style = _variables() + _asset("page.css") + style_sheet()
    script = _asset("page.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)};"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{title} · mamba-advisor"),
        element("link", rel="icon", href="data:,"),
        element("style", Markup(style)),
    )
    page = element(
        "body",
        element("main", body),
        element(
            "footer",
            element("p", LEGEND),
            element("p", f"mamba-advisor {__version__}"),
        ),
        element("p", id="status", role="status", class_="unseen"),
        element("script", Markup(script)),
    )
    return f"<!DOCTYPE html>\n{element('html', head, page, lang='en')}\n"


def _variables() -> str:
    """Return the inks as CSS variables; paper is always printed on in light."""
    return (
        f":root{{{_inks('light')}}}\n"
        f"@media screen and (prefers-color-scheme: dark){{:root{{{_inks('dark')}}}}}\n"
    )


def _inks(theme: Theme) -> str:
    return "".join(f"--{name}:{ink.of(theme)};" for name, ink in INKS.items())


def _asset(name: str) -> str:
    path = files("mamba_advisor.report.plot") / name
    return path.read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return what lets a policy allow this very text, and no other."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
