"""Evidence of a run, gathered line by line in constant memory."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from mamba_advisor.batch import Batch, Row
from mamba_advisor.facts import Reading
from mamba_advisor.runtime.diary import Diary
from mamba_advisor.runtime.lines import RowReader, number_of
from mamba_advisor.runtime.model import Evidence
from mamba_advisor.runtime.summary import summarise
from mamba_advisor.runtime.verdict import DECODE_LINES, Events, Limits, Wording
from mamba_advisor.runtime.worker import Worker, worker_name

MAX_WORKERS = 256
"""Workers told apart; more (a broken tag) share one sum."""

MAX_EXHAUSTED = 16
"""Line numbers kept of lines that say a pool ran out; the others are counted."""

EARLY_SHARE = 0.2
"""Prefix hits that must have been seen before their fall means anything."""

FALL = 0.6
"""Late ÷ early prefix hits up to which they have fallen."""

IDLE_KV = 0.6
"""KV usage up to which there was room to keep those prefixes."""

PROMPTS = ("new_tokens", "cached_tokens")
"""Facts of a prefill line that add up to the prompts' tokens."""


class EvidenceCollector:
    """Sums up decode, prefill and retraction lines of one server start.

    Memory is bounded however long the run.  What percentiles and the mean context
    rest on is a sample once there are thousands of lines, and concurrency above 64
    falls into bins of 3 %; everything else is exact.  Evidence may be asked for at
    any time.
    """

    def __init__(self, wording: Wording = DECODE_LINES) -> None:
        self._wording = wording
        self._workers: dict[str, Worker] = {}
        self._diary = Diary()
        self._state_exhausted = 0
        self._exhausted: list[int] = []
        self._readers: dict[tuple[str, ...], RowReader] = {}

    def feed(self, reading: Reading) -> None:
        """Take in one reading; other events than those of a run are passed over."""
        match reading.event:
            case "decode" | "prefill":
                self._feed_batch_line(reading)
            case "retract":
                self._diary.clock.advance(reading.stamp)
                _, worker = self._worker(worker_name(reading.rank))
                worker.add_retraction(reading.rank.tp, reading.facts)
            case "runtime-exhausted":
                is_state = _is_about_state(reading)
                self._state_exhausted += is_state
                if len(self._exhausted) < MAX_EXHAUSTED:
                    self._exhausted.append(reading.line)
            case "ready":
                for worker in self._workers.values():
                    worker.mark_ready()
                self._diary.begin_timeline()

    def _feed_batch_line(self, reading: Reading) -> None:
        name, worker = self._worker(worker_name(reading.rank))
        diary, event, stamp = self._diary, reading.event, reading.stamp.encode()
        if diary.is_over(stamp):
            diary.turn_to(stamp)
        is_considered = diary.take(1)
        diary.note_line(reading.line)
        if not worker.listens_to(reading.rank.tp):
            return
        line = worker.add(event, reading.facts)
        if event == "decode" and line is not None:
            diary.note_line(reading.line, line.running)
        if not is_considered or not diary.is_new(name, event):
            return
        if event == "prefill":
            new, cached = (number_of(reading.facts, fact) or 0 for fact in PROMPTS)
            diary.note_prefill(stamp, new, cached)
        elif line is not None:
            diary.note_decode(stamp, line)

    def feed_batch(self, batch: Batch) -> None:
        """Take in many batch lines that a fast scan has matched.

        It gives what the readings of the same lines would give.

        Raises:
            ValueError: A value is no number.
        """
        for rank, rows in sorted(batch.by_rank(), key=lambda one: one[0].tp):
            _, worker = self._worker(worker_name(rank))
            if not worker.listens_to(rank.tp):
                continue
            for kind in batch.kinds:
                if chosen := kind.rows(rows):
                    worker.add_rows(kind.event, chosen, kind.fields)
        self._write_diary(batch)

    def _write_diary(self, batch: Batch) -> None:
        """Note times and line numbers of a batch, in the order of the log."""
        diary, rows, place = self._diary, batch.rows, batch.stamp_at
        speakers = self._speakers(batch)
        expected = len(set(speakers.values())) * len({k.event for k in batch.kinds})
        start = 0
        while start < len(rows):
            stamp = rows[start][place] if place >= 0 else b""
            if diary.is_over(stamp):
                diary.turn_to(stamp)
            end = start + 1 if diary.moment else len(rows)
            for row in islice(rows, end, None):
                if not row[place].startswith(diary.moment or b""):
                    break
                end += 1
            for row in rows[start : start + diary.take(end - start)]:
                self._note_row(batch, row, speakers)
                if diary.noted >= expected:
                    break
            start = end
        if rows:
            diary.note_line(batch.line_of(0))
            diary.note_line(batch.line_of(-1))
            self._note_peak(batch)

    def _speakers(self, batch: Batch) -> dict[bytes, str]:
        """Return the workers' names by the tags of the ranks that speak for them."""
        speakers = {}
        for tag, rank in batch.ranks.items():
            name = worker_name(rank)
            worker = self._workers.get(name)
            if worker is not None and worker.speaker == rank.tp:
                speakers[tag] = name
        return speakers

    def _note_row(self, batch: Batch, row: Row, speakers: Mapping[bytes, str]) -> None:
        """Put one row on the timeline, unless its worker has one at this moment."""
        name = speakers.get(row[batch.tags_at] if batch.tags_at >= 0 else b"")
        if name is None:
            return
        stamp = row[batch.stamp_at] if batch.stamp_at >= 0 else b""
        for kind in batch.kinds:
            if row[kind.start] and self._diary.is_new(name, kind.event):
                values = row[kind.start : kind.start + len(kind.fields)]
                if kind.event == "decode":
                    reader = self._readers.get(kind.fields)
                    if reader is None:
                        reader = self._readers[kind.fields] = RowReader(kind.fields)
                    line = reader.line(values)
                    self._diary.note_decode(stamp, line)
                else:
                    texts = dict(zip(kind.fields, values, strict=True))
                    new, cached = (int(texts.get(fact) or 0) for fact in PROMPTS)
                    self._diary.note_prefill(stamp, new, cached)

    def _note_peak(self, batch: Batch) -> None:
        """Note the line with most running requests, if it is a new peak."""
        for kind in batch.kinds:
            if kind.event != "decode" or "running" not in kind.fields:
                continue
            place = kind.start + kind.fields.index("running")
            printed = {row[place] for row in batch.rows}
            peak = max((int(text) for text in printed if text), default=0)
            if peak > self._diary.peak:
                index = next(
                    index
                    for index, row in enumerate(batch.rows)
                    if row[place] and int(row[place]) == peak
                )
                self._diary.note_line(batch.line_of(index), peak)

    def _worker(self, name: str) -> tuple[str, Worker]:
        """Return the worker *name*, or the one that all beyond the bound share."""
        found = self._workers.get(name)
        if found is None:
            if len(self._workers) >= MAX_WORKERS:
                name = "other"
            found = self._workers.setdefault(name, Worker())
        return name, found

    def merge(self, other: EvidenceCollector) -> None:
        """Add what *other* gathered from a later part of the same run."""
        for name, worker in other._workers.items():
            self._worker(name)[1].merge(worker)
        self._diary.merge(other._diary)
        self._state_exhausted += other._state_exhausted
        room = MAX_EXHAUSTED - len(self._exhausted)
        self._exhausted += other._exhausted[:room]

    def evidence(
        self,
        *,
        limit: int | None = None,
        slots: int | None = None,
        slots_per_request: int | None = None,
    ) -> Evidence | None:
        """Return what the run has shown so far.

        Args:
            limit: Running requests that the boot allows, per DP worker.
            slots: K, the boot's usable state slots, per DP worker.
            slots_per_request: S, the slots that it reserves for a request.

        Returns:
            The evidence; None without a batch line.
        """
        limits = Limits(limit, slots, slots_per_request)
        spoken = {
            name: worker
            for name, worker in sorted(self._workers.items())
            if worker.has_spoken
        }
        if not spoken:
            return None
        clock = self._diary.clock
        return Evidence(
            total=summarise(
                "",
                list(spoken.values()),
                limits,
                self._events(spoken),
                wording=self._wording,
                eviction_hint=self._eviction_hint(),
            ),
            workers=tuple(
                summarise(
                    name,
                    [worker],
                    limits,
                    Events(*worker.retracted()),
                    wording=self._wording,
                )
                for name, worker in spoken.items()
            )
            if len(spoken) > 1
            else (),
            first_stamp=clock.first_stamp,
            last_stamp=clock.last_stamp,
            seconds=clock.seconds if clock.first_stamp else None,
            timeline=self._diary.timeline.buckets(),
            lines=self._diary.lines,
            exhausted=tuple(self._exhausted),
        )

    def _events(self, workers: Mapping[str, Worker]) -> Events:
        """Sum up over DP workers; pipeline stages of one tell of the same events."""
        stages: dict[str, tuple[int, int]] = {}
        for name, worker in workers.items():
            dp = name.partition("PP")[0]
            stages[dp] = max(stages.get(dp, (0, 0)), worker.retracted())
        events, requests = map(sum, zip(*stages.values(), strict=True))
        return Events(events, requests, self._state_exhausted)

    def _eviction_hint(self) -> str:
        """Say that prefix hits fell while KV had room, nothing otherwise."""
        drift = self._diary.timeline.drift()
        if (
            drift is None
            or drift.late_kv_usage is None
            or drift.late_kv_usage > IDLE_KV
            or drift.early_share < EARLY_SHARE
            or drift.late_share > FALL * drift.early_share
        ):
            return ""
        return (
            f"prefix hits fell from {drift.early_share:.0%} to {drift.late_share:.0%} "
            f"of the prompt tokens while KV stood at {drift.late_kv_usage:.0%}: state "
            "checkpoints may be evicted before KV is full"
        )


def _is_about_state(reading: Reading) -> bool:
    """Return whether a line that says a pool ran out is about the state pool."""
    return "state_slots" in reading.facts or "mamba" in reading.text.lower()
