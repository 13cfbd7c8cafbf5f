"""Advice as a screen, as Markdown, as JSON or as launch flags.

Everything here returns text.  What a form needs is imported when it is asked for:
start-up counts, and only tables need rich.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from mamba_advisor.errors import InputError

if TYPE_CHECKING:
    from mamba_advisor.advice.comparison import Comparison
    from mamba_advisor.advice.model import Advice

__all__ = ["FORMS", "Form", "render", "render_comparison"]

Form: TypeAlias = Literal["table", "json", "markdown", "flags"]

FORMS: tuple[Form, ...] = ("table", "json", "markdown", "flags")


def render(
    advices: Sequence[Advice],
    form: Form = "table",
    *,
    width: int = 80,
    color: bool = False,
    unicode: bool = True,
    explain: bool = False,
    height: int | None = None,
) -> str:
    """Return the report on *advices*, in the order of the call for JSON and flags.

    Args:
        advices: A boot each; with several, a table begins with a summary.
        form: One of `FORMS`.
        width: Columns of the terminal; of use to tables only.
        color: Whether a table may hold ANSI colours.
        unicode: Whether the output's encoding holds more than ASCII; see
            `mamba_advisor.report.safe.can_draw`.
        explain: Whether to show every formula with its numbers and lines.
        height: Lines of the terminal: what would scroll away for the sake of a
            drawing is shown without one, unless explained; None: no terminal.

    Raises:
        InputError: *form* is ``"flags"``, and a boot has no recommendation.
    """
    if form == "json":
        from mamba_advisor.report.jsondoc import render_json

        return render_json(advices)
    if form == "flags":
        from mamba_advisor.report.flags import render_flags

        return render_flags(advices)
    from mamba_advisor.report.page import pages

    if form == "markdown":
        from mamba_advisor.report.markdown import render_pages

        return render_pages(pages(advices, explain=explain), unicode=unicode)
    from mamba_advisor.report.table import Screen

    text = ""
    for draws in (True, False):
        screen = Screen(width, color=color, unicode=unicode)
        wide = screen.width
        for title, part in pages(advices, explain=explain, width=wide, draws=draws):
            screen.add(title, part)
        text = screen.text()
        if explain or height is None or text.count("\n") < height:
            break
    return text


def render_comparison(
    comparison: Comparison,
    form: Form = "table",
    *,
    width: int = 80,
    color: bool = False,
    unicode: bool = True,
) -> str:
    """Return the report on *comparison*; arguments as for `render`.

    Raises:
        InputError: *form* is ``"flags"``: a comparison recommends none.
    """
    if form == "flags":
        raise InputError("compare has no flags to give; use analyze on either log")
    if form == "json":
        from mamba_advisor.report.jsondoc import render_comparison_json

        return render_comparison_json(comparison)
    from mamba_advisor.report.page import comparison_page

    sections = comparison_page(comparison)
    if form == "markdown":
        from mamba_advisor.report.markdown import render_pages

        return render_pages([("", sections)], unicode=unicode)
    from mamba_advisor.report.table import Screen

    screen = Screen(width, color=color, unicode=unicode)
    screen.add("", sections)
    return screen.text()
