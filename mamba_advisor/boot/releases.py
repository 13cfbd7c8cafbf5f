"""Dating a log: the releases whose wording and arguments fit it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import accumulate

from mamba_advisor.boot.model import Note, Releases
from mamba_advisor.facts import Reading, Scalar
from mamba_advisor.record import Record, replace

KNOWN = tuple(f"0.5.{patch}" for patch in range(2, 24))
"""Releases whose lines and arithmetic are known, oldest first."""

INTRODUCED = {
    "radix_eviction_policy": "0.5.3",
    "mamba_full_memory_ratio": "0.5.4",
    "otlp_traces_endpoint": "0.5.5",
    "mm_enable_dp_encoder": "0.5.6",
    "mamba_track_interval": "0.5.7",
    "admin_api_key": "0.5.8",
    "mamba_backend": "0.5.9",
    "linear_attn_backend": "0.5.10",
    "tokenizer_backend": "0.5.11",
    "detokenizer_worker_num": "0.5.12",
    "radix_cache_backend": "0.5.13",
    "mamba_radix_cache_strategy": "0.5.14",
    "dcp_size": "0.5.15",
    "retraction_policy": "0.5.16",
    "mamba_max_states_per_path": "0.5.17",
    "startup_weight_load_mode": "0.5.18",
    "load_publish_endpoint": "0.5.19",
    "sampling_mask_max_tokens": "0.5.20",
    "shared_experts_tp_size": "0.5.21",
    "enable_kv_cache_sharding": "0.5.22",
    "enable_paged_experts": "0.5.23",
}
"""Launch argument -> first release whose ``server_args`` line prints it.

One for each release; none of them was dropped or renamed later, and all of them
print as a plain value.
"""

DROPPED = {
    "mamba_scheduler_strategy": "0.5.13",
    "enable_gdn_replayssm_spec": "0.5.16",
    "torchao_config": "0.5.17",
    "enable_prefill_context_parallel": "0.5.19",
    "keep_mm_feature_on_device": "0.5.20",
    "cuda_graph_tc_compiler": "0.5.21",
    "speculative_skip_dp_mlp_sync": "0.5.22",
}
"""Launch argument -> last release whose ``server_args`` line prints it."""

COMPLETE_ARGUMENTS = 180
"""A ``server_args`` line with so many arguments was not cut short: the smallest
whole one, of 0.5.2, has 210.
"""

ARGUMENT_VOTES = 4
"""How much an argument's name counts against a wording.

Names come and go with a release; a wording is what somebody took from the source.
"""

FADING_EVENTS = frozenset(
    {"kv-pool", "state-pool", "weights-end", "decode", "prefill", "init-end"}
)
"""Kinds of line whose older wording is the newer one less a field.

