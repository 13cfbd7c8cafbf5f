"""Picture 3: what fills the memory of each rank."""

from __future__ import annotations

from mamba_advisor.advice.model import Advice, MemoryPart
from mamba_advisor.measured import UNITS, format_bytes
from mamba_advisor.report.plot.chart import Bars, Part, StackedBar
from mamba_advisor.report.plot.scale import Axis

STYLES = {
    "weights": "part-weights",
    "state": "part-state",
    "draft states": "part-draft-state",
    "KV": "part-kv",
    "draft KV": "part-draft-kv",
    "graphs": "part-graphs",
    "idle": "part-idle",
    "other": "part-other",
}
"""Part -> its style, in the order in which a boot allocates."""

MOST_BARS = 16
"""Bars up to which all are drawn: ranks that differ in a few bytes fill a page."""

ROUNDING = UNITS["GiB"] // 20
"""Bytes up to which what is left over is due to the log's two decimals."""

NAMED_RANKS = 2
"""Ranks of a group that are named one by one."""


def memory(advice: Advice) -> Bars | None:
    """Return the picture, None without a rank of which a size is known."""
    groups: dict[tuple[MemoryPart, ...], list[str]] = {}
    for bar in advice.curves.memory:
        parts = tuple(p for p in bar.parts if not (p.inferred and p.bytes < ROUNDING))
        if parts:
            groups.setdefault(parts, []).append(bar.rank)
    if not groups:
        return None
    bars = tuple(_bar(names, parts) for parts, names in groups.items())
    longest = max(sum(part.value for part in bar.parts) for bar in bars)
    note = ""
    if len(bars) > MOST_BARS:
        note = f"{len(bars) - MOST_BARS:,} more kinds of ranks are not drawn."
    if any(part.inferred for parts in groups for part in parts):
        note = f"{note} Other: what the log does not account for.".strip()
    return Bars(
        "memory",
        "Memory of each rank",
        _description(bars[:MOST_BARS]),
        Axis("size", "", 0, longest, "bytes", lambda value: format_bytes(round(value))),
        bars[:MOST_BARS],
        note,
    )


def _bar(names: list[str], parts: tuple[MemoryPart, ...]) -> StackedBar:
    named = [name or "only rank" for name in names]
    label = ", ".join(named)
    if len(named) > NAMED_RANKS:
        label = f"{named[0]} … {named[-1]} ({len(named)} ranks)"
    return StackedBar(
        label,
        tuple(
            Part(
                part.name + (" (inferred)" if part.inferred else ""),
                part.bytes,
                STYLES[part.name],
            )
            for part in parts
        ),
    )


def _description(bars: tuple[StackedBar, ...]) -> str:
    return " ".join(
        f"{bar.label}: "
        + ", ".join(
            f"{part.name} {format_bytes(int(part.value))}" for part in bar.parts
        )
        + "."
        for bar in bars
    )
