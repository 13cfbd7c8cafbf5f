"""Sizes and counts below zero: no pool has them, so no line states them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mamba_advisor import Workload, advise, read_log
from mamba_advisor.pattern import Field, convert

ROOT = Path(__file__).resolve().parent.parent
DEMO = (ROOT / "fixtures" / "demo" / "boot.log").read_text(encoding="utf-8")
GIB = 1 << 30


def test_typed_negative_size_has_ordered_interval() -> None:
    """A person typed -1 GB: between -1.5 and -0.5, and never above its own end."""
    expected = (-GIB, -GIB - GIB // 2, -GIB + GIB // 2)

    size = convert(Field("avail", "avail_bytes", "size", "GiB"), "-1", typed=True)

    assert (size.value, size.low, size.high) == expected  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("genuine", "forged"),
    [
        ("max_mamba_cache_size: 51, conv", "max_mamba_cache_size: -1, conv"),
        ("conv_state size: 0.14GB", "conv_state size: -1GB"),
        ("ssm_state size: 7.31GB", "ssm_state size: -7.31GB"),
        ("K size: 4.21 GB", "K size: -4.21 GB"),
        ("V size: 4.21 GB", "V size: -1 GB"),
    ],
)
def test_negative_pool_is_not_read(genuine: str, forged: str) -> None:
    """A pool line with a figure below zero gives no negative slots, bytes or rows."""
    assert genuine in DEMO
    boot = read_log(DEMO.replace(genuine, forged).split("\n"))[-1]

    document = advise(boot, Workload(16384, "option")).to_dict()

    pools = [document["state_pool"] or {}, document["kv_pool"] or {}]
    figures = [value for pool in pools for value in pool.values()]
    sizes = [size for size in figures if isinstance(size, dict)]
    counts = [count for count in figures if isinstance(count, int)]
    assert all(count >= 0 for count in counts)
    assert all(0 <= size["low"] <= size["value"] <= size["high"] for size in sizes)
    limits = document["concurrency"]["limits"].values()
    assert all(limit is None or limit >= 0 for limit in limits)
