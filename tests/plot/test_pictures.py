"""What the pictures show: the numbers of the advice, and nothing of their own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mamba_advisor.advice.comparison import compare
from mamba_advisor.advice.model import (
    Advice,
    BalancePoint,
    BreakEvenPoint,
    Curves,
    MemoryBar,
    MemoryPart,
)
from mamba_advisor.report.plot.balance import balance
from mamba_advisor.report.plot.break_even import break_even
from mamba_advisor.report.plot.chart import Chart, numbers
from mamba_advisor.report.plot.gallery import blocks, comparison_block, pictures
from mamba_advisor.report.plot.memory import memory
from mamba_advisor.report.plot.run import run
from mamba_advisor.report.plot.sweep import sweep

GIB = 1 << 30


def series(chart: Chart) -> dict[str, tuple[float | None, ...]]:
    """Return the values of every curve by its name."""
    return {one.name: one.values for one in chart.series}


def test_balance_has_the_curves(state_bound: Advice) -> None:
    """Four curves over the ratios: either pool, both, the limit in force."""
    chart = balance(state_bound)

    assert chart is not None
    points = state_bound.curves.balance
    assert tuple(point.ratio for point in points) == chart.xs
    assert {
        "state pool": tuple(point.state for point in points),
        "KV pool": tuple(point.kv for point in points),
        "both": tuple(point.sustained for point in points),
        "request limit": (32,) * 49,
    } == series(chart)
    assert "16,384 tokens" in chart.title


def test_balance_has_the_marks(state_bound: Advice) -> None:
    """Today's 0.9 carries 8, the advised 0.588 carries 10; as good from 0.39 on."""
    chart = balance(state_bound)

    assert chart is not None
    found = [(mark.label, mark.x, mark.y) for mark in chart.marks]
    assert [("now 0.9", 0.9, 8), ("best 0.588", 0.588, 10)] == found
    assert [(0.39, 0.588)] == [(band.low, band.high) for band in chart.bands]


def test_balance_says_now_and_best_once(state_bound: Advice) -> None:
    """Where nothing is to be changed, there is one mark."""
    curves = replace(state_bound.curves, ratio_best=0.9)
    chart = balance(replace(state_bound, curves=curves))

    assert chart is not None
    assert ["now and best 0.9"] == [mark.label for mark in chart.marks]


def test_balance_without_a_context(no_context: Advice) -> None:
    """Without a workload the balanced context is drawn, and no dot claims a number."""
    chart = balance(no_context)

    assert chart is not None
    assert "8,108 tokens" in chart.title
    assert [None] == [mark.y for mark in chart.marks]


@pytest.mark.parametrize(
    "points",
    [
        (),
        (BalancePoint(0.9, 5, 5, 5, None),),
        (BalancePoint(0.9, 0, 0, 0, 9), BalancePoint(1.8, 0, 0, 0, 9)),
    ],
)
def test_no_balance_to_draw(
    state_bound: Advice, points: tuple[BalancePoint, ...]
) -> None:
    """Fewer than two points, or nothing carried anywhere: no picture."""
    advice = replace(state_bound, curves=Curves(balance=points))

    assert balance(advice) is None


def test_break_even_has_the_curves(state_bound: Advice) -> None:
    """Today's split and the best one; the workload, and where today's is right."""
    chart = break_even(state_bound)

    assert chart is not None
    points = state_bound.curves.break_even
    assert tuple(point.avg_context for point in points) == chart.xs
    assert {
        "today's split": tuple(point.today for point in points),
        "best split": tuple(point.best for point in points),
    } == series(chart)
    assert [("workload 16,384", 8), ("today's split is right for 8,108", None)] == [
        (mark.label, mark.y) for mark in chart.marks
    ]


def test_break_even_tells_the_worst_loss(state_bound: Advice) -> None:
    """The description names the context where most is lost: 3 where 9 are possible."""
    points = (
        BreakEvenPoint(1024, 20, 22),
        BreakEvenPoint(4096, 3, 9),
        BreakEvenPoint(8192, 2, 3),
    )
    chart = break_even(replace(state_bound, curves=Curves(break_even=points)))

    assert chart is not None
    assert "Most is lost at 4,096: today's split carries 3 requests, best split 9" in (
        chart.description
    )


