"""PNG files, and what is said where the library for them is missing."""

from __future__ import annotations

import struct
import sys

import pytest

from mamba_advisor.advice.model import Advice
from mamba_advisor.errors import InputError
from mamba_advisor.report.plot import render_plot
from mamba_advisor.report.plot.gallery import blocks
from mamba_advisor.report.plot.svg import sheet


def test_png_is_the_svg_at_twice_the_size(state_bound: Advice) -> None:
    """The file begins as a PNG, and has twice the pixels of the SVG each way."""
    pytest.importorskip("vl_convert", reason="needs the extra: mamba-advisor[plot]")
    png = render_plot([state_bound], "png")

    _, height = sheet(tuple(blocks([state_bound])), live=False)
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert (2 * (760 + 48), 2 * height) == struct.unpack(">II", png[16:24])


def test_missing_library(state_bound: Advice, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence that names the extra to install."""
    monkeypatch.setitem(sys.modules, "vl_convert", None)

    with pytest.raises(InputError) as caught:
        render_plot([state_bound], "png")

    assert "pip install 'mamba-advisor[plot]'" in str(caught.value)
    assert "\n" not in str(caught.value)
