"""Which pool the evidence says is short, and the sentence that says why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from mamba_advisor.record import Record
from mamba_advisor.runtime.cell import (
    Cell,
    Pressure,
)

HotPool: TypeAlias = Literal["state", "kv"]

KV_TIGHT, KV_NEARLY_FULL, KV_FULL = 1, 2, 3
"""Levels of `KV_STEPS`.

Tight (80 %): SGLang holds requests back for the tokens that the running ones may
still write, so that a queue without a full state pool points to KV well before
100 %.  Nearly full (90 %): what is left would not carry another tenth of the load;
below it a queue at a full state pool is not the fault of KV, and a queue at a limit
that the user set is the fault of neither.  Full (95 %): the next
long request does not fit, and a growing one soon forces a retraction.
"""

STATE_FILLED, STATE_FULL = 1, 2
"""Levels of `STATE_STEPS`.

Filled (65 %): running requests hold 2 of the 3, 3 of the 4 or 4 of the 5 slots that
are reserved for each, so that admission stops at 67 to 80 % of the pool; this counts
only where the limit in force is not known.  Full (95 %): no other request finds its
slots.
"""

AT_LIMIT = 0.9
"""Share of the limit that counts as reaching it: finished requests are replaced at
the next prefill, so that decode lines often show one or two fewer."""

HOT_SHARE = 0.05
"""Share of decode lines that must agree: less is a burst that a queue rides out."""

MIN_LINES = 3
"""Lines that must agree, whatever their share: one line proves nothing."""

TOO_FEW = "too few samples to tell"
"""How the reason begins where nothing can be said of either pool."""

RETRACTION_SHARE = 0.01
"""Retractions ÷ decode lines from which KV is short: one in some 4000 steps."""

FILLING_PERCENT = 50
"""Usage from which a pool that is being filled tells which one will be full first."""

FILLING_LEAD = 1.25
"""How much fuller than the other pool it must be for that."""

RESERVATIONS = (1, 3, 4, 5)
"""Slots per request that SGLang's strategies reserve, for a boot that hides S."""


