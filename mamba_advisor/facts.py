"""What single log lines say: readings, and the rank tags that they carry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from mamba_advisor.measured import Measured
from mamba_advisor.record import Record

MAX_EXCERPT = 300
"""Characters of a line that a reading keeps."""

Scalar: TypeAlias = "bool | int | float | str | None"

Value: TypeAlias = "Scalar | Measured | tuple[int, ...] | Mapping[str, Scalar]"
"""A fact's value: a size is `Measured`, a count an int, ``server_args`` a mapping."""


class Rank(Record):
    """The rank tags of a line's prefix; their printed order does not count."""

    dp: int = -1
    """Data-parallel worker, −1 where the line has no DP tag."""

    pp: int = -1
    """Pipeline stage, −1 without a PP tag."""

    tp: int = -1
    """Global tensor-parallel rank, −1 without a TP tag."""

    text: str = ""
    """The tags as printed, for example ``"DP0 TP1 EP1"``."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rank) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __lt__(self, other: Rank) -> bool:
        return self._key < other._key

    @property
    def _key(self) -> tuple[int, int, int]:
        return self.dp, self.pp, self.tp


class Reading(Record):
    """All facts that one log line states."""

    event: str
    """Kind of line in kebab-case; patterns for several wordings share one."""

    facts: Mapping[str, Value]
    """Fact name -> value; sizes carry this line's number."""

    line: int
    """Line number in the log, counted from 1."""

    pattern: str
    """Dialect and pattern that read it, for example ``"sglang/state-pool"``."""

    rank: Rank = Rank()
    """Who printed it."""

    last_rank: Rank | None = None
    """With a collapsed tag such as ``TP0..3``: the last rank of the range."""

    speaker: str = ""
    """Container, pod or service that a log collector put before the line."""

    stamp: str = ""
    """Time as printed, ``"2026-02-27 17:10:28"``; empty without one."""

    versions: tuple[str, str] = ("", "")
    """First and last release with this wording; empty: open end."""

    edited: bool = False
    """The line's wording was changed by a person (read by a tolerant pattern)."""

    joined: int = 0
    """Further physical lines that were joined to it (line .. line + joined)."""

    doubtful: bool = False
    """It stands where a prompt or a response could have put it."""

    text: str = ""
    """The line as read, without its prefix, cut to 300 characters."""
