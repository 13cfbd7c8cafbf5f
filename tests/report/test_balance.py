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
    """40 of 52 (30 % headroom) over 4 rows is 3.08 rows, 10 is 0.77, in the middle."""
    lines = drawn(*tent)

    columns = 100 - 9
    middle = [line[9 + columns // 2 :][:1].strip() for line in lines[:HEIGHT]]
    left = [line[9:10].strip() for line in lines[:HEIGHT]]
    assert ["▁", "█", "█", "█"] == middle
    assert ["", "", "", "▆"] == left
    assert ["40 │", "│"] == [lines[0][:9].strip(), lines[1][:9].strip()]


def test_it_is_six_lines_high(tent: tuple[Curves, Advice]) -> None:
    """Four rows, the axis, and the words below it."""
    assert 6 == len(drawn(*tent))


def test_today_and_the_best_are_marked(tent: tuple[Curves, Advice]) -> None:
    """The marks stand at their ratios: 0.1 at the left end, 1 in the middle."""
    axis, labels = drawn(*tent)[HEIGHT:]

    assert [9, 9 + 45] == [at for at, sign in enumerate(axis) if sign == "▲"]
    assert [9, 9 + 45] == [labels.index("now 0.1"), labels.index("best 1")]


def test_marks_close_to_each_other_are_told_apart(
    tent: tuple[Curves, Advice],
) -> None:
    """Now at 0.9 and best at 1 would overlap; their order tells which is which."""
    curves, advice = tent

    axis, labels = drawn(replace(curves, ratio_now=0.9), advice)[HEIGHT:]

    assert [9 + 43, 9 + 45] == [at for at, sign in enumerate(axis) if sign == "▲"]
    assert "now 0.9  best 1" == labels.strip()


def test_marks_at_the_right_end_stay_inside(tent: tuple[Curves, Advice]) -> None:
    """The words stand left of their marks where they would leave the picture."""
    curves, advice = tent

    lines = drawn(replace(curves, ratio_now=8.0, ratio_best=50.0), advice)

    assert lines[HEIGHT + 1].endswith("now 8  best 50")
    assert {100} == {len(line) for line in lines[HEIGHT:]}


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


def test_it_does_not_scroll_the_answer_away(advices: dict[str, Advice]) -> None:
    """It is left out where the terminal could hold all but the drawing."""
    advice = advices["state-bound"]
    lines = len(render([advice], width=100).splitlines())

    assert "Balance" in render([advice], width=100, height=lines + 1)
    assert "Balance" not in render([advice], width=100, height=lines)
    assert "Balance" in render([advice], width=100, height=lines, explain=True)


def test_equal_ratios_do_not_divide_by_zero(advices: dict[str, Advice]) -> None:
    """Points of one ratio make a flat picture."""
    points = (BalancePoint(1.0, 4, 4, 4, 4), BalancePoint(1.0, 4, 4, 4, 4))

    assert drawn(Curves(points, 4096, 1.0, 1.0), advices["state-bound"])
