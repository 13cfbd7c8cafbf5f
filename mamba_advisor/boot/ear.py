"""Which of the batch lines of a server start count."""

from __future__ import annotations

from collections import Counter
from itertools import compress

from mamba_advisor.batch import ALL_PROMPTS, SAMPLED, Batch, Row, seconds_at
from mamba_advisor.facts import Rank

MAX_WORKERS = 1024
"""Workers told apart; the widest known servers have some 300 ranks."""

BEYOND = (-2, -2)
"""Stands for all further ones: of their prefill lines as many count as of one's."""


class Ear:
    """Listens to one rank of each worker, and to prefill lines only for a while.

    TP ranks under one DP and PP tag repeat each other, where an old release lets them
    all speak: the lowest one that has spoken counts.  Prefill lines say how many
    tokens were prefix hits.  A server prints twice as many of them as decode lines:
    after the first thousands those of one second in ten go on to say it as well, and
    which second that is does not depend on how the log is read.
    """

    __slots__ = ("_prompts", "_speakers")

    def __init__(self) -> None:
        self._speakers: dict[tuple[int, int], int] = {}
        self._prompts: dict[tuple[int, int], int] = {}

    @property
    def workers(self) -> int:
        """Workers that have spoken."""
        return len(self._speakers)

    @property
    def is_sated(self) -> bool:
        """Whether of every worker all prefill lines were heard that all count."""
        return bool(self._speakers) and all(
            self._prompts.get(worker, 0) >= ALL_PROMPTS for worker in self._speakers
        )

    def hears(self, rank: Rank) -> bool:
        """Return whether the batch lines of *rank* count."""
        worker = rank.dp, rank.pp
        lowest = self._speakers.get(worker)
        if lowest is None and len(self._speakers) >= MAX_WORKERS:
            return True
        if lowest is None or rank.tp < lowest:
            self._speakers[worker] = lowest = rank.tp
            self._prompts[worker] = 0
        return rank.tp == lowest

    def counts(self, event: str, rank: Rank, stamp: str) -> bool:
        """Return whether a decode or prefill line counts."""
        return self.hears(rank) and (
            event != "prefill" or self._heeds(rank, stamp.encode())
        )

    def sift(self, batch: Batch) -> Batch:
        """Return the lines of *batch* that count."""
        ranks = batch.ranks
        if len(batch.tags()) > 1:
            for rank in sorted({ranks[tags] for tags in batch.tags()}):
                self.hears(rank)
        heard = {tags for tags in batch.tags() if self.hears(ranks[tags])}
        starts = [
            kind.start
            for kind in batch.kinds
            if kind.event == "prefill" and not kind.is_sampled and batch.stamp_at >= 0
        ]
        if not starts and len(heard) == len(batch.tags()):
            return batch
        if len(heard) == len(batch.tags()) and self._has_room(batch, starts):
            return batch
        tags_at, stamp_at = batch.tags_at, batch.stamp_at

        def counts(row: Row) -> bool:
            tags = row[tags_at] if tags_at >= 0 else b""
            if tags not in heard:
                return False
            if not any(row[start] for start in starts):
                return True
            return self._heeds(ranks[tags], row[stamp_at] if stamp_at >= 0 else b"")

        return batch.only(counts)

    def _has_room(self, batch: Batch, starts: list[int]) -> bool:
        """Note the prefill lines of *batch* if all of them count; return whether."""
        found: Counter[tuple[int, int]] = Counter()
        for start in starts:
            tags = compress(batch.printed_tags(), batch.column(start))
            for tag, count in Counter(tags).items():
                found[self._worker(batch.ranks[tag])] += count
        sums = {
            worker: self._prompts.get(worker, 0) + count
            for worker, count in found.items()
        }
        if any(total > ALL_PROMPTS for total in sums.values()):
            return False
        self._prompts.update(sums)
        return True

    def _heeds(self, rank: Rank, stamp: bytes) -> bool:
        """Return whether a prefill line of a rank that is heard counts."""
        worker = self._worker(rank)
        count = self._prompts.get(worker, 0)
        if count < ALL_PROMPTS:
            self._prompts[worker] = count + 1
            return True
        return is_sampled(stamp)

    def _worker(self, rank: Rank) -> tuple[int, int]:
        """Return the worker that a rank which is heard speaks for."""
        worker = rank.dp, rank.pp
        return worker if worker in self._speakers else BEYOND


def is_sampled(stamp: bytes) -> bool:
    """Return whether prefill lines of this printed time always count."""
    return not stamp or stamp[seconds_at(stamp)] == SAMPLED
