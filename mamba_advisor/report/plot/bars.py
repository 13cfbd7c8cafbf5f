"""Stacked bars drawn."""

from __future__ import annotations

from collections.abc import Iterator

from mamba_advisor.report.plot.chart import Bars, Part, StackedBar, numbers, sentence
from mamba_advisor.report.plot.markup import Markup, element
from mamba_advisor.report.plot.parts import Canvas, Look, box, line, spot, text
from mamba_advisor.report.plot.scale import TICK_SIZE, text_width

BAR, GAP, LABEL = 30, 14, 20
"""Heights in pixels: of a bar, of what follows it, of the line above it."""


def draw_bars(bars: Bars, look: Look) -> Canvas:
    """Return *bars* as drawn."""
    canvas = Canvas(look)
    canvas.heading(bars.title)
    canvas.legend(_entries(bars))
    width, table, row = look.width - 2.0, numbers(bars), 0
    for bar in bars.bars:
        canvas.y += LABEL
        canvas.add(*_labels(bars, bar, canvas.y - 6, width))
        x = 0.0
        for part in bar.parts:
            wide = bars.x.place(part.value) * width
            hint = sentence(table.rows[row], table.columns) if look.hints else ""
            piece = box(part.style, x, canvas.y, wide, BAR)
            canvas.add(spot(row, hint, piece) if look.live else piece)
            canvas.add(*_inscription(bars, part, x, canvas.y, wide))
            x, row = x + wide, row + 1
        canvas.y += BAR + GAP
    canvas.add(element("g", *_axis(bars, canvas.y - 6, width), class_="axes"))
    canvas.y += 16
    canvas.note(bars.note)
    canvas.y += 8
    return canvas


def _entries(bars: Bars) -> Iterator[tuple[str, str]]:
    """Yield every part once, in the order of the fullest bar."""
    seen: dict[str, str] = {}
    for bar in sorted(bars.bars, key=lambda bar: -len(bar.parts)):
        for part in bar.parts:
            seen.setdefault(part.name, part.style)
    yield from seen.items()


def _labels(bars: Bars, bar: StackedBar, y: float, width: float) -> Iterator[Markup]:
    total = f"{bars.x.write(sum(part.value for part in bar.parts))} in all"
    room = width - text_width(total, 12) - 12
    label = bar.label
    if text_width(label, 12) > room:
        label = label[: max(1, int(room / text_width("x", 12)) - 1)] + "…"
    yield text("label", 0, y, label)
    yield text("note", width, y, total, "end")


def _inscription(
    bars: Bars, part: Part, x: float, y: float, wide: float
) -> Iterator[Markup]:
    """Yield the longest text that a piece has room for, if any."""
    style = part.style.replace("part-", "on-", 1)
    for label in (f"{part.name} {bars.x.write(part.value)}", bars.x.write(part.value)):
        if text_width(label, TICK_SIZE) + 8 < wide:
            words = text(style, x + wide / 2, y + BAR / 2 + 4, label, "middle")
            yield element("g", words, pointer_events="none")
            return


def _axis(bars: Bars, y: float, width: float) -> Iterator[Markup]:
    yield line("axis", 0, y, width, y)
    for value, label in bars.x.ticks(width):
        x = bars.x.place(value) * width
        half = text_width(label, TICK_SIZE) / 2
        anchor = "start" if x < half else "end" if x + half > width else "middle"
        yield line("axis", x, y, x, y + 4)
        yield text("tick", x, y + 16, label, anchor)
