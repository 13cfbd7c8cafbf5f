"""Memory that the boot left idle, and how far the static fraction can go up."""

from __future__ import annotations

import math

from mamba_advisor.advice.situation import Situation
from mamba_advisor.advice.whatif import with_fraction
from mamba_advisor.measured import UNITS, Measured
from mamba_advisor.record import Record
from mamba_advisor.sizing import SizingProblem
from mamba_advisor.sizing.budget import is_capped

GIB = UNITS["GiB"]

KEEP_SHARE = 0.08
"""Share of the memory before the weights that stays free for activations and
workspaces that the boot has not allocated yet.
"""

KEEP_MOST = 6 * GIB
"""No more than this stays free: SGLang's tuning guide calls 5 to 8 GB a good amount."""

KEEP_LEAST = 3 * GIB // 2
"""Nor less than this, on small GPUs."""

WORTH_RAISING = 0.01
"""A smaller step of ``--mem-fraction-static`` is not worth a restart."""

HIGHEST_FRACTION = 0.97
"""No higher fraction is ever advised."""

DECIMALS = 100
"""Fractions are advised in hundredths, rounded down."""


class IdleMemory(Record):
    """What could be given to the pools."""

    idle: Measured
    """Free after graph capture, in bytes."""

    spare: int
    """Of it, what may be given away, in bytes."""

    fraction: float
    """``--mem-fraction-static`` in force."""

    raised: float
    """The highest that leaves enough, in hundredths; may equal `fraction`."""


def idle_memory(situation: Situation) -> IdleMemory | None:
    """Return the boot's idle memory; None where the log does not show it.

    The measure is what was free at the very end, after graph capture, so that graphs
    and what else the boot allocated keep theirs; `KEEP_SHARE` of the whole, but
    `KEEP_LEAST` to `KEEP_MOST`, stays for activations.
    """
    rank = situation.calibration.rank
    fraction = situation.calibration.settled.value("mem_fraction_static")
    if rank is None or rank.idle is None or rank.avail_before is None:
        return None
    if not isinstance(fraction, float) or situation.boot.outcome != "ready":
        return None
    if is_capped_now(situation):
        return None
    if rank.graphs is None and not situation.boot.summaries:
        # What was free at the end of the pools is not idle: graphs come after.
        return None
    before = rank.avail_before.low
    keep = min(KEEP_MOST, max(KEEP_LEAST, int(before * KEEP_SHARE)))
    spare = rank.idle.low - keep
    if before <= 0:
        return None
    step = max(0.0, spare / before)
    raised = math.floor((fraction + step) * DECIMALS + 1e-9) / DECIMALS
    return IdleMemory(
        rank.idle,
        max(0, spare),
        fraction,
        max(fraction, min(raised, HIGHEST_FRACTION)),
    )


def is_capped_now(situation: Situation) -> bool:
    """Return whether ``--max-total-tokens`` holds the KV pool down."""
    booted = situation.calibration.booted
    tokens = situation.calibration.printout.tokens
    return booted is not None and tokens is not None and is_capped(booted, tokens)


def raised_problem(
    situation: Situation, problem: SizingProblem, memory: IdleMemory
) -> SizingProblem | None:
    """Return *problem* at the raised fraction; None where that is not worth it."""
    rank = situation.calibration.rank
    change = memory.raised - memory.fraction
    if change < WORTH_RAISING or rank is None or rank.avail_before is None:
        return None
    return with_fraction(problem, rank.avail_before, change)