def test_plan_has_no_today(state_bound: Advice, no_context: Advice) -> None:
    """Before a boot, the split that is held against the best one is a planned one."""
    plan = replace(state_bound, is_plan=True)
    over_ratio, over_context = balance(plan), break_even(plan)
    over_sweep = sweep(replace(no_context, is_plan=True))

    assert over_ratio is not None
    assert over_context is not None
    assert over_sweep is not None
    assert ["planned 0.9", "best 0.588"] == [mark.label for mark in over_ratio.marks]
    assert ["planned split", "best split"] == list(series(over_context))
    assert ["planned 0.9"] == [level.label for level in over_sweep.levels]


def test_nothing_carried_is_not_drawn(state_bound: Advice) -> None:
    """A logarithmic axis has no place for curves that are 0 throughout."""
    points = (BreakEvenPoint(1024, 0, 0), BreakEvenPoint(2048, None, 0))

    assert break_even(replace(state_bound, curves=Curves(break_even=points))) is None


def test_equal_ranks_share_a_bar(state_bound: Advice) -> None:
    """Two kinds of ranks are two bars, whatever the number of ranks."""
    big = (MemoryPart("weights", 30 * GIB), MemoryPart("idle", 2 * GIB))
    small = (MemoryPart("weights", 20 * GIB),)
    ranks = [*((f"TP{n}", big) for n in range(3)), ("TP3", small), ("TP4", small)]
    curves = Curves(memory=tuple(MemoryBar(*rank) for rank in ranks))
    bars = memory(replace(state_bound, curves=curves))

    assert bars is not None
    assert ["TP0 … TP2 (3 ranks)", "TP3, TP4"] == [bar.label for bar in bars.bars]
    assert 32 * GIB == bars.x.high
    assert "TP3, TP4: weights 20.00 GiB." in bars.description


def test_memory_is_that_of_the_log(state_bound: Advice) -> None:
    """Every part stands with its bytes; 0.02 GiB left over are rounding, not a part."""
    bars = memory(state_bound)

    assert bars is not None
    (bar,) = bars.bars
    found = {part.name: part.value for part in bar.parts}
    (drawn,) = state_bound.curves.memory
    expected = {part.name: part.bytes for part in drawn.parts}
    assert 21_474_838 == expected.pop("other")
    assert expected == found


def test_inferred_memory_says_so(state_bound: Advice) -> None:
    """What is left over of the device was inferred, and is called that."""
    parts = (MemoryPart("weights", GIB), MemoryPart("other", GIB, inferred=True))
    curves = Curves(memory=(MemoryBar("", parts),))
    bars = memory(replace(state_bound, curves=curves))

    assert bars is not None
    assert ["weights", "other (inferred)"] == [p.name for p in bars.bars[0].parts]
    assert "only rank" == bars.bars[0].label


def test_run_over_time(ran: Advice) -> None:
    """Both usages, then running and queued, over seconds since the first slice."""
    usage, requests = run(ran)

    assert (0.0, 60.0, 120.0) == usage.xs == requests.xs
    assert {"state pool": (0.25, None, 0.5), "KV pool": (0.5, 1.0, 0.98)} == (
        series(usage)
    )
    assert {"running": (4.0, 8.5, 8.0), "queued": (0.0, 2.0, 12.0)} == series(requests)
    assert [("full", 1.0)] == [(level.label, level.y) for level in usage.levels]
    assert [
        ("limit in force 17", 17),
        ("the KV pool carries 8 at 16,384 tokens", 8),
    ] == [(level.label, level.y) for level in requests.levels]


