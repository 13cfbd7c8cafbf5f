"""Evidence of a run from SGLang's Prometheus text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from mamba_advisor.errors import InputError
from mamba_advisor.facts import Rank, Reading, Value
from mamba_advisor.record import Record, field, replace
from mamba_advisor.runtime.collector import EvidenceCollector
from mamba_advisor.runtime.fetch import fetch, is_url, page_of
from mamba_advisor.runtime.model import Evidence
from mamba_advisor.runtime.verdict import RETRACTION_SHARE, Wording
from mamba_advisor.server_args import LARGEST

TIMEOUT_S = 10.0
"""Default time that a server has to answer."""

GAUGES = {
    "num_running_reqs": "running",
    "num_queue_reqs": "queued",
    "full_token_usage": "full_usage",
    "mamba_usage": "state_usage",
    "kv_used_tokens": "full_tokens",
    "mamba_used_tokens": "state_slots_used",
}
"""Metric -> fact of a decode line with the same meaning.

``full_token_usage`` exists from 0.5.10; the ``…_tokens`` gauges of the pools are
newer still, and count slots where they are called ``mamba_…``.
"""

FORMER = {"token_usage": "full_usage", "num_used_tokens": "full_tokens"}
"""Metric -> fact where the newer metric is missing.

``token_usage`` is the usage of full attention up to 0.5.9 and the largest of all
pools from 0.5.10 on, where ``full_token_usage`` stands beside it.
"""

PARTS = ("used", "evictable", "available")

POOLS = {
    "state_slots": tuple(f"mamba_{what}_tokens" for what in PARTS),
    "kv_tokens": tuple(f"kv_{what}_tokens" for what in PARTS),
}
"""Field of `Evidence` -> the metrics that add up to it."""

COUNTERS = (
    "cached_tokens_total",
    "prompt_tokens_total",
    "num_requests_total",
    "num_retracted_requests_total",
)
"""Counters of the whole server since its start."""

WANTED = frozenset(
    {
        *GAUGES,
        *FORMER,
        *COUNTERS,
        *(name for names in POOLS.values() for name in names),
        "max_total_num_tokens",
    }
)

WORDING = Wording(unit="sample", min_lines=1)
"""One scrape is one sample, and the only one there may be."""

_SAMPLE = re.compile(
    r"sglang[:_](?P<name>[a-z_]+)"
    r"(?:\{(?P<labels>(?:[^\"}\n]|\"(?:[^\"\\\n]|\\[^\n])*\")*)\})?"
    r"[ \t]+(?P<value>[^\s]+)"
)
_LABEL = re.compile(r"([a-zA-Z_]\w*)=\"((?:[^\"\\]|\\.)*)\"")

WorkerKey: TypeAlias = "tuple[int, int]"
"""DP rank and PP rank, −1 without."""


class _Series(Record, frozen=False):
    """The last values of one worker, of its lowest TP rank."""

    tp: int
    values: dict[str, float] = field(default_factory=dict)


class Scrape(Record, frozen=False):
    """One reading of the page: what every worker stated."""

    workers: dict[WorkerKey, _Series] = field(default_factory=dict)
    counters: dict[str, float] = field(default_factory=dict)
    seen: set[tuple[str, str]] = field(default_factory=set)


def read_metrics(
    source: str,
    timeout_s: float = TIMEOUT_S,
    *,
    limit: int | None = None,
    slots: int | None = None,
    slots_per_request: int | None = None,
) -> Evidence:
    """Return the evidence that SGLang's metrics give.

    Args:
        source: A file, or the address of a server or of its metrics page.  A file
            may hold several scrapes one after the other.
        timeout_s: Seconds that a server has to answer.
        limit: Running requests that the boot allows, per DP worker.
        slots: K; by default what the metrics add up to.
        slots_per_request: S.

    Raises:
        InputError: It cannot be read, or holds no metrics of an SGLang scheduler.
    """
    address = page_of(source, "/metrics") if is_url(source) else source
    text = fetch(address, timeout_s).decode("utf-8", "replace")
    scrapes = parse_metrics(text)
    if not any(scrape.workers for scrape in scrapes):
        raise InputError(
            f"{address}: no metrics of an SGLang scheduler, such as "
            "sglang:num_running_reqs (the server needs --enable-metrics)"
        )
    return evidence_of(
        scrapes, limit=limit, slots=slots, slots_per_request=slots_per_request
    )


def parse_metrics(text: str) -> list[Scrape]:
    """Sort Prometheus text by scrape and worker.

    A series that comes again begins the next scrape.  Of workers only the lowest TP
    rank counts, and of requests by priority only the total.
    """
    scrapes = [Scrape()]
    for line in text.splitlines():
        found = _SAMPLE.match(line)
        if found is None or found["name"] not in WANTED:
            continue
        value = _number(found["value"])
        labels = dict(_LABEL.findall(found["labels"] or ""))
        if value is None or labels.get("priority"):
            continue
        series = (found["name"], found["labels"] or "")
        if series in scrapes[-1].seen:
            scrapes.append(Scrape())
        scrapes[-1].seen.add(series)
        _store(scrapes[-1], found["name"], labels, value)
    return scrapes


def _store(scrape: Scrape, name: str, labels: Mapping[str, str], value: float) -> None:
    if name in COUNTERS:
        if _index(labels, "tp_rank") <= 0:
            scrape.counters[name] = scrape.counters.get(name, 0.0) + value
        return
    key = (_index(labels, "dp_rank"), _index(labels, "pp_rank"))
    tp = _index(labels, "tp_rank")
    known = scrape.workers.get(key)
    if known is None or tp < known.tp:
        known = scrape.workers[key] = _Series(tp)
    elif tp > known.tp:
        return
    if name in known.values:
        raise InputError(
            f"sglang:{name} stands there twice for one worker: give the metrics of "
            "one server, not of several"
        )
    known.values[name] = value


def _number(text: str) -> float | None:
    """Return a value from 0, None for NaN, what no server counts and no number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < LARGEST else None


