"""Batch lines by the block give what the same lines give one by one."""

from __future__ import annotations

import gc
import random
import tracemalloc
from collections.abc import Iterator, Sequence

import pytest

from mamba_advisor.batch import Batch, Kind, Row
from mamba_advisor.facts import Rank, Reading, Value
from mamba_advisor.runtime.collector import EvidenceCollector
from mamba_advisor.runtime.lines import COUNTS, FACTS, MAX_TEXTS, Line
from mamba_advisor.runtime.model import Evidence
from mamba_advisor.runtime.tally import Tally

DECODE = (
    "running",
    "full_tokens",
    "full_usage",
    "state_usage",
    "state_slots_used",
    "queued",
)
PREFILL = (
    "running",
    "queued",
    "full_usage",
    "state_usage",
    "new_tokens",
    "cached_tokens",
)


def stamp(second: int) -> str:
    """Return a printed time *second* seconds after midnight."""
    hours, rest = divmod(second, 3600)
    return f"2026-02-27 {hours:02d}:{rest // 60:02d}:{rest % 60:02d}"


def rows(count: int, seed: int = 7) -> list[Row]:
    """Return *count* decode rows as a scan matches them, with slowly moving values.

    Every second one is followed by the row of a prefill line, and each by the same
    row of a second worker.
    """
    rng = random.Random(seed)
    running, kv = 50, 0.7
    made: list[Row] = []
    for second in range(count):
        running = min(64, max(40, running + rng.choice((-1, 0, 0, 1))))
        kv = min(0.99, max(0.5, kv + rng.uniform(-0.02, 0.02)))
        queued = max(0, rng.randint(-5, 9))
        usages = (f"{kv:.2f}", f"{4 * running / 280:.2f}")
        for tag in ("DP0 TP0", "DP1 TP4"):
            head = (stamp(second % 86_400), tag)
            values = (running, int(kv * 500_000), *usages, 4 * running, queued)
            made.append(row(*head, *values, *[""] * len(PREFILL)))
            if second % 2:
                values = (running, queued, *usages, 100, rng.randint(0, 900))
                made.append(row(*head, *[""] * len(DECODE), *values))
    return made


def row(*values: object) -> Row:
    """Return values as matched bytes."""
    return tuple(str(value).encode() for value in values)


def batch(made: Sequence[Row], first_line: int = 1) -> Batch:
    """Return rows as the batch of a scan."""
    kinds = (
        Kind("decode", 2, DECODE),
        Kind("prefill", 2 + len(DECODE), PREFILL),
    )
    ranks = {b"DP0 TP0": Rank(0, -1, 0), b"DP1 TP4": Rank(1, -1, 4)}
    last_line = first_line + len(made) - 1

    def line_of(index: int) -> int:
        return first_line + index if index >= 0 else last_line + 1 + index

    return Batch("", made, kinds, 0, 1, ranks, line_of)


def by_batches(made: list[Row], size: int) -> Evidence | None:
    """Return the evidence of rows that come in batches of *size*."""
    collector = EvidenceCollector()
    for at in range(0, len(made), size):
        collector.feed_batch(batch(made[at : at + size], at + 1))
    return collector.evidence(limit=64, slots=280)


def readings(made: list[Row]) -> Iterator[Reading]:
    """Yield what a reader makes of the same lines."""
    for number, values in enumerate(made, 1):
        time, tag, *texts = (value.decode() for value in values)
        is_decode = bool(texts[0])
        names = DECODE if is_decode else PREFILL
        facts: dict[str, Value] = {
            name: float(text) if "usage" in name else int(text)
            for name, text in zip(names, [text for text in texts if text], strict=True)
        }
        rank = Rank(0, -1, 0) if tag == "DP0 TP0" else Rank(1, -1, 4)
        event = "decode" if is_decode else "prefill"
        yield Reading(event, facts, number, "sglang/batch", rank, stamp=time)


@pytest.mark.parametrize("size", [1, 7, 1000, 20_000])
def test_batches_and_readings_agree(size: int) -> None:
    """Matched rows, in batches of any size, give what single readings give."""
    made = rows(5000)
    collector = EvidenceCollector()
    for reading in readings(made):
        collector.feed(reading)

    assert collector.evidence(limit=64, slots=280) == by_batches(made, size)


