"""The run in at most 120 slices, however long it gets."""

from __future__ import annotations

from mamba_advisor.record import Record
from mamba_advisor.runtime.lines import Line
from mamba_advisor.runtime.model import Bucket

SLICES = 120
"""Slices kept: about as many as a plot or a line of text can show."""


class Slice(Record, frozen=False):
    """Sums over the lines of one slice."""

    stamp: str = ""
    lines: int = 0
    running: int = 0
    queued: int = 0
    kv_lines: int = 0
    kv_percent: int = 0
    state_lines: int = 0
    state_percent: int = 0
    new_tokens: int = 0
    cached_tokens: int = 0

    def add_decode(self, line: Line) -> None:
        """Count one decode line."""
        self.lines += 1
        self.running += line.running
        self.queued += line.queued
        if line.kv_percent is not None:
            self.kv_lines += 1
            self.kv_percent += line.kv_percent
        if line.state_percent is not None:
            self.state_lines += 1
            self.state_percent += line.state_percent

    def add_prefill(self, new: int, cached: int) -> None:
        """Count *new* and *cached* prompt tokens."""
        self.new_tokens += new
        self.cached_tokens += cached

    def add(self, other: Slice) -> None:
        """Add the sums of *other*."""
        self.stamp = self.stamp or other.stamp
        self.lines += other.lines
        self.running += other.running
        self.queued += other.queued
        self.kv_lines += other.kv_lines
        self.kv_percent += other.kv_percent
        self.state_lines += other.state_lines
        self.state_percent += other.state_percent
        self.new_tokens += other.new_tokens
        self.cached_tokens += other.cached_tokens


class Drift(Record):
    """Prefix hits early and late in the run, and what KV did meanwhile."""

    early_share: float
    """Cached ÷ (new + cached) prompt tokens of the first half of them, 0 to 1."""

    late_share: float
    """The same of the second half."""

    late_kv_usage: float | None
    """Mean KV usage during the second half, 0 to 1; None: not stated."""


class Timeline:
    """Means over slices of equal length; the length doubles as the run goes on."""

    __slots__ = ("_slices", "width_s")

    def __init__(self) -> None:
        self.width_s = 1.0
        self._slices: dict[int, Slice] = {}

    def add_decode(self, second: float, stamp: str, line: Line) -> None:
        """Count one decode line at *second* of the run."""
        self.slice_at(second, stamp).add_decode(line)

    def add_prefill(self, second: float, stamp: str, new: int, cached: int) -> None:
        """Count *new* and *cached* prompt tokens at *second* of the run."""
        self.slice_at(second, stamp).add_prefill(new, cached)

    def reach(self, second: float) -> None:
        """Double the width until *second* of the run lies in one of 120 slices."""
        while second >= self.width_s * SLICES:
            self.width_s *= 2
            halved: dict[int, Slice] = {}
            for index, old in sorted(self._slices.items()):
                halved.setdefault(index // 2, Slice()).add(old)
            self._slices = halved

    def slice_at(self, second: float, stamp: str) -> Slice:
        """Return the slice of *second* of the run; a new one begins at *stamp*."""
        self.reach(second)
        index = int(second / self.width_s)
        found = self._slices.get(index)
        if found is None:
            found = self._slices[index] = Slice(stamp)
        return found

    def merge(self, other: Timeline, offset_s: float) -> None:
        """Add *other*, which begins *offset_s* seconds after this timeline."""
        for index, theirs in sorted(other._slices.items()):
            self.slice_at(offset_s + index * other.width_s, theirs.stamp).add(theirs)

    def buckets(self) -> tuple[Bucket, ...]:
        """Return the slices with decode lines, in order, as means per worker."""
        return tuple(
            Bucket(
                at.stamp,
                at.running / at.lines,
                at.queued / at.lines,
                at.state_percent / at.state_lines / 100 if at.state_lines else None,
                at.kv_percent / at.kv_lines / 100 if at.kv_lines else None,
            )
            for _, at in sorted(self._slices.items())
            if at.lines
        )

    def drift(self) -> Drift | None:
        """Compare prefix hits of the two halves of all prompt tokens.

        Returns:
            The comparison; None where one slice holds so much of the prompts that
            there are no two halves.
        """
        ordered = [
            at
            for _, at in sorted(self._slices.items())
            if at.new_tokens + at.cached_tokens or at.lines
        ]
        half = sum(at.new_tokens + at.cached_tokens for at in ordered) / 2
        early, late = Slice(), Slice()
        for at in ordered:
            is_early = early.new_tokens + early.cached_tokens < half
            (early if is_early else late).add(at)
        prompts = late.new_tokens + late.cached_tokens
        if not half or prompts < half / 2:
            return None
        return Drift(
            early.cached_tokens / (early.new_tokens + early.cached_tokens),
            late.cached_tokens / prompts,
            late.kv_percent / late.kv_lines / 100 if late.kv_lines else None,
        )
