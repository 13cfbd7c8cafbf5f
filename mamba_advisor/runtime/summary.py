"""From sums to the evidence of one worker, or of all together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mamba_advisor.runtime.bins import bin_middle, percentile
from mamba_advisor.runtime.model import Spread, WorkerEvidence
from mamba_advisor.runtime.tally import Cell, Sample, sum_cells
from mamba_advisor.runtime.verdict import (
    Events,
    Limits,
    Wording,
    judge,
    judge_filling,
)
from mamba_advisor.runtime.worker import Worker

LOW, HIGH = 0.1, 0.9
"""The percentiles that a spread gives."""


@dataclass(frozen=True, slots=True)
class _LeftOut:
    """Decode lines that do not count, by reason."""

    before_ready: int
    idle: int
    quiet: int
    floor: int
    """Running requests below which a line counts as quiet."""

    @property
    def lines(self) -> int:
        return self.before_ready + self.idle + self.quiet

    def sentence(self, unit: str) -> str:
        """Say how many *unit* were left out and why, nothing when none was."""
        reasons = [
            f"{count:,} {why}"
            for count, why in (
                (self.before_ready, "from before the server was ready"),
                (self.idle, "without a running request"),
                (
                    self.quiet,
                    f"with fewer than {self.floor} running requests, a quarter of "
                    "what is typical (idle phases and ramps)",
                ),
            )
            if count
        ]
        if not reasons:
            return ""
        noun = unit if self.lines == 1 else f"{unit}s"
        return f"{self.lines:,} {noun} left out: {', '.join(reasons)}"


def summarise(
    name: str,
    workers: Sequence[Worker],
    limits: Limits,
    events: Events,
    *,
    wording: Wording,
    eviction_hint: str = "",
) -> WorkerEvidence:
    """Return what *workers* have shown, pooled line by line.

    Concurrency figures are per worker, also where several are pooled: that is what
    SGLang's limits are counted in.

    Args:
        name: For `WorkerEvidence.worker`.
        workers: One worker, or all of them.
        limits: What the boot says about admission.
        events: Retractions and failed allocations of these workers.
        wording: What the evidence consists of.
        eviction_hint: For `WorkerEvidence.eviction_hint`.
    """
    for worker in workers:
        worker.settle()
    cells = [cell for worker in workers for cell in worker.decode.busy()]
    if any(worker.decode.lines for worker in workers):
        hot_pool, hot_why = judge(cells, limits, events, wording)
        shown = cells
        samples = sum(cell.lines for cell in cells)
    else:
        shown = [cell for worker in workers for cell in worker.prefill.cells.values()]
        hot_pool, hot_why = judge_filling(shown)
        samples = 0
    total = sum_cells(shown)
    left_out = _left_out(workers, samples)
    waiting = [pressure for key, pressure in total.pressures.items() if key[0]]
    waits = sum(pressure.lines for pressure in waiting)
    prompts = sum(worker.new_tokens + worker.cached_tokens for worker in workers)
    cached = sum(worker.cached_tokens for worker in workers)
    return WorkerEvidence(
        worker=name,
        samples=samples,
        left_out=left_out.lines,
        left_out_why=left_out.sentence(wording.unit),
        avg_context=_per_request(total.sample),
        context=_context(total.sample),
        running=_running(shown, max(_peak(worker, samples) for worker in workers)),
        queued=_queued(total.sample, workers, samples),
        state_usage=_usage(total.state),
        kv_usage=_usage(total.kv),
        slots_per_request=_ratio(total.slots, total.slot_running),
        queued_share=_ratio(waits, total.lines) or 0.0,
        queued_kv_usage=(
            _ratio(sum(at.kv_percent for at in waiting), 100 * waits)
            if total.kv
            else None
        ),
        queued_state_usage=(
            _ratio(sum(at.state_percent for at in waiting), 100 * waits)
            if total.state
            else None
        ),
        retractions=events.retractions,
        prefix_hit_share=_ratio(cached, prompts),
        hot_pool=hot_pool,
        hot_why=hot_why,
        retracted_requests=events.retracted_requests,
        eviction_hint=eviction_hint,
    )


def _left_out(workers: Sequence[Worker], samples: int) -> _LeftOut:
    idle = sum(worker.decode.idle for worker in workers)
    lines = sum(worker.decode.lines for worker in workers)
    return _LeftOut(
        sum(worker.before_ready for worker in workers),
        idle,
        lines - idle - samples,
        max((worker.decode.floor for worker in workers), default=0),
    )


def _peak(worker: Worker, samples: int) -> int:
    return worker.decode.peak if samples else worker.prefill.peak


def _ratio(total: float, count: int) -> float | None:
    return total / count if count else None


def _queued(sample: Sample, workers: Sequence[Worker], samples: int) -> Spread:
    """Return mean and maximum of the queue."""
    tallies = [worker.decode if samples else worker.prefill for worker in workers]
    longest = max((tally.longest_queue for tally in tallies), default=0)
    return Spread(_ratio(sample.queued, sample.lines) or 0.0, float(longest))


def _per_request(sample: Sample) -> int | None:
    mean = _ratio(sample.tokens, sample.running)
    return None if mean is None else round(mean)


def _context(sample: Sample) -> Spread | None:
    """Return the spread of the context over lines, weighted by requests."""
    if not sample.running:
        return None
    mean = sample.tokens / sample.running
    if len(sample.contexts) == 1:
        return Spread(mean, sample.max_context, mean, mean)
    return Spread(
        mean,
        sample.max_context,
        float(bin_middle(percentile(sample.contexts, LOW))),
        float(bin_middle(percentile(sample.contexts, HIGH))),
    )


def _running(cells: Sequence[Cell], peak: int) -> Spread:
    """Return the spread of running requests; the peak is that of all lines."""
    total = sum_cells(cells)
    if not total.lines:
        return Spread(0.0, float(peak))
    levels = {round(cell.running / cell.lines): 0 for cell in cells}
    for cell in cells:
        levels[round(cell.running / cell.lines)] += cell.lines
    return Spread(
        total.running / total.lines,
        float(peak),
        float(percentile(levels, LOW)),
        float(percentile(levels, HIGH)),
    )


def _usage(percents: Mapping[int, int]) -> Spread | None:
    """Return the spread of a pool's usage, None where no line states it."""
    lines = sum(percents.values())
    if not lines:
        return None
    return Spread(
        sum(percent * count for percent, count in percents.items()) / lines / 100,
        max(percents) / 100,
        percentile(percents, LOW) / 100,
        percentile(percents, HIGH) / 100,
    )
