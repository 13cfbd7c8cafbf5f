"""The drawing of the balance: where it is, and what it shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mamba_advisor.advice.model import Advice, BalancePoint, Curves
from mamba_advisor.report import render
from mamba_advisor.report.sections.balance import HEIGHT, balance


def drawn(curves: Curves, advice: Advice, width: int = 100) -> list[str]:
    """Return the lines of the drawing as text."""
    drawing = balance(replace(advice, curves=curves), width)
    assert drawing is not None
    return ["".join(cell.text for cell in line) for line in drawing.lines]


@pytest.fixture
def tent(advices: dict[str, Advice]) -> tuple[Curves, Advice]:
    """Return three points: 10, 40 and 10 requests at ratios of 0.1, 1 and 10."""
    points = (
        BalancePoint(0.1, 10, 80, 10, 62),
        BalancePoint(1.0, 40, 40, 40, 62),
        BalancePoint(10.0, 80, 10, 10, 62),
    )
    return Curves(points, 4096, 0.1, 1.0), advices["state-bound"]


def test_height_is_the_sustained_concurrency(tent: tuple[Curves, Advice]) -> None:
    """40 of 52 (30 % headroom) over 7 rows is 5.4 rows, 10 is 1.3, in the middle."""
    lines = drawn(*tent)

    columns = 100 - 9
    middle = [line[9 + columns // 2 :][:1].strip() for line in lines[:HEIGHT]]
    left = [line[9:10].strip() for line in lines[:HEIGHT]]
    assert ["", "▃", "█", "█", "█", "█", "█"] == middle
    assert ["", "", "", "", "", "▃", "█"] == left
    assert ["", "40 │"] == [lines[0][:8].strip(), lines[1][:9].strip()]


def test_today_and_the_best_are_marked(tent: tuple[Curves, Advice]) -> None:
    """The marks stand below their ratios: 0.1 at the left end, 1 in the middle."""
    lines = drawn(*tent)

    marks = lines[HEIGHT + 1]
    assert marks.index("▲ now 0.1") == 9
    assert marks.index("▲ best 1") == 9 + 45


def test_marks_close_to_each_other_take_a_line_each(
    tent: tuple[Curves, Advice],
) -> None:
    """Now at 0.9 and best at 1 would overlap on one line."""
    curves, advice = tent

    lines = drawn(replace(curves, ratio_now=0.9), advice)

    assert "▲ now 0.9" == lines[HEIGHT + 1].strip()
    assert "▲ best 1" == lines[HEIGHT + 2].strip()


def test_a_mark_at_the_right_end_stays_inside(tent: tuple[Curves, Advice]) -> None:
    """The text stands left of its mark where it would leave the picture."""
    curves, advice = tent

    lines = drawn(replace(curves, ratio_now=None, ratio_best=50.0), advice)

    assert lines[HEIGHT + 1].endswith("best 50 ▲")
    assert 100 == len(lines[HEIGHT + 1])


@pytest.mark.parametrize(
    "points",
    [
        (),
        (BalancePoint(1.0, 4, 4, 4, 4),),
        (BalancePoint(0.0, 4, 4, 4, 4), BalancePoint(1.0, 4, 4, 4, 4)),
        (BalancePoint(0.5, 0, 0, 0, 0), BalancePoint(1.0, 0, 0, 0, 0)),
        (BalancePoint(0.5, 4, None, None, 4), BalancePoint(1.0, 4, None, None, 4)),
    ],
)
def test_nothing_to_draw(
    points: tuple[BalancePoint, ...], advices: dict[str, Advice]
) -> None:
    """No points, one point, nothing carried, no context: no drawing."""
    advice = replace(advices["state-bound"], curves=Curves(points))

    assert balance(advice, 120) is None


def test_it_is_drawn_where_there_is_room(advices: dict[str, Advice]) -> None:
    """From 100 columns on, within the width, at most 120 wide."""
    advice = advices["state-bound"]

    assert "Balance" not in render([advice], width=99)
    assert "Balance" in render([advice], width=100)
    assert max(map(len, render([advice], width=300).splitlines())) < 300


def test_equal_ratios_do_not_divide_by_zero(advices: dict[str, Advice]) -> None:
    """Points of one ratio make a flat picture."""
    points = (BalancePoint(1.0, 4, 4, 4, 4), BalancePoint(1.0, 4, 4, 4, 4))

    assert drawn(Curves(points, 4096, 1.0, 1.0), advices["state-bound"])
