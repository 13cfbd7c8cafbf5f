"""Boots that SGLang refuses for their arguments, and those nobody can explain."""

from __future__ import annotations

from mamba_advisor.advice.coaching.model import Coaching
from mamba_advisor.advice.situation import Situation
from mamba_advisor.boot.model import Failure


def refused(situation: Situation, failure: Failure) -> Coaching:
    """The arguments contradict each other; the message says how."""
    return Coaching(
        f"SGLang refuses this combination of arguments: {failure.message}",
        None,
        _way_out(failure.message),
    )


WAYS_OUT = (
    ("no_buffer only supports page_size", "set --page-size 1, or extra_buffer"),
    (
        "no_buffer do not support overlap",
        "add --disable-overlap-schedule, or use --mamba-radix-cache-strategy "
        "extra_buffer",
    ),
    ("trtllm_mha", "choose another --attention-backend, or extra_buffer"),
    ("extra_buffer is not supported", "use --mamba-radix-cache-strategy no_buffer"),
    ("Lazy extra buffer requires overlap", "drop --disable-overlap-schedule"),
    (
        "not compatible with radix cache when using",
        "use --mamba-scheduler-strategy extra_buffer, or --disable-radix-cache",
    ),
    ("not compatible with --disable-radix-cache", "drop one of the two flags"),
)
"""Words of a refusal -> the change that SGLang accepts."""


def _way_out(message: str) -> str:
    for words, way in WAYS_OUT:
        if words in message:
            return way
    return ""


def unexplained(situation: Situation, failure: Failure) -> Coaching:
    """Quote the failure where no rule knows its way out."""
    return Coaching(failure.message, None)
