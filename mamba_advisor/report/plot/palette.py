"""Colours of the pictures, for light and for dark, and what is drawn in them.

The three hues of the curves (blue, vermilion, green) are told apart with every common
kind of colour blindness; dashes and labels say the same without colour.
"""

from __future__ import annotations

from typing import Literal

from mamba_advisor.record import Record

Theme = Literal["light", "dark"]


class Ink(Record):
    """A colour in both themes."""

    light: str
    dark: str

    def of(self, theme: Theme) -> str:
        """Return the colour of *theme*."""
        return self.light if theme == "light" else self.dark


BLACK, WHITE = "#0b0f13", "#ffffff"

PARTS = (
    "weights",
    "state",
    "draft-state",
    "kv",
    "draft-kv",
    "graphs",
    "idle",
    "other",
)
"""Inks of the parts of a bar."""


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours ``#rrggbb``, 1 to 21.

    Source:
        WCAG 2.2, "contrast ratio" and "relative luminance".
    """
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: str) -> float:
    red, green, blue = (_linear(int(color[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    if channel <= 0.04045:  # noqa: PLR2004 -- sRGB's own
        return channel / 12.92
    return float(((channel + 0.055) / 1.055) ** 2.4)


def _readable_on(ink: Ink) -> Ink:
    """Return black or white, whichever is read better on *ink*."""
    light, dark = (
        max((BLACK, WHITE), key=lambda text: contrast(text, color))
        for color in (ink.light, ink.dark)
    )
    return Ink(light, dark)


INKS = {
    "paper": Ink("#ffffff", "#12161b"),
    "panel": Ink("#f4f6f8", "#1b2128"),
    "text": Ink("#1a1f24", "#e9ecef"),
    "muted": Ink("#545d66", "#a7b0ba"),
    "rule": Ink("#d5dae0", "#343c45"),
    "state": Ink("#003f7f", "#5b9df5"),
    "kv": Ink("#bf4a00", "#f28c40"),
    "both": Ink("#0a7f5a", "#5be0b5"),
    "now": Ink("#1a1f24", "#e9ecef"),
    "limit": Ink("#8a4b8f", "#d49ad8"),
    "problem": Ink("#b3261e", "#ff9a92"),
    "warning": Ink("#8a5300", "#f0b95a"),
    "weights": Ink("#7c8791", "#828d98"),
    "draft-state": Ink("#8cc4e8", "#2f6f9c"),
    "draft-kv": Ink("#f4b88f", "#9c5a2c"),
    "graphs": Ink("#b58abb", "#855a8b"),
    "idle": Ink("#e6f2ee", "#1d3a32"),
    "other": Ink("#c9cfd5", "#4a535c"),
}
"""Name -> colour."""

INKS |= {f"on-{part}": _readable_on(INKS[part]) for part in PARTS}

SANS = "system-ui, 'Segoe UI', 'Liberation Sans', Arial, sans-serif"

STYLES: dict[str, dict[str, str]] = {
    "sheet": {"fill": "paper"},
    "heading": {"fill": "text", "font-size": "16", "font-weight": "600"},
    "note": {"fill": "muted", "font-size": "12"},
    "tick": {"fill": "muted", "font-size": "11.5"},
    "label": {"fill": "text", "font-size": "12"},
    "halo": {
        "fill": "text",
        "font-size": "12",
        "stroke": "paper",
        "stroke-width": "4",
        "stroke-linejoin": "round",
        "paint-order": "stroke",
    },
    "axis": {"stroke": "muted", "stroke-width": "1"},
    "grid": {"stroke": "rule", "stroke-width": "1"},
    "band": {"fill": "both", "fill-opacity": "0.13"},
    "fill-both": {"fill": "both", "fill-opacity": "0.22"},
    "fill-lost": {"fill": "kv", "fill-opacity": "0.26"},
    "line-state": {"stroke": "state", "stroke-width": "2.25"},
    "line-kv": {"stroke": "kv", "stroke-width": "2.25", "stroke-dasharray": "8 3"},
    "line-both": {"stroke": "both", "stroke-width": "3"},
    "line-best": {"stroke": "both", "stroke-width": "2.25"},
    "line-now": {
        "stroke": "now",
        "stroke-width": "2.25",
        "stroke-dasharray": "8 3",
    },
    "line-queued": {"stroke": "kv", "stroke-width": "2.25", "stroke-dasharray": "3 3"},
    "line-limit": {
        "stroke": "limit",
        "stroke-width": "1.75",
        "stroke-dasharray": "2 3",
    },
    "mark-now": {"stroke": "now", "stroke-width": "1.5", "stroke-dasharray": "4 3"},
    "mark-best": {"stroke": "both", "stroke-width": "1.5"},
    "mark-plain": {"stroke": "muted", "stroke-width": "1.25"},
    **{
        f"dot-{name}": {"fill": ink, "stroke": "paper", "stroke-width": "1.5"}
        for name, ink in {
            "now": "now",
            "best": "both",
            "both": "both",
            "state": "state",
            "kv": "kv",
            "queued": "kv",
            "limit": "limit",
            "plain": "now",
        }.items()
    },
    **{
        f"part-{part}": {"fill": part, "stroke": "paper", "stroke-width": "1"}
        for part in PARTS
    },
    **{f"on-{part}": {"fill": f"on-{part}", "font-size": "11.5"} for part in PARTS},
}
"""Style -> presentation attributes; those of `COLOURED` name an ink."""

COLOURED = frozenset({"fill", "stroke"})

POINTED = ("dot-", "mark-plain")
"""Starts of the styles that appear below a pointer."""

UNFILLED = ("axis", "grid", "line-", "mark-")
"""Starts of the styles that are strokes only."""


def attributes(style: str) -> dict[str, str]:
    """Return the attributes of *style* in the light theme, and its class."""
    given = {
        name: INKS[value].light if name in COLOURED else value
        for name, value in STYLES[style].items()
    }
    if style.startswith(UNFILLED):
        given["fill"] = "none"
    return {"class": style} | given


def light_rules() -> str:
    """Return CSS for what appears below a pointer: dots and lines by class alone."""
    return "".join(
        f".{style}{{{_colours(style, 'light')}}}"
        for style in STYLES
        if style.startswith(POINTED)
    )


def dark_rules() -> str:
    """Return CSS that recolours every style where the reader's theme is dark.

    A viewer that knows no media queries, and every printer, keeps to the attributes.
    """
    rules = "".join(f".{style}{{{_colours(style, 'dark')}}}" for style in STYLES)
    return f"@media screen and (prefers-color-scheme: dark){{{rules}}}"


def _colours(style: str, theme: Theme) -> str:
    return ";".join(
        f"{name}:{INKS[value].of(theme)}"
        for name, value in STYLES[style].items()
        if name in COLOURED
    )
