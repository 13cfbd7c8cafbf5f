"""Which pool is short: every rule fires, stays silent, and holds at its edge."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from mamba_advisor.runtime.cell import Cell, sum_cells
from mamba_advisor.runtime.lines import Line
from mamba_advisor.runtime.tally import Tally
from mamba_advisor.runtime.verdict import Events, HotPool, Limits, judge_filling
from mamba_advisor.runtime.verdict import judge as judge_sums

NO_EVENTS = Events()
UNKNOWN = Limits()
STATE_LIMIT = Limits(limit=12, slots=62, slots_per_request=5)
"""62 // 5 = 12: the state pool sets the limit."""

OWN_LIMIT = Limits(limit=8, slots=62, slots_per_request=5)
"""The user allows fewer than the 12 that the slots would."""


def cells(*groups: tuple[int, Line]) -> list[Cell]:
    """Return the cells of (how often, line) groups."""
    tally = Tally()
    for count, line in groups:
        for _ in range(count):
            tally.count(line)
    return tally.busy()


def judge(
    found: list[Cell], limits: Limits, events: Events
) -> tuple[HotPool | None, str]:
    """Judge cells."""
    return judge_sums(found, sum_cells(found), limits, events)


def test_queue_at_the_limit_of_the_state_pool() -> None:
    """39 of 100 lines queue at 12 of 12 requests while KV stands at 35 %."""
    found = cells((39, Line(12, 4, 35, 77)), (61, Line(11, 0, 33, 70)))

    assert (
        "state",
        "in 39 % of decode lines requests queued while KV stood at 35 %: the limit of "
        "12 running requests was reached, which the state pool sets",
    ) == judge(found, STATE_LIMIT, NO_EVENTS)


def test_limit_of_the_user_is_no_pool() -> None:
    """At 8 of 8 requests that the user allows, with 62 slots, no pool is short."""
    hot, why = judge(cells((100, Line(8, 4, 35, 52))), OWN_LIMIT, NO_EVENTS)

    assert hot is None
    assert "the limit of 8 requests was reached, which neither pool sets" in why


def test_a_limit_of_one_request() -> None:
    """One request is no plural."""
    why = judge(cells((100, Line(1, 4, 35, 5))), Limits(1, 62, 5), NO_EVENTS)[1]

    assert "the limit of 1 request was reached" in why


@pytest.mark.parametrize(("kv", "hot"), [(94, None), (95, "kv")])
def test_kv_at_the_limit_of_the_user(kv: int, hot: str | None) -> None:
    """At the user's limit the queue is his own until KV has no room for more."""
    found = cells((100, Line(8, 4, kv, 52)))

    assert hot == judge(found, OWN_LIMIT, NO_EVENTS)[0]


def test_limit_far_away_is_not_reached() -> None:
    """A queue at 6 of 12 requests with both pools half empty blames neither."""
    hot, why = judge(cells((100, Line(6, 4, 35, 39))), STATE_LIMIT, NO_EVENTS)

    assert hot is None
    assert why.endswith("below the limit of 12 requests")


@pytest.mark.parametrize(
    ("state", "kv", "hot"),
    [
        (95, 14, "state"),
        (65, 14, "state"),  # 2 of 3 slots held, limit unknown
        (64, 14, None),
        (64, 79, None),
        (64, 80, "kv"),
        (95, 89, "state"),
        (95, 90, None),  # both are full
        (1, 99, "kv"),
    ],
)
def test_edges_without_a_known_limit(state: int, kv: int, hot: str | None) -> None:
    """Usages alone decide where the log holds no boot."""
    assert hot == judge(cells((50, Line(24, 8, kv, state))), UNKNOWN, NO_EVENTS)[0]


def test_unknown_usages_stay_unknown() -> None:
    """A queue without any usage fragment blames neither pool."""
    hot, why = judge(cells((50, Line(24, 8))), UNKNOWN, NO_EVENTS)

    assert hot is None
    assert "the limit in force is not known" in why


