"""Where one server start ends and the next begins.

The ``server_args`` line announces a start.  Where it was filtered away, the order of
SGLang's start-up shows it: a server that serves does not load again, and a dead one
prints nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from mamba_advisor.boot import pick
from mamba_advisor.boot.phase import PHASES, Phase
from mamba_advisor.boot.roles import restarts
from mamba_advisor.boot.start import StartDraft
from mamba_advisor.facts import Reading


def begins_anew(start: StartDraft, reading: Reading) -> bool:
    """Return whether only a later start than *start* can have printed a line."""
    rule = _RULES.get(reading.event)
    if rule is not None:
        return rule(start, reading)
    return reading.event in PHASES and _loads_again(start, reading)


def _arguments(start: StartDraft, reading: Reading) -> bool:
    only_quoted = not (start.has_arguments or start.loaded or start.batches)
    return start.begun and pick.is_whole(reading) and not only_quoted


def _refused(start: StartDraft, _: Reading) -> bool:
    # A strategy is refused before the arguments are printed, or at the pools.
    return bool(start.ready_line) or start.watch.dead


def _ready(start: StartDraft, _: Reading) -> bool:
    return start.watch.dead


def _batch(start: StartDraft, reading: Reading) -> bool:
    return not start.loaded and runs_backwards(start.last_stamp, reading.stamp)


def _loads_again(start: StartDraft, reading: Reading) -> bool:
    event, phase = reading.event, PHASES[reading.event]
    rank = start.ranks.get(reading.rank)
    if (start.ready_line or start.batches) and phase <= Phase.POOLS:
        return True
    if event in ("weights-begin", "init-begin") and start.watch.failure:
        return rank is not None and rank.phase >= phase
    if event == "summary" and start.watch.dead:
        return True
    return rank is not None and restarts(rank, reading)


_RULES: dict[str, Callable[[StartDraft, Reading], bool]] = {
    "server-args": _arguments,
    "failure-strategy": _refused,
    "ready": _ready,
    "decode": _batch,
    "prefill": _batch,
}
"""Event -> whether its line belongs to a later start."""

HOUR_S = 3600
CLOCK_CHANGE_S = 120
"""How far from an hour a step of the clock still is a change to winter time."""


def runs_backwards(before: str, now: str) -> bool:
    """Return whether *now* is earlier than *before*, as in lines of another run.

    Times are compared as SGLang prints them, with a date.  A step of seconds (a clock
    being set) or of an hour (the end of summer time) is none.
    """
    if len(before) < DATED or len(now) < DATED or now >= before:
        return False
    step = _seconds(before) - _seconds(now)
    return step > CLOCK_CHANGE_S / 2 and abs(step - HOUR_S) > CLOCK_CHANGE_S


DATED = len("2026-02-27 17:10:28")


def _seconds(stamp: str) -> float:
    from datetime import datetime

    try:
        return datetime.fromisoformat(stamp[:DATED]).timestamp()
    except ValueError:
        return 0.0
