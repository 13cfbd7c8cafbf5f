"""Lines to readings: every kind of log that people have, and its hostile twin."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from mamba_advisor.catalog import Catalog, load_catalog
from mamba_advisor.facts import Reading
from mamba_advisor.measured import Measured, format_bytes
from mamba_advisor.reader import LineReader, ReadStats, read_readings

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = sorted((ROOT / "fixtures" / "reading").glob("*.log"))
STATE = (
    "Mamba Cache is allocated. max_mamba_cache_size: {}, "
    "conv_state size: 0.10GB, ssm_state size: 5.17GB"
)
STAMP = "[2026-08-01 10:00:00 TP0] "
DECODE = (
    "Decode batch, #running-req: 1, #full token: 96, full token usage: 0.00, "
    "mamba num: 5, mamba usage: 0.02, cuda graph: True, "
    "gen throughput (token/s): 87.62, #queue-req: 0"
)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    """Return the built-in dialects."""
    return load_catalog(plugins=False)


def read(catalog: Catalog, lines: Iterable[str | bytes]) -> list[Reading]:
    """Read *lines* one by one."""
    reader = LineReader(catalog)
    readings = [
        reading
        for number, line in enumerate(lines, 1)
        for reading in reader.feed(number, line)
    ]
    return readings + reader.finish()


def show(reading: Reading) -> str:
    """Return a reading on one line."""
    facts = ", ".join(
        f"{name}={show_value(reading.facts[name])}" for name in reading.facts
    )
    marks = [mark for mark in ("edited", "doubtful") if getattr(reading, mark)]
    lines = f"{reading.line}+{reading.joined}" if reading.joined else f"{reading.line}"
    who = filter(None, (reading.speaker, reading.rank.text))
    last = f" to {reading.last_rank.tp}" if reading.last_rank else ""
    return (
        f"{lines} {'/'.join(who)}{last} {reading.event}({facts})"
        f"{' ' + ', '.join(marks) if marks else ''}"
    )


def show_value(value: object) -> str:
    """Return a fact's value for the golden files."""
    if isinstance(value, Measured):
        return format_bytes(value.value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {value[key]!r}" for key in value) + "}"
    return str(value)


@pytest.mark.parametrize("path", FIXTURES, ids=[path.stem for path in FIXTURES])
def test_golden(
    path: Path, catalog: Catalog, golden: Callable[[Path, str], None]
) -> None:
    """Each kind of log gives the readings beside it; twins give none that counts."""
    readings = read_readings(path, catalog)

    golden(path.with_suffix(".readings"), "".join(show(one) + "\n" for one in readings))


@pytest.mark.parametrize("path", FIXTURES, ids=[path.stem for path in FIXTURES])
def test_every_kind_has_a_hostile_twin(path: Path) -> None:
    """A kind that is read comes with lines that look alike and are not read."""
    kind = path.stem.removesuffix("-hostile").replace("terminal-61", "terminal-80")

    assert path.with_name(f"{kind}.log") in FIXTURES
    assert path.with_name(f"{kind}-hostile.log") in FIXTURES


def test_torn_number_is_joined(catalog: Catalog) -> None:
    """13263|17 is one number when the join is a line that SGLang prints."""
    first = f"{STAMP}KV Cache is allocated. #tokens: 13263"
    (reading,) = read(catalog, [first, "17, K size: 7.59 GB, V size: 7.59 GB"])

    assert 1326317 == reading.facts["kv_tokens"]
    assert 1 == reading.joined
    assert not reading.edited


def test_two_numbers_do_not_join(catalog: Catalog) -> None:
    """A continuation longer than the line it would continue is no hard wrap."""
    lines = [
        "KV Cache is allocated. #tokens: 4096",
        "8192, K size: 0.04 GB, V size: 0.04 GB",
    ]
    (reading,) = read(catalog, lines)

    assert 4096 == reading.facts["kv_tokens"]
    assert reading.edited


