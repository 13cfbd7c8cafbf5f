"""Run a command beside another on the same data, pair by pair.

What the scripts of this folder share: the costs of a run, the medians of pairs, and
the logs that `make_log.py` makes.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BOOT = ROOT / "fixtures" / "demo" / "boot.log"
ADVISOR = [sys.executable, "-m", "mamba_advisor"]
PASS = [sys.executable, "-c", "pass"]
ENVIRONMENT = os.environ | {"LC_ALL": "C", "PYTHONDONTWRITEBYTECODE": ""}
"""For all commands: grep searches bytes, and Python keeps what it has compiled."""


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
    goal: float
    value: float
    shown: str
    """The value with its unit, and what there is to say beside it."""

    unit: str = ""
    """Of the goal."""

    at_least: bool = False
    """Whether more is better."""

    def good(self, slack: float = 1.0) -> bool:
        """Return whether the goal is met, or missed by less than *slack* times."""
        if self.at_least:
            return self.value * slack >= self.goal
        return self.value <= self.goal * slack

    def __str__(self) -> str:
        sign = "≥" if self.at_least else "≤"
        mark = "" if self.good() else "missed"
        return (
            f"| {self.what} | {sign} {self.goal:g}{self.unit} | {self.shown} | {mark} |"
        )


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
    return Row(what, goal, cpu, text)


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
