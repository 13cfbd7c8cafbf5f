"""Prompts that begin like lines of a boot, thousands of times: cheap to pass over."""

from __future__ import annotations

from pathlib import Path

import pytest

from mamba_advisor import read_log
from mamba_advisor.matching import Matcher

ROOT = Path(__file__).resolve().parent.parent
DEMO = (ROOT / "fixtures" / "demo" / "boot.log").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "line", ["KV Cache is allocated. ", "max_total_num_tokens", "#tokens"]
)
def test_text_of_a_prompt_is_not_joined(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once a server serves, a line without prefix is tried once, joined to nothing.

    Joins would be doubtful anyway, and cost a millisecond for each line that a user
    can make the server log: the filter would hold the server up.
    """
    prompt = 200
    tries = 0
    exact = Matcher.exact

    def counted(*arguments: object, **named: object) -> object:
        nonlocal tries
        tries += 1
        return exact(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Matcher, "exact", counted)
    read_log(DEMO.split("\n"))
    without_prompt, tries = tries, 0

    read_log([*DEMO.split("\n"), *[line] * prompt])

    assert tries <= without_prompt + prompt
