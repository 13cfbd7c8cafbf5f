"""Whatever a log holds, the memory that a start takes is bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from mamba_advisor import read_log
from mamba_advisor.batch import Batch
from mamba_advisor.boot.builder import CITED, KEEP, ROOM, BootBuilder
from mamba_advisor.boot.model import Boot, Source
from mamba_advisor.boot.start import MAX_NOTICES, MAX_TEXTS
from mamba_advisor.boot.tags import MAX_RANKS
from mamba_advisor.facts import Rank, Reading
from mamba_advisor.measured import Measured

CHECKOUT = Path(__file__).resolve().parent.parent.parent

Say = Callable[..., Reading]
BootsOf = Callable[[Iterable[Reading]], list[Boot]]


def test_distinct_ranks(say: Say, boots_of: BootsOf) -> None:
    """Ranks beyond the widest server are left out, and that is said."""
    (boot,) = boots_of(
        say("state-pool", rank=Rank(tp=tp), state_slots=10)
        for tp in range(3 * MAX_RANKS)
    )

    assert MAX_RANKS == len(boot.ranks)
    assert ["too-many-ranks"] == [note.code for note in boot.notes]


def test_collapsed_range_without_end(say: Say, boots_of: BootsOf) -> None:
    """``TP0..999999`` names no more ranks than a server can have."""
    (boot,) = boots_of(
        [say("kv-pool", rank=Rank(tp=0), last_rank=Rank(tp=999999), kv_tokens=9)]
    )

    assert MAX_RANKS == len(boot.ranks)


def test_one_line_for_ever(say: Say, boots_of: BootsOf) -> None:
    """Graph lines without end on one rank: sums, texts and lines stop growing."""
    used = Measured.from_text("1.00", "GiB", (1,))
    readings = (
        Reading("graph-end", {"used_bytes": used}, line, "test/made", text="Capture")
        for line in range(1, 4 * MAX_TEXTS)
    )

    (boot,) = boots_of(readings)

    assert MAX_TEXTS == len(boot.excerpts)
    assert boot.ranks == ()


def test_notices_without_end(say: Say, boots_of: BootsOf) -> None:
    """Notices that all differ are cut off at some hundreds."""
    (boot,) = boots_of(
        say("notice-page-size", text=f"page {size}", page_size=size)
        for size in range(5 * MAX_NOTICES)
    )

    assert MAX_NOTICES == len(boot.notices)


def test_speakers_without_end(say: Say) -> None:
    """A new container name on every line: each start counts, few stay open."""
    builder = BootBuilder()
    for index in range(1000):
        builder.feed(say("ready", speaker=f"pod-{index}"))

    boots = builder.boots(Source("made.log", 0, 0))

    assert 1000 == boots[0].source.boots
    assert 128 >= len(boots)


def test_a_million_batch_lines_cost_no_memory(say: Say) -> None:
    """Batch lines are counted and handed on, never kept."""

    class Collector:
        seen = 0

        def feed(self, reading: Reading) -> None:
            Collector.seen += 1

        def feed_batch(self, batch: Batch) -> None:
            Collector.seen += len(batch.rows)

        def evidence(
            self,
            *,
            limit: int | None = None,
            slots: int | None = None,
            slots_per_request: int | None = None,
        ) -> None:
            return None

    def batches() -> Iterator[Reading]:
        line = say("decode", running=1, state_usage=0.5)
        yield from (line for _ in range(20000))

    builder = BootBuilder(collector=Collector)
    for reading in batches():
        builder.feed(reading)

    (boot,) = builder.boots(Source("made.log", 0, 0))
    assert 20000 == Collector.seen
    assert {} == boot.excerpts


@pytest.mark.parametrize("pods", [False, True])
def test_ranks_of_all_starts(say: Say, pods: bool) -> None:
    """Of starts of hundreds of ranks so many are kept as there is room for."""
    builder = BootBuilder()
    starts, ranks = 40, 200
    for start in range(starts):
        speaker = f"pod-{start}" if pods else ""
        whole = {"form": "repr", "arguments": {"tp_size": 200}}
        builder.feed(say("server-args", speaker=speaker, **whole))
        for rank in range(ranks):
            tags = Rank(tp=rank, text=f"TP{rank}")
            pool = {"state_slots": 9, "conv_bytes": "0.10", "ssm_bytes": "4.00"}
            builder.feed(say("state-pool", speaker=speaker, rank=tags, **pool))
    boots = builder.boots(Source("made.log", 0, 0))

    assert starts == builder.count
    assert starts == boots[-1].number
    assert ranks == len(boots[-1].ranks)
    assert 8 <= len(boots) <= ROOM // ranks + 1


def test_usual_starts_are_all_kept(say: Say) -> None:
    """A crash loop of a server of 16 ranks fits in."""
    builder = BootBuilder()
    for _ in range(KEEP):
        builder.feed(say("server-args", form="repr", arguments={"tp_size": 16}))
        for rank in range(16):
            tags = Rank(tp=rank, text=f"TP{rank}")
            pool = {"state_slots": 9, "conv_bytes": "0.10", "ssm_bytes": "4.00"}
            builder.feed(say("state-pool", rank=tags, **pool))

    assert KEEP == len(builder.boots(Source("made.log", 0, 0)))


def test_widest_start_is_kept_alone(say: Say) -> None:
    """However much the newest start takes, it stays."""
    builder = BootBuilder()
    builder.feed(say("server-args", form="repr", arguments={"tp_size": 1024}))
    for line in range(MAX_TEXTS + 9):
        tags = Rank(dp=line % MAX_RANKS, tp=0, text=f"DP{line % MAX_RANKS} TP0")
        event = "state-pool" if line < MAX_RANKS else "decode"
        builder.feed(say(event, rank=tags, state_slots=9, text=f"{line}"))
    for line in range(MAX_TEXTS):
        builder.feed(say("notice-page-size", text=f"{line}", page_size=line))
    (boot,) = builder.boots(Source("made.log", 0, 0))

    assert MAX_RANKS == len(boot.ranks)


@pytest.mark.parametrize("pods", [False, True])
def test_lines_cited_of_all_starts(say: Say, pods: bool) -> None:
    """Starts of thousands of lines take memory as well."""
    builder = BootBuilder()
    starts, lines = 12, ROOM * CITED // 4
    for start in range(starts):
        speaker = f"pod-{start}" if pods else ""
        whole = {"form": "repr", "arguments": {"tp_size": 1}}
        builder.feed(say("server-args", speaker=speaker, **whole))
        for _ in range(lines):
            used = Measured.from_text("1.00", "GiB", (1,))
            graph = {"used_bytes": used, "text": "Capture"}
            builder.feed(say("graph-end", speaker=speaker, **graph))
    boots = builder.boots(Source("made.log", 0, 0))

    assert starts == builder.count
    assert len(boots) <= ROOM * CITED // lines + 1


def test_workers_that_speak_of_all_starts(say: Say) -> None:
    """What is summed up for each worker of each server takes memory as well."""
    builder = BootBuilder()
    pods, workers = 12, 512
    for pod in range(pods):
        whole = {"form": "repr", "arguments": {"tp_size": 1}}
        builder.feed(say("server-args", speaker=f"pod-{pod}", **whole))
        for worker in range(workers):
            tags = Rank(dp=worker, text=f"DP{worker}")
            builder.feed(say("decode", speaker=f"pod-{pod}", rank=tags, running=1))
    boots = builder.boots(Source("made.log", 0, 0))

    assert pods == builder.count
    assert len(boots) <= ROOM // workers + 1


def test_evidence_of_all_starts() -> None:
    """What is known of the run of each worker counts for starts that are over."""
    demo = CHECKOUT / "fixtures" / "demo" / "boot.log"
    boot, workers = demo.read_text(encoding="utf-8").split("\n"), 256
    decode = "Decode batch, #running-req: 8, #full token: 9000, full token usage: 0.10,"
    decode += " mamba num: 40, mamba usage: 0.20, cuda graph: True, gen throughput"
    decode += " (token/s): 512.55, #queue-req: 0"
    run = [f"[2026-11-30 13:00:00 DP{dp} TP0] {decode}" for dp in range(workers)]
    boots = read_log([*boot, *run] * 16)
    known = [len(one.runtime.workers) for one in boots if one.runtime]

    assert 16 == boots[-1].number
    assert workers == known[-1]
    assert sum(known) <= ROOM + workers