def test_state_usage_is_not_needed_where_the_limit_is_known() -> None:
    """Plain fragments of a hybrid: the limit of 12 and KV at 20 % are enough."""
    hot, _ = judge(cells((50, Line(12, 8, 20))), STATE_LIMIT, NO_EVENTS)

    assert "state" == hot


def test_full_kv_without_a_queue_is_hot() -> None:
    """KV at 97 % in half of the lines is short even while nothing waits."""
    found = cells((50, Line(10, 0, 97, 5)), (50, Line(10, 0, 60, 5)))

    assert (
        "kv",
        "in 50 % of decode lines KV stood at 97 % and the state pool at 5 %",
    ) == judge(found, UNKNOWN, NO_EVENTS)


@pytest.mark.parametrize(("waiting", "hot"), [(4, None), (5, "state")])
def test_bursts_are_ridden_out(waiting: int, hot: str | None) -> None:
    """5 % of the lines must agree."""
    found = cells((waiting, Line(12, 1, 30, 97)), (100 - waiting, Line(12, 0, 30, 90)))

    assert hot == judge(found, UNKNOWN, NO_EVENTS)[0]


@pytest.mark.parametrize(("waiting", "hot"), [(2, None), (3, "state")])
def test_two_lines_prove_nothing(waiting: int, hot: str | None) -> None:
    """Three lines must agree, however short the log."""
    found = cells((waiting, Line(12, 1, 30, 97)))

    assert hot == judge(found, UNKNOWN, NO_EVENTS)[0]


@pytest.mark.parametrize(
    ("waiting", "idle", "why"),
    [
        (2, 0, "too few samples to tell: 2 decode lines, 2 of them with a queue; KV"),
        (1, 0, "too few samples to tell: 1 decode line, 1 of them with a queue; KV"),
        (0, 2, "too few samples to tell: 2 decode lines without a queue; KV"),
        (2, 8, "requests queued in only 2 of 10 decode lines; KV"),
        (4, 96, "hardly a request queued; KV"),
    ],
)
def test_a_short_log_is_not_called_idle(waiting: int, idle: int, why: str) -> None:
    """A queue in every one of two lines is too little to judge, not no queue."""
    found = cells((waiting, Line(12, 1, 30, 20)), (idle, Line(12, 0, 30, 20)))

    hot, reason = judge(found, UNKNOWN, NO_EVENTS)

    assert (None, True) == (hot, reason.startswith(why))


@pytest.mark.parametrize(("retractions", "hot"), [(9, None), (10, "kv")])
def test_retractions(retractions: int, hot: str | None) -> None:
    """One retraction in a hundred decode lines says that KV is short."""
    found = cells((1000, Line(12, 0, 70, 30)))

    assert hot == judge(found, UNKNOWN, Events(retractions=retractions))[0]


def test_rare_retractions_are_told() -> None:
    """Too few for a verdict, they are named all the same."""
    found = cells((1000, Line(12, 0, 70, 30)))

    assert "retracted 3 times" in judge(found, UNKNOWN, Events(retractions=3))[1]


def test_limit_without_slots_per_request() -> None:
    """S unknown: 62 // 5 = 12 and 62 // 3 = 20 are limits of the pool, 13 is not."""
    limits = [Limits(limit, 62).state_sets_limit for limit in (12, 20, 13)]

    assert [True, True, False] == limits


@pytest.mark.parametrize(
    ("usages", "queued", "hot"),
    [
        ([(20, 14), (40, 27), (60, 40)], 49, "state"),
        ([(1, 50), (1, 99)], 8, "kv"),
        ([(20, 14), (49, 27)], 49, None),
        ([(60, 49)], 49, None),
        ([(60, 40)], 0, None),
    ],
)
def test_prefill_lines_tell_which_pool_fills_first(
    usages: Iterable[tuple[int, int]], queued: int, hot: str | None
) -> None:
    """From half full on, with a queue, a lead of a quarter over the other pool."""
    found = cells(*((1, Line(30, queued, kv, state)) for state, kv in usages))

    assert hot == judge_filling(sum_cells(found))[0]
