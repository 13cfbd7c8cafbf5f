"""Measure what the program costs beside plain tools, pair by pair in one run.

    python ratio.py [--size 100M] [--pairs 5] [--slack 1] [--only NAME ...]

Each row runs two commands in turn on the same data and gives the median of the
pairwise ratios, which carry over to other machines; absolute figures do not.  Judge
the CPU ratio: a shared machine doubles the wall clock at will.  Prints Markdown.
"""

from __future__ import annotations

import argparse
import gzip
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from filtering import delay_rows, throughput_rows
from measure import ADVISOR, BOOT, PASS, Row, analyze, judge, make_log, run_once

ANCHORS = (
    "server_args=",
    "Load weight end",
    "Mamba Cache is allocated",
    "KV Cache is allocated",
    "Memory pool end",
    "max_total_num_tokens=",
    "Retract requests",
    "Capture target decode",
    "fired up and ready",
    "Not enough",
)


def grep(folder: Path, path: Path) -> list[str]:
    """Return the yardstick: ten literal anchors counted in *path*."""
    anchors = folder / "anchors.txt"
    anchors.write_text("".join(f"{anchor}\n" for anchor in ANCHORS))
    return ["grep", "-c", "-F", "-f", str(anchors), str(path)]


def read_rows(folder: Path, size: str, pairs: int) -> Iterator[Row]:
    """Measure reading files."""
    for mix, what, goal in (
        ("one", "`analyze`, one speaker / grep", 3.0),
        ("eight", "`analyze`, eight repeating TP ranks / grep", 2.0),
        ("dp", "`analyze`, eight DP workers / grep", 5.0),
        ("requests", "`analyze`, request logging / grep", 0.6),
        ("docker", "`analyze`, container prefix / grep", 5.0),
        ("logger", "`analyze`, custom prefix / grep", 5.0),
    ):
        log = make_log(folder, mix, size)
        yield judge(what, goal, analyze(log), grep(folder, log), pairs)
        if mix != "one":
            log.unlink()
    plain = make_log(folder, "one", size)
    packed = plain.with_suffix(".log.gz")
    with plain.open("rb") as source, gzip.open(packed, "wb", 6) as sink:
        shutil.copyfileobj(source, sink, 1 << 20)
    theirs = " ".join(grep(folder, plain)[:-1])
    unpack = ["sh", "-c", f"gzip -dc {packed} | {theirs}"]
    yield judge(
        "`analyze` of `.gz` / `gzip -dc` into grep", 1.0, analyze(packed), unpack, pairs
    )
    packed.unlink()


def memory_rows(folder: Path, size: str, _pairs: int) -> Iterator[Row]:
    """Measure peak memory, and its growth with the size of the log."""
    small, large = make_log(folder, "one", "100M"), make_log(folder, "one", size)
    peaks = [run_once(analyze(log)).peak_mib for log in (small, large)]
    tables = run_once([*ADVISOR, "analyze", str(large)]).peak_mib
    what = f"peak memory, {size} log, tables"
    yield Row(what, 40, tables, f"{tables:.1f} MiB", " MiB")
    growth = peaks[1] - peaks[0]
    what = "the same, against a 100M log's"
    yield Row(what, 2, growth, f"{growth:+.1f} MiB", " MiB")


def start_rows(_folder: Path, _size: str, pairs: int) -> Iterator[Row]:
    """Measure start-up, which is what a boot log costs."""
    yield judge("`--help` / `python -c pass`", 5, [*ADVISOR, "--help"], PASS, pairs)
    yield judge("boot log, JSON / pass", 6, analyze(BOOT), PASS, pairs)
    tables = [*ADVISOR, "analyze", str(BOOT)]
    yield judge("boot log, tables / pass", 10, tables, PASS, pairs)


def crowd_rows(folder: Path, _size: str, _pairs: int) -> Iterator[Row]:
    """Measure a thousand boot logs in one call, each with its own time and seed."""
    count, boot, length = 1000, BOOT.read_bytes(), 262144
    alone = run_once(analyze(BOOT))
    for what, step in (("replicas", 0), ("boots, no two alike", 1)):
        crowd = folder / f"crowd-{step}"
        crowd.mkdir()
        for number in range(count):
            text = boot.replace(b"2026-11-30", b"2026-11-%02d" % (number % 28 + 1))
            text = text.replace(b"random_seed=", b"random_seed=%d" % number)
            # The context length is part of all sizing.
            text = text.replace(b"=%d" % length, b"=%d" % (length - step * number))
            (crowd / f"{number}.log").write_bytes(text)
        cost = run_once(analyze(crowd))
        each_ms = 1000 * (cost.cpu_s - alone.cpu_s) / count
        busy = cost.cpu_s / cost.wall_s / len(os.sched_getaffinity(0))
        shown = f"{each_ms:.2f} ms"
        yield Row(f"CPU a log, {count} {what}", 6, each_ms, shown, " ms")
        shown = f"{busy:.2f}"
        yield Row("cores kept busy meanwhile", 0.9, busy, shown, at_least=True)


GROUPS: dict[str, Callable[[Path, str, int], Iterator[Row]]] = {
    "read": read_rows,
    "memory": memory_rows,
    "start": start_rows,
    "crowd": crowd_rows,
    "delay": delay_rows,
    "throughput": throughput_rows,
}
"""Name for ``--only`` -> rows."""


def machine() -> str:
    """Describe the machine in a line."""
    model = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    cores = len(os.sched_getaffinity(0))
    python = platform.python_version()
    return f"{cores} × {model}, Linux {platform.release()}, CPython {python}"


def main() -> int:
    """Print the table; exit 1 when a goal is missed by more than is let pass."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--size", default="500M", help="size of each log (500M)")
    parser.add_argument("--pairs", type=int, default=5, help="runs of each pair (5)")
    parser.add_argument("--slack", type=float, default=1, help="times a goal let pass")
    parser.add_argument("--only", nargs="*", choices=GROUPS, default=list(GROUPS))
    asked = parser.parse_args()
    good = True
    print(f"{machine()}; logs of {asked.size}, median of {asked.pairs} pairs.\n")
    print("| what | goal | measured | |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.only:
            for row in GROUPS[name](Path(folder), asked.size, asked.pairs):
                print(row, flush=True)
                good = good and row.good(asked.slack)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
