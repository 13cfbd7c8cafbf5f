"""What the HTML page lets a browser do, and asks it to draw."""

from __future__ import annotations

import html
import re

import pytest

from mamba_advisor.report.plot.chart import Chart
from mamba_advisor.report.plot.curves import Field
from mamba_advisor.report.plot.html import _document
from mamba_advisor.report.plot.markup import Markup
from mamba_advisor.report.plot.scale import Axis


def test_policy_forbids_all_but_the_page_itself() -> None:
    """No address, no form and no other base: only its own script, style and icon."""
    page = _document("<title>", Markup("<p>text</p>"))
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    rules = dict(
        rule.strip().split(" ", 1) for rule in html.unescape(policy).split(";")
    )
    own = {rules.pop("style-src"), rules.pop("script-src")}

    assert all(re.fullmatch(r"'sha256-[\w+/]{43}='", source) for source in own)
    assert {
        "default-src": "'none'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    } == rules


def test_policy_comes_before_what_it_governs() -> None:
    """What stands before it in the page would not be bound by it."""
    page = _document("<script>", Markup())

    assert page.index("Content-Security-Policy") < page.index("<title>")
    assert page.index("Content-Security-Policy") < page.index("<style>")
    assert "<title>&lt;script&gt;" in page


@pytest.mark.parametrize("value", [1e308, 1e19, -1e308])
def test_point_far_outside_a_picture_is_placed_near_it(value: float) -> None:
    """A browser draws coordinates of some thousand pixels, not of 1e308."""
    axis = Axis("x", "x", 0, 100)
    chart = Chart("name", "title", "text", axis, axis, (0.0, 1.0), ())
    field = Field(chart, 0, 0, 500, 250)

    assert abs(field.y(value)) <= 50 * 250
