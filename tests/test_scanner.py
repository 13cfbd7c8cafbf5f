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
from mamba_advisor.scan.scanner import BLOCK, Scanner

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


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.parent.name)
def test_fixtures_read_alike(path: Path) -> None:
    """Every recorded log gives the same boots both ways."""
    data = path.read_bytes()

    assert by_line(data) == by_block([data])


def test_published_logs_read_alike(shared: Path) -> None:
    """So does every published and every real log beside the checkout."""
    for path in sorted(shared.glob("logs*/*.log")):
        data = path.read_bytes()

        assert by_line(data) == by_block([data]), path.name


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000, 4096])
def test_any_portions_read_alike(size: int) -> None:
    """A log that comes in portions of any size, from one byte up, is the same log."""
    mix = replace(MAKER.MIXES["one"], variants=frozenset({"cut", "bytes"}))
    data = made(mix, 60_000, seed=size)

    assert by_line(data) == by_block(cut(data, size))


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


@pytest.mark.parametrize("seed", range(24))
def test_generated_logs_read_alike(seed: int) -> None:
    """Logs with bars, restarts, imitations and noise of all kinds read alike."""
    rng = random.Random(seed)
    mix = random_mix(rng)
    data = made(mix, rng.choice([5_000, 30_000, 90_000]), seed)

    assert by_line(data) == by_block(cut(data, rng.choice([777, 20_000, BLOCK])))
