"""The HTML report: complete, harmless, and its numbers those of the JSON."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from mamba_advisor.advice.comparison import compare
from mamba_advisor.advice.model import Advice, Curves
from mamba_advisor.report.plot import render_comparison_plot, render_plot


class Page(HTMLParser):
    """What a test wants to know of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        """Element, attribute, value."""

        self.tables: dict[str, list[list[float | None]]] = {}
        """Picture -> the numbers of its table, row by row."""

        self.stats: dict[str, float] = {}
        self.ids: list[str] = []
        self.text = ""
        self._picture = self._stat = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        found = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in found.items()]
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "figure":
            self._picture = found["data-picture"]
            self.tables[self._picture] = []
        elif "data-stat" in found:
            self._stat = found["data-stat"]
        elif tag == "tr" and self._picture:
            self.tables[self._picture].append([])
        elif tag == "data" and self._stat:
            self.stats[self._stat] = float(found["value"])
            self._stat = ""
        elif tag == "data" and self._picture:
            self.tables[self._picture][-1].append(float(found["value"]))

    def handle_endtag(self, tag: str) -> None:
        """Note the end of a figure."""
        if tag == "figure":
            self._picture = ""

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.text += data


def written(advices: Sequence[Advice]) -> str:
    """Return the page as text."""
    return render_plot(advices, "html").decode()


def document(advice: Advice) -> dict[str, Any]:
    """Return the JSON object as a reader of JSON gets it."""
    read: dict[str, Any] = json.loads(json.dumps(advice.to_dict()))
    return read


def test_numbers_are_those_of_the_json(ran: Advice) -> None:
    """Every table row holds exactly the numbers of one point of the JSON's curves."""
    page, curves = Page(written([ran])), document(ran)["curves"]

    head, *balance = page.tables["balance"]
    assert [] == head
    assert [
        [p["ratio"], p["state"], p["kv"], p["sustained"], p["limit"]]
        for p in curves["balance"]
    ] == balance
    assert [
        [p["avg_context"], p["today"], p["best"]] for p in curves["break_even"]
    ] == page.tables["break-even"][1:]
    parts = [part for bar in curves["memory"] for part in bar["parts"]]
    assert [[part["bytes"]] for part in parts if part["name"] != "other"] == (
        page.tables["memory"][1:]
    )
    slices = document(ran)["runtime"]["timeline"]
    assert [[s["running"], s["queued"]] for s in slices] == [
        row[1:] for row in page.tables["run-requests"][1:]
    ]


def test_figures_are_those_of_the_json(state_bound: Advice) -> None:
    """Requested, effective, sustained, and what the advice carries."""
    page, json_document = Page(written([state_bound])), document(state_bound)

    concurrency = json_document["concurrency"]
    assert {
        "requested": concurrency["requested"],
        "effective": concurrency["effective"],
        "sustained": concurrency["sustained"],
        "with the advice": json_document["recommendation"]["predicted"]["concurrency"],
    } == page.stats
    assert 32 == page.stats["requested"]


def test_page_needs_nothing_else(ran: Advice) -> None:
    """No address outside the page, no style or handler that the policy forbids."""
    text = written([ran])
    page = Page(text)

    outside = [
        value
        for _, name, value in page.attributes
        if name in {"src", "href", "action", "srcset"} and value != "data:,"
    ]
    assert [] == outside
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text
    assert not {name for _, name, _ in page.attributes if name.startswith("on")}
    assert not {name for _, name, _ in page.attributes if name == "style"}
    assert "url(" not in re.sub(r"url\(#[\w-]+\)", "", text)


def test_policy_allows_this_script_alone(state_bound: Advice) -> None:
    """The policy names the digests of the one script and the one style sheet."""
    text = written([state_bound])

    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
    for kind in ("script", "style"):
        (body,) = re.findall(f"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{kind}-src &#39;sha256-{digest}&#39;" in policy
    assert policy.startswith("default-src &#39;none&#39;")
    assert "unsafe" not in policy


def test_hostile_text(attacked: Advice) -> None:
    """Nothing from a log becomes markup; control characters are shown as escapes."""
    text = written([attacked])
    page = Page(text)

    assert 1 == page.tags.count("script")
    assert not {"\x1b", "\u202e"} & set(text)
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 5
    assert r"says <script>alert(1)</script>\x1b[31m\u202e" in page.text


def test_findings_show_their_lines(state_bound: Advice) -> None:
    """A finding stands with its severity, its code, and the log's own words."""
    page = Page(written([state_bound]))

    for finding in state_bound.findings:
        assert finding.message in page.text
        assert finding.code in page.text
        for line in finding.lines:
            assert state_bound.boot.excerpts[line] in page.text


def test_line_that_was_not_kept(state_bound: Advice) -> None:
    """A line without an excerpt is named by its number."""
    bare = replace(state_bound, boot=replace(state_bound.boot, excerpts={}))
    page = Page(written([bare]))

    assert "lines 8, 19" in page.text
    assert "lines" not in [v for _, name, v in page.attributes if name == "class"]


def test_flags_can_be_copied(state_bound: Advice) -> None:
    """The advised flags stand in one element, with a button beside it."""
    text = written([state_bound])

    assert (
        '<span class="flag"><code>--mamba-full-memory-ratio 0.588</code>'
        '<button type="button" class="copy" hidden="">Copy</button></span>' in text
    )


def test_text_alternatives(ran: Advice) -> None:
    """Each drawing has a title and a description, and a table beside it."""
    page = Page(written([ran]))

    figures = page.tags.count("figure")
    assert 5 == figures
    assert figures == len(page.tables)
    labels = [
        value for tag, name, value in page.attributes if name == "aria-labelledby"
    ]
    described = [v for _, name, v in page.attributes if name == "aria-describedby"]
    assert 2 * figures == len(labels) == len(described)
    assert {*labels, *described} <= set(page.ids)
    assert ("html", "lang", "en") in page.attributes


@pytest.mark.parametrize("count", [1, 3])
def test_ids_are_unique(ran: Advice, count: int) -> None:
    """No id stands twice, whatever the number of boots."""
    page = Page(written([ran] * count))

    assert len(set(page.ids)) == len(page.ids)


def test_several_boots(state_bound: Advice, no_context: Advice) -> None:
    """A summary comes first, worst first, then each boot."""
    page = Page(written([no_context, state_bound]))

    assert 2 == page.tags.count("article")
    assert "2 boots, worst first" in page.text
    first = page.text.index(state_bound.verdict.headline)
    assert first < page.text.index(no_context.verdict.headline)


def test_too_many_boots(no_context: Advice) -> None:
    """Of 25 boots, 20 are shown, and the page says so."""
    slim = replace(no_context, curves=Curves(), findings=(), sweep=())
    page = Page(written([slim] * 25))

    assert 20 == page.tags.count("article")
    assert "Of 25 boots, the 20 most in need are drawn." in page.text


def test_nothing_to_draw(state_bound: Advice) -> None:
    """Without the data of pictures the page has the rest."""
    page = Page(written([replace(state_bound, curves=Curves())]))

    assert "figure" not in page.tags
    assert state_bound.verdict.headline in page.text


def test_comparison(state_bound: Advice, ran: Advice) -> None:
    """Both boots' pictures, the verdict, and the figures side by side."""
    comparison = compare(state_bound, ran)
    page = Page(render_comparison_plot(comparison, "html").decode())

    assert 8 == page.tags.count("figure")
    assert comparison.verdict.message in page.text
    assert "state slots" in page.text
    assert "before · Balance" in page.text
