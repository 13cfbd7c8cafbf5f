"""What functions remember for those who ask again has a bound."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import mamba_advisor


def memories() -> Iterator[tuple[str, Any]]:
    """Yield every function of the package that remembers results, with its name."""
    for module in pkgutil.walk_packages(mamba_advisor.__path__, "mamba_advisor."):
        if module.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            remembers = value
            while not hasattr(remembers, "cache_parameters"):
                remembers = getattr(remembers, "__wrapped__", None)
                if remembers is None:
                    break
            else:
                yield f"{module.name}.{name}", remembers


def test_no_memory_grows_without_end() -> None:
    """Only what takes no argument, and so has one result, may keep all its results."""
    found = dict(memories())
    endless = [
        name
        for name, memory in found.items()
        if memory.cache_parameters()["maxsize"] is None
        and inspect.signature(memory).parameters
    ]

    assert len(found) > 10
    assert [] == endless
