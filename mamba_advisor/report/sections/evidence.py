"""What the run has shown, and the room for idle conversations."""

from __future__ import annotations

from collections.abc import Iterator

from mamba_advisor.advice.model import Advice, Residency, StatePoolAdvice
from mamba_advisor.report import words
from mamba_advisor.report.section import Cell, Column, Grid, Pair, Pairs
from mamba_advisor.runtime.model import Evidence, Spread, WorkerEvidence
from mamba_advisor.runtime.verdict import TOO_FEW

SHORT = {
    "state": "the state pool is short",
    "kv": "the KV pool is short",
    None: "neither pool is short",
}
"""Hot pool -> what that means."""

LEAST_SPREAD = 10
"""Samples from which 8 of 10 of them are more than a guess."""


def evidence(advice: Advice, *, brief: bool = False) -> Pairs | None:
    """Return what batch lines or metrics have shown, None without any."""
    shown = advice.boot.runtime
    if shown is None or not _tells(shown):
        return None
    title = "The run, by its metrics" if shown.origin == "metrics" else "The run"
    reserved = advice.concurrency.slots_per_request
    return Pairs(title, tuple(_rows(shown, reserved, brief=brief)))


def workers(advice: Advice) -> Grid | None:
    """Return the DP workers side by side, None with one."""
    shown = advice.boot.runtime
    if shown is None or not shown.workers:
        return None
    names = ("context", "running", "queued", "state", "KV", "hot pool")
    return Grid(
        "",
        (Column("Workers"), *(Column(name, right=True) for name in names)),
        tuple(
            (
                Cell(worker.worker),
                Cell(words.count(worker.avg_context)),
                Cell(f"{worker.running.mean:,.1f}"),
                Cell(f"{worker.queued.mean:,.1f}"),
                Cell(_mean_share(worker.state_usage)),
                Cell(_mean_share(worker.kv_usage)),
                Cell(worker.hot_pool or "none"),
            )
            for worker in shown.workers
        ),
        note="means over the samples",
    )


def residency(advice: Advice) -> Pairs | None:
    """Return the room for idle conversations, None where nothing is known of it."""
    room = advice.residency
    if room is None or room.live_slots is None:
        return None
    rows = [Pair("Slots", (Cell(_slots(room, advice.state_pool)),))]
    if text := sessions(room):
        rows.append(Pair("Sessions", (Cell(text),)))
    return Pairs("Prefix cache", tuple(rows))


def sessions(room: Residency) -> str:
    """Return how many idle conversations keep a checkpoint."""
    if room.message:
        return room.message
    if room.resumable_sessions is None:
        return "not known without the slots that a request reserves"
    return f"room for {words.counted(room.resumable_sessions, 'idle conversation')}"


def _slots(room: Residency, pool: StatePoolAdvice | None) -> str:
    live = room.live_slots
    assert live is not None
    if pool is not None and live > pool.slots:
        return f"{live:,} needed for running requests, {pool.slots:,} there"
    spare = words.count(room.spare_slots)
    return f"{live:,} for running requests, {spare} spare for checkpoints"


def _tells(shown: Evidence) -> bool:
    """Whether there is more than the warm-up."""
    return bool(shown.total.samples or shown.total.retractions or shown.exhausted)


def _rows(shown: Evidence, reserved: int | None, *, brief: bool) -> Iterator[Pair]:
    total = shown.total
    yield Pair("Seen", (Cell(_seen(shown)),))
    if not brief and (total.left_out or total.left_out_why):
        text = f"{words.counted(total.left_out, 'line')} left out"
        yield Pair("", (Cell(words.sentence((text, total.left_out_why), ": "), "dim"),))
    yield Pair("Context", (Cell(_context(total)),))
    yield Pair("Requests", (Cell(_requests(total)),))
    usage = words.sentence(
        (_usage("state", total.state_usage), _usage("KV", total.kv_usage))
    )
    if usage:
        yield Pair("Usage", (Cell(usage),))
    if not brief and total.slots_per_request is not None:
        yield Pair("Slots", (Cell(_held(total.slots_per_request, reserved)),))
    yield Pair("Hot pool", (Cell(_hot_pool(total)),))
    if not brief and total.prefix_hit_share is not None:
        hits = f"{words.share(total.prefix_hit_share)} of the prompt tokens were cached"
        yield Pair("Prefixes", (Cell(hits),))
    if total.retractions:
        yield Pair("Retracted", (Cell(_retracted(total)),))
    if total.eviction_hint:
        yield Pair("Evictions", (Cell(total.eviction_hint),))
    if shown.exhausted:
        where = f"a pool ran out: {words.lines(shown.exhausted)}"
        yield Pair("Ran out", (Cell(where, "problem"),))


def _seen(shown: Evidence) -> str:
    first, last = shown.first_stamp, shown.last_stamp
    day, _, time = last.partition(" ")
    if time and first.startswith(f"{day} "):
        last = time
    samples = words.counted(shown.total.samples, "sample")
    if shown.seconds is not None:
        samples += f" over {_duration(shown.seconds)}"
    return words.sentence((samples, words.sentence((first, last), " to ")))


def _duration(seconds: float) -> str:
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min" if minutes else f"{left} s"


def _context(total: WorkerEvidence) -> str:
    text = f"{words.counted(total.avg_context, 'token')} per running request"
    around = total.context
    if around is None or around.low is None or around.high is None:
        return text
    if total.samples < LEAST_SPREAD:
        return text
    if around.low < around.high:
        text += f", {around.low:,.0f} to {around.high:,.0f} in 8 of 10 samples"
    return text


def _requests(total: WorkerEvidence) -> str:
    text = (
        f"{_mean_and_most(total.running, 'running')},"
        f" {_mean_and_most(total.queued, 'queued')}"
    )
    if total.queued_share:
        text += f"; a queue in {words.share(total.queued_share)} of the samples"
    return text


def _held(slots: float, reserved: int | None) -> str:
    text = f"{slots:.1f} held per request"
    return text if reserved is None else f"{text}, {reserved} reserved"


def _hot_pool(total: WorkerEvidence) -> str:
    if total.hot_pool is None and not total.samples:
        return "cannot tell before the first decode line"
    if total.hot_why.startswith(TOO_FEW):
        return total.hot_why
    return words.sentence((SHORT[total.hot_pool], total.hot_why), ": ")


def _retracted(total: WorkerEvidence) -> str:
    text = words.counted(total.retractions, "time")
    if total.retracted_requests:
        text += f", {words.counted(total.retracted_requests, 'request')} in all"
    return text


def _mean_and_most(series: Spread, verb: str) -> str:
    return f"{series.mean:,.1f} {verb} (at most {series.max:,.0f})"


def _usage(pool: str, series: Spread | None) -> str:
    if series is None:
        return ""
    return f"{pool} {words.share(series.mean)} (at most {words.share(series.max)})"


def _mean_share(series: Spread | None) -> str:
    return words.share(None if series is None else series.mean)
