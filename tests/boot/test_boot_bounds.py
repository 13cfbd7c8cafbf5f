"""Whatever a log holds, the memory that a start takes is bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pytest

from mamba_advisor.batch import Batch
from mamba_advisor.boot.builder import KEEP, ROOM, BootBuilder
from mamba_advisor.boot.model import Boot, Source
from mamba_advisor.boot.start import MAX_NOTICES, MAX_TEXTS
from mamba_advisor.boot.tags import MAX_RANKS
from mamba_advisor.facts import Rank, Reading
from mamba_advisor.measured import Measured

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