def test_batch_of_repeating_ranks() -> None:
    """Of two TP ranks in a batch the lowest one counts, whichever speaks first."""
    values = (4, 4000, "0.10", "0.10", 16, 0)
    made = [
        row(stamp(second), tag, *values)
        for second in range(5)
        for tag in ("TP1", "TP0")
    ]
    ranks = {b"TP0": Rank(tp=0), b"TP1": Rank(tp=1)}
    collector = EvidenceCollector()
    collector.feed_batch(
        Batch("", made, (Kind("decode", 2, DECODE),), 0, 1, ranks, lambda index: 1)
    )
    evidence = collector.evidence()

    assert evidence is not None
    assert 5 == evidence.total.samples
    assert 5 == len(evidence.timeline)


def test_batch_without_time_and_tags() -> None:
    """Lines of a log without prefixes are counted all the same."""
    made = [row(running, 1000 * running) for running in (3, 9, 4)]
    kinds = (Kind("decode", 0, ("running", "full_tokens")),)
    collector = EvidenceCollector()
    collector.feed_batch(
        Batch("", made, kinds, -1, -1, {b"": Rank()}, [10, 20, 30].__getitem__)
    )
    evidence = collector.evidence()

    assert evidence is not None
    assert (3, 1000) == (evidence.total.samples, evidence.total.avg_context)
    assert (10, 20, 30) == evidence.lines
    assert evidence.seconds is None


def test_merged_parts_are_the_whole() -> None:
    """Two halves gathered apart and merged show the same as one collector."""
    made = rows(400)
    half = len(made) // 2
    first, second = EvidenceCollector(), EvidenceCollector()
    first.feed_batch(batch(made[:half]))
    second.feed_batch(batch(made[half:], half + 1))
    first.merge(second)
    merged, whole = first.evidence(limit=64, slots=280), by_batches(made, len(made))

    assert merged is not None
    assert whole is not None
    assert whole.total == merged.total
    assert whole.workers == merged.workers
    assert (whole.seconds, whole.lines) == (merged.seconds, merged.lines)
    assert len(whole.timeline) == len(merged.timeline)


def test_memory_does_not_grow_with_the_run() -> None:
    """After two workers' first 15,000 lines, 15,000 more take less than 256 KiB."""
    collector = EvidenceCollector()
    sizes = []
    tracemalloc.start()
    for seed in (7, 8):
        collector.feed_batch(batch(rows(10_000, seed)))
        gc.collect()  # what the interpreter keeps for later objects does not count
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()

    assert sizes[1] - sizes[0] < 1 << 18


def test_a_rare_context_takes_a_few_bytes() -> None:
    """Contexts never seen before are what a long log goes on to say: 16 bytes each."""
    tally = Tally()
    for tokens in (10_000, 10_001):
        for running in range(1, 65):
            tally.count(Line(running, 0, 50, 50, None, tokens * running))
    contexts = range(8192, 16384, 256)
    tracemalloc.start()
    for tokens in contexts:
        for running in range(1, 65):
            tally.count(Line(running, 0, 50, 50, None, tokens * running))
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(contexts) == len(next(iter(tally.cells.values())).contexts)
    assert size < 64 * len(contexts) * 16


def test_printed_numbers_are_remembered_up_to_a_bound() -> None:
    """Ever new numbers of a broken log are read all the same, and not kept."""
    tally = Tally()
    texts = [b"%d" % number for number in range(1, 2 * MAX_TEXTS)]
    columns: list[list[bytes]] = [
        texts,
        texts,
        *([b""] * len(texts) for _ in FACTS[2:]),
    ]
    tally.count_columns(columns)

    assert len(texts) == tally.lines
    assert len(tally._found) <= MAX_TEXTS
    assert len(COUNTS) <= MAX_TEXTS
    assert [1, 2 * MAX_TEXTS - 1] == [COUNTS[texts[0]], COUNTS[texts[-1]]]
    assert COUNTS[b""] is None
