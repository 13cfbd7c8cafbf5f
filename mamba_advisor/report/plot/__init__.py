"""Pictures of advice: as SVG, as PNG, and in an HTML report.

Nothing of this is imported before a picture is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from mamba_advisor.advice.comparison import Comparison
    from mamba_advisor.advice.model import Advice

__all__ = ["FORMS", "PlotForm", "render_comparison_plot", "render_plot"]

PlotForm: TypeAlias = Literal["svg", "png", "html"]

FORMS: tuple[PlotForm, ...] = ("svg", "png", "html")


def render_plot(advices: Sequence[Advice], form: PlotForm) -> bytes:
    """Return a file with the pictures of *advices*.

    Args:
        advices: At least one boot, with the data of the pictures (``curves=True`` of
            `mamba_advisor.advice.engine.advise`).  Several come worst first; of very
            many, the worst are drawn.
        form: One of `FORMS`.

    Returns:
        The file: UTF-8 text, or a PNG.

    Raises:
        InputError: *form* is ``"png"``, and the library for it is not installed.
    """
    if form == "html":
        from mamba_advisor.report.plot.html import render_html

        return render_html(advices).encode()
    from mamba_advisor.report.plot.gallery import blocks

    if form == "png":
        from mamba_advisor.report.plot.png import render_png

        return render_png(tuple(blocks(advices)))
    from mamba_advisor.report.plot.svg import sheet

    return sheet(tuple(blocks(advices)))[0].encode()


def render_comparison_plot(comparison: Comparison, form: PlotForm) -> bytes:
    """Return a file with the pictures of both boots, before and after side by side.

    Args:
        comparison: Of two boots that have the data of the pictures.
        form: One of `FORMS`.

    Raises:
        InputError: *form* is ``"png"``, and the library for it is not installed.
    """
    if form == "html":
        from mamba_advisor.report.plot.html import render_comparison_html

        return render_comparison_html(comparison).encode()
    from mamba_advisor.report.plot.gallery import comparison_block

    block = (comparison_block(comparison),)
    if form == "png":
        from mamba_advisor.report.plot.png import render_png

        return render_png(block)
    from mamba_advisor.report.plot.svg import sheet

    return sheet(block)[0].encode()
