"""One JSON document, whatever the number of boots."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mamba_advisor.advice.document import opened, outline, outline_comparison, plain
from mamba_advisor.advice.model import Advice
from mamba_advisor.report.jsontext import text_of

if TYPE_CHECKING:
    from mamba_advisor.advice.comparison import Comparison


def render_json(advices: Sequence[Advice]) -> str:
    """Return an object for one boot, an array for any other number, a line each."""
    if len(advices) == 1:
        return _dump(outline(advices[0])) + "\n"
    return "[\n" + ",\n".join(map(line_of, advices)) + "\n]\n" if advices else "[]\n"


def line_of(advice: Advice) -> str:
    """Return the object of *advice* on a line, without its end."""
    return _dump(outline(advice), levels=0)


def render_comparison_json(comparison: Comparison) -> str:
    """Return the object of a comparison."""
    return _dump(outline_comparison(comparison), levels=3) + "\n"


def schema() -> dict[str, Any]:
    """Return the JSON Schema that every document keeps to."""
    from importlib.resources import files

    path = files("mamba_advisor.report") / "report.schema.json"
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def _dump(document: dict[str, Any], levels: int = 2) -> str:
    """Write strict JSON in ASCII, so that no control character is left in it."""
    try:
        text = text_of(document, opened, levels)
    except ValueError:  # a number is not finite
        text = text_of(plain(document), opened, levels)
    return text.replace("\x7f", "\\u007f")
