"""Measure what the program costs beside plain tools, pair by pair in one run.

    python ratio.py [--size 100M] [--pairs 5] [--only NAME ...]

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
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BOOT = ROOT / "fixtures" / "demo" / "boot.log"
ADVISOR = [sys.executable, "-m", "mamba_advisor"]
PASS = [sys.executable, "-c", "pass"]
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
LINE = (
    b"[2026-03-07 04:31:24 TP0] Decode batch, #running-req: 96, #full token: 786432,"
    b" full token usage: 0.59, mamba num: 480, mamba usage: 0.63, cuda graph: True, gen"
    b" throughput (token/s): 4210.55, #queue-req: 31\n"
)
ENVIRONMENT = os.environ | {"LC_ALL": "C", "PYTHONDONTWRITEBYTECODE": ""}
"""For all commands: grep searches bytes, and Python keeps what it has compiled."""

ROUNDS = 4000
"""Lines of one delay measurement."""

WARM_UP = 200
"""First lines of it that do not count."""

Figures = dict[str, float]


@dataclass(frozen=True)
class Cost:
    """What one run of a command took."""

    cpu_s: float
    wall_s: float
    peak_mib: float


@dataclass(frozen=True)
class Row:
    """One line of the result."""

    what: str
    goal: str
    measured: str
    good: bool


def run_once(command: list[str], stdin: Path | None = None) -> Cost:
    """Run *command*, read all of its output, and return what it took."""
    began = time.perf_counter()
    with (stdin or Path(os.devnull)).open("rb") as source:
        process = subprocess.Popen(
            command,
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=ENVIRONMENT,
            cwd=ROOT,
        )
    assert process.stdout is not None
    # A pipe, since grep stops at its first match when it writes to /dev/null.
    while os.read(process.stdout.fileno(), 1 << 16):
        pass
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    return Cost(
        used.ru_utime + used.ru_stime,
        time.perf_counter() - began,
        used.ru_maxrss / 1024,
    )


def compare(
    ours: list[str], theirs: list[str], pairs: int
) -> tuple[float, float, Cost]:
    """Run both in turn; return median CPU and wall ratios, and our worst cost."""
    run_once(ours)
    run_once(theirs)
    costs = [(run_once(ours), run_once(theirs)) for _ in range(pairs)]
    return (
        statistics.median(a.cpu_s / b.cpu_s for a, b in costs),
        statistics.median(a.wall_s / b.wall_s for a, b in costs),
        Cost(
            statistics.median(a.cpu_s for a, _ in costs),
            statistics.median(a.wall_s for a, _ in costs),
            max(a.peak_mib for a, _ in costs),
        ),
    )


def judge(
    what: str, goal: float, ours: list[str], theirs: list[str], pairs: int
) -> Row:
    """Compare two commands and make a row of it."""
    cpu, wall, cost = compare(ours, theirs, pairs)
    text = f"{cpu:.2f} (wall {wall:.2f}; {cost.cpu_s:.2f} s, {cost.peak_mib:.0f} MiB)"
    return Row(what, f"≤ {goal:g}", text, cpu <= goal)


def make_log(folder: Path, mix: str, size: str) -> Path:
    """Return a generated log, made when it is first asked for."""
    path = folder / f"{mix}-{size}.log"
    if not path.exists():
        maker = [sys.executable, str(HERE / "make_log.py"), str(path), size, mix]
        subprocess.run(maker, check=True, stdout=subprocess.DEVNULL)
    return path


def analyze(path: Path, *more: str) -> list[str]:
    """Return the command that reads *path* and prints JSON."""
    return [*ADVISOR, "analyze", str(path), "--format", "json", *more]


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
    yield Row(
        f"peak memory, {size} log, tables",
        "≤ 40 MiB",
        f"{tables:.1f} MiB",
        tables <= 40,
    )
    growth = peaks[1] - peaks[0]
    yield Row(
        "the same, against a 100M log's", "≤ 2 MiB", f"{growth:+.1f} MiB", growth <= 2
    )


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
        measured = f"{each_ms:.2f} ms"
        yield Row(f"CPU a log, {count} {what}", "≤ 6 ms", measured, each_ms <= 6)
        yield Row("cores kept busy meanwhile", "≥ 0.9", f"{busy:.2f}", busy >= 0.9)


@contextmanager
def piped(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run *command* with both ends of its pipes in our hands."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=ENVIRONMENT,
        cwd=ROOT,
        bufsize=0,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    yield process
    process.stdin.close()
    while process.stdout.read(1 << 16):
        pass
    process.stdout.close()
    process.wait()


def cpu_s(process: subprocess.Popen[bytes]) -> float:
    """Return the CPU time that a running process itself has used."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(float, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def delays(command: list[str], head: bytes) -> Figures:
    """Send *head*, then line by line; return delays and CPU, in microseconds."""
    with piped(command) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        source, sink = process.stdout.fileno(), process.stdin.fileno()
        lines = head.splitlines(keepends=True)
        times: list[float] = []
        used = 0.0
        for number, line in enumerate([*lines, *([LINE] * (ROUNDS + WARM_UP))]):
            if number == len(lines):
                used = cpu_s(process)
            began = time.perf_counter()
            os.write(sink, line)
            missing = len(line)
            while missing:
                part = os.read(source, 1 << 16)
                assert part, "the filter has ended"
                missing -= len(part)
            times.append(time.perf_counter() - began)
        used = cpu_s(process) - used
    # The advice is rendered right behind the head: these lines count for the worst.
    times = times[len(lines) :]
    return {
        "median": 1e6 * statistics.median(times[WARM_UP:]),
        "p99": 1e6 * sorted(times)[-len(times) // 100],
        "cpu": 1e6 * used / len(times),
    }


def delay_rows(_folder: Path, _size: str, pairs: int) -> Iterator[Row]:
    """Measure the delay that the filter adds to a line, against ``cat``."""
    head = BOOT.read_bytes()
    runs = [(delays(ADVISOR, head), delays(["cat"], head)) for _ in range(pairs)]
    ratio = statistics.median(ours["median"] / cat["median"] for ours, cat in runs)
    median = statistics.median(ours["median"] for ours, _ in runs)
    p99 = statistics.median(ours["p99"] for ours, _ in runs)
    cpu = statistics.median(ours["cpu"] for ours, _ in runs)
    yield Row(
        "filter, median delay of a line / `cat`",
        "≤ 3",
        f"{ratio:.2f} ({median:.0f} µs)",
        ratio <= 3,
    )
    yield Row(
        "filter, 99 of 100 lines, rendering included",
        "≤ 1 ms",
        f"{p99 / 1000:.2f} ms",
        p99 <= 1000,
    )
    yield Row(
        "filter, CPU per line",
        "≤ 25 µs",
        f"{cpu:.0f} µs",
        cpu <= 25,
    )


def throughput_rows(folder: Path, size: str, pairs: int) -> Iterator[Row]:
    """Measure the filter between two ``cat``, against a third ``cat``."""
    log = make_log(folder, "one", size)

    def through(command: list[str]) -> Cost:
        feeder = subprocess.Popen(["cat", str(log)], stdout=subprocess.PIPE)
        began = time.perf_counter()
        middle = subprocess.Popen(
            command,
            stdin=feeder.stdout,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=ENVIRONMENT,
            cwd=ROOT,
        )
        drain = subprocess.Popen(
            ["cat"], stdin=middle.stdout, stdout=subprocess.DEVNULL
        )
        for process in (feeder, middle):
            assert process.stdout is not None
            process.stdout.close()
        _, status, used = os.wait4(middle.pid, 0)
        middle.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - began
        feeder.wait()
        drain.wait()
        return Cost(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024)

    costs = [(through(ADVISOR), through(["cat"])) for _ in range(pairs)]
    cpu = statistics.median(a.cpu_s / b.cpu_s for a, b in costs)
    wall = statistics.median(a.wall_s / b.wall_s for a, b in costs)
    yield Row(
        "filter, throughput of `cat` / ours",
        "≤ 7",
        f"{wall:.2f} (CPU {cpu:.2f})",
        wall <= 7,
    )


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
    """Print the table; exit 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--size", default="500M", help="size of each log (500M)")
    parser.add_argument("--pairs", type=int, default=5, help="runs of each pair (5)")
    parser.add_argument("--only", nargs="*", choices=GROUPS, default=list(GROUPS))
    asked = parser.parse_args()
    good = True
    print(f"{machine()}; logs of {asked.size}, median of {asked.pairs} pairs.\n")
    print("| what | goal | measured | |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.only:
            for row in GROUPS[name](Path(folder), asked.size, asked.pairs):
                mark = "" if row.good else "missed"
                print(
                    f"| {row.what} | {row.goal} | {row.measured} | {mark} |", flush=True
                )
                good = good and row.good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
