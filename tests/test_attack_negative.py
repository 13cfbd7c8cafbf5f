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


def test_cap_for_slots_below_zero_is_not_read() -> None:
    """A cap that names a pool of −1 slots gives no limit of −1 requests."""
    cap = (
        "[2026-02-27 17:10:40] max_running_requests is capped to 17 by the mamba state"
        " cache (max_mamba_cache_size=-1, 3 state slots per request)."
    )
    log = [one for one in DEMO.split("\n") if "Mamba Cache is" not in one]
    log = [one for one in log if "KV Cache is" not in one]
    boot = read_log([log[0], cap, *log[1:]])[-1]

    limits = advise(boot, Workload(16384, "option")).concurrency.limits

    assert limits.state is None


def test_model_never_gets_slots_below_zero() -> None:
    """Where the settings leave no memory, the model's answer is 0 slots, not −1."""
    log = (
        "[2026-02-27 17:10:28] server_args=ServerArgs(mamba_full_memory_ratio=0.01)",
        "[2026-02-27 17:10:35] Mamba Cache is allocated. max_mamba_cache_size: 3,"
        " conv_state size: 0.01GB, ssm_state size: 0.01GB",
        "[2026-02-27 17:10:36] KV Cache is allocated. dtype: torch.bfloat16,"
        " #tokens: 7, K size: 0.01 GB, V size: 0.01 GB",
        "[2026-02-27 17:10:37] max_total_num_tokens=5, chunked_prefill_size=1,"
        " max_prefill_tokens=1, max_running_requests=1, context_len=1,"
        " available_gpu_mem=0.01 GB",
    )
    boot = read_log(log)[-1]

    check = advise(boot, Workload(16384, "option")).self_check

    assert check.outcome == "differs"
    assert 0 == check.slots
