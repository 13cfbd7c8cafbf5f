"""Markdown for a ticket: tables that hold, text that cannot become markup."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from mamba_advisor.advice.comparison import compare
from mamba_advisor.advice.model import Advice, Finding, Severity
from mamba_advisor.report import render, render_comparison
from mamba_advisor.report.markdown import escape


def tables(text: str) -> list[list[str]]:
    """Return the tables of a Markdown text, as lists of lines."""
    blocks = [block.splitlines() for block in text.split("\n\n")]
    return [block for block in blocks if block[0].startswith("|")]


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a|b", r"a\|b"),
        ("max_running_requests", "max_running_requests"),
        ("_emphasis_ __init__", r"\_emphasis\_ \_\_init\_\_"),
        ("*x* `y` [z](http://e)", r"\*x\* \`y\` \[z\](http://e)"),
        ("<b>&amp;", "&#60;b&#62;&#38;amp;"),
        ("@somebody a@ #12 #running", "&#64;somebody a@ &#35;12 #running"),
        ("53.58 MiB~", r"53.58 MiB\~"),
        ("back\\slash \x1b", r"back\\slash \\x1b"),
    ],
)
def test_markup_is_escaped(text: str, escaped: str) -> None:
    """What Markdown, HTML or a forge would act on is shown as it is."""
    assert escaped == escape(text)


def test_every_kind_becomes_tables_that_hold(advice: Advice) -> None:
    """All rows of a table have as many cells as its head."""
    text = render([advice], "markdown", explain=True)

    for table in tables(text):
        cells = {len(re.findall(r"(?<!\\)\|", line)) for line in table}
        assert 1 == len(cells)
    assert text.replace("\n", "").isprintable()
    assert text.endswith("\n")


def test_the_answer_is_there(advices: dict[str, Advice]) -> None:
    """Verdict, flag as code, pools and findings of the screen are in the ticket."""
    text = render([advices["state-bound"]], "markdown")

    assert "- **Do this** `--mamba-full-memory-ratio 2.84`" in text
    assert "| Pools | State, binds | KV |\n| --- | --- | --- |\n" in text
    assert "| in use | **26 of 26** | 26 of 84 |" in text
    assert "### Findings" in text
    assert "- **warning** The state pool sets the limit" in text


def test_a_pipe_in_a_finding_stays_in_its_cell(advices: dict[str, Advice]) -> None:
    """A log's own table row cannot open a column, nor a backtick close the code."""
    base = advices["state-bound"]
    odd = Finding("odd", Severity.WARNING, "| a | <script>` |", (1,))
    assert base.recommendation is not None
    flag = replace(base.recommendation, flags=("--x", "a`b|c"))

    text = render([replace(base, findings=(odd,), recommendation=flag)], "markdown")

    assert r"\| a \| &#60;script&#62;\` \| (line 1)" in text
    assert "`` --x 'a`b|c' ``" in text


def test_several_boots_have_headlines(advices: dict[str, Advice]) -> None:
    """The summary comes first, then a headline for each boot."""
    text = render([advices["state-bound"], advices["failed"]], "markdown")

    assert text.startswith("### 2 boots, worst first\n\n| log | verdict |")
    assert ["## crash.log", "## server.log, start 2 of 2"] == re.findall(
        "^## .*$", text, re.MULTILINE
    )
    assert "| `--mem-fraction-static 0.9` |" in text


def test_ascii_markdown(advices: dict[str, Advice]) -> None:
    """Where only ASCII can be written, arrows have stand-ins."""
    text = render([advices["state-bound"]], "markdown", unicode=False)

    assert text.isascii()
    assert "62 requested -&#62; 26 effective" in text


def test_comparison(advices: dict[str, Advice]) -> None:
    """A comparison is a verdict and two tables."""
    comparison = compare(advices["state-bound"], advices["kv-bound"])

    text = render_comparison(comparison, "markdown")

    assert "- **Verdict** no change<br>The same 10 sustained requests" in text
    assert "| sustained | 26 | **10** |" in text
