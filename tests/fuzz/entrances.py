"""Targets of the fuzzer inside the package: its entrances one by one."""

from __future__ import annotations

import io
import json
import math
import os
import random
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from material import (
    DEMO,
    SPICE,
    broken_json,
    configs,
    corpus,
    mutate,
    packed,
)

from mamba_advisor.advice.model import Workload
from mamba_advisor.advice.options import Overrides
from mamba_advisor.boot.model import Boot
from mamba_advisor.catalog import Catalog, builtin_files, load_catalog
from mamba_advisor.errors import MambaAdvisorError
from mamba_advisor.fleet import Task, advise_boot
from mamba_advisor.intake import Gatherer, take_in
from mamba_advisor.logfile import open_log
from mamba_advisor.modelconfig import model_bytes
from mamba_advisor.report import render
from mamba_advisor.report.plot import render_plot
from mamba_advisor.runtime.follow import Follower
from mamba_advisor.runtime.metrics import evidence_of, parse_metrics
from mamba_advisor.runtime.server import boot_from_server, parse_server_info
from mamba_advisor.scan import noise
from mamba_advisor.scan.scanner import Scanner
from mamba_advisor.selftest import load
from mamba_advisor.server_args import parse_arguments

OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]"
)
"""What a terminal would obey; a tab or a newline is text."""


@cache
def catalog() -> Catalog:
    """Return the built-in dialects."""
    return load_catalog(plugins=False)


