"""What all tests share: goldens, a quiet environment, the material beside us."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
PLUGINS = "mamba_advisor.parsers"


@pytest.fixture
def golden() -> Callable[[Path, str], None]:
    """Return a check of text against a golden file.

    ``UPDATE_GOLDEN=1`` rewrites the file and fails the test, so that a rewrite is
    always read by somebody before it counts.
    """

    def check(path: Path, actual: str) -> None:
        if os.environ.get("UPDATE_GOLDEN") == "1":
            path.write_text(actual, encoding="utf-8")
            pytest.fail(f"{path.name} rewritten; read the diff and run again")
        assert path.read_text(encoding="utf-8") == actual

    return check


@pytest.fixture(autouse=True)
def no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide dialect plug-ins that happen to be installed where the tests run."""
    real = importlib.metadata.entry_points

    def entry_points(**params: Any) -> Any:
        found = real(**params)
        if params.get("group") == PLUGINS:
            return type(found)()
        return found

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test the same terminal: 80 columns, nobody's wish about colour."""
    for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of published logs and reference figures beside the checkout."""
    if not (SHARED / "logs").is_dir():
        pytest.skip("needs the material in ../shared, which is not part of the project")
    return SHARED
