"""Elements of SVG and HTML as text; whatever is no markup yet is made harmless."""

from __future__ import annotations

from mamba_advisor.report.safe import safe

EMPTY = frozenset({"link", "meta"})
"""HTML elements that are never closed.  Everything else is closed in full, which both
XML and HTML understand."""

_SPECIAL = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
)

Attribute = str | float | bool | None
"""Value of an attribute: True writes the name alone, False and None leave it out."""


class Markup(str):
    """Text that is markup already, and is not escaped again."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: Attribute) -> Markup:
    """Return an element.

    Args:
        name: Its name, trusted.
        children: `Markup`, or text from anywhere, which is escaped.
        attributes: Names, trusted, with ``_`` for ``-`` (a trailing ``_`` is dropped:
            ``class_``); values from anywhere.
    """
    head = name + "".join(
        _attribute(key.rstrip("_").replace("_", "-"), value)
        for key, value in attributes.items()
    )
    if name in EMPTY:
        return Markup(f"<{head}>")
    return Markup(f"<{head}>{join(*children)}</{name}>")


def join(*children: str) -> Markup:
    """Return *children* one after the other; text that is no `Markup` is escaped."""
    return Markup("".join(map(escape, children)))


def escape(text: str) -> Markup:
    """Return *text* as it is to be read: control and direction characters as escapes.

    Source:
        `mamba_advisor.report.safe.safe`; then the five characters of XML.
    """
    if isinstance(text, Markup):
        return text
    return Markup(safe(text).translate(_SPECIAL))


def number(value: float) -> str:
    """Return a coordinate: at most two decimals, and none that is zero."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    if value is True:
        # XML knows no attribute without a value.
        return f' {name}=""'
    text = escape(value) if isinstance(value, str) else number(value)
    return f' {name}="{text}"'
