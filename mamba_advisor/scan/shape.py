"""The shape of a batch line: expressions for the whole of it, and what they state."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from mamba_advisor.facts import Reading
from mamba_advisor.record import Record

WANTED: Mapping[str, tuple[str, ...]] = {
    "decode": (
        "running",
        "queued",
        "full_tokens",
        "full_usage",
        "state_slots_used",
        "state_usage",
    ),
    "prefill": (
        "running",
        "queued",
        "full_usage",
        "state_usage",
        "new_tokens",
        "cached_tokens",
    ),
}
"""Event -> the facts that evidence is made of; others need not be taken."""

BRIEF = frozenset({"new_tokens", "cached_tokens"})
"""Facts of prefill lines that are needed where decode lines tell the rest."""

CLOCK = rb"(?:(?:\d{4}[-/])?\d\d[-/]\d\d[ T])?\d\d:\d\d:\d\d(?:[.,]\d{3,9})?"
"""A time as logs print it."""

Read = Callable[[bytes], "Reading | None"]
"""Reads a line by itself; None where it gives no reading, or several."""


class Shape(Record):
    """Expressions for whole lines, and what their groups state."""

    event: str
    speaker: str
    has_stamp: bool
    has_tags: bool
    prefix: bytes
    """Up to the end of time and tags, with a group for each of them."""

    message: bytes
    """The rest of the line, with a group for each of `fields`."""

    fields: tuple[str, ...]
    brief: bytes
    """Like `message`, but with groups for the `BRIEF` facts only; empty where the line
    does not state them."""

    lead: bytes
    """Up to the end of the time, loosely and without groups."""

    sparse: bytes
    """Like `lead`, for times whose seconds are not sampled; empty without a time."""

    gap: bytes
    """What stands between time and tags."""

    tags: bytes
    """Between time and message, without groups."""

    opening: bytes
    """The start of what stands behind the tags: enough to tell the message."""


def any_time(printed: bytes) -> bytes:
    """Return an expression for times: of the same year, if there is one.

    The year is what tells a time from other text at the start of a line; the rest
    is not looked at, since every line of the log pays for it.
    """
    year = re.match(rb"\d{4}-|", printed)
    literal = year.group() if year else b""
    return re.escape(literal) + b".{%d}" % (len(printed) - len(literal))


def passed_time(printed: bytes) -> bytes:
    """Return an expression like `any_time`, for lines that are passed over.

    It jumps without looking for a newline, which every line would pay for: should
    there be one, a line shorter than a time is passed over, and it says nothing.
    """
    return b"(?s:" + any_time(printed) + b")"