In a log that a person shortened, a field's absence dates nothing.
"""


class _Span(Record):
    """One piece of evidence: releases by index into `KNOWN`, both included."""

    low: int
    high: int
    line: int
    what: str
    fading: bool
    votes: int = 1


class Dating:
    """Collects what the lines of one server start say about its release."""

    def __init__(self) -> None:
        self._spans: dict[tuple[int, int, str], _Span] = {}
        self._shortened = False

    def feed(self, reading: Reading) -> None:
        """Take the evidence of one reading; edited wording dates nothing."""
        if reading.doubtful:
            return
        if reading.edited or reading.joined:
            self._shortened = True
        if reading.edited:
            return
        low, high = reading.versions
        if low or high:
            fading = reading.event in FADING_EVENTS
            self._add(low, high, reading, "this wording", fading)
        if reading.event == "prefill" and "pending_tokens" in reading.facts:
            self._add("0.5.11", "", reading, "#pending-token", False)

    def feed_arguments(self, arguments: Mapping[str, Scalar], reading: Reading) -> None:
        """Take the evidence of a ``server_args`` line's argument names."""
        present = [name for name in INTRODUCED if name in arguments]
        if present:
            newest = max(present, key=lambda name: _index(INTRODUCED[name]))
            self._add(INTRODUCED[newest], "", reading, newest, False)
        for name, last in DROPPED.items():
            if name in arguments:
                self._add("", last, reading, name, False)
        if len(arguments) < COMPLETE_ARGUMENTS:
            return
        newest_index = max((_index(INTRODUCED[name]) for name in present), default=0)
        for name, release in INTRODUCED.items():
            if _index(release) == newest_index + 1:
                what = f"no {name}"
                self._add("", KNOWN[newest_index], reading, what, False)

    def _add(
        self, low: str, high: str, reading: Reading, what: str, fading: bool
    ) -> None:
        first = _index(low) if low else 0
        last = _index(high) if high else len(KNOWN) - 1
        key = first, last, reading.event
        if key not in self._spans:
            self._spans[key] = _Span(
                first,
                last,
                reading.line,
                f"{what} in the {reading.event.replace('-', ' ')} line",
                fading,
                ARGUMENT_VOTES if reading.event == "server-args" else 1,
            )

    def releases(self) -> Releases:
        """Return the widest set of releases that agrees with most evidence."""
        spans = sorted(self._used(), key=lambda span: span.line)
        low, high = _agreement(spans)
        oldest = [span for span in spans if 0 < span.low == low]
        newest = [span for span in spans if span.high == high < len(KNOWN) - 1]
        evidence = (
            f"line {span.line}: {span.what} {_range_words(span)}"
            for span in (*oldest[:1], *newest[:1])
        )
        return Releases(KNOWN[low], KNOWN[high], tuple(dict.fromkeys(evidence)))

    def notes(self) -> tuple[Note, ...]:
        """Return a note when no release fits all lines, else nothing."""
        spans = self._used()
        low, high = _agreement(spans)
        odd = [span for span in spans if span.low > high or span.high < low]
        if not odd:
            return ()
        told = ", ".join(f"line {span.line} ({_range_words(span)})" for span in odd[:4])
        chosen = KNOWN[low] if low == high else f"{KNOWN[low]} to {KNOWN[high]}"
        message = (
            f"the lines are of different SGLang releases: most fit {chosen}, but not "
            f"{told}; the log may be edited, or of a patched build"
        )
        lines = tuple(sorted({span.line for span in odd}))
        return (Note("warning", "releases-contradict", message, lines),)

    def _used(self) -> list[_Span]:
        last = len(KNOWN) - 1
        return [
            replace(span, high=last) if self._shortened and span.fading else span
            for span in self._spans.values()
        ]


def _agreement(spans: Iterable[_Span]) -> tuple[int, int]:
    """Return first and last release, by index, that most spans hold."""
    changes = [0] * (len(KNOWN) + 1)
    for span in spans:
        changes[span.low] += span.votes
        changes[span.high + 1] -= span.votes
    votes = list(accumulate(changes[:-1]))
    most = max(votes)
    best = [index for index, count in enumerate(votes) if count == most]
    return best[0], best[-1]


@lru_cache(maxsize=256)
def _index(release: str) -> int:
    """Return the index in `KNOWN` of *release*, or of the last known before it."""
    wanted = release_key(release)
    older = [index for index, name in enumerate(KNOWN) if release_key(name) <= wanted]
    return older[-1] if older else 0


@lru_cache(maxsize=256)
def release_key(release: str) -> tuple[int, ...]:
    """Return *release* in a form that sorts: ``"0.5.10"`` after ``"0.5.9"``."""
    parts = []
    for part in release.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        parts.append(int(digits))
    return tuple(parts)


def _range_words(span: _Span) -> str:
    low, high = KNOWN[span.low], KNOWN[span.high]
    if span.low == span.high:
        return f"is of {low}"
    if span.high == len(KNOWN) - 1:
        return f"is of {low} or later"
    if span.low == 0:
        return f"is of {high} or earlier"
    return f"is of {low} to {high}"
