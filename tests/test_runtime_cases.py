"""Published and recorded logs of real runs give the diagnosis that goes with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mamba_advisor.boot.builder import BootBuilder
from mamba_advisor.boot.model import Source
from mamba_advisor.catalog import Catalog, load_catalog
from mamba_advisor.reader import read_readings
from mamba_advisor.runtime.collector import EvidenceCollector
from mamba_advisor.runtime.model import Evidence


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    """Return the built-in dialects."""
    return load_catalog(plugins=False)


def evidence_of(path: Path, catalog: Catalog) -> list[Evidence]:
    """Return the evidence of every server start of a log that has some."""
    builder = BootBuilder(collector=EvidenceCollector)
    for reading in read_readings(str(path), catalog):
        builder.feed(reading)
    boots = builder.boots(Source(str(path), 0, 0))
    return [boot.runtime for boot in boots if boot.runtime is not None]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # One 95K and one 2.5K prompt: nothing binds.  481,912 tokens, 7 requests.
        ("012-qwen35-4b-3090-compose-runtime", [(None, 68_845, 2.0)]),
        # KV at 0.99 and the state pool at 0.01; then, with another ratio, room.
        (
            "013-qwen36-35b-tp4-ratio-009-vs-005",
            [("kv", 129_982, 2.0), (None, 130_004, 2.0)],
        ),
        # A single request of 768,320 tokens.
        ("021-qwen38-flash-next-1m-ctx-journal", [(None, 768_320, 4.0)]),
        # Only prefill lines: the state pool at 0.60 is ahead of KV at 0.40.
        ("034-qwen-npu-prefill-filling-state", [("state", None, None)]),
        # Not a hybrid: one request of 128 tokens.
        ("047-nonhybrid-npu-runtime", [(None, 128, None)]),
        ("048-qwen35-4b-time-only-stamps", [(None, 176, 2.0)]),
    ],
)
def test_published_runs(
    shared: Path,
    catalog: Catalog,
    name: str,
    expected: list[tuple[str | None, int | None, float | None]],
) -> None:
    """Hot pool, context and slots per request of every start are as recorded."""
    found = evidence_of(shared / "logs" / f"{name}.log", catalog)

    assert expected == [
        (
            evidence.total.hot_pool,
            evidence.total.avg_context,
            evidence.total.slots_per_request,
        )
        for evidence in found
    ]


def test_state_pool_that_fills_says_so(shared: Path, catalog: Catalog) -> None:
    """Without a decode line the verdict names what it rests on."""
    (evidence,) = evidence_of(
        shared / "logs" / "034-qwen-npu-prefill-filling-state.log", catalog
    )

    assert 0 == evidence.total.samples
    assert (
        "no decode line yet; while requests are taken in, the state pool fills first: "
        "60 % against 40 % of the KV pool"
    ) == evidence.total.hot_why


@pytest.mark.parametrize("release", ["0.5.15", "0.5.18"])
def test_queue_at_the_users_own_limit(
    shared: Path, catalog: Catalog, release: str
) -> None:
    """8 requests were allowed for 40,000 slots: a queue of 2, and no pool is short.

    Ten requests were sent, 8 ran with 26 slots in nine lines of 424 to 1064 tokens;
    the nine lines with the last 2 stay in as well, a quarter of 8 being 2.
    """
    (evidence,) = evidence_of(
        shared / "logs-real" / f"{release}-qwen3next-default.log", catalog
    )
    shown = evidence.total

    assert shown.hot_pool is None
    assert (18, 0, 0.5) == (shown.samples, shown.left_out, shown.queued_share)
    assert 100 == shown.avg_context  # 9 · (744 + 258) / 90
    assert (
        "the limit of 8 requests was reached, which neither pool sets" in shown.hot_why
    )


@pytest.mark.parametrize("release", ["0.5.6", "0.5.18", "0.5.23"])
def test_workers_of_a_real_server(shared: Path, catalog: Catalog, release: str) -> None:
    """Two DP workers with 5 requests each, and slots that the release holds."""
    (evidence,) = evidence_of(
        shared / "logs-real" / f"{release}-qwen3next-dp2.log", catalog
    )

    assert ["DP0", "DP1"] == [worker.worker for worker in evidence.workers]
    assert {5.0} == {worker.running.max for worker in evidence.workers}


def test_recorded_load_at_the_clamp(catalog: Catalog) -> None:
    """20 slots, 5 reserved, 4 held: 4 of 8 clients run and KV is all but empty."""
    path = Path(__file__).resolve().parent.parent / "fixtures" / "runtime"
    (evidence,) = evidence_of(path / "qwen3next-pin20-0.5.23.log", catalog)
    shown = evidence.total

    assert "state" == shown.hot_pool
    assert (4.0, 4.0) == (shown.slots_per_request, shown.running.max)
    assert (31, 934) == (shown.samples, shown.avg_context)
    assert (
        "in 94 % of decode lines requests queued while KV stood at 0 %: the limit of 4 "
        "running requests was reached, which the state pool sets"
    ) == shown.hot_why
