"""What is remembered of a log has a bound, each of which some log would pass."""

from __future__ import annotations

import os
from typing import Any

from mamba_advisor.advice.predict import predict
from mamba_advisor.batch import ALL_PROMPTS
from mamba_advisor.boot.ear import MAX_WORKERS, Ear
from mamba_advisor.catalog import load_catalog
from mamba_advisor.facts import Rank, Reading
from mamba_advisor.intake import Gatherer
from mamba_advisor.matching import MAX_TEXTS, matcher_for
from mamba_advisor.pattern import REACH
from mamba_advisor.pipe.outlet import Outlet
from mamba_advisor.reader import LineReader
from mamba_advisor.record import replace
from mamba_advisor.runtime.diary import Diary
from mamba_advisor.scan.learning import MAX_LINE, MAX_TOKENS, learn
from mamba_advisor.scan.noise import ENOUGH, GRACE
from mamba_advisor.scan.scanner import Scanner
from mamba_advisor.scan.sieve import MAX_KNOWN, Sieve
from mamba_advisor.sizing import SizingProblem
from mamba_advisor.sizing.optimum import known_split
from mamba_advisor.sizing.remember import FEW_STAGES, REMEMBERED

CATALOG = load_catalog(plugins=False)
DECODE = (
    b"[2026-03-07 04:31:24 TP0] Decode batch, #running-req: 8, #full token: 9000,"
    b" full token usage: 0.10, mamba num: 40, mamba usage: 0.20, cuda graph: True,"
    b" gen throughput (token/s): 512.55, #queue-req: 0"
)


def read(line: bytes) -> Reading | None:
    """Return the reading of a line, as the scan asks for it."""
    reader = LineReader(CATALOG)
    found = [*reader.feed(1, line), *reader.finish()]
    return found[0] if len(found) == 1 else None


def sieve() -> Sieve:
    """Return one that has learned nothing."""
    return Sieve(CATALOG.exact, lambda: read)


def test_batch_lines_that_all_differ() -> None:
    """Wordings of batch lines are counted up to a bound, and learned beyond it."""
    learning, reading = sieve(), read(DECODE)
    assert reading is not None
    for number in range(2 * MAX_KNOWN):
        learning.note_batch(DECODE + b", odd" + b"!" * number, reading)

    assert len(learning._seen) <= MAX_KNOWN
    assert any(learning.note_batch(DECODE, reading) for _ in range(ENOUGH))


def test_patterns_of_many_starts() -> None:
    """Every start may have noise of its own: old patterns are made again."""
    learning = sieve()
    for number in range(MAX_KNOWN + 8):
        letters = chr(97 + number // 26) + chr(97 + number % 26)
        line = f"[2026-03-07 04:31:24] {letters} is noise of a start\n".encode()
        for _ in range(GRACE + ENOUGH):
            learning.note_silent(line)
        assert learning._noise.heads
        learning.refresh()
        learning.forget()

    assert len(learning._compiled) <= MAX_KNOWN


def test_long_batch_lines_are_not_learned() -> None:
    """What a shape is made of is tried number by number: on short lines only."""
    long = DECODE + b"." * MAX_LINE
    few, many = (b", odd: " + b" ".join([b"7"] * count) for count in (9, MAX_TOKENS))
    for line, is_learned in (
        (DECODE, True),
        (long, False),
        (DECODE + few, True),
        (DECODE + many, False),
    ):
        reading = read(line)
        assert reading is not None
        assert is_learned == (learn(line, reading, read) is not None)


def test_workers_of_one_moment() -> None:
    """Of the lines of one second, of hundreds of workers, the first are looked at."""
    diary = Diary()
    diary.turn_to(b"2026-03-07 04:31:24")
    assert [200, 56, 0] == [diary.take(200), diary.take(200), diary.take(9)]

    diary.turn_to(b"2026-03-07 04:31:25")
    assert 200 == diary.take(200)


def test_workers_without_end() -> None:
    """Further workers are heard, and their prefill lines count as one worker's."""
    ear = Ear()
    heard = [
        ear.counts("prefill", Rank(dp=dp), "2026-03-07 04:31:24")
        for dp in range(MAX_WORKERS + 2 * ALL_PROMPTS)
    ]

    assert len(ear._speakers) <= MAX_WORKERS
    assert len(ear._prompts) <= MAX_WORKERS + 1
    assert MAX_WORKERS + ALL_PROMPTS == sum(heard)


def test_speakers_without_end() -> None:
    """Ever new pods before the lines: the state of the reader levels off."""
    gatherer = Gatherer()
    scanner = Scanner(CATALOG, gatherer)
    for number in range(1000):
        scanner.push(b"pod-%d  | %s\n" % (number, DECODE))
    scanner.finish()

    assert len(scanner.reader.trust._speakers) <= 257
    assert len(gatherer._builder._open) <= 65


def test_texts_without_end() -> None:
    """The anchors of texts are remembered up to a bound, and found anew beyond it."""
    matcher = matcher_for(CATALOG)
    pool = "KV Cache is allocated. dtype: torch.bfloat16, #tokens: "
    expected = list(matcher.anchors(pool))
    assert "KV Cache is allocated" in " ".join(expected)
    for number in range(2 * MAX_TEXTS):
        assert list(matcher.anchors(f"{pool}{number}")) == expected
        assert list(matcher.keys(f"{number} {pool}")) == list(matcher.keys(pool))

    assert not matcher.anchors("x" * REACH + pool)
    for memo in (matcher._anchors, matcher._keys):
        assert memo.cache_info().currsize <= MAX_TEXTS


def memory_of(function: object) -> Any:
    """Return what remembers the results of *function*."""
    return vars(function)["__wrapped__"]


def test_servers_without_end() -> None:
    """What was found for a server is kept for its replicas, not for ever."""
    problem = SizingProblem(rest_gib=28.833, slot_bytes=19_316_736, cells=(12_288,))
    for length in range(4096, 4096 + REMEMBERED + 50):
        at = replace(problem, context_len=length)
        assert known_split("0.5.17", at, 2048, bare=True)
        assert predict("0.5.17", at, 2048).boots

    for function in (known_split, predict):
        assert memory_of(function).cache_info().currsize <= REMEMBERED


def test_stages_without_end() -> None:
    """Of thousands of stages each has figures: nothing is kept of them."""
    wide = SizingProblem(28.833, 19_316_736, (12_288,) * (FEW_STAGES + 1))
    memory = memory_of(predict)
    before = memory.cache_info()

    assert predict("0.5.17", wide, 2048) == predict("0.5.17", wide, 2048)
    assert before == memory.cache_info()


def test_kinds_of_numbers_are_kept_apart() -> None:
    """A length of 8192.0 gives floats, as it always did; one of 8192 does not."""
    problem = SizingProblem(rest_gib=28.833, slot_bytes=19_316_736, cells=(12_288,))
    odd = predict("0.5.17", problem, 8192.0)  # type: ignore[arg-type]

    assert "float" == type(odd.limits.kv).__name__
    assert "int" == type(predict("0.5.17", problem, 8192).limits.kv).__name__


def test_dead_output_is_replaced() -> None:
    """What anybody prints later, as an interpreter's last flush, fails no more."""
    source, sink = os.pipe()
    os.close(source)
    outlet = Outlet(sink)
    outlet.put(b"lost", 0, 4)
    outlet.close()

    assert not outlet.alive
    assert 4 == os.write(sink, b"late")
    os.close(sink)
