"""Other things that help, each with its exact prediction and its price.

A lever is data: when it applies, what it changes, the flags that do it, and what must
be validated before production.  Only those that help this boot are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from mamba_advisor.advice import changes
from mamba_advisor.advice.choice import choose_split, like
from mamba_advisor.advice.model import Lever
from mamba_advisor.advice.predict import predict
from mamba_advisor.advice.rules.release import defect_of
from mamba_advisor.advice.situation import Situation
from mamba_advisor.record import Record, replace
from mamba_advisor.sizing import SizingProblem
from mamba_advisor.sizing.releases import since

Change: TypeAlias = Callable[[Situation, SizingProblem], "SizingProblem | None"]
"""What a lever does to a problem; None: it does not apply to this boot."""

SHOWN = 12
"""Levers listed at most; the screen shows three."""

WORTH_SPLIT = 1.02
"""A lever also moves the split where that carries this much more."""


class LeverKind(Record):
    """One lever."""

    name: str
    first: str
    """First release that has it."""

    change: Change
    flags: Callable[[Situation, SizingProblem], tuple[str, ...]]
    gate: str | None
    environment: str = ""
    """Environment variable that does it, where there is no flag."""


def strategy_flag(version: str) -> str:
    """Return the release's name of the radix-cache strategy flag."""
    if since(version, "0.5.14"):
        return "--mamba-radix-cache-strategy"
    return "--mamba-scheduler-strategy"


LEVERS: tuple[LeverKind, ...] = (
    LeverKind(
        "mem-fraction",
        "0.5.4",
        changes.fed,
        changes.fraction_flags,
        "watch free memory under full load",
    ),
    LeverKind(
        "max-total-tokens",
        "0.5.4",
        changes.uncapped,
        changes.uncapped_flags,
        None,
    ),
    LeverKind(
        "max-running-requests",
        "0.5.4",
        changes.higher_limit,
        lambda s, p: ("--max-running-requests", str(p.max_running_requests)),
        None,
    ),
    LeverKind(
        "extra-buffer-lazy",
        "0.5.13",
        changes.lazy,
        lambda s, p: (strategy_flag(s.version), "extra_buffer_lazy"),
        "a load test with prefix reuse (crashes are reported)",
    ),
    LeverKind(
        "skip-decode-lock",
        "0.5.17",
        changes.unlocked,
        lambda s, p: (),
        "a load test with prefix reuse",
        "SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK=1",
    ),
    LeverKind(
        "overlap-off",
        "0.5.10",
        changes.without_overlap,
        lambda s, p: (
            "--disable-overlap-schedule",
            strategy_flag(s.version),
            "extra_buffer",
        ),
        "decode throughput, which it costs",
    ),
    LeverKind(
        "no-buffer",
        "0.5.8",
        changes.unbuffered,
        lambda s, p: (
            "--disable-overlap-schedule",
            strategy_flag(s.version),
            "no_buffer",
        ),
        "decode throughput and prefix reuse, which it costs",
    ),
    LeverKind(
        "radix-off",
        "0.5.4",
        changes.without_radix,
        lambda s, p: ("--disable-radix-cache",),
        "that no prompts are shared: nothing is reused",
    ),
    LeverKind(
        "state-bfloat16",
        "0.5.4",
        changes.half_state,
        lambda s, p: ("--mamba-ssm-dtype", "bfloat16"),
        "accuracy; on SM100 set --linear-attn-decode-backend triton, too",
    ),
    LeverKind(
        "kv-fp8",
        "0.5.4",
        changes.half_kv,
        lambda s, p: ("--kv-cache-dtype", "fp8_e4m3"),
        "accuracy",
    ),
    LeverKind(
        "replayssm",
        "0.5.17",
        changes.replay_drafts,
        lambda s, p: ("--enable-linear-replayssm-spec",),
        "accuracy and tokens per second (state in float32)",
    ),
    LeverKind(
        "fewer-drafts",
        "0.5.4",
        changes.fewer_drafts,
        changes.draft_flags,
        "tokens per second: fewer drafts are accepted",
    ),
)
"""All levers, in the order in which equal ones are shown."""


# --- which of them help -----------------------------------------------------------


def levers_of(
    situation: Situation, now: int | None, taken: str = ""
) -> tuple[Lever, ...]:
    """Return the levers that help, the best first.

    Args:
        situation: The boot.
        now: What runs today per worker; None: unknown, then the limit counts.
        taken: The action that is recommended already.
    """
    problem = situation.problem
    if problem is None or situation.boot.unified:
        return ()
    found = [*_upgrade(situation, now), *_shared(situation, now)]
    for kind in LEVERS:
        if kind.name == taken or not since(situation.version, kind.first):
            continue
        changed = kind.change(situation, problem)
        if changed is None:
            continue
        lever = _lever(situation, kind, changed, now)
        if lever is not None:
            found.append(lever)
    found.sort(key=lambda lever: -(lever.gain or 0))
    return tuple(found[:SHOWN])


def _upgrade(situation: Situation, now: int | None) -> Iterator[Lever]:
    """Yield the release that mends a defect which costs this boot something."""
    problem, defect = situation.problem, defect_of(situation)
    if problem is None or defect is None:
        return
    mended = replace(problem, slots_per_request=None)
    slot = situation.calibration.slot
    if slot is not None:
        # From 0.5.17 a stage pays for its own layers, which is what it prints.
        mended = replace(mended, slot_bytes=slot.value)
    predicted = predict(defect.mended_in, mended, situation.context)
    gain = (predicted.concurrency or 0) - (now or 0)
    if predicted.boots and gain > 0:
        yield Lever(
            "newer-release",
            (),
            predicted,
            gain,
            "the new release as a whole",
            f"upgrade SGLang to {defect.mended_in} or newer",
        )


def _shared(situation: Situation, now: int | None) -> Iterator[Lever]:
    """Yield unified memory, whose split moves at run time."""
    problem = situation.problem
    if problem is None or not since(situation.version, "0.5.15"):
        return
    pinned = changes.unified(situation, problem)
    reserved = situation.concurrency.slots_per_request
    if pinned is None or pinned.pin is None or reserved is None:
        return
    labels = predict(situation.version, pinned, None)
    held = (pinned.pin // pinned.attn_dp_size - 1) // reserved
    carried = min(labels.effective or 0, held)
    if not labels.boots or carried <= (now or 0):
        return
    yield Lever(
        "unified-memory",
        ("--enable-unified-memory", "--max-mamba-cache-size", str(pinned.pin)),
        replace(labels, concurrency=carried),
        carried - (now or 0),
        "a load test: the feature is young",
        "both pools then share one buffer, whatever the context turns out to be",
    )


def _lever(
    situation: Situation, kind: LeverKind, changed: SizingProblem, now: int | None
) -> Lever | None:
    """Return the lever with its prediction, None where it gains nothing."""
    # Intervals cost most, so they wait until the lever is known to help.
    alone, today = situation.predict(changed).concurrency or 0, now or 0
    enough = max(alone * WORTH_SPLIT, today)
    choice = choose_split(situation, changed, bare=True, over=enough)
    if choice is None and alone <= today:
        return None
    flags = kind.flags(situation, changed)
    if choice is not None:
        flags, predicted = (*flags, *choice.flags), choice.predicted
    else:
        predicted = situation.predict(changed, like(situation, changed))
    gain = (predicted.concurrency or 0) - today
    words = f"set {kind.environment} in the environment" if kind.environment else ""
    return Lever(kind.name, flags, predicted, gain, kind.gate, words)
