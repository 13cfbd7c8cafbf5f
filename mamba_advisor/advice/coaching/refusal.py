"""Boots that SGLang refuses for their arguments, and those nobody can explain."""

from __future__ import annotations

from mamba_advisor.advice.coaching.model import Coaching, recommendation
from mamba_advisor.advice.model import Limits, Prediction
from mamba_advisor.advice.situation import Situation
from mamba_advisor.boot.model import Failure
from mamba_advisor.record import Record


class WayOut(Record):
    """A change that SGLang accepts in place of what it refused."""

    words: str
    """Words of the refusal."""

    advice: str
    flags: tuple[str, ...] = ()
    """Arguments that do it; empty where something has to be taken away."""


WAYS_OUT = (
    WayOut(
        "no_buffer only supports page_size",
        "set --page-size 1, or use extra_buffer",
        ("--page-size", "1"),
    ),
    WayOut(
        "no_buffer do not support overlap",
        "add --disable-overlap-schedule, or use --mamba-radix-cache-strategy "
        "extra_buffer",
        ("--disable-overlap-schedule",),
    ),
    WayOut("trtllm_mha", "choose another --attention-backend, or use extra_buffer"),
    WayOut(
        "extra_buffer is not supported",
        "use --mamba-radix-cache-strategy no_buffer",
        ("--mamba-radix-cache-strategy", "no_buffer"),
    ),
    WayOut("Lazy extra buffer requires overlap", "drop --disable-overlap-schedule"),
    WayOut(
        "not compatible with radix cache when using",
        "use --mamba-scheduler-strategy extra_buffer with SGLANG_ENABLE_SPEC_V2=1 in "
        "the environment, or --disable-radix-cache",
        ("--disable-radix-cache",),
    ),
    WayOut("not compatible with --disable-radix-cache", "drop one of the two flags"),
)
"""Known refusals."""


def refused(situation: Situation, failure: Failure) -> Coaching:
    """The arguments contradict each other; the message says how."""
    cause = f"SGLang refuses this combination of arguments ({_text(failure)})"
    way = next((way for way in WAYS_OUT if way.words in failure.message), None)
    if way is None:
        return Coaching(cause, None)
    if not way.flags:
        return Coaching(cause, None, way.advice)
    unknown = Prediction(None, None, None, None, Limits())
    return Coaching(
        cause, recommendation("arguments", way.flags, unknown, way.advice), way.advice
    )


def _text(failure: Failure) -> str:
    """Return the message without the exception's name and its full stops."""
    return failure.message.partition(": ")[2].rstrip(". ") or failure.message


def unexplained(situation: Situation, failure: Failure) -> Coaching:
    """Quote the failure where no rule knows its way out."""
    return Coaching(failure.message, None)
