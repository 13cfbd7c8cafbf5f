"""Many boots: a row each, worst first, then the details."""

from __future__ import annotations

import re
from dataclasses import replace

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


def test_a_fleet_gets_the_summary_only(advices: dict[str, Advice]) -> None:
    """Up to 20 boots have their details shown, more have not."""
    one = advices["not-hybrid"]

    assert 20 == len(headlines(render([one] * 20)))
    assert [] == headlines(render([one] * 21))
