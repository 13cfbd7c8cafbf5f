"""Colours: read in both themes, and told apart by everybody."""

from __future__ import annotations

from itertools import combinations

import pytest

from mamba_advisor.report.plot import palette
from mamba_advisor.report.plot.palette import INKS, STYLES, Theme, contrast

THEMES: tuple[Theme, ...] = ("light", "dark")
TEXTS = ("text", "muted", "state", "both", "problem", "warning")
"""Inks that words are written in."""

CURVES = ("state", "kv", "both")

SEEN_BY = {
    "protanopes": (
        (0.152, 1.053, -0.205),
        (0.115, 0.786, 0.099),
        (-0.004, -0.048, 1.052),
    ),
    "deuteranopes": (
        (0.367, 0.861, -0.228),
        (0.280, 0.673, 0.047),
        (-0.012, 0.043, 0.969),
    ),
    "tritanopes": (
        (1.256, -0.077, -0.179),
        (-0.078, 0.931, 0.148),
        (0.005, 0.691, 0.304),
    ),
}
"""Linear RGB without one kind of cones: Machado et al. 2009, severity 1."""

TELLS_APART = 20.0
"""CIE 1976 colour difference; 2.3 is just noticeable."""


def linear(color: str) -> list[float]:
    """Return the linear red, green and blue of ``#rrggbb``."""
    channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [c / 12.92 if c < 0.04 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def lab(rgb: list[float]) -> tuple[float, float, float]:
    """Return CIE L*a*b* of linear sRGB, D65."""
    to_xyz = (
        (0.4124 / 0.9505, 0.3576 / 0.9505, 0.1805 / 0.9505),
        (0.2126, 0.7152, 0.0722),
        (0.0193 / 1.089, 0.1192 / 1.089, 0.9505 / 1.089),
    )
    xyz = [sum(m * c for m, c in zip(row, rgb, strict=True)) for row in to_xyz]
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def test_contrast() -> None:
    """Black on white is 21 : 1, #767676 on white just 4.54 : 1 (WCAG's examples)."""
    assert 21 == pytest.approx(contrast("#000000", "#ffffff"))
    assert 4.54 == pytest.approx(contrast("#ffffff", "#767676"), abs=0.01)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ground", ["paper", "panel"])
@pytest.mark.parametrize("ink", TEXTS)
def test_words_are_readable(ink: str, ground: str, theme: Theme) -> None:
    """Words have a contrast of at least 4.5 : 1 on what they stand on."""
    assert contrast(INKS[ink].of(theme), INKS[ground].of(theme)) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("part", palette.PARTS)
def test_words_on_bars_are_readable(part: str, theme: Theme) -> None:
    """So have the sizes that are written on the pieces of a bar."""
    assert contrast(INKS[f"on-{part}"].of(theme), INKS[part].of(theme)) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ink", [*CURVES, "now", "limit"])
def test_curves_are_seen(ink: str, theme: Theme) -> None:
    """Curves have a contrast of at least 3 : 1 to the paper."""
    assert contrast(INKS[ink].of(theme), INKS["paper"].of(theme)) >= 3


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("eyes", SEEN_BY)
def test_curves_are_told_apart(eyes: str, theme: Theme) -> None:
    """State, KV and both differ clearly for eyes without one kind of cones, too."""
    matrix = SEEN_BY[eyes]
    seen = {}
    for ink in CURVES:
        rgb = linear(INKS[ink].of(theme))
        mixed = [sum(m * c for m, c in zip(row, rgb, strict=True)) for row in matrix]
        seen[ink] = lab([min(1.0, max(0.0, c)) for c in mixed])

    for one, other in combinations(CURVES, 2):
        apart = zip(seen[one], seen[other], strict=True)
        assert sum((a - b) ** 2 for a, b in apart) ** 0.5 >= TELLS_APART, (one, other)


def test_every_style_has_both_themes() -> None:
    """Each style names known inks, and is recoloured for the dark theme."""
    dark = palette.dark_rules()

    for style, given in STYLES.items():
        assert f".{style}{{" in dark
        assert {v for n, v in given.items() if n in palette.COLOURED} <= set(INKS)
