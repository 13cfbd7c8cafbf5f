"""What is kept of the lines of a boot has a bound, whatever its lines say."""

from __future__ import annotations

import itertools
import tracemalloc
from typing import Any

import pytest

from mamba_advisor.boot import pools
from mamba_advisor.boot.lines import MAX_TERMS
from mamba_advisor.boot.model import KvPool
from mamba_advisor.boot.outcome import MAX_LATE, FailureWatch
from mamba_advisor.boot.start import MAX_DOUBTFUL, MAX_NOTICES, MAX_REPEATS, StartDraft
from mamba_advisor.boot.tags import MAX_RANKS, expand
from mamba_advisor.catalog import load_catalog
from mamba_advisor.facts import MAX_EXCERPT, Rank, Reading
from mamba_advisor.intake import MAX_UNREAD, Gatherer
from mamba_advisor.joining import MAX_LENGTH, MAX_PARTS
from mamba_advisor.measured import Measured
from mamba_advisor.prefix import MAX_LAYERS, peel
from mamba_advisor.reader import LineReader
from mamba_advisor.runtime.collector import MAX_EXHAUSTED, EvidenceCollector
from mamba_advisor.scan.noise import ENOUGH, GRACE, MAX_HEADS, Noise
from mamba_advisor.scan.scanner import Scanner
from mamba_advisor.tables import MAX_CELLS, Table
from mamba_advisor.trust import MAX_SPEAKERS

CATALOG = load_catalog(plugins=False)
TIME = "[2026-03-07 04:31:24 TP0]"
DECODE = (
    f"{TIME} Decode batch, #running-req: 8, #full token: 9000,"
    " full token usage: 0.10, mamba num: 40, mamba usage: 0.20, cuda graph: True,"
    " gen throughput (token/s): 512.55, #queue-req: 0\n"
).encode()


def reading(event: str, line: int, /, **more: Any) -> Reading:
    """Return what a pattern of the tests reads."""
    return Reading(event, more.pop("facts", {}), line, "test/made", **more)


@pytest.mark.parametrize(
    ("kept", "marks"),
    [
        ("edited", {"edited": True}),
        ("joined", {"joined": 1}),
        ("unknown", {"event": "unknown-wording"}),
        ("tail", {"event": "notice-page-size"}),
    ],
)
def test_lines_of_a_start(kept: str, marks: dict[str, Any]) -> None:
    """What may be shown of a start are its first lines, or its last."""
    draft = StartDraft(None)
    event = marks.pop("event", "kv-pool")
    for line in range(1, 3 * MAX_NOTICES):
        draft.feed(reading(event, line, text=f"line {line}", **marks))

    assert MAX_NOTICES == len(getattr(draft, kept))


