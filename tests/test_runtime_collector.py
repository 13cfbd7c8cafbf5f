"""Evidence from batch lines, held to figures worked out by hand."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from mamba_advisor.facts import Rank, Reading, Value
from mamba_advisor.runtime.collector import EvidenceCollector
from mamba_advisor.runtime.model import WorkerEvidence


def stamp(second: int) -> str:
    """Return a printed time *second* seconds after midnight."""
    hours, rest = divmod(second, 3600)
    return f"2026-02-27 {hours:02d}:{rest // 60:02d}:{rest % 60:02d}"


def decode(
    running: int,
    tokens: int,
    *,
    queued: int = 0,
    kv: float = 0.5,
    state: float = 0.5,
    slots: int | None = None,
    rank: Rank = Rank(),  # noqa: B008 - frozen
    second: int = 0,
    line: int = 1,
) -> Reading:
    """Return the reading of a decode line."""
    facts: dict[str, Value] = {
        "running": running,
        "queued": queued,
        "full_tokens": tokens,
        "full_usage": kv,
        "state_usage": state,
    }
    if slots is not None:
        facts["state_slots_used"] = slots
    return Reading("decode", facts, line, "sglang/decode", rank, stamp=stamp(second))


def prefill(new: int, cached: int, **more: Value) -> Reading:
    """Return the reading of a prefill line at 00:00:00."""
    facts = {"new_tokens": new, "cached_tokens": cached, "running": 1, **more}
    return Reading("prefill", facts, 1, "sglang/prefill", stamp=stamp(0))


def gather(readings: Iterable[Reading]) -> EvidenceCollector:
    """Return a collector that was fed *readings*."""
    collector = EvidenceCollector()
    for reading in readings:
        collector.feed(reading)
    return collector


def total(readings: Iterable[Reading]) -> WorkerEvidence:
    """Return the evidence of *readings* for all workers together."""
    evidence = gather(readings).evidence()
    assert evidence is not None
    return evidence.total


def test_nothing_is_no_evidence() -> None:
    """Without a batch line there is nothing to report."""
    assert EvidenceCollector().evidence() is None


def test_context_is_weighted_by_requests() -> None:
    """(10 × 1000 + 30 × 5000) tokens over 40 requests are 4000, not 3000."""
    shown = total([decode(10, 10_000), decode(30, 150_000)])

    assert 4000 == shown.avg_context
    assert 5000.0 == shown.context.max if shown.context else None


def test_spread_covers_four_fifths_of_the_requests() -> None:
    """Of contexts 1000 to 10,000, 10 and 90 % are 1000 and 9000, in bins of 3 %."""
    shown = total(decode(4, 4000 * step) for step in range(1, 11))

    assert shown.context is not None
    assert shown.context.low == pytest.approx(1000, rel=0.016)
    assert shown.context.high == pytest.approx(9000, rel=0.016)


def test_usages_and_slots() -> None:
    """Means of 0.40 and 0.60 are 0.50; 20 + 40 slots over 5 + 10 requests are 4."""
    shown = total(
        [
            decode(5, 5000, kv=0.40, state=0.2, slots=20),
            decode(10, 10_000, kv=0.60, state=0.4, slots=40, queued=3),
        ]
    )

    assert shown.kv_usage is not None
    assert (0.5, 0.6, 0.4, 0.6) == (
        shown.kv_usage.mean,
        shown.kv_usage.max,
        shown.kv_usage.low,
        shown.kv_usage.high,
    )
    assert 4.0 == shown.slots_per_request
    assert (7.5, 10.0) == (shown.running.mean, shown.running.max)
    assert (1.5, 3.0) == (shown.queued.mean, shown.queued.max)
    assert (0.5, 0.6, 0.4) == (
        shown.queued_share,
        shown.queued_kv_usage,
        shown.queued_state_usage,
    )


def test_plain_lines_leave_the_state_unknown() -> None:
    """A plain usage fragment says nothing about the state pool: null, not 0."""
    facts: dict[str, Value] = {"running": 2, "full_tokens": 400, "full_usage": 0.1}
    shown = total([Reading("decode", facts, 1, "sglang/decode")])

    assert 200 == shown.avg_context
    assert shown.state_usage is None
    assert shown.slots_per_request is None
    assert shown.hot_pool is None


def test_idle_day_does_not_poison_the_context() -> None:
    """A thousand lines of one short request weigh nothing beside a hundred of 64.

    The typical number of running requests is 64, as half of all work ran there; a
    quarter of it is 16.
    """
    idle = [decode(1, 100) for _ in range(1000)]
    busy = [decode(64, 64 * 9000) for _ in range(100)]
    shown = total([*idle, *busy])

    assert 9000 == shown.avg_context
    assert (100, 1000) == (shown.samples, shown.left_out)
    assert (
        "1,000 with fewer than 16 running requests, a quarter of what is typical "
        "(idle phases and ramps)"
    ) == shown.left_out_why


def test_burst_does_not_shut_out_the_rest() -> None:
    """Ten lines at 200 requests leave a thousand lines at 8 in the evidence."""
    burst = [decode(200, 200 * 100) for _ in range(10)]
    rest = [decode(8, 8 * 5000) for _ in range(1000)]
    shown = total([*burst, *rest])

    assert 0 == shown.left_out
    assert 200.0 == shown.running.max
    # (10·20,000 + 1000·40,000) / (2000 + 8000), half of the lines by a sample
    assert shown.avg_context == pytest.approx(4020, rel=0.005)


def test_few_long_requests_that_fill_kv_count() -> None:
    """3 requests of 300,000 tokens are as busy as 30 of 30,000 where KV is full."""
    many = [decode(30, 900_000, kv=0.95) for _ in range(10)]
    few = [decode(3, 900_000, kv=0.95) for _ in range(10)]
    shown = total([*many, *few])

    assert 0 == shown.left_out
    assert 54_545 == shown.avg_context  # 1,800,000 / 33


def test_warm_up_before_ready_is_left_out() -> None:
    """What was printed before the ready line is the server's own request."""
    ready = Reading("ready", {}, 2, "sglang/ready")
    shown = total([decode(1, 29), prefill(29, 0), ready, decode(1, 8000)])

    assert 8000 == shown.avg_context
    assert "1 from before the server was ready" == shown.left_out_why
    assert shown.prefix_hit_share is None


