"""Two boots side by side: what changed, and whether it helped."""

from __future__ import annotations

from collections.abc import Iterator

from mamba_advisor.advice.comparison import ChangeValue, Comparison, is_other_model
from mamba_advisor.advice.model import Advice, Interval
from mamba_advisor.measured import Measured
from mamba_advisor.report import words
from mamba_advisor.report.section import Cell, Column, Grid, Pair, Pairs, Role

SETTINGS = "settings."
"""Start of the paths of settings."""

MET: dict[bool | None, tuple[str, Role]] = {
    True: ("met", "ok"),
    False: ("not met", "warning"),
    None: ("not put to the test", "dim"),
}
"""Whether the prediction was met -> words and role."""


def verdict(comparison: Comparison) -> Pairs:
    """Return the first lines: the two logs, and whether it helped."""
    met, met_role = MET[comparison.verdict.prediction_met]
    return Pairs(
        "",
        (
            Pair("Before", (Cell(_log(comparison.before), "dim"),)),
            Pair("After", (Cell(_log(comparison.after), "dim"),)),
            Pair("Verdict", (_better(comparison), Cell(comparison.verdict.message))),
            *_cautions(comparison.before, comparison.after),
            Pair("Forecast", (Cell(met, met_role),)),
        ),
    )


def figures(comparison: Comparison) -> Grid:
    """Return the two boots side by side: requests, pools, budget."""
    before, after = _figures(comparison.before), _figures(comparison.after)
    return Grid(
        "",
        (Column("Figures"), Column("before", right=True), Column("after", right=True)),
        tuple(
            (
                Cell(name),
                Cell(old),
                Cell(new, "plain" if old == new else "strong"),
            )
            for (name, old), (_, new) in zip(before, after, strict=True)
        ),
    )


def settings(comparison: Comparison) -> Grid:
    """Return the settings that differ."""
    rows = tuple(
        (
            Cell(change.path.removeprefix(SETTINGS)),
            Cell(_setting(change.before)),
            Cell(_setting(change.after), "strong"),
        )
        for change in comparison.changes
        if change.path.startswith(SETTINGS)
    )
    return Grid(
        "",
        (
            Column("Settings", folds=True),
            Column("before", folds=True),
            Column("after", folds=True),
        ),
        rows,
        note="" if rows else "no known setting differs",
    )


def _log(advice: Advice) -> str:
    return f"{words.name(advice)} · {words.released(advice)}"


def _better(comparison: Comparison) -> Cell:
    gain = comparison.verdict.gain
    if comparison.verdict.better is None or gain is None:
        return Cell("cannot tell", "info")
    if gain == 0:
        return Cell("no change", "info")
    change = f"{words.signed(gain)} {words.plural(abs(gain), 'request')}"
    if gain > 0:
        return Cell(f"better: {change}", "ok")
    return Cell(f"worse: {change}", "warning")


def _cautions(before: Advice, after: Advice) -> Iterator[Pair]:
    """Yield what two boots differ in, apart from what was set."""
    named = (("BEFORE", before), ("AFTER", after))
    dense = [name for name, advice in named if advice.hybrid is False]
    if dense:
        are = "is not a hybrid" if len(dense) == 1 else "are not hybrids"
        yield _caution(f"{' and '.join(dense)} {are}: there is no split to compare")
    elif is_other_model(before, after):
        yield _caution("two models: what differs is not the effect of settings alone")
    old, new = before.workload.avg_context, after.workload.avg_context
    if old is not None and new is not None and old != new:
        yield _caution(
            f"two contexts were measured, {old:,} tokens before and {new:,} after;"
            " requests are compared at one of them"
        )


def _caution(text: str) -> Pair:
    return Pair("Caution", (Cell(text, "warning"),), "warning")


def _setting(value: ChangeValue) -> str:
    assert not isinstance(value, Measured | Interval)  # settings are scalars
    return words.scalar(value)


def _figures(advice: Advice) -> tuple[tuple[str, str], ...]:
    return tuple(_named_figures(advice))


def _named_figures(advice: Advice) -> Iterator[tuple[str, str]]:
    concurrency, state, kv = advice.concurrency, advice.state_pool, advice.kv_pool
    context = advice.workload.avg_context
    yield "requested", words.count(concurrency.requested)
    yield "effective", words.count(concurrency.effective)
    yield "sustained", words.count(concurrency.sustained)
    yield "at tokens each", words.count(context)
    limit = words.binding(concurrency.binding, concurrency)
    yield "binds", limit.removeprefix("the ")
    yield "state slots", words.count(state.slots if state else None)
    yield "a slot", words.size(state.bytes_per_slot if state else None)
    yield "KV tokens", words.count(kv.logical_tokens if kv else None)
    yield "a token", words.size(kv.bytes_per_token if kv else None)
    yield "both pools", words.size(advice.budget_bytes)
    yield "right for tokens", words.count(advice.balanced_context)
