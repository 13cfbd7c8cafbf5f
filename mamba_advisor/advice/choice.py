"""The flag to paste for a split: ratio or pin, and what it gives."""

from __future__ import annotations

from mamba_advisor.advice.model import Prediction
from mamba_advisor.advice.predict import Case
from mamba_advisor.advice.situation import Situation
from mamba_advisor.record import Record, replace
from mamba_advisor.sizing import SizingProblem
from mamba_advisor.sizing.inverse import with_ratio
from mamba_advisor.sizing.optimum import Split, known_split

FRAGILE_RATIO = 0.15
"""Below this ratio a pin says the same more robustly: K moves with every byte."""


class Choice(Record):
    """A setting with its flags."""

    action: str
    """``ratio`` or ``pin``."""

    ratio: float | None
    pin: int | None
    flags: tuple[str, ...]
    equivalent: tuple[str, ...]
    """The other flag that would do the same; empty: none."""

    problem: SizingProblem
    predicted: Prediction
    split: Split


def choose_split(
    situation: Situation,
    problem: SizingProblem,
    *,
    bare: bool = False,
    over: float | None = None,
) -> Choice | None:
    """Return the best split of *problem* for the workload; None where nothing boots.

    Args:
        situation: The boot, for the workload and for what is set today.
        problem: The arguments to split for; options and levers may be in it.
        bare: Leave out the plateau and what lies beyond the request limit.
        over: Requests that it must carry more than, else None is returned, too.
    """
    if situation.context is None and situation.target is None:
        return None
    split = known_split(
        situation.version,
        problem,
        situation.context,
        situation.target,
        spare_slots(situation),
        bare=bare,
        snug=True,
        over=over,
    )
    if split is None:
        return None
    choice = as_choice(situation, problem, split)
    if over is not None and (choice.predicted.concurrency or 0) <= over:
        return None
    return choice


def spare_slots(situation: Situation) -> int:
    """Return the checkpoints to keep per worker for the idle sessions wanted."""
    wanted = situation.workload.sessions or 0
    return -(-wanted // situation.concurrency.workers)


def as_choice(situation: Situation, problem: SizingProblem, split: Split) -> Choice:
    """Return *split* with the flag that fits this boot."""
    pinned = _prefers_pin(situation, problem, split)
    chosen = _setting(situation, problem, split)
    by_ratio = ratio_flags(split.ratio)
    by_pin = pin_flags(split.pin)
    return Choice(
        action="pin" if pinned else "ratio",
        ratio=split.ratio,
        pin=split.pin,
        flags=by_pin if pinned else by_ratio,
        equivalent=by_ratio if pinned else by_pin,
        problem=chosen,
        predicted=situation.predict(chosen, like(situation, chosen)),
        split=split,
    )


def _setting(
    situation: Situation, problem: SizingProblem, split: Split
) -> SizingProblem:
    """Return *problem* with the flag of *split* set that fits this boot."""
    if split.max_running_requests is not None:
        problem = replace(problem, max_running_requests=split.max_running_requests)
    if _prefers_pin(situation, problem, split):
        return replace(problem, pin=split.pin)
    return with_ratio(problem, split.ratio or problem.ratio)


def _prefers_pin(situation: Situation, problem: SizingProblem, split: Split) -> bool:
    """Return whether the pin is the better of two equal flags here."""
    if split.pin is None or split.ratio is None:
        return split.ratio is None
    if split.unbudgeted_bytes:
        return False
    return (
        situation.target is not None
        or split.ratio < FRAGILE_RATIO
        or problem.dcp_size > 1
        or situation.calibration.settled.planned.pin is not None
    )


def like(situation: Situation, problem: SizingProblem) -> tuple[Case, ...]:
    """Return the corners of what the log allows, changed as *problem* is.

    A lever changes bytes in proportion, so the corners keep their distance from the
    best estimate.
    """
    base = situation.problem
    if base is None:
        return ()
    return tuple(
        Case(case.version, _changed(problem, base, case.problem))
        for case in situation.calibration.corners
    )


def _changed(
    problem: SizingProblem, base: SizingProblem, corner: SizingProblem
) -> SizingProblem:
    """Return *problem* with the bytes and the budget that *corner* has for *base*."""
    cells = tuple(
        cell * corner.cells[0] // base.cells[0] if base.cells[0] else cell
        for cell in problem.cells
    )
    return replace(
        problem,
        rest_gib=problem.rest_gib + corner.rest_gib - base.rest_gib,
        slot_bytes=problem.slot_bytes * corner.slot_bytes // base.slot_bytes,
        cells=cells,
    )


def ratio_flags(ratio: float | None) -> tuple[str, ...]:
    """Return the launch arguments that set *ratio*."""
    if ratio is None:
        return ()
    text = repr(ratio)
    if "e" in text:
        # A flag is pasted into scripts: no exponent, whatever the size.
        from decimal import Decimal

        text = f"{Decimal(text):f}"
    return ("--mamba-full-memory-ratio", text)


def pin_flags(pin: int | None) -> tuple[str, ...]:
    """Return the launch arguments that pin the slots."""
    return () if pin is None else ("--max-mamba-cache-size", str(pin))
