"""Throw broken input at every entrance, until something gives.

    python run.py [--minutes 10] [--seed 0] [--only TARGET ...]

A case is a target and a seed, and can be run again alone: ``run.py --only log --seed
4711 --cases 1``.  No input may give a traceback, a hang, or advice with nan, negative
slots or a division by zero; only errors of this package may come out.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent.parent), str(HERE)]

import calls  # noqa: E402 - the checkout comes first
import entrances  # noqa: E402

from mamba_advisor.errors import MambaAdvisorError  # noqa: E402

CPU_LIMIT_S = 20
"""Longest time that a case may compute: a hundred times what it needs."""

WAIT_LIMIT_S = 300
"""Longest time that it may take where others keep the machine busy."""

MAX_FAILURES = 10

TARGETS: dict[str, Callable[[random.Random], None]] = {
    name.removeprefix("fuzz_"): function
    for module in (entrances, calls)
    for name, function in vars(module).items()
    if name.startswith("fuzz_")
}


class HangError(Exception):
    """A case took longer than it may."""


def run_case(target: str, seed: int) -> None:
    """Run one case; what it raises is a finding."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise HangError(f"{signal.Signals(number).name}: it hangs")

    before = {
        number: signal.signal(number, give_up)
        for number in (signal.SIGALRM, signal.SIGPROF)
    }
    signal.alarm(WAIT_LIMIT_S)
    signal.setitimer(signal.ITIMER_PROF, CPU_LIMIT_S)
    try:
        TARGETS[target](random.Random(f"{target} {seed}"))
    except MambaAdvisorError:
        pass
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


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
