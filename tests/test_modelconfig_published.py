"""The table of published models is JSON, and read a line at a time all the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mamba_advisor.modelconfig
from mamba_advisor.modelconfig.published import (
    all_published,
    family_of,
    published_models,
)

TABLE = Path(mamba_advisor.modelconfig.__file__).with_name("published.json")
ARCHITECTURES = sorted(
    {name for model in all_published() for name in model.config["architectures"]}
)


def test_every_model_is_on_a_line() -> None:
    """What the lines hold is what a JSON reader finds in the file."""
    entries = json.loads(TABLE.read_text(encoding="utf-8"))

    assert [(one["name"], one["config"]) for one in entries] == [
        (model.name, model.config) for model in all_published()
    ]


@pytest.mark.parametrize("name", [*ARCHITECTURES, "Qwen3ForCausalLM", "", '"', "For"])
def test_models_of_a_family(name: str) -> None:
    """No model of the family is missed, and none of another is among them."""
    expected = [
        model
        for model in all_published()
        if family_of(name) in map(family_of, model.config["architectures"])
    ]

    assert expected == list(published_models(name))
