"""The first cases of the fuzzer; ``make fuzz`` runs it for longer."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


def load_fuzzer() -> ModuleType:
    """Return the fuzzer as a module."""
    path = ROOT / "tests" / "fuzz" / "run.py"
    spec = importlib.util.spec_from_file_location("fuzzer", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FUZZER = load_fuzzer()
SHORT = {
    **{"log": 8, "arguments": 40, "dialect": 15, "config": 20, "packed": 20},
    **{"server": 8, "metrics": 20, "follow": 20, "call": 8, "analyze": 6, "plot": 4},
    **{"json": 4, "plan": 6, "parsers": 4, "pipe": 3, "slow": 10},
}
"""Target -> cases that are run on every change."""


@pytest.mark.parametrize(
    ("target", "seed"),
    [(target, seed) for target, count in SHORT.items() for seed in range(count)],
)
def test_broken_input(target: str, seed: int) -> None:
    """No broken input gives a traceback, a hang, or figures that cannot be."""
    FUZZER.run_case(target, seed)


def test_every_target_is_in_the_short_run() -> None:
    """What the long run throws things at, the short one does, too."""
    assert SHORT.keys() == FUZZER.TARGETS.keys()