def test_lowest_tp_rank_speaks_for_its_worker() -> None:
    """TP ranks repeat each other: two that speak, whoever is first, count once."""
    readings = [
        decode(4, 4000 * step, rank=Rank(dp=0, tp=tp))
        for step in range(1, 5)
        for tp in (1, 0)
    ]
    shown = total(readings)

    assert 4 == shown.samples
    assert 2500 == shown.avg_context


def test_workers_are_told_apart() -> None:
    """DP workers have pools of their own; together they are pooled, not added."""
    evidence = gather(
        [
            decode(10, 10_000, rank=Rank(dp=0)),
            decode(30, 90_000, rank=Rank(dp=1)),
        ]
    ).evidence()

    assert evidence is not None
    assert ["DP0", "DP1"] == [worker.worker for worker in evidence.workers]
    assert [1000, 3000] == [worker.avg_context for worker in evidence.workers]
    assert "" == evidence.total.worker
    assert 2500 == evidence.total.avg_context
    assert 20.0 == evidence.total.running.mean


def test_retractions_of_all_ranks_are_one_event() -> None:
    """Four TP ranks print each of two retractions: two events, three requests."""
    retractions = [
        Reading("retract", {"retracted": count}, 1, "sglang/retract", Rank(dp=0, tp=tp))
        for count in (1, 2)
        for tp in range(4)
    ]
    shown = total([decode(4, 4000, rank=Rank(dp=0, tp=0)), *retractions])

    assert (2, 3) == (shown.retractions, shown.retracted_requests)
    assert "kv" == shown.hot_pool


def test_prefix_hits_are_shared_out_by_tokens() -> None:
    """600 of 2000 prompt tokens came from the cache: 30 %."""
    shown = total([decode(4, 4000), prefill(1000, 0), prefill(400, 600)])

    assert 0.3 == shown.prefix_hit_share


@pytest.mark.parametrize(
    ("late_share", "kv", "is_told"),
    [(30, 0.35, True), (60, 0.35, False), (30, 0.75, False)],
)
def test_falling_hits_with_idle_kv_are_told(
    late_share: int, kv: float, is_told: bool
) -> None:
    """From 70 % hits to 30 % with KV at 35 %; not at 60 %, not with KV at 75 %."""
    collector = EvidenceCollector()
    for second in range(100):
        cached = 70 if second < 50 else late_share
        facts: dict[str, Value] = {
            "new_tokens": 100 - cached,
            "cached_tokens": cached,
            "running": 8,
        }
        collector.feed(
            Reading("prefill", facts, 1, "sglang/prefill", stamp=stamp(second))
        )
        collector.feed(decode(8, 8000, kv=kv, second=second))
    evidence = collector.evidence()

    assert evidence is not None
    assert is_told == ("fell from 70% to 30%" in evidence.total.eviction_hint)


def test_exhausted_state_slots_are_hot() -> None:
    """A line that says the state slots ran out needs no statistics."""
    reading = Reading(
        "runtime-exhausted",
        {},
        7,
        "sglang/exhausted",
        text="Not enough space for mamba cache, try to increase the ratio",
    )
    evidence = gather([decode(4, 4000), reading]).evidence()

    assert evidence is not None
    assert (7,) == evidence.exhausted
    assert "state" == evidence.total.hot_pool
    assert "the server ran out of state slots once" == evidence.total.hot_why


def test_lines_first_peak_and_last() -> None:
    """The evidence names where it begins, peaks and ends."""
    evidence = gather(
        decode(running, 1000, line=line)
        for line, running in ((10, 4), (20, 9), (30, 9), (40, 2))
    ).evidence()

    assert evidence is not None
    assert (10, 20, 40) == evidence.lines
