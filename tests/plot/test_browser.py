"""The report in a real browser: no complaints, nothing cut off, and it answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from mamba_advisor.advice.comparison import compare
from mamba_advisor.advice.model import Advice
from mamba_advisor.report.plot import render_comparison_plot, render_plot

Browser: TypeAlias = Any
"""The class of ``conftest.py``, which no test can import."""

WINDOWS = [(390, False), (390, True), (1280, False), (1280, True)]
"""Width in pixels, and whether the theme is dark: a phone, a desk."""

ROWS = """
[...document.querySelectorAll("figure[data-picture=NAME] tbody tr")].map(
  (row) => [...row.querySelectorAll("data")].map((data) => Number(data.value)))
"""

CONTRASTS = """
(() => {
  const channels = (color) => color.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const luminance = (color) => channels(color)
    .map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (color !== "rgba(0, 0, 0, 0)") return color;
    }
    return "rgb(255, 255, 255)";
  };
  const seen = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (seen.nextNode()) {
    const element = seen.currentNode.parentElement;
    if (!seen.currentNode.data.trim() || !element.checkVisibility()) continue;
    if (element.closest("svg, script")) continue;
    const pair = [getComputedStyle(element).color, ground(element)].map(luminance);
    const [dark, light] = pair.sort((a, b) => a - b);
    found.push((light + 0.05) / (dark + 0.05));
  }
  return [found.length, Math.min(...found)];
})()
"""
"""Count and least contrast of the texts that are seen, outside of pictures."""


@pytest.fixture
def report(tmp_path: Path, ran: Advice) -> Path:
    """Return the page of one boot with a run."""
    path = tmp_path / "report.html"
    path.write_bytes(render_plot([ran], "html"))
    return path


@pytest.mark.parametrize(("width", "dark"), WINDOWS)
def test_page_opens(browser: Browser, report: Path, width: int, dark: bool) -> None:
    """The console stays empty, nothing is fetched, nothing is wider than the window."""
    browser.open(report, width=width, dark=dark)

    assert [] == browser.complaints
    assert width == browser.run("document.documentElement.scrollWidth")
    assert 5 == browser.run("document.querySelectorAll('figure').length")


@pytest.mark.parametrize(("width", "dark"), WINDOWS)
def test_text_is_readable(
    browser: Browser, report: Path, width: int, dark: bool
) -> None:
    """Every visible text has a contrast of at least 4.5 : 1, in either theme."""
    browser.open(report, width=width, dark=dark)
    count, least = browser.run(CONTRASTS)

    assert count > 100
    assert least >= 4.5


@pytest.mark.parametrize(("width", "letters"), [(390, 11), (1280, 10.5)])
def test_letters_in_pictures_are_large_enough(
    browser: Browser, report: Path, width: int, letters: float
) -> None:
    """A phone gets drawings of its own, so that no label shrinks below 11 pixels."""
    browser.open(report, width=width, dark=False)
    heights = browser.run(
        "[...document.querySelectorAll('.plot text')]"
        ".filter((text) => text.checkVisibility())"
        ".map((text) => parseFloat(getComputedStyle(text).fontSize)"
        " * text.getScreenCTM().a)"
    )

    assert len(heights) > 50
    assert min(heights) >= letters


def test_dark_theme_recolours_pictures(browser: Browser, report: Path) -> None:
    """The state pool's curve is #003f7f in the light and #5b9df5 in the dark."""
    stroke = "getComputedStyle(document.querySelector('.line-state')).stroke"
    browser.open(report, width=1280, dark=False)
    light = browser.run(stroke)
    browser.open(report, width=1280, dark=True)
    dark = browser.run(stroke)

    assert ("rgb(0, 63, 127)", "rgb(91, 157, 245)") == (light, dark)


def test_copy_button(browser: Browser, report: Path, ran: Advice) -> None:
    """A click puts the flags into the clipboard, and says so."""
    browser.open(report, width=1280, dark=False)
    browser.call(
        "Browser.grantPermissions",
        permissions=["clipboardReadWrite", "clipboardSanitizedWrite"],
    )
    browser.call("Page.bringToFront")
    browser.run("document.querySelector('button.copy').click()")
    browser.wait("document.getElementById('status').textContent")
    said = browser.run("document.getElementById('status').textContent")
    copied = browser.run("navigator.clipboard.readText()")

    assert "Copied" == said
    assert ran.recommendation is not None
    assert " ".join(ran.recommendation.flags) == copied
    assert [] == browser.complaints


def test_copy_button_without_a_clipboard(browser: Browser, report: Path) -> None:
    """Where no page may write to the clipboard, the flags are left selected."""
    browser.open(report, width=1280, dark=False)
    browser.run(
        "navigator.clipboard.writeText = () => Promise.reject(new Error('no'));"
        "document.execCommand = () => false;"
        "document.querySelector('button.copy').click()"
    )
    browser.wait("document.getElementById('status').textContent")
    label, selected = browser.run(
        "[document.getElementById('status').textContent, String(getSelection())]"
    )

    assert "Press Ctrl+C" == label
    assert "--mamba-full-memory-ratio 0.588" == selected


