"""Geometry of published models, to recognise one by the figures that it prints."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from mamba_advisor.record import Record


class PublishedModel(Record):
    """A model whose ``config.json`` is public."""

    name: str
    """Repository name, for example ``"moonshotai/Kimi-K3"``."""

    config: Mapping[str, Any]
    """The fields of its ``config.json`` that decide the bytes."""


def family_of(architecture: str) -> str:
    """Return the class name without its task, ``"Qwen3_5Moe"`` for example.

    Text-only exports and multimodal wrappers of a family differ in the task alone.
    """
    return architecture.partition("For")[0]


@cache
def all_published() -> tuple[PublishedModel, ...]:
    """Return every model of the table."""
    # The package's own loader, zipped or not: pkgutil costs more than the measuring.
    loader: Any = globals()["__loader__"]
    text = loader.get_data(os.path.join(os.path.dirname(__file__), "published.json"))
    return tuple(
        PublishedModel(entry["name"], entry["config"]) for entry in json.loads(text)
    )


def published_models(architecture: str) -> tuple[PublishedModel, ...]:
    """Return the published models that load as *architecture*."""
    family = family_of(architecture)
    return tuple(
        model
        for model in all_published()
        if any(family_of(name) == family for name in model.config["architectures"])
    )