@pytest.mark.parametrize("stamp", ["", "12:00", "2026-09-14 12:00:00+02:00"])
def test_run_without_times(ran: Advice, stamp: str) -> None:
    """Where times are missing, odd, or stand still, slices are counted instead."""
    evidence = ran.boot.runtime
    assert evidence is not None
    odd = (replace(evidence.timeline[0], stamp=stamp), *evidence.timeline[1:])
    boot = replace(ran.boot, runtime=replace(evidence, timeline=odd))
    usage, _ = run(replace(ran, boot=boot))

    assert (1.0, 2.0, 3.0) == usage.xs
    assert "slice of the run" == usage.x.title


def test_run_without_usage(ran: Advice) -> None:
    """A log that states no usage is drawn by its requests alone."""
    evidence = ran.boot.runtime
    assert evidence is not None
    blank = tuple(
        replace(one, state_usage=None, kv_usage=None) for one in evidence.timeline
    )
    boot = replace(ran.boot, runtime=replace(evidence, timeline=blank))

    assert ["run-requests"] == [one.name for one in run(replace(ran, boot=boot))]


def test_sweep_has_the_ratios(no_context: Advice) -> None:
    """The table over contexts is drawn as best ratios; pins and requests are listed."""
    chart = sweep(no_context)

    assert chart is not None
    rows = no_context.sweep
    assert tuple(row.avg_context for row in rows) == chart.xs
    assert (
        tuple(row.mamba_full_memory_ratio for row in rows)
        == (series(chart)["best ratio"])
    )
    assert ["best ratio"] == [one.name for one in chart.series if one.drawn]
    assert ["now 0.9"] == [level.label for level in chart.levels]


def test_numbers_are_those_of_the_curves(state_bound: Advice) -> None:
    """The table beside a picture has the number as shown, and as it is."""
    chart = balance(state_bound)

    assert chart is not None
    table = numbers(chart)
    assert ("ratio", "state pool", "KV pool", "both", "request limit") == table.columns
    first = state_bound.curves.balance[0]
    assert [("0.049", first.ratio), ("1", 1), ("15", 15), ("1", 1), ("32", 32)] == [
        (figure.text, figure.value) for figure in table.rows[0]
    ]


def test_order(ran: Advice, no_context: Advice) -> None:
    """Balance first; the run last."""
    ran_names = [picture.name for picture in pictures(ran)]

    assert ["balance", "break-even", "memory", "run-usage", "run-requests"] == ran_names
    assert ["balance", "break-even", "sweep", "memory"] == [
        picture.name for picture in pictures(no_context)
    ]


def test_comparison_is_on_one_scale(state_bound: Advice) -> None:
    """Before and after have the same axes, so that heights can be compared."""
    after = replace(
        state_bound,
        curves=replace(
            state_bound.curves,
            balance=tuple(
                replace(point, ratio=point.ratio * 2, sustained=50)
                for point in state_bound.curves.balance
            ),
        ),
    )
    first, *_ = comparison_block(compare(state_bound, after)).rows

    old, new = first
    assert isinstance(old, Chart)
    assert isinstance(new, Chart)
    assert old.title.startswith("before · Balance")
    assert new.title.startswith("after · Balance")
    assert 0.049 == old.x.low
    assert pytest.approx(21.6) == old.x.high
    assert (old.x.low, old.x.high, old.y.high) == (new.x.low, new.x.high, new.y.high)


def test_comparison_with_a_gap(ran: Advice, state_bound: Advice) -> None:
    """A picture that only one boot has leaves a place empty beside it."""
    block = comparison_block(compare(state_bound, ran))

    old, new = block.rows[-1]
    assert old is None
    assert new is not None
    assert "run-requests" == new.name


def test_too_many_boots(state_bound: Advice) -> None:
    """Of 25 boots the 20 most in need are drawn, and it is said."""
    drawn = list(blocks([state_bound] * 25))

    assert 20 == len(drawn)
    assert "Of 25 boots, the 20 most in need are drawn." == drawn[0].sentences[0]


def test_nothing_to_draw(state_bound: Advice) -> None:
    """A boot without any figures says so in place of pictures."""
    (block,) = blocks([replace(state_bound, curves=Curves())])

    assert () == block.rows
    assert "There is nothing to draw: the input holds too little." in block.sentences