def test_numbers_equal_the_json(browser: Browser, report: Path, ran: Advice) -> None:
    """What the browser has made of the page is what the JSON says."""
    browser.open(report, width=1280, dark=False)
    curves = json.loads(json.dumps(ran.to_dict()))["curves"]

    assert [
        [p["ratio"], p["state"], p["kv"], p["sustained"], p["limit"]]
        for p in curves["balance"]
    ] == browser.run(ROWS.replace("NAME", "balance"))
    assert [
        [p["avg_context"], p["today"], p["best"]] for p in curves["break_even"]
    ] == browser.run(ROWS.replace("NAME", "break-even"))


def test_hover_reads_the_numbers(browser: Browser, report: Path) -> None:
    """The pointer on the middle ratio shows its row: 15, 9, both 9, limit 32."""
    browser.open(report, width=1280, dark=False)
    x, y = browser.run(
        "(() => { const box = document.querySelector("
        "'.wide .spot[data-row=\"24\"] > rect').getBoundingClientRect();"
        " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
    )
    browser.move(x, y)
    read = browser.run("document.querySelector('.readout').textContent")
    shown = browser.run(
        "getComputedStyle(document.querySelector("
        "'.wide .spot[data-row=\"24\"] .shown')).opacity"
    )
    browser.move(1, 1)
    after = browser.run("document.querySelector('.readout').textContent")

    assert (
        "ratio 0.7275 · state pool 15 · KV pool 9 · both 9 · request limit 32" == read
    )
    assert "1" == shown
    assert "" == after


def test_keys_read_the_numbers(browser: Browser, report: Path) -> None:
    """Arrow keys, Home and End walk along the curve; Escape ends it."""
    browser.open(report, width=390, dark=False)
    browser.run("document.querySelector('.plot').focus()")
    read = []
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "End", "Home", "Escape"):
        browser.press(key)
        read.append(browser.run("document.querySelector('.readout').textContent"))

    assert ["0.049", "0.05483", "0.049", "10.8", "0.049"] == [
        text.split()[1] for text in read[:-1]
    ]
    assert "" == read[-1]


def test_bars_are_read_too(browser: Browser, report: Path) -> None:
    """A piece of a bar says rank, part and size."""
    browser.open(report, width=1280, dark=False)
    browser.run("document.querySelector('[data-picture=memory] .plot').focus()")
    browser.press("Home")
    read = browser.run(
        "document.querySelector('[data-picture=memory] .readout').textContent"
    )

    assert "only rank · weights · size 50.05 GiB" == read


def test_print_shows_everything(browser: Browser, report: Path) -> None:
    """On paper nothing is folded up, nothing is to be pressed, and paper is white."""
    browser.open(report, width=1280, dark=True)
    browser.call(
        "Emulation.setEmulatedMedia",
        media="print",
        features=[{"name": "prefers-color-scheme", "value": "dark"}],
    )
    browser.run("dispatchEvent(new Event('beforeprint'))")
    closed = browser.run("document.querySelectorAll('details:not([open])').length")
    buttons = browser.run(
        "[...document.querySelectorAll('button')].filter((b) => b.checkVisibility())"
        ".length"
    )
    paper = browser.run("getComputedStyle(document.body).backgroundColor")
    browser.run("dispatchEvent(new Event('afterprint'))")
    closed_after = browser.run(
        "document.querySelectorAll('details:not([open])').length"
    )

    assert (0, 0, "rgb(255, 255, 255)") == (closed, buttons, paper)
    assert closed_after > 5


def test_hostile_page_does_nothing(
    browser: Browser, tmp_path: Path, attacked: Advice
) -> None:
    """A log written by an enemy is shown as text: no script of it runs."""
    path = tmp_path / "attacked.html"
    path.write_bytes(render_plot([attacked], "html"))
    browser.open(path, width=390, dark=False)

    assert [] == browser.complaints
    assert 1 == browser.run("document.scripts.length")
    assert 390 == browser.run("document.documentElement.scrollWidth")
    assert r"<script>alert(1)</script>\x1b[31m\u202e" in browser.run(
        "document.querySelector('h1').textContent"
    )


@pytest.mark.parametrize("width", [390, 1280])
def test_several_and_comparison_open(
    browser: Browser, tmp_path: Path, ran: Advice, no_context: Advice, width: int
) -> None:
    """Reports on several boots, and comparisons, open without complaint, too."""
    pages = {
        "several.html": render_plot([ran, no_context], "html"),
        "compared.html": render_comparison_plot(compare(no_context, ran), "html"),
    }
    for name, page in pages.items():
        path = tmp_path / name
        path.write_bytes(page)
        browser.open(path, width=width, dark=False)

        assert [] == browser.complaints
        assert width == browser.run("document.documentElement.scrollWidth")


def test_svg_file_opens(browser: Browser, tmp_path: Path, ran: Advice) -> None:
    """The SVG is a document of its own, in either theme."""
    path = tmp_path / "pictures.svg"
    path.write_bytes(render_plot([ran], "svg"))
    fill = "getComputedStyle(document.querySelector('.sheet')).fill"
    fills = []
    for dark in (False, True):
        browser.open(path, width=1280, dark=dark)
        fills.append(browser.run(fill))

        assert [] == browser.complaints
    assert ["rgb(255, 255, 255)", "rgb(18, 22, 27)"] == fills
