"""The block scan gives what reading line by line gives, on any log in any portions."""

from __future__ import annotations

import importlib.util
import io
import random
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from mamba_advisor.boot.model import Boot
from mamba_advisor.catalog import Catalog, load_catalog
from mamba_advisor.intake import Gatherer
from mamba_advisor.logfile import iter_lines, open_log
from mamba_advisor.reader import LineReader
from mamba_advisor.scan import noise
from mamba_advisor.scan.scanner import BLOCK, FIRST_BLOCK, Scanner

ROOT = Path(__file__).resolve().parent.parent
LOGS = sorted((ROOT / "fixtures").rglob("*.log"))


def load_maker() -> ModuleType:
    """Return the log generator of the benchmarks as a module."""
    path = ROOT / "tests" / "bench" / "make_log.py"
    spec = importlib.util.spec_from_file_location("make_log", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_log"] = module
    spec.loader.exec_module(module)
    return module


MAKER = load_maker()


@cache
def catalog() -> Catalog:
    """Return the built-in dialects."""
    return load_catalog(plugins=False)


def by_line(data: bytes) -> tuple[list[Boot], int]:
    """Read line by line; return the boots and the number of lines."""
    reader, gatherer, lines = LineReader(catalog()), Gatherer(), 0
    for line in iter_lines(open_log(io.BytesIO(data))):
        lines = line.number
        for reading in reader.feed(line.number, line.data, torn=line.torn):
            gatherer.feed(reading)
    for reading in reader.finish():
        gatherer.feed(reading)
    return list(gatherer.intake("x", lines, b"").boots), lines


def by_block(parts: Iterable[bytes]) -> tuple[list[Boot], int]:
    """Push *parts* through the scanner; return the boots and the number of lines."""
    gatherer = Gatherer()
    scanner = Scanner(catalog(), gatherer)
    for part in parts:
        scanner.push(part)
    scanner.finish()
    return list(gatherer.intake("x", scanner.lines, b"").boots), scanner.lines


def cut(data: bytes, size: int) -> Iterator[bytes]:
    """Yield *data* in portions of *size* bytes."""
    for start in range(0, len(data), size):
        yield data[start : start + size]


def made(mix: object, size: int, seed: int) -> bytes:
    """Return a generated log."""
    return b"".join(MAKER.Maker(mix, seed).make(size))


@pytest.fixture(params=[0, noise.GRACE], ids=["early", "late"])
def _grace(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Learn from the first lines on, too: most logs here are short."""
    monkeypatch.setattr(noise, "GRACE", request.param)


@pytest.mark.usefixtures("_grace")
@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.parent.name)
def test_fixtures_read_alike(path: Path) -> None:
    """Every recorded log gives the same boots both ways."""
    data = path.read_bytes()

    assert by_line(data) == by_block([data])


@pytest.mark.usefixtures("_grace")
def test_published_logs_read_alike(shared: Path) -> None:
    """So does every published and every real log beside the checkout."""
    for path in sorted(shared.glob("logs*/*.log")):
        data = path.read_bytes()

        assert by_line(data) == by_block([data]), path.name


@pytest.mark.usefixtures("_grace")
@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000, 4096])
def test_any_portions_read_alike(size: int) -> None:
    """A log that comes in portions of any size, from one byte up, is the same log."""
    mix = replace(MAKER.MIXES["one"], variants=frozenset({"cut", "bytes"}))
    data = made(mix, 60_000, seed=size)

    assert by_line(data) == by_block(cut(data, size))


@pytest.mark.parametrize("size", [FIRST_BLOCK - 1, FIRST_BLOCK, FIRST_BLOCK + 1])
@pytest.mark.parametrize("shift", range(-3, 4))
def test_log_that_outgrows_the_first_buffer(size: int, shift: int) -> None:
    """Lines, and one of a hundred kilobytes, that end about where the buffer does."""
    boot = made(MAKER.MIXES["one"], 40_000, seed=9)
    filler = b"x" * (FIRST_BLOCK - len(boot) + shift) + b"\n"
    data = boot + filler + b"y" * 100_000 + b"\n" + pool_is_full("TP0") + boot
    across = boot + filler[40:] + pool_is_full("TP0") + boot

    assert by_line(data) == by_block([data]) == by_block(cut(data, size))
    assert by_line(across) == by_block([across]) == by_block(cut(across, size))


@pytest.mark.usefixtures("_grace")
@pytest.mark.parametrize("byte", [b"\xc2", b"\xff", b"\x1b", b"\x00", b"z"])
@pytest.mark.parametrize("place", [1, 13, 16])
def test_damaged_time_reads_alike(byte: bytes, place: int) -> None:
    """A time with a byte that is no digit, not even UTF-8, is no reason to stop."""
    lines = made(replace(MAKER.MIXES["one"]), 60_000, seed=1).split(b"\n")
    for number in range(len(lines) - 40, len(lines)):
        lines[number] = lines[number][:place] + byte + lines[number][place + 1 :]
    data = b"\n".join(lines)

    assert by_line(data)[1] == by_block([data])[1]
    assert by_line(data)[0][0].ranks == by_block([data])[0][0].ranks


def random_mix(rng: random.Random) -> object:
    """Return a mix of anything that the generator knows."""
    speakers = rng.choice(
        [
            ("",),
            ("TP0",),
            ("TP3", "TP1", "TP0"),
            ("DP0 TP0", "DP1 TP4"),
            ("DP0 PP0 TP0", "DP0 PP1 TP0", "DP0 PP1 TP1"),
            tuple(f"DP{rank} TP{rank} EP{rank}" for rank in range(11)),
        ]
    )
    return MAKER.Mix(
        speakers=speakers,
        copies=len(speakers) > 1 and not speakers[0].startswith("DP"),
        access=rng.choice([0, 1, 16]),
        requests=rng.choice([0, 0, 1]),
        usage=rng.choice(list(MAKER.USAGES)),
        extra=rng.choice(list(MAKER.EXTRAS)),
        head=rng.choice(["comma", "comma", "dot", "iteration"]),
        tail=rng.choice(["", ", "]),
        wrap=rng.choice(["", "", *MAKER.WRAPS]),
        boots=rng.choice([1, 1, 2, 3]),
        variants=frozenset(
            name for name in MAKER.VARIANTS if name != "long" and rng.random() < 0.3
        ),
    )


@pytest.mark.usefixtures("_grace")
@pytest.mark.parametrize("seed", range(24))
def test_generated_logs_read_alike(seed: int) -> None:
    """Logs with bars, restarts, imitations and noise of all kinds read alike."""
    rng = random.Random(seed)
    mix = random_mix(rng)
    data = made(mix, rng.choice([5_000, 30_000, 90_000]), seed)

    assert by_line(data) == by_block(cut(data, rng.choice([777, 20_000, BLOCK])))


def damaged(data: bytes, rng: random.Random, share: float) -> bytes:
    """Return a log of which a part of the lines is cut, glued, torn or garbled."""
    lines = data.splitlines(keepends=True)
    made = []
    for line in lines:
        at = rng.randrange(len(line) + 1)
        head, tail = line[:at], line[at:]
        ways = (
            head,
            tail,
            head + b"\n" + tail,
            head + tail[1:],
            head + bytes([rng.randrange(256)]) + tail,
            head + rng.choice(lines),
            line + head + b"\n",
        )
        made.append(rng.choice(ways) if rng.random() < share else line)
    return b"".join(made)


@pytest.mark.usefixtures("_grace")
@pytest.mark.parametrize("seed", range(16))
def test_damaged_logs_read_alike(seed: int) -> None:
    """A line that was learned and then comes broken states no more than it does."""
    rng = random.Random(seed)
    mix, share = random_mix(rng), rng.choice([0.001, 0.005, 0.02])
    data = damaged(made(mix, rng.choice([60_000, 150_000]), seed), rng, share)

    assert by_line(data) == by_block(cut(data, rng.choice([777, 20_000, BLOCK])))


@pytest.mark.usefixtures("_grace")
@pytest.mark.parametrize("rest", [b"] INFO:     10.0.0.1:1", b" TP1] Decode batch, #"])
def test_noise_never_begins_on_the_line_before(rest: bytes) -> None:
    """Half a time and a line in its length hide nothing but the half itself."""
    log = made(MAKER.Mix(("TP0", "TP1"), copies=True), 120_000, seed=4)
    lines = log.splitlines(keepends=True)
    time = b"[2026-03-07 04:31:24"
    for size in range(len(time)):
        half = time[:size] + b"\n" + b"x" * (len(time) - size - 1) + rest + b"\n"
        lines.insert(-6 * size - 1, half + pool_is_full("TP0"))
    data = b"".join(lines)

    assert by_line(data) == by_block([data])


def test_scan_finds_what_is_true() -> None:
    """Figures of a generated run are the ones that its generator counted."""
    maker = MAKER.Maker(MAKER.MIXES["one"], 5)
    boots, lines = by_block(maker.make(400_000))
    truth = maker.truth.workers["TP0"]
    runtime = boots[-1].runtime
    assert runtime is not None
    shown = runtime.total

    assert maker.truth.lines == lines
    assert truth.decode_lines == shown.samples + shown.left_out
    assert truth.running_max == shown.running.max
    assert truth.queued_max == shown.queued.max
    assert shown.kv_usage is not None
    assert truth.usage_max == pytest.approx(shown.kv_usage.max)
    prompts = truth.new_tokens + truth.cached_tokens
    assert truth.cached_tokens / prompts == shown.prefix_hit_share


def test_long_run_is_counted_in_part() -> None:
    """After thousands of lines a part of them gives the same to a hundredth."""
    mix = replace(MAKER.MIXES["one"], access=0)
    maker = MAKER.Maker(mix, 6)
    boots, _ = by_block(maker.make(12_000_000))
    truth = maker.truth.workers["TP0"]
    runtime = boots[-1].runtime
    assert runtime is not None
    shown = runtime.total

    assert 16_000 < truth.decode_lines
    assert truth.full_tokens / truth.running == pytest.approx(
        shown.avg_context, rel=0.01
    )
    assert truth.queued_lines / truth.decode_lines == pytest.approx(
        shown.queued_share, abs=0.01
    )
    assert truth.running_max == shown.running.max
    prompts = truth.new_tokens + truth.cached_tokens
    assert truth.cached_tokens / prompts == pytest.approx(
        shown.prefix_hit_share, rel=0.05
    )


def pool_is_full(tags: str) -> bytes:
    """Return a retraction line of a rank, with colours around its prefix."""
    return (
        f"\x1b[32m[2026-03-16 03:59:59 {tags}] \x1b[0mKV cache pool is full. Retract"
        " requests. #retracted_reqs: 1, #new_tokens_gained: 9, #new_token_ratio:"
        " 0.5000 -> 0.8000\n"
    ).encode()


def test_message_of_a_repeating_rank_is_kept() -> None:
    """Batch lines of TP1 repeat those of TP0; its retractions are lines of their own.

    With colours, a digit stands right behind the prefix.
    """
    mix = MAKER.Mix(("TP0", "TP1"), copies=True, access=0, wrap="colour")
    data = made(mix, 100_000, seed=9) + pool_is_full("TP1")
    boots, _ = by_block([data])
    runtime = boots[-1].runtime
    assert runtime is not None

    assert 1 == runtime.total.retractions
    assert by_line(data)[0] == boots


def test_rank_that_repeated_another_may_speak_for_itself() -> None:
    """What was learned of a server's ranks does not hold for the next server."""
    first = made(MAKER.Mix(("TP0", "TP1"), copies=True), 60_000, seed=1)
    second = made(MAKER.Mix(("TP1",)), 60_000, seed=2)
    boots, _ = by_block([first + second])
    runtime = boots[-1].runtime
    assert runtime is not None

    assert 20 < runtime.total.samples
    assert by_line(first + second)[0] == boots


def test_prefill_lines_alone_after_the_warm_up() -> None:
    """Decode lines of the warm-up do not make later prefill lines matter less."""
    lines = made(MAKER.MIXES["one"], 60_000, seed=3).splitlines(keepends=True)
    ready = [line for line in lines if b"fired up" in line]
    prefill = [line for line in lines if b"Prefill batch" in line]
    warm_up = [line for line in lines if line not in ready]
    data = b"".join([*warm_up, *ready, *prefill])
    boots, _ = by_block([data])
    runtime = boots[-1].runtime
    assert runtime is not None

    assert 20 < runtime.total.running.max
    assert by_line(data)[0] == boots


def test_quoted_batch_line_does_not_silence_a_rank() -> None:
    """A prompt that quotes a batch line without tags makes no rank the lowest one."""
    mix = MAKER.Mix(("TP0",), access=0, requests=1, variants={"hostile"})
    data = made(mix, 200_000, seed=335)

    assert by_line(data) == by_block([data])


def test_boot_behind_half_a_line_is_found() -> None:
    """A killed server's half line before the arguments hides no server start."""
    data = made(MAKER.MIXES["one"], 60_000, seed=3)
    half = b'[2026-03-16 03:10:00] INFO:     10.0.0.1:4444 - "POS'
    again = made(MAKER.MIXES["one"], 1, seed=4)

    boots, _ = by_block([data + half + again])
    assert 2 == len(boots)
    assert by_line(data + half + again)[0] == boots


def test_noise_is_not_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 16,000 access lines the plain reader sees the first ones only."""
    read: list[int] = []
    feed = LineReader.feed

    def count(self: LineReader, number: int, *args: object, **more: object) -> object:
        read.append(number)
        return feed(self, number, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(LineReader, "feed", count)
    mix = replace(MAKER.MIXES["one"], access=16)
    by_block([made(mix, 2_000_000, seed=8)])

    assert len(read) < 400


def test_generator_is_deterministic() -> None:
    """The same seed gives the same log, another seed another one."""
    mix = replace(MAKER.MIXES["dp"], variants=frozenset(MAKER.VARIANTS))

    assert made(mix, 50_000, 1) == made(mix, 50_000, 1)
    assert made(mix, 50_000, 1) != made(mix, 50_000, 2)
