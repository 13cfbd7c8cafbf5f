"""Many boots: a row each, worst first, then the details."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from mamba_advisor.advice.model import Advice
from mamba_advisor.report import render


def headlines(text: str) -> list[str]:
    """Return the headlines of the pages below the summary."""
    return re.findall(r"^── (.+?) ─+$", text, re.MULTILINE)


def test_worst_comes_first(advices: dict[str, Advice]) -> None:
    """A failed boot, then the larger gain, then what cannot be helped, then good."""
    names = ("plan", "unified", "kv-bound", "state-bound", "failed")
    chosen = [
        replace(
            advices[name],
            boot=replace(
                advices[name].boot,
                source=replace(advices[name].boot.source, name=name, boots=1),
            ),
        )
        for name in names
    ]

    text = render(chosen, width=100)

    expected = ["failed", "state-bound", "kv-bound", "unified", "plan"]
    assert expected == [line.split()[0] for line in text.splitlines()[2:7]]
    assert expected == headlines(text)
    assert "5 boots, worst first" == text.splitlines()[0]


def test_a_row_holds_figures_and_flag(advices: dict[str, Advice]) -> None:
    """Asked for → in force → sustained, the gain and the flag stand in the row."""
    text = render([advices["state-bound"], advices["failed"]], width=100)

    rows = [" ".join(line.split()) for line in text.splitlines()[2:4]]
    assert rows[0] == "crash.log boot failed 62 → ? → ? --mem-fraction-static 0.9"
    assert rows[1].endswith(
        "can be better 62 → 26 → 26 +15 --mamba-full-memory-ratio 2.84"
    )


def named(advice: Advice, name: str) -> Advice:
    """Return *advice* on the only start of a log of this *name*."""
    source = replace(advice.boot.source, name=name, boots=1)
    return replace(advice, boot=replace(advice.boot, source=source))


def test_what_all_paths_begin_with_is_said_once(advices: dict[str, Advice]) -> None:
    """The folder stands above, and names get its room."""
    names = ("/srv/logs/a/one.log", "/srv/logs/two.log", "/srv/logs-old/three.log")
    near, far = ([named(advices["plan"], name) for name in names[:n]] for n in (2, 3))

    text, other = render(near, width=100), render(far, width=100)

    assert text.startswith("2 boots, worst first, in /srv/logs\n")
    assert ["a/one.log", "two.log"] == [
        line.split()[0] for line in text.splitlines()[2:4]
    ]
    assert other.startswith("3 boots, worst first, in /srv\n")
    assert render([near[0], named(near[1], "two.log")]).startswith(
        "2 boots, worst first\n"
    )


def test_names_are_broken_where_they_may_be(advices: dict[str, Advice]) -> None:
    """A line ends after a hyphen or a slash, and flags stay whole."""
    advice = named(
        advices["state-bound"], "boots/qwen3-next-80b/h100-tp4-2026-09-09.log"
    )

    text = render([advice, named(advice, "x")], width=80)

    rows = [line.split("  ")[0] for line in text.splitlines()[2:]]
    assert ["boots/qwen3-next-", "80b/h100-tp4-2026-", "09-09.log", "x"] == rows[:4]
    assert "--mamba-full-memory-ratio\n" in text


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("no-context", "give -L"),
        ("not-hybrid", "not a hybrid"),
        ("bare", "cannot tell"),
        ("unified", "no split helps"),
    ],
)
def test_a_verdict_is_a_word_that_says_what_to_do(
    kind: str, word: str, advices: dict[str, Advice]
) -> None:
    """Without a recommendation the reason differs."""
    assert f"  {word}" in render([advices[kind]] * 21, width=100).splitlines()[2]


def test_a_fleet_gets_the_summary_only(advices: dict[str, Advice]) -> None:
    """Up to 20 boots have their details shown, more have not."""
    one = advices["not-hybrid"]

    assert 20 == len(headlines(render([one] * 20)))
    assert [] == headlines(render([one] * 21))
