"""Evidence of a run, gathered line by line in constant memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import compress, islice
from operator import itemgetter

from mamba_advisor.batch import Batch, Kind, Row
from mamba_advisor.facts import Reading
from mamba_advisor.runtime.diary import Diary
from mamba_advisor.runtime.lines import RowReader, number_of
from mamba_advisor.runtime.model import Evidence
from mamba_advisor.runtime.stream import parts_of, weight_of
from mamba_advisor.runtime.verdict import DECODE_LINES, Events, Limits, Wording
from mamba_advisor.runtime.worker import Worker, largest_of, worker_name

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
        self._decoded = 0
        self._has_begun = False

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
        if event == "decode":
            weight = weight_of(self._decoded)
            self._decoded += 1
        else:
            [(weight, _)] = worker.weigh_prompts(1, bool(stamp))
        line = worker.add(event, reading.facts, weight)
        if event == "decode" and line is not None:
            diary.note_line(reading.line, line.running)
        if not is_considered or not diary.is_new(name, event):
            return
        if event == "prefill":
            new, cached = (number_of(reading.facts, fact) or 0 for fact in PROMPTS)
            diary.slice_from(stamp).add_prefill(new, cached)
        elif line is not None:
            diary.slice_from(stamp).add_decode(line)

    def feed_batch(self, batch: Batch) -> None:
        """Take in many batch lines that a fast scan has matched.

        It gives what the readings of the same lines would give.

        Raises:
            ValueError: A value is no number.
        """
        ranks = sorted({batch.ranks[tags] for tags in batch.tags()})
        for rank in ranks:
            self._worker(worker_name(rank))[1].listens_to(rank.tp)
        speakers = self._speakers(batch)
        if not batch.tags() <= speakers.keys():
            place = batch.tags_at
            batch = batch.only(lambda row: row[place] in speakers)
        for kind in batch.kinds:
            rows = list(compress(batch.rows, batch.column(kind.start)))
            if kind.event != "decode":
                for worker, chosen in self._by_worker(batch, kind, rows):
                    weighed = worker.weigh_prompts(len(chosen), batch.stamp_at >= 0)
                    for weight, part in weighed:
                        worker.add_rows("prefill", chosen[part], kind.fields, weight)
                continue
            self._note_extremes(batch, kind)
            for weight, part in parts_of(self._decoded):
                for worker, chosen in self._by_worker(batch, kind, rows[part]):
                    worker.add_rows("decode", chosen, kind.fields, weight)
            self._decoded += len(rows)
        self._write_diary(batch, speakers)

    def _by_worker(
        self, batch: Batch, kind: Kind, rows: list[Row]
    ) -> Iterator[tuple[Worker, list[Row]]]:
        """Yield each worker and the values of its rows."""
        place, part = batch.tags_at, kind.part
        groups: defaultdict[bytes, list[Row]] = defaultdict(list)
        if place < 0 or len(batch.tags()) == 1:
            groups[next(iter(batch.tags()))] = [row[part] for row in rows]
        else:
            for row in rows:
                groups[row[place]].append(row[part])
        for tags, chosen in groups.items():
            if chosen:
                yield self._worker(worker_name(batch.ranks[tags]))[1], chosen

    def _note_extremes(self, batch: Batch, kind: Kind) -> None:
        """Note the largest numbers of each worker, counted or not."""
        workers = {
            tags: self._worker(worker_name(batch.ranks[tags]))[1].decode
            for tags in batch.tags()
        }
        for fact in ("running", "queued"):
            if fact not in kind.fields:
                continue
            place = kind.start + kind.fields.index(fact)
            printed = batch.column(place)
            largest = largest_of(printed)
            is_running = fact == "running"
            if is_running:
                self._note_peak(batch, place, largest)
            known = (
                decode.peak if is_running else decode.longest_queue
                for decode in workers.values()
            )
            if largest <= min(known, default=0):
                continue
            for tags, text in set(zip(batch.printed_tags(), printed, strict=True)):
                number = int(text or 0)
                workers[tags].note_extremes(
                    number if is_running else 0, 0 if is_running else number
                )

    def _write_diary(self, batch: Batch, speakers: Mapping[bytes, str]) -> None:
        """Note times and line numbers of a batch, in the order of the log."""
        diary, rows = self._diary, batch.rows
        pairs = {(n, kind.event) for n in speakers.values() for kind in batch.kinds}
        stamps = batch.printed_stamps()
        is_sorted = list(stamps) == sorted(stamps)
        start = 0
        while start < len(rows):
            if diary.is_over(stamps[start]):
                diary.turn_to(stamps[start])
            end = diary.end_of_moment(stamps, start, is_sorted=is_sorted)
            looked = range(start, start + diary.take(end - start))
            if missing := diary.missing(pairs):
                self._note_rows(batch, looked, speakers, missing)
            start = end
        if rows:
            if not self._has_begun:
                # Later batches begin behind it.
                self._has_begun = True
                diary.note_line(batch.line_of(0))
            diary.note_line(batch.line_of(-1))

    def _speakers(self, batch: Batch) -> dict[bytes, str]:
        """Return the workers' names by the tags of the ranks that speak for them."""
        speakers = {}
        for tag in batch.tags():
            rank = batch.ranks[tag]
            name = worker_name(rank)
            worker = self._workers.get(name)
            if worker is not None and worker.speaker == rank.tp:
                speakers[tag] = name
        return speakers

    def _note_rows(
        self,
        batch: Batch,
        looked: range,
        speakers: Mapping[bytes, str],
        missing: set[tuple[str, str]],
    ) -> None:
        """Put rows of one moment on the timeline, for workers and kinds *missing*."""
        events, printed = {event for _, event in missing}, batch.printed_tags()
        firsts: list[tuple[int, Kind]] = []
        for kind in batch.kinds:
            if kind.event in events:
                marks = batch.column(kind.start)[looked.start : looked.stop]
                places = compress(looked, marks)
                # Of lines with the same tags the first one stays.
                most = 1 if len(batch.tags()) == 1 else None
                first = {printed[at]: at for at in reversed([*islice(places, most)])}
                firsts += [(at, kind) for at in first.values()]
        firsts.sort(key=itemgetter(0))
        rows: dict[int, list[Row]] = {kind.start: [] for kind in batch.kinds}
        for at, kind in firsts:
            if self._diary.is_new(speakers[printed[at]], kind.event):
                rows[kind.start].append(batch.rows[at][kind.part])
        stamp = batch.printed_stamps()[looked.start]
        for kind in batch.kinds:
            if values := rows[kind.start]:
                self._note_rows_of(kind, stamp, values)

    def _note_rows_of(self, kind: Kind, stamp: bytes, values: list[Row]) -> None:
        """Put the values of rows of one kind and moment on the timeline."""
        at = self._diary.slice_from(stamp)
        reader = self._readers.get(kind.fields)
        if reader is None:
            reader = self._readers[kind.fields] = RowReader(kind.fields)
        if kind.event == "decode":
            at.add_decodes(*reader.usage(values))
        else:
            at.add_prefill(*(sum(reader.numbers(values, fact)) for fact in PROMPTS))

    def _note_peak(self, batch: Batch, place: int, peak: int) -> None:
        """Note the first line with *peak* running requests, if that is the most yet."""
        if peak > self._diary.peak:
            for index, printed in enumerate(batch.column(place)):
                if printed and int(printed) == peak:
                    self._diary.note_line(batch.line_of(index), peak)
                    break

    def _worker(self, name: str) -> tuple[str, Worker]:
        """Return the worker *name*, or the one that all beyond the bound share."""
        found = self._workers.get(name)
        if found is None and len(self._workers) >= MAX_WORKERS:
            name = "other"
            found = self._workers.get(name)
        if found is None:
            found = self._workers[name] = Worker()
        return name, found

    def merge(self, other: EvidenceCollector) -> None:
        """Add what *other* gathered from a later part of the same run."""
        for name, worker in other._workers.items():
            self._worker(name)[1].merge(worker)
        self._diary.merge(other._diary)
        self._decoded += other._decoded
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
        from mamba_advisor.runtime.summary import summarise

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
