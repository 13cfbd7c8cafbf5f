"""Bins, the clock of the log, and the run in at most 120 slices."""

from __future__ import annotations

import pytest

from mamba_advisor.runtime.bins import bin_middle, bin_of, percentile
from mamba_advisor.runtime.clock import Clock, parse_stamp
from mamba_advisor.runtime.lines import Line
from mamba_advisor.runtime.timeline import Timeline


def test_small_values_are_exact() -> None:
    """Up to 63 a bin holds one value."""
    assert list(range(64)) == [bin_middle(bin_of(value)) for value in range(64)]


@pytest.mark.parametrize("value", [64, 127, 128, 1000, 9215, 131_072, 1_048_575])
def test_large_values_are_near(value: int) -> None:
    """Above, the middle of the bin is within 1.6 %."""
    assert bin_middle(bin_of(value)) == pytest.approx(value, rel=1 / 64)


def test_bins_are_in_order() -> None:
    """A larger value is never in an earlier bin, and no bin is skipped."""
    codes = [bin_of(value) for value in range(5000)]

    assert sorted(codes) == codes
    assert set(range(codes[-1] + 1)) == set(codes)


def test_percentile_is_a_value_that_came() -> None:
    """Of 90 ones and 10 twos, nine tenths are reached by 1."""
    counts = {1: 90, 2: 10}

    assert (1, 2) == (percentile(counts, 0.9), percentile(counts, 0.91))


def test_percentile_of_nothing() -> None:
    """There is none."""
    with pytest.raises(ValueError, match="nothing was counted"):
        percentile({}, 0.5)


@pytest.mark.parametrize(
    ("first", "second", "seconds"),
    [
        ("2026-02-27 17:10:28", "2026-02-27 17:10:30", 2.0),
        ("2026-02-27 23:59:59", "2026-02-28 00:00:01", 2.0),
        ("2026-02-27 17:10:28,250", "2026-02-27 17:10:28.750", 0.5),
        ("2026-02-27T17:10:28Z", "2026-02-27T17:10:29Z", 1.0),
        ("20:53:41", "20:53:43", 2.0),
        ("23:59:59", "00:00:01", 2.0),
        ("2026-05-13 15:16:44", "2026-05-13 15:09:13", 0.0),
        ("2026-05-13 15:16:44", "2026-05-13 15:16:43", 0.0),
        ("", "2026-02-27 17:10:28", 0.0),
        ("2026-02-27 17:10:28", "soon", 0.0),
    ],
)
def test_clock(first: str, second: str, seconds: float) -> None:
    """Times without a date pass midnight; the clock never runs backwards."""
    clock = Clock()
    clock.advance(first)

    assert seconds == clock.advance(second)


def test_interleaved_ranks_do_not_stretch_time() -> None:
    """A rank that lags a second behind costs nothing; a jump of minutes goes on."""
    clock = Clock()
    seconds = [
        clock.advance(f"2026-05-13 15:{time}")
        for time in ("16:10", "16:09", "16:11", "16:10", "16:12", "09:00", "09:05")
    ]

    assert [0, 0, 1, 1, 2, 2, 7] == seconds


def test_no_time() -> None:
    """What is no time is none."""
    assert parse_stamp("TP0") is None
    assert parse_stamp("2026-13-27 17:10:28") is None


def test_slices_double_instead_of_multiplying() -> None:
    """1000 seconds make 63 slices of 16 s, each the mean of its lines."""
    timeline = Timeline()
    for second in range(1000):
        timeline.add_decode(second, f"{second}", Line(second // 16, 2, 50, None))
    buckets = timeline.buckets()

    assert 16.0 == timeline.width_s
    assert list(range(63)) == [bucket.running for bucket in buckets]
    assert [f"{16 * index}" for index in range(63)] == [at.stamp for at in buckets]
    assert {2.0} == {bucket.queued for bucket in buckets}
    assert {0.5} == {bucket.kv_usage for bucket in buckets}
    assert {None} == {bucket.state_usage for bucket in buckets}


def test_idle_stretches_have_no_slice() -> None:
    """A day without lines is a gap, not a hundred empty slices."""
    timeline = Timeline()
    timeline.add_decode(0.0, "first", Line(4, 0))
    timeline.add_decode(86_400.0, "last", Line(8, 0))

    assert ["first", "last"] == [bucket.stamp for bucket in timeline.buckets()]


def test_merging_keeps_time() -> None:
    """The second part's 200 s are the whole's 300 s, in the coarser grid."""
    short, long = Timeline(), Timeline()
    short.add_decode(3.0, "a", Line(2, 0))
    long.add_decode(200.0, "b", Line(4, 0))
    short.merge(long, 100.0)

    assert 4.0 == short.width_s
    assert [2.0, 4.0] == [bucket.running for bucket in short.buckets()]


def test_drift_compares_halves_of_the_prompts() -> None:
    """100 tokens at 80 %, then 100 at 20 %; KV stood at 30 % in the second half."""
    timeline = Timeline()
    timeline.add_prefill(1.0, "", 20, 80)
    timeline.add_prefill(50.0, "", 80, 20)
    timeline.add_decode(51.0, "", Line(4, 0, 30))
    drift = timeline.drift()

    assert drift is not None
    assert (0.8, 0.2, 0.3) == (
        drift.early_share,
        drift.late_share,
        drift.late_kv_usage,
    )


def test_one_prompt_has_no_drift() -> None:
    """A single slice cannot be compared with anything."""
    timeline = Timeline()
    timeline.add_prefill(1.0, "", 20, 80)

    assert timeline.drift() is None