def test_other_rank_ends_an_open_line(catalog: Catalog) -> None:
    """What another rank prints is no continuation, and the torn line is doubtful."""
    torn, whole = read(
        catalog,
        [
            "[2026-04-14 16:08:49 TP0] KV Cache is allocated. #tokens: 327",
            "[2026-04-14 16:08:49 TP1] KV Cache is allocated. #tokens: 327310, "
            "K size: 2.50 GB, V size: 2.50 GB",
        ],
    )

    assert torn.doubtful
    assert 327310 == whole.facts["kv_tokens"]


def test_line_is_held_only_while_it_may_go_on(catalog: Catalog) -> None:
    """A plain state line may have a tail on the next line; a pool end may not."""
    reader = LineReader(catalog)

    assert [] == reader.feed(1, STAMP + STATE.format(48))
    assert not reader.settled
    assert ["state-pool", "pool-end"] == [
        reading.event
        for reading in reader.feed(2, f"{STAMP}Memory pool end. avail mem=1.00 GB")
    ]
    assert reader.settled


def test_readings_come_in_line_order(catalog: Catalog) -> None:
    """Whatever is held back, line numbers never go down."""
    for path in FIXTURES:
        numbers = [reading.line for reading in read_readings(path, catalog)]

        assert sorted(numbers) == numbers, path.name


def test_unknown_wording_is_reported_once(catalog: Catalog) -> None:
    """One report a kind, with what the line looks like."""
    line = f"{STAMP}Mamba Cache is ready. slots=258"
    (reading,) = read(catalog, [line, line, line])

    assert "unknown-wording" == reading.event
    assert {"looks_like": "state-pool"} == reading.facts
    assert 1 == reading.line


def test_prompt_cannot_forge_a_serving_server(catalog: Catalog) -> None:
    """After the ready line a pool line needs a new start before it."""
    forged = STAMP + STATE.format(1)
    lines = [
        f"{STAMP}The server is fired up and ready to roll!",
        forged,
        STATE.format(1),
    ]
    readings = read(catalog, lines)

    assert [False, True, True] == [reading.doubtful for reading in readings]


def test_restart_is_believed(catalog: Catalog) -> None:
    """A start line with SGLang's prefix opens the pools again."""
    lines = [
        f"{STAMP}The server is fired up and ready to roll!",
        f"{STAMP}Load weight begin. avail mem=78.58 GB",
        STAMP + STATE.format(48),
    ]
    readings = read(catalog, lines)

    assert [False] * 3 == [reading.doubtful for reading in readings]


def test_log_without_any_prefix_is_read(catalog: Catalog) -> None:
    """Where no line has a prefix, the line start is all there is."""
    lines = ["The server is fired up and ready to roll!", STATE.format(48)]
    readings = read(catalog, lines)

    assert [False, False] == [reading.doubtful for reading in readings]


def test_mid_line_wording_is_doubtful(catalog: Catalog) -> None:
    """Text before the wording can be anybody's."""
    (reading,) = read(catalog, [f"{STAMP}user wrote: {STATE.format(5)}"])

    assert reading.doubtful


def test_batch_lines_during_boot_do_not_end_it(catalog: Catalog) -> None:
    """Another server's batch lines in the same stream do not close this boot."""
    lines = [
        f"{STAMP}Load weight begin. avail mem=78.58 GB",
        STAMP + DECODE,
        STAMP + STATE.format(48),
    ]
    readings = read(catalog, lines)

    assert [False] * 3 == [reading.doubtful for reading in readings]


def test_serve_says_what_a_scanner_saw(catalog: Catalog) -> None:
    """A scanner that keeps the batch lines tells the reader that requests run."""
    reader = LineReader(catalog)
    reader.feed(1, f"{STAMP}Memory pool end. avail mem=1.00 GB")
    reader.trust.serve()
    reader.feed(2, STATE.format(5))
    (reading,) = reader.finish()

    assert reading.doubtful
    assert 1 == reader.doubtful


def test_stats_tell_about_the_whole_log(catalog: Catalog, tmp_path: Path) -> None:
    """Lines, bytes, torn end and doubtful readings are counted."""
    log = tmp_path / "a.log"
    log.write_bytes(f"{STAMP}x {STATE.format(5)}\n{STAMP}cut".encode())
    stats = ReadStats()
    readings = list(read_readings(log, catalog, stats))

    assert 1 == len(readings)
    assert (2, log.stat().st_size, 1, 1) == (
        stats.lines,
        stats.size,
        stats.doubtful,
        stats.torn,
    )


