"""The first lines: what is the case, what to do, what it gives and costs."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator

from mamba_advisor.advice.model import Advice, Prediction, Recommendation, Workload
from mamba_advisor.facts import Scalar
from mamba_advisor.report import words
from mamba_advisor.report.section import Cell, Pair, Pairs

SETUP: dict[str, Callable[[Scalar], str]] = {
    "mamba_full_memory_ratio": lambda value: f"ratio {words.scalar(value)}",
    "max_mamba_cache_size": lambda value: f"pin {words.scalar(value)}",
    "mem_fraction_static": lambda value: f"mem-fraction {words.scalar(value)}",
    "mamba_radix_cache_strategy": lambda value: (
        "strategy auto" if value == "auto" else words.scalar(value)
    ),
    "disable_radix_cache": lambda value: "radix cache off" if value else "",
    "disable_overlap_schedule": lambda value: "overlap off" if value else "",
    "speculative_algorithm": words.scalar,
    "speculative_num_draft_tokens": lambda value: f"{value} draft tokens",
    "tp_size": lambda value: f"TP{value}",
    "attn_dp_size": lambda value: "" if value == 1 else f"DP{value}",
    "pp_size": lambda value: "" if value == 1 else f"PP{value}",
    "dcp_size": lambda value: "" if value == 1 else f"DCP{value}",
    "kv_cache_dtype": lambda value: "" if value == "auto" else f"KV {value}",
    "mamba_ssm_dtype": lambda value: f"state {value}",
}
"""Setting of the one-line overview -> how its value reads; empty: leave out."""

DIFFERS = "differs"
"""Outcome of a self-check that takes trust from the answer, and so stands beside it."""


def answer(advice: Advice) -> Pairs:
    """Return the block that answers the question."""
    return Pairs(
        "",
        (
            *_what(advice),
            *_verdict(advice),
            *_do_this(advice),
            *_failure(advice),
        ),
    )


def basis(advice: Advice) -> Pairs | None:
    """Return what the answer rests on: settings, load, the check of the model."""
    rows = []
    if setup := _setup(advice):
        rows.append(Pair("Setup", (Cell(setup),)))
    if load := _load(advice.workload):
        rows.append(Pair("Load", (Cell(load),)))
    check = advice.self_check
    said = {finding.message for finding in advice.findings}
    if check.message and check.outcome != DIFFERS and check.message not in said:
        rows.append(Pair("Check", (Cell(check.message),)))
    return Pairs("Basis", tuple(rows)) if rows else None


def prediction(predicted: Prediction, advice: Advice, gain: int | None = None) -> str:
    """Return what a setting gives: requests, slots, tokens."""
    slots = words.spread(predicted.slots, predicted.slots_low, predicted.slots_high)
    tokens = words.spread(
        predicted.kv_tokens, predicted.tokens_low, predicted.tokens_high
    )
    return words.sentence(
        (
            requests(predicted, advice) + (f" ({words.signed(gain)})" if gain else ""),
            "" if predicted.slots is None else f"{slots} slots",
            "" if predicted.kv_tokens is None else f"{tokens} tokens",
            "" if predicted.boots else "SGLang would refuse to start",
        )
    )


def requests(predicted: Prediction, advice: Advice) -> str:
    """Return the requests that a setting carries; without a context, its limit."""
    if predicted.concurrency is not None and advice.workload.avg_context is not None:
        number = words.spread(
            predicted.concurrency, predicted.concurrency_low, predicted.concurrency_high
        )
        return f"{number} request" + ("" if predicted.concurrency == 1 else "s")
    limit = predicted.concurrency
    if limit is None:
        limit = predicted.effective
    return "" if limit is None else f"a limit of {words.counted(limit, 'request')}"


def then_binds(predicted: Prediction, advice: Advice) -> str:
    """Return which limit a setting then meets, empty where unknown."""
    if predicted.binding is None:
        return ""
    return f"then {words.binding(predicted.binding, advice.concurrency)} binds"


def cost(recommendation: Recommendation) -> str:
    """Return what a recommendation gives up, empty for nothing."""
    given = recommendation.cost
    return words.sentence(
        (
            words.counted(given.kv_tokens, "token") if given.kv_tokens else "",
            words.counted(given.slots, "slot") if given.slots else "",
        ),
        " and ",
    )


def _what(advice: Advice) -> Iterator[Pair]:
    text = words.sentence(
        (
            words.name(advice),
            words.released(advice),
        ),
        " · ",
    )
    yield Pair("Plan" if advice.is_plan else "Log", (Cell(text, "dim"),))


def _verdict(advice: Advice) -> Iterator[Pair]:
    verdict = advice.verdict
    _, role = words.KINDS[verdict.kind]
    cells = [Cell(verdict.headline, role)]
    if verdict.detail:
        cells.append(Cell(verdict.detail))
    yield Pair("Verdict", tuple(cells))
    check = advice.self_check
    if check.message and check.outcome == DIFFERS:
        yield Pair("Caution", (Cell(check.message, "warning"),), "warning")


def _failure(advice: Advice) -> Iterator[Pair]:
    if (failure := advice.boot.failure) is not None:
        where = f"line {failure.line}: {failure.message}"
        yield Pair("Failed", (Cell(where, "dim"),))


def _do_this(advice: Advice) -> Iterator[Pair]:
    advised = advice.recommendation
    if advised is None:
        return
    if advised.before:
        yield Pair("Before", (Cell(advised.before),))
    if advised.flags:
        yield Pair("Do this", (Cell(shlex.join(advised.flags), "flag"),))
    else:
        yield Pair("Do this", (Cell(_without_flags(advised), "ok"),))
    if gives := _gives(advised, advice):
        yield Pair("Gives", (Cell(gives),))
    if _bare(advised.reason) not in _bare(advice.verdict.detail):
        yield Pair("Why", (Cell(advised.reason),))
    yield from _alternatives(advised)


def _gives(advised: Recommendation, advice: Advice) -> str:
    """Return gain and price in numbers; what binds then is said by the reason."""
    costs = cost(advised)
    return words.sentence(
        (
            prediction(advised.predicted, advice, advised.gain),
            "" if advised.reason else then_binds(advised.predicted, advice),
            f"costs {costs}" if costs else "",
        ),
        "; ",
    )


def _bare(sentence: str) -> str:
    """Return *sentence* without what its place in a text adds to it."""
    return sentence.rstrip(".").casefold()


def _alternatives(advised: Recommendation) -> Iterator[Pair]:
    near = ""
    if (plateau := advised.plateau) is not None:
        low, high = words.decimal(plateau.low), words.decimal(plateau.high)
        near = f"ratios from {low} to {high} are within 1 %"
    if advised.equivalent:
        other = shlex.join(advised.equivalent)
        yield Pair("Or", (Cell(other + (f" ({near})" if near else "")),))
    elif near:
        yield Pair("As good", (Cell(near),))


def _without_flags(advised: Recommendation) -> str:
    if advised.action == "keep":
        return "keep this split, change nothing"
    return advised.action.replace("-", " ")


def _setup(advice: Advice) -> str:
    parts = [advice.boot.architecture or ""]
    for name, reads in SETUP.items():
        value, origin = advice.settings.get(name, (None, None))
        if origin is not None and value is not None and (text := reads(value)):
            sure = origin.startswith("log:") or origin == "option"
            parts.append(text + ("" if sure else words.INFERRED))
    if (workers := advice.concurrency.workers) > 1:
        parts.append(f"{workers:,} workers, figures are for each")
    return words.sentence(parts, " · ")


def _load(workload: Workload) -> str:
    context = workload.avg_context
    return words.sentence(
        (
            ""
            if context is None
            else f"{words.counted(context, 'token')} per request"
            + (" (measured)" if workload.origin == "measured" else ""),
            ""
            if workload.concurrency is None
            else f"{words.counted(workload.concurrency, 'request')} wanted",
            ""
            if workload.sessions is None
            else f"{words.counted(workload.sessions, 'idle session')} to keep",
        ),
        " · ",
    )