def test_doubtful_lines() -> None:
    """So many are held, and few of them say the same."""
    draft = StartDraft(None)
    for line in range(1, 3 * MAX_DOUBTFUL):
        rank = Rank(tp=line // 9)
        draft.hold(reading("kv-pool", line, rank=rank, doubtful=True))

    assert MAX_DOUBTFUL == len(draft.doubtful)
    assert MAX_REPEATS == sum(one.rank == Rank(tp=1) for one in draft.doubtful)


def test_terms_of_a_rank() -> None:
    """Weights, captures and kinds of entries of one rank are few."""
    draft = StartDraft(None)
    draft.feed(reading("state-pool", 1, facts={"state_slots": 1}))
    for line in range(2, 500):
        used = Measured.from_text("1.00", "GiB", (line,))
        kind = {"model_type": f"M{line}", "used_bytes": used}
        draft.feed(reading("weights-end", line, facts=kind))
        draft.feed(reading("graph-end", line, facts={"used_bytes": used}))
        entry = {"subpool_name": f"p{line}", "entry_bytes": 1}
        draft.feed(reading("unified-subpool", line, facts=entry))
    (rank,) = draft.ranks.values()

    assert 0 < rank.loads <= MAX_TERMS
    assert 0 < rank.captures <= MAX_TERMS
    assert 0 < len(rank.entry_bytes) <= MAX_TERMS


def test_draft_pools() -> None:
    """Pools of a draft model are added up from so many lines."""
    size, pool = Measured.from_text("1.00", "GiB", (1,)), None
    for line in range(500):
        pool = pools.add_draft(pool, KvPool(9, size, lines=(line,)))

    assert pool is not None
    assert pools.MAX_DRAFTS == len(pool.lines)


def test_late_failures() -> None:
    """Of what fails behind the ready line so much is kept."""
    draft = FailureWatch()
    for line in range(3 * MAX_LATE):
        draft.feed(reading("failure-child", line), ready=True, phase="")

    assert MAX_LATE == len(draft._late)


def test_unread_wordings() -> None:
    """So many lines that no wording fits are named."""
    gatherer = Gatherer()
    for line in range(3 * MAX_UNREAD):
        gatherer.feed(reading("unknown-wording", line, facts={"looks_like": "kv-pool"}))

    assert MAX_UNREAD == len(gatherer._unread)


def test_exhausted_lines() -> None:
    """So many lines that say a pool ran out are cited."""
    collector = EvidenceCollector()
    for line in range(3 * MAX_EXHAUSTED):
        collector.feed(reading("runtime-exhausted", line, stamp="2026-03-07 04:31:24"))

    assert MAX_EXHAUSTED == len(collector._exhausted)


def test_range_of_tags() -> None:
    """A range in one tag, or in all, stands for so many ranks at most, one by one."""
    last = 999_999
    tracemalloc.start()
    for first, end in (
        (Rank(0, 0, 0), Rank(last, last, last)),
        (Rank(tp=0), Rank(tp=last)),
    ):
        one = reading("kv-pool", 1, rank=first, last_rank=end)
        assert MAX_RANKS == sum(1 for _ in expand(one))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 1 << 20


def test_range_that_ends_before_its_start() -> None:
    """It stands for its start."""
    one = reading("kv-pool", 1, rank=Rank(tp=7), last_rank=Rank(tp=3))

    assert [7] == [rank.tp for rank in expand(one)]


def test_excerpt() -> None:
    """Of a long line the beginning is cited."""
    reader = LineReader(CATALOG)
    size = "K size: 1.00 GB, V size: 1.00 GB"
    line = f"{TIME} KV Cache is allocated. dtype: torch.bfloat16, #tokens: 1, {size}"
    found = [*reader.feed(1, line + " x" * 500), *reader.finish()]

    assert [MAX_EXCERPT] == [len(one.text) for one in found]


def test_torn_line_that_nothing_completes() -> None:
    """It waits for a few lines."""
    reader, kept = LineReader(CATALOG), list[int]()
    reader.feed(1, f"{TIME} KV Cache is allocated. dtype:")
    for number in range(2, 100):
        reader.feed(number, "words that complete nothing")
        kept.append(len(reader._join.kept) if reader._join else 0)

    assert 0 < max(kept) < MAX_PARTS


def test_arguments_that_nobody_closes() -> None:
    """They grow to so many characters."""
    reader, lengths = LineReader(CATALOG), list[int]()
    reader.feed(1, "[2026-03-07 04:31:24] server_args=ServerArgs(tp_size=1,")
    for number in range(2, 20):
        reader.feed(number, "a" * 20_000 + "=1,")
        lengths.append(len(reader._join.text) if reader._join else 0)

    assert 20_000 < max(lengths) < MAX_LENGTH


def test_heads_of_lines() -> None:
    """So many ways are told apart in which the lines of a log begin."""
    reader = LineReader(CATALOG)
    kinds = ("│ ", "> ", "[a/b] ", "[rank0]: ", "INFO:x:")
    for number, heads in enumerate(itertools.product(kinds, repeat=5)):
        reader.feed(number, "".join(heads) + "[2026-03-07 04:31:24] a")

    assert 100 < len(reader.trust._heads) <= MAX_SPEAKERS + 1


def test_layers_of_a_head() -> None:
    """So many wrappers are taken off a line."""
    (one,) = peel("> - " * 200 + f"{TIME} x")

    assert one.layers.count(",") < MAX_LAYERS


def test_heads_of_noise() -> None:
    """So many kinds of lines are passed over."""
    noise = Noise(())
    for number in range(4 * MAX_HEADS):
        word = "".join(chr(97 + int(digit)) for digit in f"{number:03}")
        for _ in range(ENOUGH + GRACE):
            noise.note(f"{TIME} {word} is a word of its own".encode())

    assert MAX_HEADS == len(noise.heads)


@pytest.mark.parametrize("digits", [19, 5000])
def test_number_of_many_digits(digits: int) -> None:
    """A count that cannot be is read by nobody, also once its line is known."""
    long = DECODE.replace(b"#running-req: 8", b"#running-req: " + b"9" * digits)
    gatherer = Gatherer()
    scanner = Scanner(CATALOG, gatherer)
    scanner.push(DECODE * 200 + long * 100 + DECODE * 200)
    scanner.finish()

    assert 500 == scanner.lines


def test_cells_of_a_table() -> None:
    """A row of too many cells is none, and a long cell is cut."""
    table = Table()
    names, rule = "|".join(["#tokens", *["x"] * MAX_CELLS]), "---|" * MAX_CELLS + "---"
    assert not [row for line in (names, rule, names) for row in table.lines(line)]

    table = Table()
    lines = ("#tokens | x", "--- | ---", "1" * 999 + " | 2")
    rows = [row for line in lines for row in table.lines(line)]

    assert rows
    assert max(map(len, rows)) < 300
