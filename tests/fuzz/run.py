"""Throw broken input at every entrance, until something gives.

    python run.py [--minutes 10] [--seed 0] [--only TARGET ...]

A case is a target and a seed, and can be run again alone: ``run.py --only log --seed
4711 --cases 1``.  No input may give a traceback, a hang, or advice with nan, negative
slots or a division by zero; only errors of this package may come out.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import random
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from click.testing import CliRunner  # noqa: E402 - the checkout comes first

from mamba_advisor.catalog import Catalog, builtin_files, load_catalog  # noqa: E402
from mamba_advisor.cli import main as program  # noqa: E402
from mamba_advisor.errors import MambaAdvisorError  # noqa: E402
from mamba_advisor.fleet import Task, advise_boot  # noqa: E402
from mamba_advisor.intake import Gatherer, take_in  # noqa: E402
from mamba_advisor.modelconfig import model_bytes  # noqa: E402
from mamba_advisor.report import render  # noqa: E402
from mamba_advisor.scan.scanner import Scanner  # noqa: E402
from mamba_advisor.selftest import load  # noqa: E402
from mamba_advisor.server_args import parse_arguments  # noqa: E402

LIMIT_S = 20
"""Longest time that a case may take: a thousand times what it needs."""

MAX_FAILURES = 10
STATUSES = frozenset({0, 2, 3, 4, 5, 6})
"""Exit statuses that a call may end with."""

SPICE = (
    b"server_args=ServerArgs(tp_size=2, ",
    b"server_args={'tp_size': 2, ",
    b"[2026-02-27 17:10:28 TP0] ",
    b"[2026-02-27 17:10:28.417 DP3 PP1 TP99 EP1] ",
    b"Mamba Cache is allocated. max_mamba_cache_size: ",
    b"KV Cache is allocated. #tokens: ",
    b"max_total_num_tokens=",
    b"Decode batch, #running-req: ",
    b"Traceback (most recent call last):\n",
    b"The server is fired up and ready to roll!\n",
    b"[unified-memory-pool] ",
    b" GB",
    b"nan",
    b"inf",
    b"-",
    b"\r",
    b"\n",
    b"\x00",
    b"\xff\xfe",
    b"\x1b[31m",
    b"\x1b]0;title\x07",
    "\u202e\u2066".encode(),
    b"[bold red]",
    b"{",
    b"(",
    b"'",
    b"|",
    b"%s",
)
"""Pieces that mean something to one part of the program or another."""

NUMBERS = (
    b"0",
    b"-1",
    b"1",
    b"0.00",
    b"0.005",
    b"1e308",
    b"9" * 18,
    b"9" * 40,
    b"4294967296",
    b"None",
    b"True",
    b"nan",
    b"1,234",
)
"""What a number may be replaced with."""

JUNK: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 3, 10**30, 1e308, 0.5, math.nan, "", "x", "8", [], {}),
    *([0], ["full_attention"], [None] * 50, {"a": {}}, ["linear_attention"] * 4000),
)
"""Values that a key of a ``config.json`` may have."""

WORDS = ("analyze", "plan", "compare", "parsers", "list", "check", "-", "nowhere.log")
OPTIONS = (
    *("-L", "--input-len", "--output-len", "-c", "--sessions", "--strategy"),
    *("--draft-tokens", "--tp-size", "--dp-size", "--pp-size", "--dcp-size"),
    *("--kv-cache-dtype", "--mamba-ssm-dtype", "--mem-fraction-static", "--gpu-memory"),
    *("--sglang-version", "--format", "--boot", "--require-concurrency", "--plot"),
    *("--plot-format", "--color", "--parser", "--config", "--weights", "--gpus"),
    *("--state-bytes", "--kv-bytes", "--max-running-requests", "--page-size"),
)
FLAGS = (
    *("--radix-cache", "--no-radix-cache", "--overlap", "--no-overlap", "--replayssm"),
    *("--skip-decode-lock", "--explain", "--sweep", "-q", "--version", "-h"),
)
VALUES = (
    *("8k", "128K", "1M", "0", "-1", "1e9", "", "nan", "80G", "80GiB", "inf", "auto"),
    *("json", "table", "markdown", "flags", "all", "last", "99", "extra_buffer", "fp8"),
    *("0.5.17", "9.9.9", "0.0.1", "bfloat16", "x" * 300, "\x1b[31m", "½", "9" * 40),
)


class HangError(Exception):
    """A case took longer than `LIMIT_S`."""


@cache
def catalog() -> Catalog:
    """Return the built-in dialects."""
    return load_catalog(plugins=False)


@cache
def corpus(suffix: str) -> tuple[bytes, ...]:
    """Return the recorded files that end with *suffix*."""
    files = sorted((ROOT / "fixtures").rglob(f"*{suffix}"))
    return tuple(path.read_bytes() for path in files)


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Return *data* with a few things changed."""
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(10):
            case 0:  # a byte
                data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
            case 1:  # a stretch lost
                data = data[:at] + data[at + rng.choice((1, 10, 500)) :]
            case 2:  # something that means something
                data = data[:at] + rng.choice(SPICE) + data[at:]
            case 3:  # a number
                numbers = list(re.finditer(rb"-?\d+(?:\.\d+)?", data))
                if numbers:
                    old = rng.choice(numbers)
                    data = data[: old.start()] + rng.choice(NUMBERS) + data[old.end() :]
            case 4:  # the end
                data = data[:at]
            case 5:  # lines in another order
                lines = data.split(b"\n")
                one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
                lines[one], lines[other] = lines[other], lines[one]
                data = b"\n".join(lines)
            case 6:  # a line lost or doubled
                lines = data.split(b"\n")
                one = rng.randrange(len(lines))
                lines[one : one + 1] = lines[one : one + 1] * rng.choice((0, 2, 3))
                data = b"\n".join(lines)
            case 7:  # all numbers of a line
                lines = data.split(b"\n")
                one = rng.randrange(len(lines))
                lines[one] = re.sub(
                    rb"(?<=[=:] )\d+(?:\.\d+)?|(?<==)\d+(?:\.\d+)?",
                    lambda _: rng.choice(NUMBERS),
                    lines[one],
                )
                data = b"\n".join(lines)
            case 8:  # a line broken in two
                data = data[:at] + b"\n" + data[at:]
            case _:  # another log's lines
                other_log = rng.choice(corpus(".log"))
                start = rng.randrange(len(other_log) + 1)
                data = data[:at] + other_log[start : start + 2000] + data[at:]
    return data


