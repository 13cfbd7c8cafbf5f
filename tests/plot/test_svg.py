"""SVG files: well-formed, complete, and drawn where the numbers say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from mamba_advisor.advice.comparison import compare
from mamba_advisor.advice.model import Advice, Curves, MemoryBar, MemoryPart
from mamba_advisor.report.plot import FORMS, render_comparison_plot, render_plot
from mamba_advisor.report.plot.gallery import blocks
from mamba_advisor.report.plot.svg import sheet

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ("balance", "break-even", "memory", "run-usage", "run-requests")


def drawn(advices: Sequence[Advice]) -> ET.Element:
    """Return the root of the file."""
    return ET.fromstring(render_plot(advices, "svg"))


def picture(root: ET.Element, name: str) -> ET.Element:
    """Return the group of one picture."""
    found = root.find(f".//{SVG}g[@data-picture='{name}']")
    assert found is not None
    return found


def texts(group: ET.Element) -> dict[str, tuple[float, float]]:
    """Return every text of *group* with its place."""
    return {
        element.text or "": (float(element.get("x", 0)), float(element.get("y", 0)))
        for element in group.iter(f"{SVG}text")
    }


def rows(group: ET.Element) -> dict[str, float]:
    """Return where the level lines of the y axis run, by their labels."""
    return {
        element.text or "": float(element.get("y", 0)) - 4
        for element in group.iter(f"{SVG}text")
        if element.get("text-anchor") == "end"
    }


def curves(group: ET.Element) -> dict[str, list[tuple[float, float]]]:
    """Return the points of every curve of *group*."""
    return {
        element.get("data-series", ""): [
            (float(x), float(y))
            for x, y in re.findall(r"[ML](\S+?) ([^ML]+)", element.get("d", ""))
        ]
        for element in group.iter(f"{SVG}path")
        if element.get("data-series")
    }


def test_forms() -> None:
    """Three forms, as the command line names them."""
    assert ("svg", "png", "html") == FORMS


def test_every_picture_is_there(ran: Advice) -> None:
    """All pictures, in order, with title and description for who cannot see them."""
    root = drawn([ran])

    groups = [element.get("data-picture") for element in root.iter(f"{SVG}g")]
    assert list(NAMES) == [name for name in groups if name]
    description = root.findtext(f"{SVG}desc") or ""
    assert (root.findtext(f"{SVG}title") or "").endswith("SGLang 0.5.18")
    assert "img" == root.get("role")
    assert "title" == root.get("aria-labelledby")
    assert "now 0.9 carries 8; best 0.588 carries 10" in description
    assert "weights 50.05 GiB" in description


def test_curves_have_a_point_for_each_number(state_bound: Advice) -> None:
    """Either pool, both, the limit: 49 points; today and best: 25."""
    root = drawn([state_bound])

    over_ratio = curves(picture(root, "balance"))
    over_context = curves(picture(root, "break-even"))
    assert ["state pool", "KV pool", "both", "request limit"] == list(over_ratio)
    assert [49] * 4 == [len(points) for points in over_ratio.values()]
    assert ["today's split", "best split"] == list(over_context)
    assert [25] * 2 == [len(points) for points in over_context.values()]


def test_curves_lie_where_the_axes_say(state_bound: Advice) -> None:
    """0.9 lies 0.848 of the way from the tick 0.5 to the tick 1: ln 1.8 ÷ ln 2.

    Its dot, 8 requests, lies 0.6 of the way from the tick 5 up to the tick 10.
    """
    group = picture(drawn([state_bound]), "balance")

    at = texts(group)
    (left, _), (right, _) = at["0.5"], at["1"]
    now, best = group.findall(f".//{SVG}g[@class='marks']/{SVG}circle")
    assert "dot-best" == now.get("class")
    assert left + 0.848 * (right - left) == pytest.approx(
        float(best.get("cx", 0)), abs=0.1
    )
    low, high = rows(group)["5"], rows(group)["10"]
    assert low + 0.6 * (high - low) == pytest.approx(float(best.get("cy", 0)), abs=0.1)


def test_curve_follows_the_points(state_bound: Advice) -> None:
    """The middle ratio, 0.7275, carries 9: 4 ÷ 5 of the way from tick 5 to tick 10."""
    group = picture(drawn([state_bound]), "balance")

    low, high = rows(group)["5"], rows(group)["10"]
    _, y = curves(group)["both"][24]
    assert low + 0.8 * (high - low) == pytest.approx(y, abs=0.1)


def test_legend_and_labels(ran: Advice) -> None:
    """Legends name curves and limits; marks say what they mark; axes have titles."""
    root = drawn([ran])

    assert {
        "state pool", "KV pool", "both", "request limit (32, above the picture)",
        "within 1 % of the best", "now 0.9", "best 0.588", "requests",
        "ratio, state pool : KV pool",
    } <= set(texts(picture(root, "balance")))  # fmt: skip
    assert {
        "today's split", "best split", "lost", "workload 16,384",
        "today's split is right for 8,108", "average context, tokens", "128k",
    } <= set(texts(picture(root, "break-even")))  # fmt: skip
    assert {"weights", "state", "KV", "graphs", "idle", "only rank"} <= set(
        texts(picture(root, "memory"))
    )
    assert {"full", "100 %", "time since 2026-09-14 12:00:00"} <= set(
        texts(picture(root, "run-usage"))
    )
    assert {"running", "queued", "limit in force 17"} <= set(
        texts(picture(root, "run-requests"))
    )


def test_bars_are_as_long_as_their_bytes(state_bound: Advice) -> None:
    """30 of 40 GiB take three quarters of the bar, 10 the rest."""
    gib = 1 << 30
    parts = (MemoryPart("weights", 30 * gib), MemoryPart("KV", 10 * gib))
    curve = Curves(memory=(MemoryBar("TP0", parts),))
    group = picture(drawn([replace(state_bound, curves=curve)]), "memory")

    weights, kv = (
        float(element.get("width", 0))
        for element in group.iter(f"{SVG}rect")
        if element.get("class") in {"part-weights", "part-kv"}
        and element.get("height") == "30"
    )
    assert 3 == pytest.approx(weights / kv, rel=0.01)
    assert "40.00 GiB in all" in texts(group)


def test_gap_is_not_bridged(ran: Advice) -> None:
    """A slice without usage lifts the pen: two moves, no line between."""
    group = picture(drawn([ran]), "run-usage")

    path = group.find(f".//{SVG}path[@data-series='state pool']")
    assert path is not None
    assert "MM" == re.sub(r"[^ML]", "", path.get("d", ""))


def test_pointing_shows_the_numbers(state_bound: Advice) -> None:
    """A stripe for every ratio, with its row in words."""
    group = picture(drawn([state_bound]), "balance")

    hints = [title.text for title in group.iter(f"{SVG}title")]
    assert 49 == len(hints)
    assert "ratio 0.049, state pool 1, KV pool 15, both 1, request limit 32" == hints[0]


def test_curves_differ_without_colour(ran: Advice) -> None:
    """No two curves of a picture share both their dashes and their width."""
    root = drawn([ran])

    for name in ("break-even", "run-usage", "run-requests"):
        paths = picture(root, name).findall(f".//{SVG}path[@data-series]")
        looks = [(p.get("stroke-dasharray"), p.get("stroke-width")) for p in paths]
        assert len(set(looks)) == len(looks) == 2
    paths = picture(root, "balance").findall(f".//{SVG}path[@data-series]")
    assert 4 == len({(p.get("stroke-dasharray"), p.get("stroke-width")) for p in paths})


def test_ids_are_unique(ran: Advice, state_bound: Advice) -> None:
    """Several boots in one file do not share clip paths."""
    root = drawn([ran, state_bound])

    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(set(ids)) == len(ids)
    used = re.findall(r"url\(#(.+?)\)", ET.tostring(root, encoding="unicode"))
    assert set(used) <= set(ids)


def test_dark_theme(state_bound: Advice) -> None:
    """The file carries the dark colours; without CSS the light ones stand."""
    text = render_plot([state_bound], "svg").decode()

    assert "@media screen and (prefers-color-scheme: dark)" in text
    assert '<rect width="100%" height="100%" class="sheet" fill="#ffffff">' in text


def test_for_pixels(state_bound: Advice) -> None:
    """What is to become a PNG has neither CSS nor places to point at."""
    text, _ = sheet(tuple(blocks([state_bound])), live=False)

    assert "<style>" not in text
    assert 'class="spot"' not in text
    assert ET.fromstring(text) is not None


def test_hostile_text(attacked: Advice) -> None:
    """Markup and control characters from a log stay text, and the file well-formed."""
    text = render_plot([attacked], "svg").decode()

    root = ET.fromstring(text)
    assert "<script" not in text
    assert not {"\x1b", "\u202e"} & set(text)
    assert any(r"<script>alert(1)</script>\x1b[31m\u202e" in t for t in texts(root))


def test_comparison_stands_side_by_side(state_bound: Advice, ran: Advice) -> None:
    """Before left, after right, at the same height."""
    comparison = compare(state_bound, ran)
    root = ET.fromstring(render_comparison_plot(comparison, "svg"))

    places = [
        element.get("transform", "")
        for element in root.iter(f"{SVG}g")
        if element.get("data-picture") == "balance"
    ]
    (left, top), (right, beside) = (
        map(float, re.findall(r"[\d.]+", place)) for place in places
    )
    assert top == beside
    assert 0 == left
    assert 600 == right
    assert "before · Balance: requests carried at 16,384 tokens each" in texts(root)
