"""One DP worker (or one of its pipeline stages) as its batch lines show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from mamba_advisor.facts import Rank, Value
from mamba_advisor.runtime.lines import (
    Line,
    RowTable,
    line_of,
    line_of_row,
    number_of,
)
from mamba_advisor.runtime.tally import Tally

SAMPLED_ALL = 4096
"""Decode lines at the start of a run that are all looked at one by one."""

SAMPLED_EVERY = 16
"""From then on every sixteenth is, in the order of the log.

Neighbouring lines differ little: requests live for many of them.
"""


def worker_name(rank: Rank) -> str:
    """Return who has pools of its own: ``"DP1"``, ``"DP0 PP1"``, ``""``."""
    tags = (("DP", rank.dp), ("PP", rank.pp))
    return " ".join(f"{tag}{number}" for tag, number in tags if number >= 0)


class Worker:
    """Sums over the lines of one worker."""

    __slots__ = (
        "_retracted",
        "_retractions",
        "before_ready",
        "cached_tokens",
        "decode",
        "new_tokens",
        "prefill",
        "seen",
        "speaker",
        "tables",
    )

    def __init__(self) -> None:
        self.speaker: int | None = None
        """The TP rank that is listened to, −1 without a tag."""

        self._retractions: Counter[int] = Counter()
        """TP rank -> retraction lines; every rank prints each event."""

        self._retracted: Counter[int] = Counter()
        """TP rank -> retracted requests."""

        self.before_ready = 0
        """Decode lines from before the server was ready."""

        self.clear()

    def clear(self) -> None:
        """Forget all batch lines."""
        self.decode = Tally()
        self.prefill = Tally()
        self.new_tokens = 0
        self.cached_tokens = 0
        self.seen = 0
        self.tables: dict[tuple[str, ...], RowTable] = {}

    def listens_to(self, tp: int) -> bool:
        """Return whether the batch lines of TP rank *tp* count.

        TP ranks under one DP and PP tag share their requests and repeat each
        other, where an old release lets them all speak.  The lowest one counts;
        what a higher one has said before is forgotten, as it will be repeated.
        """
        if self.speaker is None or tp < self.speaker:
            if self.speaker is not None:
                self.clear()
            self.speaker = tp
        return tp == self.speaker

    def add_decode(self, facts: Mapping[str, Value]) -> Line | None:
        """Count one decode line and return it, None without running requests."""
        line = line_of(facts)
        if line is None:
            return None
        self.decode.count(line)
        if self.seen < SAMPLED_ALL:
            self.decode.sample(line)
        elif self.seen % SAMPLED_EVERY == 0:
            self.decode.sample(line, SAMPLED_EVERY)
        self.seen += 1
        return line

    def add_rows(
        self, rows: Sequence[tuple[bytes, ...]], fields: tuple[str, ...]
    ) -> None:
        """Count decode lines that a scan has matched."""
        table = self.tables.get(fields)
        if table is None:
            table = self.tables[fields] = RowTable(fields)
        table.add(rows)
        every = max(0, SAMPLED_ALL - self.seen)
        first = every + -(self.seen + every) % SAMPLED_EVERY
        for row in rows[:every]:
            self.decode.sample(line_of_row(row, fields))
        for row in rows[first::SAMPLED_EVERY]:
            self.decode.sample(line_of_row(row, fields), SAMPLED_EVERY)
        self.seen += len(rows)
        if table.is_full:
            self._drain(table)

    def _drain(self, table: RowTable) -> None:
        for line, count in table.drain():
            self.decode.count(line, count)

    def settle(self) -> None:
        """Move everything that waits in tables into the sums."""
        for table in self.tables.values():
            self._drain(table)

    def add_prefill(self, facts: Mapping[str, Value]) -> tuple[int, int]:
        """Count one prefill line and return its new and cached prompt tokens."""
        line = line_of(facts)
        new = number_of(facts, "new_tokens") or 0
        cached = number_of(facts, "cached_tokens") or 0
        if line is not None:
            self.prefill.count(line)
            self.prefill.sample(line)
        self.new_tokens += new
        self.cached_tokens += cached
        return new, cached

    def add_retraction(self, tp: int, facts: Mapping[str, Value]) -> None:
        """Count one retraction line of TP rank *tp*."""
        self._retractions[tp] += 1
        self._retracted[tp] += number_of(facts, "retracted") or 0

    def retracted(self) -> tuple[int, int]:
        """Return how many retractions there were, and of how many requests."""
        return (
            max(self._retractions.values(), default=0),
            max(self._retracted.values(), default=0),
        )

    def mark_ready(self) -> None:
        """Set aside what came before the server was ready: its own warm-up."""
        self.settle()
        self.before_ready += self.decode.lines
        self.clear()
        self._retractions.clear()
        self._retracted.clear()

    def merge(self, other: Worker) -> None:
        """Add the sums of *other*, the same worker in another part of the log."""
        other.settle()
        if self.speaker is not None and other.speaker is not None:
            if self.speaker < other.speaker:
                return
            if other.speaker < self.speaker:
                self.clear()
        self.speaker = self.speaker if other.speaker is None else other.speaker
        self.decode.add(other.decode)
        self.prefill.add(other.prefill)
        self.new_tokens += other.new_tokens
        self.cached_tokens += other.cached_tokens
        self.seen += other.seen
        self.before_ready += other.before_ready
        self._retractions.update(other._retractions)
        self._retracted.update(other._retracted)