def check_numbers(document: Any, path: str = "") -> None:
    """Fail on a number that no advice may hold."""
    if isinstance(document, dict):
        for key, value in document.items():
            check_numbers(value, f"{path}.{key}")
    elif isinstance(document, list):
        for value in document:
            check_numbers(value, f"{path}[]")
    elif isinstance(document, float):
        assert math.isfinite(document), f"{path} is {document}"
    elif isinstance(document, int) and re.search(r"slots|tokens|lines|limits", path):
        allowed = "settings" in path or "failure" in path or "gain" in path
        assert document >= 0 or allowed, f"{path} is {document}"


def fuzz_log(rng: random.Random) -> None:
    """Advise on a broken log, both readings of which must agree."""
    data = mutate(rng.choice(corpus(".log")), rng)
    taken = take_in(io.BytesIO(data), catalog=catalog())
    gatherer = Gatherer()
    scanner = Scanner(catalog(), gatherer)
    at = 0
    while at < len(data):
        size = rng.choice((1, 100, 10_000))
        scanner.push(data[at : at + size])
        at += size
    scanner.finish()
    again = gatherer.intake(taken.glimpse.name, scanner.lines, data[:8192])
    if not taken.trouble and data[:3] not in (
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\xfe\xff",
    ):
        assert taken.boots == again.boots, "portions give other boots"
    for boot in taken.boots[-2:]:
        outcome = advise_boot("fuzz.log", boot, Task(sweep=rng.random() < 0.2))
        if outcome.advice is None:
            continue
        document = json.loads(render([outcome.advice], "json"))
        check_numbers(document)
        width = rng.choice((20, 40, 80, 200))
        text = render(
            [outcome.advice],
            rng.choice(("table", "markdown")),
            width=width,
            unicode=rng.random() < 0.5,
            explain=rng.random() < 0.3,
        )
        assert not re.search(
            r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text
        )


