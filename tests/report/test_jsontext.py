"""The quick writer of JSON writes what the standard library does."""

from __future__ import annotations

import json

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


@pytest.mark.parametrize("document", DOCUMENTS, ids=repr)
def test_same_text(document: object) -> None:
    """Every kind of value, nested or not."""
    assert json.dumps(document, indent=2, allow_nan=False) == text_of(document)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_strict(value: float) -> None:
    """What is no number is refused, at any depth."""
    with pytest.raises(ValueError, match="Out of range"):
        text_of({"a": [value]})


def test_nothing_else() -> None:
    """A set, for example, is no JSON."""
    with pytest.raises(TypeError):
        text_of({"a": {1, 2}})
