"""Text from logs made harmless, and the drawing characters of poor encodings."""

from __future__ import annotations

_PLAIN = str.maketrans(
    {
        "→": "->",
        "←": "<-",
        "×": "x",
        "÷": "/",
        "±": "+/-",
        "−": "-",
        "–": "-",
        "—": "-",
        "≈": "~",
        "≤": "<=",
        "≥": ">=",
        "≠": "!=",
        "·": "|",
        "•": "*",
        "…": "...",
        "\u2019": "'",
        "\u2018": "'",
        "“": '"',
        "”": '"',
        "²": "^2",
        "█": "#",
        "▌": "#",
        "▇": "#",
        "▆": "#",
        "▅": "#",
        "▄": "=",
        "▃": "=",
        "▂": "_",
        "▁": "_",
        "░": ".",
        "─": "-",
        "│": "|",
        "└": "+",
        "┤": "|",
        "▲": "^",
    }
)
"""Character -> what stands for it where only ASCII can be shown."""

DRAWING = "→×÷·█░─│└▲▁"
"""What an encoding must hold for the screen to be drawn in full."""


def safe(text: str, *, unicode: bool = True) -> str:
    r"""Return *text* with everything that a terminal would obey shown as an escape.

    Args:
        text: Any string: a path, a model's name, a log line.
        unicode: Whether the output's encoding can show more than ASCII.

    Returns:
        One printable line.  Control characters, line and paragraph separators,
        direction overrides, zero-width characters and lone surrogates are written
        as ``\x1b`` or ``\u202e``; without *unicode*, arrows and blocks become
        ASCII signs, and all other letters escapes.
    """
    if not unicode and not text.isascii():
        text = text.translate(_PLAIN)
        if not text.isascii():
            text = text.encode("ascii", "backslashreplace").decode("ascii")
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else _escape(character)
        for character in text
    )


def can_draw(encoding: str | None) -> bool:
    """Return whether text in *encoding* can hold the screen's own characters."""
    try:
        DRAWING.encode(encoding or "ascii")
    except (LookupError, ValueError):
        return False
    return True


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")
