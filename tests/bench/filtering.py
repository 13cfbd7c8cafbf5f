"""What the filter costs between a server and its reader, against ``cat``."""

from __future__ import annotations

import os
import select
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from measure import ADVISOR, BOOT, ENVIRONMENT, ROOT, Cost, Row, make_log

LINE = (
    b"[2026-03-07 04:31:24 TP0] Decode batch, #running-req: 96, #full token: 786432,"
    b" full token usage: 0.59, mamba num: 480, mamba usage: 0.63, cuda graph: True, gen"
    b" throughput (token/s): 4210.55, #queue-req: 31\n"
)
ROUNDS = 4000
"""Lines of one delay measurement."""

WARM_UP = 200
"""First lines of it that do not count."""

PATIENCE = 1_000_000
"""Lines in which the advice must have come."""

Figures = dict[str, float]


@contextmanager
def piped(command: list[str], core: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run *command* on *core*, with both ends of its pipes in our hands."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        cwd=ROOT,
        bufsize=0,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    os.sched_setaffinity(process.pid, {core})
    yield process
    process.stdin.close()
    while process.stdout.read(1 << 16):
        pass
    process.stdout.close()
    process.stderr.close()
    process.wait()


@contextmanager
def staying_on(core: int) -> Iterator[None]:
    """Keep this process on *core*."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    yield
    os.sched_setaffinity(0, before)


def cpu_s(process: subprocess.Popen[bytes]) -> float:
    """Return the CPU time that a running process itself has used."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(float, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def delays(command: list[str], head: bytes, core: int, speaks: bool) -> Figures:
    """Send *head* to *command* on *core*, then line by line; return microseconds.

    Of one that *speaks*, lines are sent at least until its advice has come: "p99" is
    over those sent meanwhile.
    """
    with piped(command, core) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        source, sink = process.stdout.fileno(), process.stdin.fileno()
        said = select.poll()
        said.register(process.stderr, select.POLLIN)

        def send(line: bytes) -> float:
            began = time.perf_counter()
            os.write(sink, line)
            missing = len(line)
            while missing:
                part = os.read(source, 1 << 16)
                assert part, "the filter has ended"
                missing -= len(part)
            return 1e6 * (time.perf_counter() - began)

        for line in head.splitlines(keepends=True):
            send(line)
        used = cpu_s(process)
        # The advice is rendered right behind the head.
        times: list[float] = []
        while speaks and not said.poll(0):
            times.append(send(LINE))
            assert len(times) < PATIENCE, "no advice has come"
        meanwhile = sorted(times)
        times += [send(LINE) for _ in range(ROUNDS)]
        used = cpu_s(process) - used
    return {
        "median": statistics.median(times[WARM_UP:]),
        "p99": meanwhile[-(len(meanwhile) // 100) - 1] if meanwhile else 0.0,
        "cpu": 1e6 * used / len(times),
    }


def delay_rows(_folder: Path, _size: str, pairs: int) -> Iterator[Row]:
    """Measure the delay that the filter adds to a line, against ``cat``.

    Both run where the sender runs, then on a core of their own: left to itself, the
    kernel puts ``cat`` beside the sender and a program that works on after it has
    written elsewhere, and waking a sleeping core costs many times what either does.
    """
    head = BOOT.read_bytes()
    here, *others = sorted(os.sched_getaffinity(0))
    for where, core in [("one core", here), *(("two cores", c) for c in others[:1])]:
        with staying_on(here):
            runs = [
                (
                    delays(ADVISOR, head, core, speaks=True),
                    delays(["cat"], head, core, speaks=False),
                )
                for _ in range(pairs)
            ]
        ratio = statistics.median(ours["median"] / cat["median"] for ours, cat in runs)
        median, p99, cpu = (
            statistics.median(ours[name] for ours, _ in runs)
            for name in ("median", "p99", "cpu")
        )
        yield Row(
            f"filter, median delay of a line / `cat`, {where}",
            3,
            ratio,
            f"{ratio:.2f} ({median:.0f} µs)",
        )
        yield Row(
            f"filter, 99 of 100 lines while the advice is rendered, {where}",
            1,
            p99 / 1000,
            f"{p99 / 1000:.3f} ms",
            " ms",
        )
        if core == here:
            yield Row("filter, CPU per line", 25, cpu, f"{cpu:.0f} µs", " µs")


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
    shown = f"{wall:.2f} (CPU {cpu:.2f})"
    yield Row("filter, throughput of `cat` / ours", 7, wall, shown)
