"""The one line that a live filter may print, and everything that keeps it silent."""

from __future__ import annotations

from typing import Literal

import pytest

from mamba_advisor.runtime.model import Evidence, Spread, WorkerEvidence
from mamba_advisor.runtime.watch import (
    MIN_SAMPLES,
    VerdictWatch,
    duration,
    same_advice,
)

RATIO = ("--mamba-full-memory-ratio", "1.8")


class Time:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Return the time that was set."""
        return self.now


def evidence(
    hot_pool: Literal["state", "kv"] | None, samples: int = MIN_SAMPLES
) -> Evidence:
    """Return evidence for *hot_pool*."""
    total = WorkerEvidence(
        worker="",
        samples=samples,
        left_out=0,
        left_out_why="",
        avg_context=12_345,
        context=None,
        running=Spread(4.0, 4.0),
        queued=Spread(1.0, 4.0),
        state_usage=None,
        kv_usage=None,
        slots_per_request=None,
        queued_share=0.39,
        queued_kv_usage=0.35,
        queued_state_usage=None,
        retractions=0,
        prefix_hit_share=None,
        hot_pool=hot_pool,
        hot_why="in 39 % of decode lines requests queued",
    )
    return Evidence(total, seconds=7500.0)


def test_change_is_told_once() -> None:
    """The state pool gets short: one line with verdict, basis and flags."""
    watch = VerdictWatch(Time())
    watch.told(None)

    assert (
        "the state pool is short: in 39 % of decode lines requests queued "
        "(60 decode lines in 2 h 5 min, 12,345 tokens of context per request); "
        "advised now: --mamba-full-memory-ratio 1.8"
    ) == watch.line(evidence("state"), RATIO)
    assert watch.line(evidence("state"), RATIO) is None


def test_too_few_samples() -> None:
    """59 decode lines say nothing, 60 do."""
    watch = VerdictWatch(Time())

    assert watch.line(None) is None
    assert watch.line(evidence("kv", 59)) is None
    assert watch.line(evidence("kv", 60)) is not None


def test_at_most_once_in_ten_minutes() -> None:
    """A second change waits until ten minutes have gone by."""
    clock = Time()
    watch = VerdictWatch(clock)
    first = watch.line(evidence("kv"))
    clock.now += 599
    early = watch.line(evidence(None))
    clock.now += 1
    second = watch.line(evidence(None))

    assert first is not None
    assert early is None
    assert second is not None
    assert second.startswith("neither pool is short any more")


def test_same_as_the_boot_advice_is_not_news() -> None:
    """Where the boot advice said it already, the run has nothing to add."""
    watch = VerdictWatch(Time())
    watch.told(None, RATIO)

    assert watch.line(evidence(None), RATIO) is None


def test_measured_context_makes_an_advice() -> None:
    """Without a context the boot advised nothing; now there is something to set."""
    watch = VerdictWatch(Time())
    watch.told(None)
    line = watch.line(evidence(None), RATIO)

    assert line is not None
    assert line.startswith("the run has shown what to set (60 decode lines")
    assert line.endswith("advised now: --mamba-full-memory-ratio 1.8")


def test_advice_that_falls_away() -> None:
    """What the boot advised is no longer needed."""
    watch = VerdictWatch(Time())
    watch.told(None, RATIO)
    line = watch.line(evidence(None), ())

    assert line is not None
    assert line.endswith("nothing to change any more")


def test_advice_on_demand_resets_what_was_said() -> None:
    """After SIGUSR1 showed everything, the same verdict is no news."""
    watch = VerdictWatch(Time())
    watch.told(evidence("state"), RATIO)

    assert watch.line(evidence("state"), RATIO) is None


@pytest.mark.parametrize(
    ("one", "two", "is_same"),
    [
        ((), (), True),
        (RATIO, RATIO, True),
        (RATIO, ("--mamba-full-memory-ratio", "1.95"), True),
        (RATIO, ("--mamba-full-memory-ratio", "2.1"), False),
        (RATIO, ("--max-mamba-cache-size", "1.8"), False),
        (RATIO, (), False),
        (("--x", "auto"), ("--x", "no_buffer"), False),
    ],
)
def test_same_advice(one: tuple[str, ...], two: tuple[str, ...], is_same: bool) -> None:
    """Numbers may drift by a tenth, names may not."""
    assert is_same == same_advice(one, two)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (12.4, "12 s"),
        (59.9, "1 min"),
        (3540, "59 min"),
        (3600, "1 h 0 min"),
        (7500, "2 h 5 min"),
        (86_400 * 3 + 7200, "3 d 2 h"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    """Two units at most."""
    assert text == duration(seconds)
