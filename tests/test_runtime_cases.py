"""Published and recorded logs of real runs give the diagnosis that goes with them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mamba_advisor.facts import Rank, Reading, Value
from mamba_advisor.runtime.collector import EvidenceCollector
from mamba_advisor.runtime.model import Evidence

FIELDS = {
    "running": (re.compile(r"#running-req: (\d+)"), int),
    "queued": (re.compile(r"#queue-req: (\d+)"), int),
    "full_tokens": (re.compile(r"#(?:full )?token: (\d+)"), int),
    "full_usage": (re.compile(r"(?:full )?token usage: (\d\.\d\d)"), float),
    "state_slots_used": (re.compile(r"mamba num: (\d+)"), int),
    "state_usage": (re.compile(r"mamba usage: (\d\.\d\d)"), float),
    "new_tokens": (re.compile(r"#new-token: (\d+)"), int),
    "cached_tokens": (re.compile(r"#cached-token: (\d+)"), int),
}
LINE = re.compile(
    r"\[(?P<stamp>(?:[\d-]+ )?\d\d:\d\d:\d\d)(?P<rank>[A-Z\d ]*)\] "
    r"(?P<event>Decode|Prefill) batch|The server is fired up"
)


def evidence_of(path: Path, **limits: int) -> Evidence | None:
    """Return the evidence of the batch lines of *path*."""
    collector = EvidenceCollector()
    log = path.read_text(errors="replace")
    for number, text in enumerate(log.splitlines(), 1):
        head = LINE.search(text)
        if head is None:
            continue
        if head["event"] is None:
            # An excerpt's ready line may belong to another start than its traffic.
            if "server_args=" in log:
                collector.feed(Reading("ready", {}, number, "test/ready"))
            continue
        facts: dict[str, Value] = {
            name: kind(found[1])
            for name, (pattern, kind) in FIELDS.items()
            if (found := pattern.search(text))
        }
        tags = dict(re.findall(r"(DP|PP|TP)(\d+)", head["rank"]))
        dp, pp, tp = (int(tags.get(tag, -1)) for tag in ("DP", "PP", "TP"))
        collector.feed(
            Reading(
                head["event"].lower(),
                facts,
                number,
                "test/batch",
                Rank(dp, pp, tp),
                stamp=head["stamp"],
            )
        )
    return collector.evidence(**limits)


@pytest.mark.parametrize(
    ("name", "hot", "avg_context", "slots_per_request"),
    [
        # One 95K and one 2.5K prompt: nothing binds.  481,912 tokens, 7 requests.
        ("012-qwen35-4b-3090-compose-runtime", None, 68_845, 2.0),
        # KV at 0.99 and the state pool at 0.01, then a second run with room.
        ("013-qwen36-35b-tp4-ratio-009-vs-005", "kv", 130_000, 2.0),
        # A single request of 768,320 tokens.
        ("021-qwen38-flash-next-1m-ctx-journal", None, 768_320, 4.0),
        # Only prefill lines: the state pool at 0.60 is ahead of KV at 0.40.
        ("034-qwen-npu-prefill-filling-state", "state", None, None),
        # Not a hybrid: one request of 128 tokens.
        ("047-nonhybrid-npu-runtime", None, 128, None),
        ("048-qwen35-4b-time-only-stamps", None, 176, 2.0),
    ],
)
def test_published_runs(
    shared: Path,
    name: str,
    hot: str | None,
    avg_context: int | None,
    slots_per_request: float | None,
) -> None:
    """The diagnosis is the one recorded beside the log."""
    evidence = evidence_of(shared / "logs" / f"{name}.log")

    assert evidence is not None
    assert hot == evidence.total.hot_pool
    assert evidence.total.avg_context == (
        avg_context and pytest.approx(avg_context, rel=0.01)
    )
    assert slots_per_request == evidence.total.slots_per_request


def test_queue_at_the_users_own_limit(shared: Path) -> None:
    """8 requests were allowed for 40,623 slots: a queue of 2, and no pool is short.

    Ten requests were sent, 8 ran with 26 slots in nine lines of 424 to 1064 tokens;
    the nine lines with the last 2 stay in as well, a quarter of 8 being 2.
    """
    evidence = evidence_of(
        shared / "logs-real" / "0.5.18-qwen3next-default.log", limit=8, slots=40_623
    )

    assert evidence is not None
    shown = evidence.total
    assert shown.hot_pool is None
    assert (18, 0, 0.5) == (shown.samples, shown.left_out, shown.queued_share)
    assert 100 == shown.avg_context  # 9 · (744 + 258) / 90
    assert "neither pool sets the limit of 8 requests" in shown.hot_why


def test_workers_of_a_real_server(shared: Path) -> None:
    """Two DP workers with 5 requests and 17 slots each."""
    evidence = evidence_of(shared / "logs-real" / "0.5.23-qwen3next-dp2.log")

    assert evidence is not None
    assert ["DP0", "DP1"] == [worker.worker for worker in evidence.workers]
    assert [3.4, 3.4] == [worker.slots_per_request for worker in evidence.workers]