def fuzz_arguments(rng: random.Random) -> None:
    """Parse a broken ``server_args`` line."""
    lines = [line for log in corpus(".log") for line in log.split(b"server_args=")[1:]]
    line = mutate(rng.choice(lines).split(b"\n")[0], rng).decode(errors="replace")
    found = parse_arguments(line)
    assert all(isinstance(name, str) for name in found)


def fuzz_dialect(rng: random.Random) -> None:
    """Load a broken dialect file."""
    files = list(builtin_files())
    text = mutate(rng.choice(files)[1].encode(), rng).decode(errors="replace")
    load(text, "fuzz.toml")


def fuzz_config(rng: random.Random) -> None:
    """Derive byte constants from a broken ``config.json``."""
    data = rng.choice(corpus("config.json"))
    try:
        config = json.loads(mutate(data, rng) if rng.random() < 0.3 else data)
    except (ValueError, RecursionError):
        return
    inner = config if isinstance(config, dict) else {}
    for _ in range(rng.randrange(4)):
        tables = [inner, *(v for v in inner.values() if isinstance(v, dict))]
        table = rng.choice(tables)
        if table:
            table[rng.choice(sorted(table))] = rng.choice(JUNK)
    model_bytes(config, tp_size=rng.choice((1, 2, 3, 8)), pp_size=rng.choice((1, 2, 3)))


def fuzz_call(rng: random.Random) -> None:
    """Call the program with any words and options."""
    words = [rng.choice(WORDS)]
    demo = ROOT / "fixtures" / "demo"
    paths = [str(demo / "boot.log"), str(demo / "config.json"), str(demo), "/dev/null"]
    for _ in range(rng.randrange(6)):
        match rng.randrange(4):
            case 0:
                words.append(rng.choice(paths))
            case 1:
                words.append(rng.choice(FLAGS))
            case _:
                words += [rng.choice(OPTIONS), rng.choice(VALUES)]
    if any(word.startswith("--plot") for word in words):
        words += ["--plot", "-"]
    data = mutate(rng.choice(corpus(".log")), rng)
    result = CliRunner().invoke(program, words, input=data)
    failed = result.exception
    if failed is not None and not isinstance(failed, SystemExit):
        raise failed
    assert result.exit_code in STATUSES, f"{words}: exit {result.exit_code}"
    assert "Traceback" not in result.output, words


TARGETS: dict[str, Callable[[random.Random], None]] = {
    "log": fuzz_log,
    "arguments": fuzz_arguments,
    "dialect": fuzz_dialect,
    "config": fuzz_config,
    "call": fuzz_call,
}


def run_case(target: str, seed: int) -> None:
    """Run one case; what it raises is a finding."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise HangError(f"longer than {LIMIT_S} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(LIMIT_S)
    try:
        TARGETS[target](random.Random(f"{target} {seed}"))
    except MambaAdvisorError:
        pass
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def main() -> int:
    """Run cases in turn; return 1 after findings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0, help="first seed (0)")
    parser.add_argument("--cases", type=int, default=sys.maxsize, help="of each target")
    parser.add_argument("--only", nargs="*", choices=TARGETS, default=list(TARGETS))
    asked = parser.parse_args()
    end = time.monotonic() + 60 * asked.minutes
    cases = failures = 0
    for seed in range(asked.seed, min(sys.maxsize, asked.seed + asked.cases)):
        for target in asked.only:
            cases += 1
            try:
                run_case(target, seed)
            except Exception:  # any of them is a finding
                failures += 1
                print(f"--- {target}, seed {seed}", flush=True)
                traceback.print_exc(file=sys.stdout)
        if time.monotonic() > end or failures >= MAX_FAILURES:
            break
    print(f"{cases} cases, {failures} findings")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
