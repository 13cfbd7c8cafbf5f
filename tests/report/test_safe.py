"""What comes from a log is shown, never obeyed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mamba_advisor.report.safe import can_draw, safe


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain [TP0] text", "plain [TP0] text"),
        ("a\x1b[31mred", r"a\x1b[31mred"),
        ("a\x9b31m", r"a\x9b31m"),
        ("two\r\nlines\tand\x00", r"two\r\nlines\tand\x00"),
        ("abc\u202ecba", r"abc\u202ecba"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("\udc80", r"\udc80"),
        ("tag \U000e0041", r"tag \U000e0041"),
        ("über 漢字 → ×", "über 漢字 → ×"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text: str, shown: str) -> None:
    """Controls, separators, direction overrides and the invisible are spelled out."""
    assert shown == safe(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("62 → 26", "62 -> 26"),
        ("131 ÷ 5 × 2 ≥ 3", "131 / 5 x 2 >= 3"),
        ("██░░", "##.."),
        ("müde", r"m\xfcde"),
        ("漢", r"\u6f22"),
    ],
)
def test_ascii_is_enough(text: str, shown: str) -> None:
    """Where only ASCII can be shown, signs have stand-ins and letters escapes."""
    assert shown == safe(text, unicode=False)


@given(st.text(st.characters()), st.booleans())
def test_any_text_becomes_one_printable_line(text: str, unicode: bool) -> None:
    """Whatever goes in, a printable line comes out, and ASCII where that was asked."""
    shown = safe(text, unicode=unicode)

    assert shown.isprintable()
    assert unicode or shown.isascii()


@pytest.mark.parametrize(
    ("encoding", "able"),
    [
        ("utf-8", True),
        ("UTF-16", True),
        ("ascii", False),
        ("latin-1", False),
        ("no-such-encoding", False),
        (None, False),
    ],
)
def test_encodings_that_hold_the_drawing(encoding: str | None, able: bool) -> None:
    """Only an encoding with arrows and blocks gets them."""
    assert able is can_draw(encoding)