def _index(labels: Mapping[str, str], name: str) -> int:
    text = labels.get(name, "")
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else -1


def evidence_of(
    scrapes: list[Scrape],
    *,
    limit: int | None = None,
    slots: int | None = None,
    slots_per_request: int | None = None,
) -> Evidence:
    """Turn scrapes into evidence, each worker's values being one sample.

    Raises:
        InputError: No worker states how many requests it runs.
    """
    pools = _pools(scrapes)
    collector = EvidenceCollector(WORDING)
    for scrape in scrapes:
        for reading in _readings(scrape):
            collector.feed(reading)
    evidence = collector.evidence(
        limit=limit,
        slots=pools["state_slots"] if slots is None else slots,
        slots_per_request=slots_per_request,
    )
    if evidence is None:
        raise InputError("the metrics do not say how many requests run")
    counters = scrapes[-1].counters
    prompts = counters.get("prompt_tokens_total", 0.0)
    total = replace(
        evidence.total,
        prefix_hit_share=(
            counters.get("cached_tokens_total", 0.0) / prompts if prompts else None
        ),
    )
    retracted = round(counters.get("num_retracted_requests_total", 0.0))
    total = replace(total, retractions=retracted, retracted_requests=retracted)
    answered = counters.get("num_requests_total", 0.0)
    if total.hot_pool is None and retracted > RETRACTION_SHARE * answered > 0:
        why = (
            f"{retracted:,} requests were retracted for {answered:,.0f} answered ones "
            "because KV was full"
        )
        total = replace(total, hot_pool="kv", hot_why=why)
    return replace(
        evidence,
        total=total,
        origin="metrics",
        lines=(),
        state_slots=pools["state_slots"],
        kv_tokens=pools["kv_tokens"],
    )


def _pools(scrapes: list[Scrape]) -> dict[str, int | None]:
    """Return the pool sizes of the smallest worker, None where not stated."""
    sizes: dict[str, int | None] = {}
    for name, parts in POOLS.items():
        found = [
            round(sum(worker.values[part] for part in parts))
            for scrape in scrapes
            for worker in scrape.workers.values()
            if all(part in worker.values for part in parts)
        ]
        sizes[name] = min(found, default=None)
    if sizes["kv_tokens"] is None:
        limits = [
            round(worker.values["max_total_num_tokens"])
            for scrape in scrapes
            for worker in scrape.workers.values()
            if "max_total_num_tokens" in worker.values
        ]
        sizes["kv_tokens"] = min(limits, default=None)
    return sizes


def _readings(scrape: Scrape) -> Iterator[Reading]:
    """Yield the decode line that each worker's gauges amount to."""
    for (dp, pp), worker in sorted(scrape.workers.items()):
        facts: dict[str, Value] = {}
        for names in (FORMER, GAUGES):
            for metric, fact in names.items():
                if metric in worker.values:
                    value = worker.values[metric]
                    is_usage = fact.endswith("usage")
                    facts[fact] = value if is_usage else round(value)
        # Every series has a pp_rank label, also without a pipeline.
        stage = pp if len({at[1] for at in scrape.workers}) > 1 else -1
        yield Reading("decode", facts, 0, "metrics", Rank(dp, stage))