@contextmanager
def folder() -> Iterator[Path]:
    """Give a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as path:
        yield Path(path)


def refuse_constant(name: str) -> NoReturn:
    """Fail on what JSON does not know."""
    raise AssertionError(f"{name} in the JSON")


def check_document(text: str) -> None:
    """Fail on a document that is not strict JSON, or on a number that cannot be."""
    check_numbers(json.loads(text, parse_constant=refuse_constant))


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


def check_text(text: str) -> None:
    """Fail on text in which a terminal finds something to obey."""
    assert not (found := OBEYED.search(text)), f"{found} in the text"


def some(rng: random.Random, *values: Any) -> Any:
    """Return one of *values*, mostly None."""
    return rng.choice(values) if rng.random() < 0.25 else None


def task(rng: random.Random) -> Task:
    """Return what may be asked of a boot."""
    count = (1, 2, 7, 64, 1 << 50)
    return Task(
        Workload(
            some(rng, 1, 1024, 16_384, 10**6, 1 << 50),
            "option",
            some(rng, *count),
            some(rng, *count),
        ),
        Overrides(
            strategy=some(rng, "auto", "no_buffer", "extra_buffer_lazy"),
            radix_cache=some(rng, True, False),
            overlap=some(rng, True, False),
            draft_tokens=some(rng, 0, *count),
            replayssm=some(rng, True, False),
            tp_size=some(rng, *count),
            dp_size=some(rng, *count),
            pp_size=some(rng, *count),
            dcp_size=some(rng, *count),
            kv_cache_dtype=some(rng, "fp8_e4m3", "auto"),
            mamba_ssm_dtype=some(rng, "bfloat16"),
            mem_fraction_static=some(rng, 1e-300, 0.5, 1 - 1e-16),
            gpu_memory=some(rng, 1, 80 << 30, 1 << 50),
            sglang_version=some(rng, "0.5.4", "0.5.12", "0.5.23", "9999.0.0"),
            ratio=some(rng, 5e-324, 0.9, 1e15),
            pin=some(rng, *count),
            max_running_requests=some(rng, *count),
        ),
        config=some(rng, str(DEMO / "config.json")),
        sweep=rng.random() < 0.2,
        curves=rng.choice(("none", "none", "balance", "all")),
        brief=rng.random() < 0.1,
    )


def check_boot(boot: Boot, rng: random.Random) -> None:
    """Advise on *boot* in every form."""
    asked = task(rng)
    advice = advise_boot("fuzz.log", boot, asked).advice
    if advice is None:
        return
    check_document(render([advice], "json"))
    text = render(
        [advice] * rng.choice((1, 1, 2)),
        rng.choice(("table", "markdown")),
        width=rng.choice((1, 20, 40, 80, 200)),
        unicode=rng.random() < 0.5,
        explain=rng.random() < 0.3,
    )
    check_text(text)
    if asked.curves == "all":
        check_text(render_plot([advice], rng.choice(("svg", "html"))).decode())


def fuzz_log(rng: random.Random) -> None:
    """Advise on a broken log, both readings of which must agree."""
    data = mutate(rng.choice(corpus(".log")), rng)
    taken = take_in(io.BytesIO(data), catalog=catalog())
    gatherer = Gatherer()
    grace, noise.GRACE = noise.GRACE, rng.choice((0, noise.GRACE))
    scanner = Scanner(catalog(), gatherer)
    noise.GRACE = grace
    at = 0
    while at < len(data):
        size = rng.choice((1, 100, 10_000))
        scanner.push(data[at : at + size])
        at += size
    scanner.finish()
    again = gatherer.intake(taken.glimpse.name, scanner.lines, data[:8192])
    is_marked = data[:3] == b"\xef\xbb\xbf" or data[:2] in (b"\xff\xfe", b"\xfe\xff")
    if not taken.trouble and not is_marked:
        assert taken.boots == again.boots, "portions give other boots"
    for boot in taken.boots[-2:]:
        with suppress(MambaAdvisorError):
            check_boot(boot, rng)


def fuzz_slow(rng: random.Random) -> None:
    """Read a long line, or many, in which something comes again and again."""
    data = rng.choice(corpus(".log"))
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    line = lines[at][:20_000]
    cut = rng.randrange(len(line) + 1)
    length = rng.choice((1, 2, 8, 40, 200))
    again = b"".join(rng.choice((*SPICE, *SIGNS)) for _ in range(rng.choice((0, 1, 2))))
    again = line[cut : cut + length] + again or b" "
    again *= 64_000 // len(again)
    if rng.random() < 0.3:
        width = rng.choice((10, 50, 160))
        parts = [again[at : at + width] for at in range(0, len(again), width)]
        again = rng.choice((b"\n", b")\n", b"'\n")).join(parts)
    lines[at] = line[:cut] + again + rng.choice((b"", line[cut:]))
    data = b"\n".join(lines)
    start = time.process_time()
    with suppress(MambaAdvisorError):
        take_in(io.BytesIO(data), catalog=catalog())
    count = data.count(b"\n") + data.count(b"\r")
    assert time.process_time() - start < 1 + 1e-3 * count


def fuzz_packed(rng: random.Random) -> None:
    """Read a log out of a damaged compressed file."""
    data = rng.choice(corpus(".log"))
    whole = packed(data, rng)
    log = open_log(io.BytesIO(whole))
    view = memoryview(bytearray(rng.choice((1000, 1 << 16))))
    read = 0
    while count := log.readinto(view):
        read += count
    assert read <= 40 * len(data), "more came out than was put in"


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
    try:
        config = json.loads(broken_json(rng.choice(configs()), rng))
    except (ValueError, RecursionError):
        return
    model_bytes(config, tp_size=rng.choice((1, 2, 3, 8)), pp_size=rng.choice((1, 2, 3)))


def fuzz_server(rng: random.Random) -> None:
    """Advise by the broken answer of a server."""
    answer = json.loads(rng.choice(corpus("5.23.json") + corpus("5.18.json")))
    info = parse_server_info(broken_json(answer, rng), "fuzz")
    check_boot(boot_from_server(info, state_slots=some(rng, 0, 1, 20, 1 << 60)), rng)


def fuzz_metrics(rng: random.Random) -> None:
    """Take evidence from broken metrics."""
    data = mutate(rng.choice(corpus(".prom")), rng)
    if rng.random() < 0.3:
        data = re.sub(rb"(?<= )[\d.e+]+$", lambda _: rng.choice(ODD), data, flags=re.M)
    limit, slots, reserved = (some(rng, 1, 48, 1 << 60) for _ in range(3))
    evidence_of(
        parse_metrics(data.decode("utf-8", "replace")),
        limit=limit,
        slots=slots,
        slots_per_request=reserved,
    )


SIGNS = (b'"', b"\\", b"\\'", b"[", b"<", b", ", b"=", b" ", b"#", b": ", b"9", b".")
"""What wordings, lists and strings are cut at."""

ODD = (b"1e308", b"-1e308", b"NaN", b"+Inf", b"-1", b"0", b"5e-324", b"9" * 400, b"1_0")
"""Values that a metric may have."""


def _write(path: Path, how: int, data: bytes) -> None:
    """Write to a file, or to a pipe that somebody reads."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | how)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def fuzz_follow(rng: random.Random) -> None:
    """Follow a file through everything that can be done to one."""
    with folder() as place:
        path, other = place / "server.log", place / "server.log.1"
        path.write_bytes(b"one\n")
        left, makes_pipes = rng.randrange(1, 30), rng.random() < 0.2

        def stop() -> bool:
            nonlocal left
            left -= 1
            with suppress(OSError):
                match rng.randrange(9):
                    case 0 | 1 | 2:
                        more = rng.choice((b"more\n", b"half", b"x" * 5000))
                        _write(path, os.O_APPEND, more)
                    case 3:
                        path.replace(other)
                    case 4:
                        _write(path, os.O_TRUNC, rng.choice((b"", b"new\n" * 3000)))
                    case 5:
                        os.truncate(path, rng.randrange(9000))
                    case 6:
                        path.unlink()
                    case 7:
                        path.symlink_to(rng.choice((other, path, place)))
                    case _:
                        os.mkfifo(path) if makes_pipes else path.mkdir()
            return left < 0

        with Follower(str(path), stop, poll_s=0) as follower:
            view = memoryview(bytearray(rng.choice((1, 100, 1 << 16))))
            while follower.readinto(view):
                pass
            assert left < 0 or makes_pipes, "it ended before it was stopped"
