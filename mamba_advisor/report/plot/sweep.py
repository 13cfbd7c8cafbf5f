"""A further picture where there is a sweep: which ratio is best for which context."""

from __future__ import annotations

from mamba_advisor.advice.model import Advice
from mamba_advisor.report import words
from mamba_advisor.report.plot.chart import Chart, Level, Series
from mamba_advisor.report.plot.scale import Axis

RATIO = "best ratio"


def sweep(advice: Advice) -> Chart | None:
    """Return the picture, None without two contexts of which a ratio is known.

    Of a grid over contexts and concurrencies, the rows that carry as much as possible
    are drawn.
    """
    rows = sorted(
        (
            row
            for row in advice.sweep
            if row.concurrency is None and row.avg_context > 0
        ),
        key=lambda row: row.avg_context,
    )
    ratios = [row.mamba_full_memory_ratio for row in rows]
    known = [ratio for ratio in ratios if ratio is not None and ratio > 0]
    now = advice.curves.ratio_now
    if len(known) < 2:  # noqa: PLR2004 -- a line
        return None
    levels: tuple[Level, ...] = ()
    if now is not None and now > 0:
        name = "planned" if advice.is_plan else "now"
        levels = (Level(now, f"{name} {words.decimal(now)}", "now"),)
        known.append(now)
    return Chart(
        "sweep",
        "Best ratio by average context",
        _description(
            [(row.avg_context, ratio) for row, ratio in zip(rows, ratios, strict=True)]
        ),
        Axis(
            "tokens each",
            "average context, tokens",
            rows[0].avg_context,
            rows[-1].avg_context,
            "binary",
        ),
        Axis("ratio", "ratio", min(known) / 1.5, max(known) * 1.5, "log"),
        tuple(row.avg_context for row in rows),
        (
            Series(RATIO, "line-best", tuple(ratios), words.decimal),
            Series(
                "best pin",
                "line-best",
                tuple(row.max_mamba_cache_size for row in rows),
                drawn=False,
            ),
            Series(
                "requests",
                "line-best",
                tuple(row.predicted.concurrency for row in rows),
                drawn=False,
            ),
            Series("today", "line-best", tuple(row.today for row in rows), drawn=False),
        ),
        levels=levels,
    )


def _description(found: list[tuple[int, float | None]]) -> str:
    parts = [
        f"{words.decimal(ratio)} at {context:,} tokens"
        for context, ratio in found
        if ratio is not None
    ]
    return f"The best ratio is {', '.join(parts)}."
