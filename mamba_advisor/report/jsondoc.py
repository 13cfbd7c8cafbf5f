"""One JSON document, whatever the number of boots."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mamba_advisor.advice.document import comparison_to_dict, to_dict
from mamba_advisor.advice.model import Advice
from mamba_advisor.report.jsontext import text_of

if TYPE_CHECKING:
    from mamba_advisor.advice.comparison import Comparison


def render_json(advices: Sequence[Advice]) -> str:
    """Return an object for one boot, an array for any other number."""
    documents = [to_dict(advice) for advice in advices]
    return _dump(documents[0] if len(documents) == 1 else documents)


def render_comparison_json(comparison: Comparison) -> str:
    """Return the object of a comparison."""
    return _dump(comparison_to_dict(comparison))


def schema() -> dict[str, Any]:
    """Return the JSON Schema that every document keeps to."""
    from importlib.resources import files

    path = files("mamba_advisor.report") / "report.schema.json"
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def _dump(document: object) -> str:
    """Write strict JSON in ASCII, so that no control character is left in it."""
    return text_of(document).replace("\x7f", "\\u007f") + "\n"