class Limits(Record):
    """What the boot says about admission, per DP worker; None: not known."""

    limit: int | None = None
    """Running requests that the scheduler allows."""

    slots: int | None = None
    """K, the usable state slots."""

    slots_per_request: int | None = None
    """S, the slots reserved for a request."""

    @property
    def state_sets_limit(self) -> bool | None:
        """Whether the limit is what the state pool allows, K // S."""
        if self.limit is None or self.slots is None:
            return None
        sizes = (self.slots_per_request,) if self.slots_per_request else RESERVATIONS
        return any(self.slots // size == self.limit for size in sizes)


class Wording(Record):
    """What the evidence consists of, and how many of it must agree."""

    unit: str = "decode line"
    min_lines: int = MIN_LINES

    @property
    def noun(self) -> str:
        """What shares are of."""
        return f"of {self.unit}s"


DECODE_LINES = Wording()


class Events(Record):
    """Lines other than batch lines that tell of a full pool."""

    retractions: int = 0
    retracted_requests: int = 0
    state_exhausted: int = 0
    """``Not enough space for mamba cache`` lines."""


def judge(
    cells: Sequence[Cell],
    total: Cell,
    limits: Limits,
    events: Events,
    wording: Wording = DECODE_LINES,
) -> tuple[HotPool | None, str]:
    """Decide from decode lines which pool is short.

    Args:
        cells: The decode lines that count, by running requests.
        total: The sums over them.
        limits: What the boot says about admission.
        events: Retractions and failed allocations.
        wording: What the lines are, where they are no log lines.

    Returns:
        The pool and why; None and why not where neither is short.
    """
    found = _sort_out(cells, limits)
    if events.state_exhausted:
        return "state", (
            f"the server ran out of state slots {_times(events.state_exhausted)}"
        )
    needed = needed_lines(total, wording)
    state, kv, both = found["state"], found["kv"], found["both"]
    retracts = events.retractions and (
        events.retractions >= RETRACTION_SHARE * total.lines
    )
    if state.lines >= needed and state.lines > max(kv.lines, both.lines):
        return "state", _why_state(state, total, limits, wording.noun)
    if retracts or (kv.lines >= needed and kv.lines >= both.lines):
        return "kv", _why_kv(kv, total, events, wording.noun)
    if both.lines >= needed:
        return None, (
            f"both pools filled up together in {_share(both, total)} {wording.noun}: "
            "the split is right, only more memory helps"
        )
    why = _why_neither(found, total, limits, wording)
    if events.retractions:
        why += f"; {_retracted(events)}, too seldom to matter"
    return None, why


def judge_filling(total: Cell) -> tuple[HotPool | None, str]:
    """Decide from prefill lines alone which pool will be full first.

    Before the first decode line the server is still taking requests in.  Where
    they queue and one pool is half full and well ahead of the other, that one will
    stop admission.

    Args:
        total: The sums over all prefill lines.

    Returns:
        The pool and why; None and an empty sentence where it is too early to say.
    """
    waiting = any(key[0] for key in total.pressures)
    if not waiting or not total.kv or not total.state:
        return None, ""
    kv, state = max(total.kv), max(total.state)
    ahead, behind = max(kv, state), min(kv, state)
    if ahead < FILLING_PERCENT or ahead < FILLING_LEAD * behind:
        return None, ""
    first, second = ("state", "KV") if state > kv else ("KV", "state")
    return "state" if state > kv else "kv", (
        f"no decode line yet; while requests are taken in, the {first} pool fills "
        f"first: {ahead} % against {behind} % of the {second} pool"
    )


def _sort_out(cells: Sequence[Cell], limits: Limits) -> dict[str, Pressure]:
    """Return the lines under pressure by what was short.

    The keys are ``state``, ``kv``, ``both``, ``limit`` (a limit that the state pool
    does not set) and ``other``.
    """
    found: dict[str, Pressure] = defaultdict(Pressure)
    plateau = max((cell.running / cell.lines for cell in cells), default=0.0)
    for cell in cells:
        running = cell.running / cell.lines
        at_limit = limits.limit is not None and running >= AT_LIMIT * limits.limit
        at_plateau = running >= AT_LIMIT * plateau
        for (waits, kv, state), pressure in cell.pressures.items():
            if limits.state_sets_limit is None:
                is_full = state >= STATE_FILLED and at_plateau
            else:
                is_full = limits.state_sets_limit and at_limit
            is_full = is_full or state == STATE_FULL
            found[_name(waits, is_full, at_limit, kv)].add(pressure)
    return found


def _name(waits: bool, state_is_full: bool, at_limit: bool, kv: int) -> str:
    """Return what was short on lines with a queue or with full KV."""
    if not waits:
        return "kv"
    if state_is_full:
        return "both" if kv >= KV_NEARLY_FULL else "state"
    if kv >= (KV_FULL if at_limit else KV_TIGHT):
        return "kv"
    return "limit" if at_limit else "other"


def _why_state(state: Pressure, total: Cell, limits: Limits, noun: str) -> str:
    words = f"in {_share(state, total)} {noun} requests queued"
    if total.kv:
        words += f" while KV stood at {state.kv_percent / state.lines:.0f} %"
    if limits.state_sets_limit:
        return (
            f"{words}: the limit of {limits.limit} running {_requests(limits)} was "
            "reached, which the state pool sets"
        )
    return f"{words} and the state pool at {state.state_percent / state.lines:.0f} %"


def _why_kv(kv: Pressure, total: Cell, events: Events, noun: str) -> str:
    reasons = []
    if kv.lines:
        level = kv.kv_percent / kv.lines
        words = f"in {_share(kv, total)} {noun} KV stood at {level:.0f} %"
        if total.state:
            words += f" and the state pool at {kv.state_percent / kv.lines:.0f} %"
        reasons.append(words)
    if events.retractions:
        reasons.append(_retracted(events))
    return "; ".join(reasons)


def _why_neither(
    found: Mapping[str, Pressure], total: Cell, limits: Limits, wording: Wording
) -> str:
    if not total.lines:
        return ""
    name = max(("other", "limit"), key=lambda one: found[one].lines)
    lines = found[name]
    if lines.lines < needed_lines(total, wording):
        usages = [
            f"{pool} stayed at or below {max(counts)} %"
            for pool, counts in (("KV", total.kv), ("the state pool", total.state))
            if counts
        ]
        return "; ".join([_queue(total, wording), *usages])
    words = f"in {_share(lines, total)} {wording.noun} requests queued"
    if total.kv:
        words += f" while KV stood at {lines.kv_percent / lines.lines:.0f} %"
    if total.state:
        words += f" and the state pool at {lines.state_percent / lines.lines:.0f} %"
    if name == "limit":
        setter = "" if limits.state_sets_limit is None else ", which neither pool sets"
        limit = f"the limit of {limits.limit} {_requests(limits)}"
        return f"{words}: {limit} was reached{setter}"
    if limits.limit is None:
        return f"{words}; the limit in force is not known, so neither is to blame"
    return f"{words}, below the limit of {limits.limit} {_requests(limits)}"


def _requests(limits: Limits) -> str:
    return "request" if limits.limit == 1 else "requests"


def _queue(total: Cell, wording: Wording) -> str:
    """Return what little there is to say of a queue that proves nothing."""
    lines = total.lines
    waits = sum(pressure.lines for key, pressure in total.pressures.items() if key[0])
    unit = wording.unit if lines == 1 else f"{wording.unit}s"
    if lines < wording.min_lines:
        queued = f", {waits:,} of them with a queue" if waits else " without a queue"
        return f"{TOO_FEW}: {lines:,} {unit}{queued}"
    if waits >= HOT_SHARE * lines:
        return f"requests queued in only {waits:,} of {lines:,} {unit}"
    return "hardly a request queued"


def needed_lines(total: Cell, wording: Wording) -> float:
    """Return how many lines must agree."""
    return max(wording.min_lines, HOT_SHARE * total.lines)


def _retracted(events: Events) -> str:
    times = _times(events.retractions)
    return f"running requests were retracted {times} because KV was full"


def _share(pressure: Pressure, total: Cell) -> str:
    return f"{100 * pressure.lines / total.lines:.0f} %"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
