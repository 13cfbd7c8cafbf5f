"""The quick finder finds what Python finds, and never code that is out of date."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "mamba_advisor"

SHOW = """
import sys
from importlib.machinery import SourceFileLoader
from mamba_advisor.importing import Finder
slow, get_code = [], SourceFileLoader.get_code
SourceFileLoader.get_code = lambda self, name: slow.append(name) or get_code(self, name)
sys.meta_path.insert(0, Finder)
import mamba_advisor.boot.tags as module
kind = type(module.__spec__.loader).__module__
quick = kind == "mamba_advisor.importing" and "mamba_advisor.boot.tags" not in slow
print(quick, getattr(module, "ADDED", None))
spec = module.__spec__
print(spec.origin == module.__file__, spec.cached == module.__cached__)
print(module.__package__, spec.parent, spec.has_location)
print(module.expand.__code__.co_filename == module.__file__)
"""

SAME = "True True\nmamba_advisor.boot mamba_advisor.boot True\nTrue\n"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a copy of this package."""
    shutil.copytree(
        PACKAGE, tmp_path / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__")
    )
    return tmp_path / PACKAGE.name


def show(folder: Path, *options: str) -> str:
    """Import a module of the package in *folder*; return what `SHOW` prints."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    command = [sys.executable, *options, "-c", SHOW]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=folder, env=environment
    ).stdout


def test_compiled_modules_are_found(package: Path) -> None:
    """The first call leaves it to Python, which compiles; the next ones find it."""
    assert f"False None\n{SAME}" == show(package.parent)
    assert f"True None\n{SAME}" == show(package.parent)


def write(source: Path, text: str, time_s: int) -> None:
    """Write *source*, and date it."""
    source.write_text(text)
    os.utime(source, (time_s, time_s))


def test_a_changed_source_counts(package: Path) -> None:
    """Whether its size or its time tells of the change."""
    source = package / "boot" / "tags.py"
    text, time_s = source.read_text(), 1_700_000_000
    write(source, text, time_s)
    show(package.parent)
    for number, added, later_s in ((1, "ADDED = 1", 0), (2, "ADDED = 2", 5)):
        write(source, f"{text}\n{added}\n", time_s + later_s)
        assert f"False {number}\n{SAME}" == show(package.parent)
        assert f"True {number}\n{SAME}" == show(package.parent)


@pytest.mark.parametrize("kept", [0, 7, 15, 16])
def test_damaged_code_is_compiled_anew(package: Path, kept: int) -> None:
    """A compiled file that is cut short within its header, or of another Python."""
    show(package.parent)
    [compiled] = (package / "boot" / "__pycache__").glob("tags.*.pyc")
    whole = compiled.read_bytes()
    damaged = whole[:kept] if kept < 16 else b"\0\0" + whole[2:]
    compiled.write_bytes(damaged)
    assert f"False None\n{SAME}" == show(package.parent)
    assert whole == compiled.read_bytes()


def test_moved_code_knows_where_it_is(package: Path) -> None:
    """Compiled elsewhere, it would name files in tracebacks that are gone."""
    show(package.parent)
    moved = package.parent / "moved" / package.name
    shutil.copytree(package, moved)
    assert f"False None\n{SAME}" == show(moved.parent)


def test_without_compiled_code(package: Path) -> None:
    """Python finds the modules where nothing may be written."""
    assert f"False None\n{SAME}" == show(package.parent, "-B")