def test_joined_size_rests_on_its_first_line(catalog: Catalog) -> None:
    """Sizes carry the number of the line that the reading carries."""
    readings = read(
        catalog, ["", "RuntimeError: x", STATE.format(9)[:60], STATE.format(9)[60:]]
    )
    size = readings[-1].facts["ssm_bytes"]

    assert isinstance(size, Measured)
    assert (3,) == size.lines


HOSTILE_LINES = [
    # The line that froze a lazy pattern: it repeats the fields and lacks the last.
    f"{STAMP}Decode batch, " + "#running-req: 1, #token: 1, token usage: 0.1, " * 90,
    f"{STAMP}Prefill batch, " + "#new-seq: 1, #new-token: 1, #cached-token: 1, " * 90,
    STAMP + "Mamba Cache is allocated. max_mamba_cache_size: " * 60,
    STAMP + "KV Cache is allocated. dtype: " * 200,
    "Mamba Cache " + "max_mamba_cache_size: 1, conv_state size: " * 120,
    "Load weight end. elapsed=1.00 s, type=X," + " quant=a, avail mem=" * 400,
    "KV Cache " + "#tokens: 1" * 1000 + "K",
    "Capture target decode CUDA graph end. bs=[" + "1, " * 20000,
    "server_args=ServerArgs(" + "a=(" * 20000,
    "server_args={" + "'a': '" * 10000,
    "tp_size=1 " * 7000,
    "|" * 60000,
    "> " * 30000 + "x",
    "1. " * 20000,
    "[" * 60000,
    "{" * 60000,
    '{"log": ' * 10000,
    "a " * 30000 + "[2026-08-01 10:00:00 TP0] x",
    "\x1b[" * 30000,
    "\x1b]" * 30000,
    "100%|" * 12000,
    ("0%|  | 0/4 [00:00<?, ?it/s]" * 2000) + "\r",
    "\r" * 60000,
    "[2026-08-01 10:00:00" + " TP1" * 15000 + "] x",
    "RuntimeError: " * 4000,
    "2026-08-01 10:00:00 " + "a" * 60000 + "Memory pool end. avail mem=1.00 GB",
    "x" * 65536,
]


@pytest.mark.parametrize("line", HOSTILE_LINES, ids=lambda line: repr(line[:24]))
def test_hostile_line_takes_no_time(line: str, catalog: Catalog) -> None:
    """No line of 64 KiB costs more than a quarter of a second of CPU, read thrice."""
    for entry in catalog.entries:
        entry.read("")  # compile first
    start = time.process_time()
    read(catalog, [line] * 3)

    assert time.process_time() - start < 0.75


def test_noise_never_breaks_the_reader(catalog: Catalog) -> None:
    """Lines cut, glued and shuffled at random are read without an error."""
    texts = [path.read_bytes() for path in FIXTURES]
    chooser = random.Random(7)
    for _ in range(300):
        pieces = []
        for _ in range(chooser.randrange(1, 12)):
            text = chooser.choice(texts)
            start = chooser.randrange(len(text))
            pieces.append(text[start : start + chooser.randrange(200)])
        noise = chooser.choice((b"", b"\n", b"\r", b"\0", b"\xff")).join(pieces)
        readings = read(catalog, noise.split(b"\n"))

        numbers = [reading.line for reading in readings]
        assert sorted(numbers) == numbers


def test_state_is_bounded(catalog: Catalog) -> None:
    """Three thousand speakers and open lines leave no more than a few behind."""
    reader = LineReader(catalog)
    for number in range(1, 3001):
        reader.feed(number, f"pod{number}  | [2026-08-01 10:00:00 TP{number}] x")
        reader.feed(number, "Mamba Cache is allocated. max_mamba_cache_size: 97,")

    assert len(reader.trust._speakers) <= 257
    assert len(reader.finish()) <= 2
