"""Collectors' records that are deeper, or say more, than any collector's."""

from __future__ import annotations

import json

import pytest

from mamba_advisor.prefix import peel


@pytest.mark.parametrize("depth", [1, 20_000])
@pytest.mark.parametrize("opening", ["[", '{"a": '])
def test_record_of_any_depth_is_a_line(depth: int, opening: str) -> None:
    """A record that is too deep is text like any other; a flat one is taken off."""
    ending = {"[": "]", '{"a": ': "}"}[opening]
    inside = opening * depth + "0" + ending * depth
    text = f'{{"log": "a message", "extra": {inside}}}'
    (spoken,) = peel(text)

    assert ("a message" if depth == 1 else text) == spoken.message


def test_names_and_times_of_a_record_are_short() -> None:
    """Who spoke, and when, is remembered for every worker: only so much of it."""
    record = {"log": "a message", "pod": "p" * 10_000, "time": "1" * 10_000}
    (spoken,) = peel(json.dumps(record))

    assert ("p" * 120, "1" * 40) == (spoken.speaker, spoken.stamp)
