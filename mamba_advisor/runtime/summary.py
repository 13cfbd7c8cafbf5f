"""From sums to the evidence of one worker, or of all together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mamba_advisor.record import Record
from mamba_advisor.runtime.bins import bin_middle, percentile
from mamba_advisor.runtime.cell import Cell, sum_cells
from mamba_advisor.runtime.model import Spread, WorkerEvidence
from mamba_advisor.runtime.tally import Tally
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


class _LeftOut(Record):
    """Decode lines that do not count, by reason."""

    before_ready: int
    idle: int
    quiet: int
    floor: int
    """Running requests below which a line counts as quiet."""

    @property
    def lines(self) -> int:
        return self.before_ready + self.idle + self.quiet

    def reasons(self) -> str:
        """Say what was left out and why, nothing when nothing was."""
        return ", ".join(
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
        )


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
    decode = [worker.decode.tally for worker in workers]
    prefill = [worker.prefill.tally for worker in workers]
    cells = [cell for tally in decode for cell in tally.busy()]
    if any(tally.lines for tally in decode):
        tallies, shown = decode, cells
        total = sum_cells(shown)
        hot_pool, hot_why = judge(shown, total, limits, events, wording)
        samples = total.lines
    else:
        tallies = prefill
        shown = [cell for tally in prefill for cell in tally.cells.values()]
        total = sum_cells(shown)
        hot_pool, hot_why = judge_filling(total)
        samples = 0
    left_out = _left_out(workers, decode, samples)
    waiting = [pressure for key, pressure in total.pressures.items() if key[0]]
    waits = sum(pressure.lines for pressure in waiting)
    prompts = sum(worker.new_tokens + worker.cached_tokens for worker in workers)
    cached = sum(worker.cached_tokens for worker in workers)
    return WorkerEvidence(
        worker=name,
        samples=samples,
        left_out=left_out.lines,
        left_out_why=left_out.reasons(),
        avg_context=_per_request(total),
        context=_context(total),
        running=_running(shown, total, max(tally.peak for tally in tallies)),
        queued=_queued(total, max(tally.longest_queue for tally in tallies)),
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


def _left_out(
    workers: Sequence[Worker], tallies: Sequence[Tally], samples: int
) -> _LeftOut:
    idle = sum(tally.idle for tally in tallies)
    return _LeftOut(
        sum(worker.before_ready for worker in workers),
        idle,
        sum(tally.lines for tally in tallies) - idle - samples,
        max((tally.floor for tally in tallies), default=0),
    )


def _ratio(total: float, count: int) -> float | None:
    return total / count if count else None


def _queued(total: Cell, longest: int) -> Spread:
    """Return mean and maximum of the queue."""
    return Spread(_ratio(total.queued, total.lines) or 0.0, float(longest))


def _per_request(total: Cell) -> int | None:
    mean = _ratio(total.tokens, total.token_running)
    return None if mean is None else round(mean)


def _context(total: Cell) -> Spread | None:
    """Return the spread of the context over lines, weighted by requests."""
    if not total.token_running:
        return None
    mean = total.tokens / total.token_running
    if len(total.contexts) == 1:
        return Spread(mean, total.max_context, mean, mean)
    return Spread(
        mean,
        total.max_context,
        float(bin_middle(percentile(total.contexts, LOW))),
        float(bin_middle(percentile(total.contexts, HIGH))),
    )


def _running(cells: Sequence[Cell], total: Cell, peak: int) -> Spread:
    """Return the spread of running requests; the peak is that of all lines."""
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
