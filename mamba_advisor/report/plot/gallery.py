"""Which pictures are shown of which boots, and in which order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from mamba_advisor.advice.model import Advice
from mamba_advisor.record import Record, replace
from mamba_advisor.report import words
from mamba_advisor.report.page import DETAILED_BOOTS
from mamba_advisor.report.plot.balance import balance
from mamba_advisor.report.plot.break_even import break_even
from mamba_advisor.report.plot.chart import Picture, on_one_scale
from mamba_advisor.report.plot.memory import memory
from mamba_advisor.report.plot.run import run
from mamba_advisor.report.plot.sweep import sweep
from mamba_advisor.report.sections.several import worst_first

if TYPE_CHECKING:
    from mamba_advisor.advice.comparison import Comparison

NOTHING = "There is nothing to draw: the input holds too little."

Row: TypeAlias = "tuple[Picture | None, ...]"
"""Pictures side by side; None leaves a place empty."""


class Block(Record):
    """A headline and its pictures."""

    title: str
    sentences: tuple[str, ...]
    rows: tuple[Row, ...]


def pictures(advice: Advice) -> tuple[Picture, ...]:
    """Return the pictures of one boot that its advice has the figures for."""
    found = (
        balance(advice),
        break_even(advice),
        sweep(advice),
        memory(advice),
        *run(advice),
    )
    return tuple(picture for picture in found if picture is not None)


def chosen(advices: Sequence[Advice]) -> list[Advice]:
    """Return the boots that are drawn: with several, worst first, and not too many."""
    if len(advices) == 1:
        return list(advices)
    return worst_first(advices)[:DETAILED_BOOTS]


def left_out(advices: Sequence[Advice]) -> str:
    """Return the sentence on the boots that are not drawn, empty where all are."""
    rest = len(advices) - len(chosen(advices))
    if not rest:
        return ""
    return f"Of {len(advices):,} boots, the {DETAILED_BOOTS} most in need are drawn."


def blocks(advices: Sequence[Advice]) -> Iterator[Block]:
    """Yield a block for each boot, its pictures below one another."""
    rest = left_out(advices)
    for advice in chosen(advices):
        rows = tuple((picture,) for picture in pictures(advice))
        title = f"{words.name(advice)} · {words.released(advice)}"
        sentences = (rest, advice.verdict.headline, "" if rows else NOTHING)
        yield Block(title, tuple(filter(None, sentences)), rows)
        rest = ""


def comparison_block(comparison: Comparison) -> Block:
    """Return the pictures of both boots, side by side and on one scale."""
    old, new = (
        {picture.name: picture for picture in pictures(advice)}
        for advice in (comparison.before, comparison.after)
    )
    rows = tuple(_side_by_side(old.get(name), new.get(name)) for name in old | new)
    title = f"{words.name(comparison.before)} → {words.name(comparison.after)}"
    sentences = (comparison.verdict.message, "" if rows else NOTHING)
    return Block(title, tuple(filter(None, sentences)), rows)


def _side_by_side(old: Picture | None, new: Picture | None) -> Row:
    both = {"before": old, "after": new}
    named = {
        when: replace(picture, title=f"{when} · {picture.title}")
        for when, picture in both.items()
        if picture is not None
    }
    shared = dict(zip(named, on_one_scale(tuple(named.values())), strict=True))
    return tuple(shared.get(when) for when in both)
