"""Readings by hand, and the boots that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

import pytest

from mamba_advisor.boot.builder import BootBuilder
from mamba_advisor.boot.model import Boot, Source
from mamba_advisor.facts import Rank, Reading, Value
from mamba_advisor.measured import Measured

Say = Callable[..., Reading]
BootsOf = Callable[[Iterable[Reading]], list[Boot]]

NO_RANK = Rank()
OWN = frozenset(
    {
        "doubtful",
        "edited",
        "joined",
        "last_rank",
        "speaker",
        "stamp",
        "text",
        "versions",
    }
)
"""Arguments that are fields of a reading; all others are facts."""


@pytest.fixture
def say() -> Say:
    """Return a maker of readings: each stands on the next line.

    Facts called ``..._bytes`` may be given as the log prints them, ``"6.46"``.
    """
    lines = count(1)

    def make(event: str, *, rank: Rank = NO_RANK, **rest: Any) -> Reading:
        line = next(lines)
        own = {name: rest.pop(name) for name in OWN if name in rest}
        facts: dict[str, Value] = {
            name: Measured.from_text(value, "GiB", (line,))
            if name.endswith("_bytes") and isinstance(value, str)
            else value
            for name, value in rest.items()
        }
        own.setdefault("text", event)
        return Reading(event, facts, line, "test/made", rank=rank, **own)

    return make


@pytest.fixture
def boots_of() -> BootsOf:
    """Return a function that sorts readings into boots."""

    def build(readings: Iterable[Reading]) -> list[Boot]:
        builder = BootBuilder()
        for reading in readings:
            builder.feed(reading)
        return builder.boots(Source("made.log", 0, 0))

    return build
