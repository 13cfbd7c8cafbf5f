"""Geometry of published models, to recognise one by the figures that it prints."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache, lru_cache
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
def _lines() -> tuple[str, ...]:
    """Return the lines of the table, a model each."""
    # The package's own loader, zipped or not: pkgutil costs more than the measuring.
    loader: Any = globals()["__loader__"]
    path = os.path.join(os.path.dirname(__file__), "published.json")
    text: str = loader.get_data(path).decode()
    return tuple(line.rstrip(",") for line in text.splitlines() if len(line) > 1)


def _model(line: str) -> PublishedModel:
    """Read a line of the table."""
    entry = json.loads(line)
    return PublishedModel(entry["name"], entry["config"])


@cache
def all_published() -> tuple[PublishedModel, ...]:
    """Return every model of the table."""
    return tuple(map(_model, _lines()))


@lru_cache(maxsize=64)
def published_models(architecture: str) -> tuple[PublishedModel, ...]:
    """Return the published models that load as *architecture*."""
    family = family_of(architecture)
    # Most lines need not be read to tell that they are of other families.
    near = map(_model, (line for line in _lines() if f'"{family}' in line))
    return tuple(
        model
        for model in near
        if any(family_of(name) == family for name in model.config["architectures"])
    )
