"""JSON in lines: what stands on them, and that it is the standard library's JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mamba_advisor.report.jsontext import text_of

DOCUMENTS: tuple[object, ...] = (
    None,
    True,
    0,
    -17,
    1 << 80,
    0.1,
    -1e-9,
    1e300,
    "",
    'quote " back\\slash',
    "line\nfeed, tab\t, nul\0, delete\x7f",
    "größer → 𝄞 \ud800",
    [],
    {},
    [[], {}, [{}], [1, [2, [3]]]],
    {"a": {}, "b": [], "": {"c": [None, False, 1.5, "x"]}, "ü": {"d": {"e": 1}}},
)


def _unknown(value: object) -> Any:
    raise TypeError(type(value).__name__)


@pytest.mark.parametrize("levels", [0, 1, 2, 9])
@pytest.mark.parametrize("document", DOCUMENTS, ids=repr)
def test_same_values(document: object, levels: int) -> None:
    """Every kind of value, nested or not, in ASCII."""
    text = text_of(document, _unknown, levels)
    assert text.isascii()
    assert json.loads(text) == document
    if levels == 0:
        assert text == json.dumps(document, allow_nan=False)


def test_lines() -> None:
    """What holds another object has a line a value, down to the level asked for."""
    document = {"a": 1, "rows": [{"x": 1, "y": [2]}, {}], "flat": [1, 2]}
    assert text_of(document, _unknown, 2).splitlines() == [
        "{",
        '  "a": 1,',
        '  "rows": [',
        '    {"x": 1, "y": [2]},',
        "    {}",
        "  ],",
        '  "flat": [1, 2]',
        "}",
    ]
    assert '\n      "x": 1,\n' in text_of(document, _unknown, 3)


def test_unknown_values_are_opened() -> None:
    """At every depth; None stands for a value that has no number."""
    opened = {complex: {"re": 1, "in": [2j]}}.get

    def open_once(value: object) -> Any:
        return opened(type(value)) if value == 1j else None

    for levels in (0, 1, 2, 3):
        text = text_of({"a": 1j, "b": [1j]}, open_once, levels)
        plain = {"re": 1, "in": [None]}
        assert json.loads(text) == {"a": plain, "b": [plain]}


@pytest.mark.parametrize("levels", [0, 2])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_strict(value: float, levels: int) -> None:
    """What is no number is refused, at any depth."""
    for document in ({"a": [value]}, {"a": [{"b": [{"c": value}]}]}, value):
        with pytest.raises(ValueError, match="Out of range"):
            text_of(document, _unknown, levels)


def test_nothing_else() -> None:
    """A set, for example, is no JSON."""
    with pytest.raises(TypeError):
        text_of({"a": {1, 2}}, _unknown)
