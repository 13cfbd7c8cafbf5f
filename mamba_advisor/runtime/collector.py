"""Evidence of a run, gathered line by line in constant memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mamba_advisor.facts import Reading
from mamba_advisor.runtime.clock import Clock
from mamba_advisor.runtime.lines import Line, line_of_row
from mamba_advisor.runtime.model import Evidence
from mamba_advisor.runtime.summary import summarise
from mamba_advisor.runtime.timeline import Timeline
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


class EvidenceCollector:
    """Sums up decode, prefill and retraction lines of one server start.

    Memory is bounded however long the run.  All figures but two are exact:
    percentiles of the context rest on a sample, and concurrency above 64 falls
    into bins of 3 %.  Evidence may be asked for at any time.
    """

    def __init__(self, wording: Wording = DECODE_LINES) -> None:
        self._wording = wording
        self._workers: dict[str, Worker] = {}
        self._clock = Clock()
        self._timeline = Timeline()
        self._sampled: dict[str, str] = {}
        self._first_line = 0
        self._last_line = 0
        self._peak_line = 0
        self._peak = 0
        self._state_exhausted = 0
        self._exhausted: list[int] = []

    def feed(self, reading: Reading) -> None:
        """Take in one reading; other events than those of a run are passed over."""
        match reading.event:
            case "decode":
                self._feed_decode(reading)
            case "prefill":
                self._feed_prefill(reading)
            case "retract":
                self._clock.advance(reading.stamp)
                _, worker = self._worker(worker_name(reading.rank))
                worker.add_retraction(reading.rank.tp, reading.facts)
            case "runtime-exhausted":
                self._feed_exhausted(reading)
            case "ready":
                for worker in self._workers.values():
                    worker.mark_ready()
                self._timeline = Timeline()

    def _feed_decode(self, reading: Reading) -> None:
        name, worker = self._worker(worker_name(reading.rank))
        if not worker.listens_to(reading.rank.tp):
            return
        line = worker.add_decode(reading.facts)
        if line is not None:
            self._note(name, line, reading.stamp)
            self._note_line(reading.line, line.running)

    def _feed_prefill(self, reading: Reading) -> None:
        _, worker = self._worker(worker_name(reading.rank))
        if not worker.listens_to(reading.rank.tp):
            return
        new, cached = worker.add_prefill(reading.facts)
        second = self._clock.advance(reading.stamp)
        self._timeline.add_prefill(second, reading.stamp, new, cached)
        self._note_line(reading.line, 0)

    def _feed_exhausted(self, reading: Reading) -> None:
        is_state = "state_slots" in reading.facts or "mamba" in reading.text.lower()
        self._state_exhausted += is_state
        if len(self._exhausted) < MAX_EXHAUSTED:
            self._exhausted.append(reading.line)

    def add_decode_rows(
        self,
        worker: str,
        rows: Sequence[tuple[bytes, ...]],
        fields: tuple[str, ...],
        *,
        stamps: tuple[str, str] = ("", ""),
        lines: tuple[int, int] = (0, 0),
    ) -> None:
        """Take in decode lines of one shape that a fast scan has matched.

        The scan answers for the speaker: it passes one TP rank per worker.

        Args:
            worker: As `worker_name` has it, for example ``"DP1"``.
            rows: One tuple of printed values per line, in the order of the log.
            fields: What the places of a row state: names of a decode reading's
                facts, and ``"stamp"`` for the printed time.  An empty value is
                one that the line does not state.
            stamps: Printed times of the first and the last row; needed only where
                the rows hold none.
            lines: Line numbers of the first and the last row, 0 where not known.

        Raises:
            ValueError: A value is no number, or rows and fields differ in length.
        """
        if not rows:
            return
        name, found = self._worker(worker)
        found.add_rows(rows, fields)
        if "stamp" in fields:
            self._note_rows(name, rows, fields)
        else:
            self._note(name, line_of_row(rows[0], fields), stamps[0])
            self._clock.advance(stamps[1])
        for number in lines:
            self._note_line(number, 0)

    def _note_rows(
        self, worker: str, rows: Sequence[tuple[bytes, ...]], fields: tuple[str, ...]
    ) -> None:
        """Put stamped rows on the timeline, at most one per step of time."""
        place = fields.index("stamp")
        last = self._sampled.get(worker, "").encode()
        for row in rows:
            stamp = row[place]
            if not last or not stamp.startswith(last):
                line = line_of_row(row, fields)
                self._note(worker, line, stamp.decode("ascii", "replace"))
                last = self._sampled[worker].encode()
        self._clock.advance(rows[-1][place].decode("ascii", "replace"))

    def _note(self, worker: str, line: Line, stamp: str) -> None:
        """Put one line on the timeline, unless one of the same moment is there."""
        second = self._clock.advance(stamp)
        last = self._sampled.get(worker)
        if last and stamp.startswith(last):
            return
        self._sampled[worker] = stamp[: self._digits(stamp)]
        self._timeline.add_decode(second, stamp, line)

    def _digits(self, stamp: str) -> int:
        """Return how much of a stamp tells moments of the timeline apart.

        Whole seconds while slices are short, then tens of seconds, then minutes:
        a slice is the mean of ten lines or more, never of all of them.
        """
        whole = stamp.replace(",", ".").split(".")[0]
        if self._timeline.width_s < 128:  # noqa: PLR2004 - ten times ten seconds
            return len(whole) - (self._timeline.width_s >= 16)  # noqa: PLR2004
        return len(whole) - 3

    def _note_line(self, number: int, running: int) -> None:
        if number < 1:
            return
        self._first_line = self._first_line or number
        self._last_line = max(self._last_line, number)
        if running > self._peak:
            self._peak, self._peak_line = running, number

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
        self._timeline.merge(other._timeline)
        self._clock.advance(other._clock.first_stamp)
        self._clock.advance(other._clock.last_stamp)
        for number in (other._first_line, other._last_line):
            self._note_line(number, 0)
        self._note_line(other._peak_line, other._peak)
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
            if worker.seen or worker.prefill.lines
        }
        if not spoken:
            return None
        seconds = self._clock.seconds if self._clock.first_stamp else None
        lines = {self._first_line, self._peak_line, self._last_line} - {0}
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
            first_stamp=self._clock.first_stamp,
            last_stamp=self._clock.last_stamp,
            seconds=seconds,
            timeline=self._timeline.buckets(),
            lines=tuple(sorted(lines)),
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
        drift = self._timeline.drift()
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
