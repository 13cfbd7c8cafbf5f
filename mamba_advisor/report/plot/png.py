"""Pictures as PNG: the SVG, made pixels by a library that is installed on demand.

vl-convert is kept by the people of Vega, and draws SVG with resvg.  It brings letters
of its own: servers and containers often have none, and a picture without words is none.
"""

from __future__ import annotations

from collections.abc import Sequence

from mamba_advisor.errors import InputError
from mamba_advisor.report.plot.gallery import Block
from mamba_advisor.report.plot.svg import sheet

INSTALL = (
    "png needs a further library; install it with: pip install 'mamba-advisor[plot]'"
)

ZOOM = 2.0
"""Pixels of the PNG ÷ pixels of the SVG, for screens with fine pixels."""

TALLEST = 16_000
"""Pixels of height from which on the zoom is less, down to 1."""


def render_png(blocks: Sequence[Block]) -> bytes:
    """Return *blocks* as a PNG file, in the light theme.

    Raises:
        InputError: The library is not installed.
    """
    try:
        from vl_convert import svg_to_png
    except ImportError as error:
        raise InputError(INSTALL) from error
    document, height = sheet(blocks, live=False)
    zoom = max(1.0, min(ZOOM, TALLEST / height))
    png: bytes = svg_to_png(document, scale=zoom)
    return png
