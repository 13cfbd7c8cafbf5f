"""Axes: where values lie, and which ticks are drawn."""

from __future__ import annotations

import pytest

from mamba_advisor.report.plot.scale import Axis, Kind, duration

GIB = 1 << 30


def axis(low: float, high: float, kind: Kind) -> Axis:
    """Return an axis of which only the numbers matter."""
    return Axis("n", "n", low, high, kind)


@pytest.mark.parametrize(
    ("kind", "low", "high", "value", "place"),
    [
        ("linear", 0, 80, 20, 0.25),
        ("log", 0.1, 10, 1, 0.5),
        ("log", 0.1, 10, 100, 1.5),
        ("binary", 512, 8192, 1024, 0.25),
    ],
)
def test_place(kind: Kind, low: float, high: float, value: float, place: float) -> None:
    """0 is the low end and 1 the high end; a logarithm counts factors."""
    assert place == pytest.approx(axis(low, high, kind).place(value))


@pytest.mark.parametrize("value", [0, -3])
def test_no_logarithm(value: float) -> None:
    """What has no logarithm lies below the picture."""
    assert axis(1, 100, "log").place(value) < 0


@pytest.mark.parametrize(
    ("kind", "low", "high", "room", "labels"),
    [
        ("log", 0.04, 11, 700, "0.05 0.1 0.2 0.5 1 2 5 10"),
        ("log", 0.04, 11, 200, "0.1 0.3 1 3 10"),
        ("log", 0.04, 11, 90, "0.1 1 10"),
        ("binary", 512, 262_144, 700, "512 1k 2k 4k 8k 16k 32k 64k 128k 256k"),
        ("binary", 512, 262_144, 300, "1k 4k 16k 64k 256k"),
        ("binary", 65_536, 2 << 20, 700, "64k 128k 256k 512k 1M 2M"),
        ("count", 0, 2, 300, "0 1 2"),
        ("count", 0, 70, 700, "0 10 20 30 40 50 60 70"),
        ("count", 0, 4300, 700, "0 1,000 2,000 3,000 4,000"),
        ("bytes", 0, 79 * GIB, 700, "0 GiB,20 GiB,40 GiB,60 GiB"),
        ("bytes", 0, GIB, 900, "0 GiB,0.2 GiB,0.4 GiB,0.6 GiB,0.8 GiB,1 GiB"),
    ],
)  # fmt: skip
def test_ticks(kind: Kind, low: float, high: float, room: float, labels: str) -> None:
    """Ticks are round, and as dense as their labels allow."""
    ticks = axis(low, high, kind).ticks(room)

    expected = labels.split("," if "GiB" in labels else None)
    assert expected == [label for _, label in ticks]


@pytest.mark.parametrize(
    ("seconds", "labels"),
    [
        (8, "0 s|2 s|4 s|6 s|8 s"),
        (110, "0 s|30 s|1 min|1:30 min"),
        (6540, "0 s|30 min|1:00 h|1:30 h"),
        (3 * 86_400, "0 s|24:00 h|48:00 h|72:00 h"),
    ],
)
def test_times(seconds: float, labels: str) -> None:
    """Times are cut into seconds, minutes, hours, days."""
    times = Axis("time", "time", 0, seconds, "time", duration)

    assert labels.split("|") == [label for _, label in times.ticks(300)]


def test_ticks_lie_inside() -> None:
    """No tick lies outside its axis, whatever the ends."""
    for low, high in ((0.0031, 0.0047), (3, 8), (0.7, 40_000)):
        for kind in ("log", "linear"):
            ticks = Axis("n", "n", low, high, kind, str).ticks(400)

            assert all(low * 0.99 <= value <= high * 1.01 for value, _ in ticks)
