"""One DP worker (or one of its pipeline stages) as its batch lines show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mamba_advisor.batch import ALL_PROMPTS, SECONDS, Row
from mamba_advisor.facts import Rank, Value
from mamba_advisor.runtime.lines import Line, line_of, number_of
from mamba_advisor.runtime.stream import Stream


def worker_name(rank: Rank) -> str:
    """Return who has pools of its own: ``"DP1"``, ``"DP0 PP1"``, ``""``."""
    tags = (("DP", rank.dp), ("PP", rank.pp))
    return " ".join(f"{tag}{number}" for tag, number in tags if number >= 0)


class Worker:
    """Sums over the lines of one worker."""

    __slots__ = (
        "_prompts",
        "_retracted",
        "_retractions",
        "before_ready",
        "cached_tokens",
        "decode",
        "new_tokens",
        "prefill",
        "speaker",
    )

    def __init__(self) -> None:
        self.speaker: int | None = None
        """The TP rank that is listened to, −1 without a tag."""

        self.before_ready = 0
        """Decode lines from before the server was ready."""

        self._retractions: Counter[int] = Counter()
        """TP rank -> retraction lines; every rank prints each event."""

        self._retracted: Counter[int] = Counter()
        """TP rank -> retracted requests."""

        self._prompts = 0
        self.clear()

    def clear(self) -> None:
        """Forget all batch lines."""
        self.decode = Stream()
        self.prefill = Stream()
        self.new_tokens = 0
        self.cached_tokens = 0

    @property
    def has_spoken(self) -> bool:
        """Whether there is a batch line."""
        return bool(self.decode.tally.lines or self.prefill.tally.lines)

    def listens_to(self, tp: int) -> bool:
        """Return whether the batch lines of TP rank *tp* count.

        TP ranks under one DP and PP tag share their requests and repeat each
        other, where an old release lets them all speak.  The lowest one counts;
        what a higher one has said before is forgotten, as it will be repeated.
        """
        if self.speaker is None or tp < self.speaker:
            if self.speaker is not None:
                self.clear()
                self._prompts = 0
            self.speaker = tp
        return tp == self.speaker

    def add(self, event: str, facts: Mapping[str, Value], weight: int) -> Line | None:
        """Count one decode or prefill line for *weight* lines.

        Returns:
            The line; None where it does not say how many requests run.
        """
        if event == "prefill":
            self.new_tokens += (number_of(facts, "new_tokens") or 0) * weight
            self.cached_tokens += (number_of(facts, "cached_tokens") or 0) * weight
        line = line_of(facts)
        if line is not None:
            (self.decode if event == "decode" else self.prefill).add(line, weight)
        return line

    def add_rows(
        self, event: str, rows: Sequence[Row], fields: tuple[str, ...], weight: int
    ) -> None:
        """Count decode or prefill lines that a scan has matched."""
        if event == "decode":
            self.decode.add_rows(rows, fields, weight)
            return
        new, cached, running, queued = (
            _column(rows, fields, name)
            for name in ("new_tokens", "cached_tokens", "running", "queued")
        )
        self.new_tokens += _sum(new) * weight
        self.cached_tokens += _sum(cached) * weight
        if "running" in fields:
            self.prefill.note_extremes(largest_of(running), largest_of(queued))
            self.prefill.add_rows(rows, fields, weight)

    def weigh_prompts(
        self, lines: int, is_stamped: bool
    ) -> Iterator[tuple[int, slice]]:
        """Yield (weight, which of the next prefill lines have it).

        Once there were `ALL_PROMPTS`, only those of sampled seconds come, if they
        print a time.
        """
        single = max(0, ALL_PROMPTS - self._prompts) if is_stamped else lines
        self._prompts += lines
        if single:
            yield 1, slice(single)
        if single < lines:
            yield SECONDS, slice(single, None)

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
        self.before_ready += self.decode.tally.lines
        self.clear()
        self._retractions.clear()
        self._retracted.clear()

    def merge(self, other: Worker) -> None:
        """Add the sums of *other*, the same worker in another part of the log."""
        if self.speaker is not None and other.speaker is not None:
            if self.speaker < other.speaker:
                return
            if other.speaker < self.speaker:
                self.clear()
        self.speaker = self.speaker if other.speaker is None else other.speaker
        self.decode.merge(other.decode)
        self.prefill.merge(other.prefill)
        self._prompts += other._prompts
        self.new_tokens += other.new_tokens
        self.cached_tokens += other.cached_tokens
        self.before_ready += other.before_ready
        self._retractions.update(other._retractions)
        self._retracted.update(other._retracted)


def largest_of(printed: Iterable[bytes]) -> int:
    """Return the largest of some printed counts, of which some may be empty."""
    # Few of many: the same numbers come again and again.
    return max(map(int, filter(None, set(printed))), default=0)


def _sum(printed: Iterable[bytes]) -> int:
    return sum(map(int, filter(None, printed)))


def _column(rows: Sequence[Row], fields: tuple[str, ...], name: str) -> Sequence[bytes]:
    """Return what *rows* print for the fact *name*, nothing where they do not."""
    if name not in fields:
        return ()
    place = fields.index(name)
    return [row[place] for row in rows]
