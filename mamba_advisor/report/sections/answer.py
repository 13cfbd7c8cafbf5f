"""The first lines: what is the case, what to do, what it gives and costs."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator

from mamba_advisor.advice.model import Advice, Prediction, Recommendation, Workload
from mamba_advisor.facts import Scalar
from mamba_advisor.report import words
from mamba_advisor.report.section import LABEL_WIDTH, Cell, Pair, Pairs
from mamba_advisor.report.sections.evidence import sessions

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

JOINT = " · "

GENERIC = "it carries"
"""How a reason begins that tells the figures of the prediction once more."""

DIFFERS = "differs"
"""Outcome of a self-check that takes trust from the answer, and so stands beside it."""


def answer(advice: Advice, *, brief: bool = False) -> Pairs:
    """Return the block that answers the question; *brief*: nothing twice."""
    return Pairs(
        "",
        (
            *_what(advice),
            *_verdict(advice),
            *_do_this(advice, brief=brief),
            *_failure(advice),
        ),
    )


def basis(advice: Advice) -> Pairs | None:
    """Return what the answer rests on: settings, load, the check of the model."""
    rows = []
    if setup := words.sentence(_setup(advice), JOINT):
        rows.append(Pair("Setup", (Cell(setup),)))
    if load := _load(advice.workload):
        rows.append(Pair("Load", (Cell(load),)))
    check = advice.self_check
    said = {finding.message for finding in advice.findings}
    if check.message and check.outcome != DIFFERS and check.message not in said:
        rows.append(Pair("Check", (Cell(check.message),)))
    return Pairs("Basis", tuple(rows)) if rows else None


def short_basis(advice: Advice, room: int) -> Pairs | None:
    """Return the settings that fit on a line, and sessions where they matter.

    Args:
        advice: The boot.
        room: Columns of the line; 0: as many as it takes.
    """
    rows = []
    line = ""
    for part in _setup(advice):
        longer = words.sentence((line, part), JOINT)
        if room and len(longer) > room - LABEL_WIDTH:
            break
        line = longer
    if line:
        rows.append(Pair("Basis", (Cell(line),)))
    if text := _prefixes(advice):
        rows.append(Pair("Sessions", (Cell(text),)))
    return Pairs("", tuple(rows)) if rows else None


def _prefixes(advice: Advice) -> str:
    """Return what is left to idle conversations, where that is asked or would change.

    Empty where neither is the case.
    """
    advised, room = advice.recommendation, advice.residency
    fewer = 0 if advised is None else advised.cost.slots
    if room is None or (advice.workload.sessions is None and not fewer):
        return ""
    if fewer and room.resumable_sessions:
        less = f"as advised, {words.counted(fewer, 'slot')} fewer"
        return words.sentence((sessions(room), less), "; ")
    return sessions(room)


def prediction(predicted: Prediction, advice: Advice, gain: int | None = None) -> str:
    """Return what a setting gives: requests, slots, tokens."""
    slots = words.spread(predicted.slots, predicted.slots_low, predicted.slots_high)
    tokens = words.spread(
        predicted.kv_tokens, predicted.tokens_low, predicted.tokens_high
    )
    return words.sentence(
        (
            requests(predicted, advice) + (f" ({words.signed(gain)})" if gain else ""),
            ""
            if predicted.slots is None
            else f"{slots} {words.plural(predicted.slots, 'slot')}",
            ""
            if predicted.kv_tokens is None
            else f"{tokens} {words.plural(predicted.kv_tokens, 'token')}",
            "" if predicted.boots else "SGLang would refuse to start",
        )
    )


def requests(predicted: Prediction, advice: Advice) -> str:
    """Return the requests that a setting carries; its limit where KV is not known."""
    is_sustained = None not in (advice.workload.avg_context, predicted.kv_tokens)
    if predicted.concurrency is not None and is_sustained:
        number = words.spread(
            predicted.concurrency, predicted.concurrency_low, predicted.concurrency_high
        )
        return f"{number} {words.plural(predicted.concurrency, 'request')}"
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
        JOINT,
    )
    yield Pair("Plan" if advice.is_plan else "Log", (Cell(text, "dim"),))


def _verdict(advice: Advice) -> Iterator[Pair]:
    verdict = advice.verdict
    _, role = words.KINDS[verdict.kind]
    cells = [Cell(verdict.headline, role)]
    if verdict.detail:
        cells.append(Cell(verdict.detail))
    yield Pair("Verdict", tuple(cells))
    if advice.boot.outcome == "incomplete":
        yield Pair("Caution", (Cell(_unfinished(advice), "warning"),), "warning")
    check = advice.self_check
    if check.message and check.outcome == DIFFERS:
        yield Pair("Caution", (Cell(check.message, "warning"),), "warning")


def _unfinished(advice: Advice) -> str:
    """Return that the end of the boot is not seen."""
    if advice.boot.runtime is None:
        return "the log ends before the ready line: what came after is not known"
    return "the log has no ready line: whether the boot was complete is not known"


def _failure(advice: Advice) -> Iterator[Pair]:
    if (failure := advice.boot.failure) is not None:
        where = f"line {failure.line}: {words.shortened(failure.message)}"
        yield Pair("Failed", (Cell(where, "dim"),))


def _do_this(advice: Advice, *, brief: bool) -> Iterator[Pair]:
    advised = advice.recommendation
    if advised is None:
        return
    if advised.before:
        yield Pair("Before", (Cell(advised.before),))
    if advised.flags:
        yield Pair("Do this", (Cell(shlex.join(advised.flags), "flag"),))
    else:
        yield Pair("Do this", (Cell(_without_flags(advised), "ok"),))
    told = _bare(advised.reason) in _bare(advice.verdict.detail)
    is_told_by_figures = brief and advised.reason.startswith(GENERIC)
    if gives := _gives(advised, advice, in_full=told or is_told_by_figures):
        yield Pair("Gives", (Cell(gives),))
    if not told and not is_told_by_figures:
        yield Pair("Why", (Cell(advised.reason),))
    yield from _alternatives(advised)


def _gives(advised: Recommendation, advice: Advice, *, in_full: bool) -> str:
    """Return gain and price in numbers; *in_full*: also what binds then."""
    costs = cost(advised)
    return words.sentence(
        (
            prediction(advised.predicted, advice, advised.gain),
            then_binds(advised.predicted, advice) if in_full and advised.flags else "",
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
        near = f"{words.ratios(plateau.low, plateau.high)} are within 1 %"
    if advised.equivalent:
        other = shlex.join(advised.equivalent)
        yield Pair("Or", (Cell(other + (f" ({near})" if near else "")),))
    elif near:
        yield Pair("As good", (Cell(near),))


def _without_flags(advised: Recommendation) -> str:
    if advised.action == "keep":
        return "keep this split, change nothing"
    return advised.action.replace("-", " ")


def _setup(advice: Advice) -> Iterator[str]:
    """Yield the settings that matter, the most telling first."""
    if (workers := advice.concurrency.workers) > 1:
        yield f"{workers:,} workers, figures are for each"
    for name, reads in SETUP.items():
        value, origin = advice.settings.get(name, (None, None))
        if origin is not None and value is not None and (text := reads(value)):
            sure = origin.startswith("log:") or origin == "option"
            yield text + ("" if sure else words.INFERRED)
    if advice.boot.architecture:
        yield advice.boot.architecture


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
        JOINT,
    )
