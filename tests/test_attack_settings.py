"""Settings that no server has: what a log prints may be anything, advice may not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mamba_advisor import Workload, advise, read_log
from mamba_advisor.report import render
from mamba_advisor.report.plot import render_plot
from mamba_advisor.server_args import parse_arguments

ROOT = Path(__file__).resolve().parent.parent
DEMO = (ROOT / "fixtures" / "demo" / "boot.log").read_text(encoding="utf-8")
WORKLOAD = Workload(avg_context=16384, origin="option")


def refuse_constant(name: str) -> float:
    """Fail on what JSON does not know: NaN and the infinities."""
    pytest.fail(f"{name} in the JSON")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1e17", 1e17),
        ("-2.5e3", -2500.0),
        ("1e18", "1e18"),
        ("-1e18", "-1e18"),
        ("1e308", "1e308"),
        ("1e400", "1e400"),
    ],
)
def test_number_beyond_every_setting_stays_text(
    text: str, expected: float | str
) -> None:
    """From 10^18 on a number is kept as it was printed, and is not calculated with."""
    arguments = parse_arguments(f"(ratio={text}, tp_size=1)")

    assert arguments == {"ratio": expected, "tp_size": 1}


@pytest.mark.parametrize("value", ["1e308", "-1e308", "1e400", "-1e400"])
@pytest.mark.parametrize(
    "name",
    [
        "mem_fraction_static",
        "mamba_full_memory_ratio",
        "max_mamba_cache_size",
        "max_running_requests",
        "max_total_tokens",
    ],
)
def test_overflowing_setting_gives_finite_advice(name: str, value: str) -> None:
    """A setting that overflows a float ends in advice by the pools, never a crash."""
    log = re.sub(rf"\b{name}=[^,)]*", f"{name}={value}", DEMO, count=1)
    boot = read_log(log.split("\n"))[-1]

    document = json.loads(
        render([advise(boot, WORKLOAD)], "json"), parse_constant=refuse_constant
    )

    assert document["settings"][name]["value"] == value
    assert document["state_pool"]["slots"] == 51
    assert document["kv_pool"]["tokens"] == 137837


@pytest.mark.parametrize("ratio", ["5e-324", "1e-200", "9e17"])
def test_ratio_at_the_edge_of_floats_is_passed_over(ratio: str) -> None:
    """No arithmetic and no axis gets near the ends of what a float can be."""
    log = re.sub(r"full_memory_ratio=[^,)]*", f"full_memory_ratio={ratio}", DEMO)
    boot = read_log(log.split("\n"))[-1]

    advice = advise(boot, WORKLOAD, curves="all")

    points = [point.ratio for point in advice.curves.balance]
    assert sorted(points) == points
    assert render_plot([advice], "svg")
