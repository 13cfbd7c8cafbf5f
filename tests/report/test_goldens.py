"""The layout as it is: read line by line when it changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mamba_advisor.advice.comparison import compare
from mamba_advisor.advice.model import Advice
from mamba_advisor.report import Form, render, render_comparison

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "report"


@pytest.mark.parametrize("kind", ["state-bound", "kv-bound", "no-context", "failed"])
def test_screen(
    kind: str, advices: dict[str, Advice], golden: Callable[[Path, str], None]
) -> None:
    """80 columns, no colour."""
    golden(FOLDER / f"{kind}.txt", render([advices[kind]]))


def test_wide_screen_explained(
    advices: dict[str, Advice], golden: Callable[[Path, str], None]
) -> None:
    """120 columns: the drawing, and every formula."""
    text = render([advices["state-bound"]], width=120, explain=True)

    golden(FOLDER / "state-bound-120-explain.txt", text)


def test_ascii_screen(
    advices: dict[str, Advice], golden: Callable[[Path, str], None]
) -> None:
    """A terminal that knows ASCII only."""
    golden(FOLDER / "plan-ascii.txt", render([advices["plan"]], unicode=False))


def test_several(
    advices: dict[str, Advice], golden: Callable[[Path, str], None]
) -> None:
    """The summary of many boots."""
    chosen = list(advices.values()) * 3

    golden(FOLDER / "several.txt", render(chosen))


@pytest.mark.parametrize(("form", "suffix"), [("table", "txt"), ("markdown", "md")])
def test_comparison(
    form: Form,
    suffix: str,
    advices: dict[str, Advice],
    golden: Callable[[Path, str], None],
) -> None:
    """A failed boot, and the one that followed."""
    comparison = compare(advices["failed"], advices["state-bound"])

    golden(FOLDER / f"comparison.{suffix}", render_comparison(comparison, form))


def test_markdown(
    advices: dict[str, Advice], golden: Callable[[Path, str], None]
) -> None:
    """A ticket."""
    golden(FOLDER / "kv-bound.md", render([advices["kv-bound"]], "markdown"))
