"""Geometry of published models, to recognise one by the figures that it prints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pkgutil import get_data
from typing import Any

from mamba_advisor.frozen import dataclass


@dataclass(frozen=True, slots=True)
class PublishedModel:
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
    # A tenth of what importlib.resources costs at start-up.
    text = get_data("mamba_advisor.modelconfig", "published.json") or b"[]"
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
