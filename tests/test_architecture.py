"""Rules that hold for the whole package, whatever the modules do."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import mamba_advisor

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "mamba_advisor"
MAX_LINES = 400

OWNERS = {
    "click": ("cli/",),
    "regex": ("dialect.py",),
    "rich": ("cli/", "report/"),
    "fsspec": ("remote.py",),
    "distributed": ("fleet.py",),
    "vl_convert": ("report/plot/png.py",),
}
"""Third-party library -> the only places that may import it."""

STAGES = (
    ("errors", "frozen", "lazy", "measured", "facts"),
    ("logfile", "runtime.model"),
    ("dialect", "catalog", "reader"),
    ("boot",),
    ("sizing", "modelconfig", "plan"),
    ("advice",),
    ("report",),
    ("cli",),
)
"""The path of the data: a stage imports itself and earlier ones, never a later one."""

SOURCES = sorted(PACKAGE.rglob("*.py"))


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Return the dotted name of every import in *path*, at any depth of the code."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def stage(module: str) -> int:
    """Return the stage of a dotted name inside the package, −1 for none."""
    for number, names in enumerate(STAGES):
        for name in names:
            if module == name or module.startswith(name + "."):
                return number
    return -1


def loaded_by(code: str) -> set[str]:
    """Return the modules that a fresh interpreter has loaded after *code*."""
    report = "import sys; sys.stderr.write('LOADED ' + ' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(done.stderr.rpartition("LOADED ")[2].split())


@pytest.mark.parametrize("library", OWNERS)
def test_only_owners_import(library: str) -> None:
    """Nobody but the owners imports the library."""
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in SOURCES
        if library in {name.split(".")[0] for name in imports(path)}
    }

    assert all(user.startswith(OWNERS[library]) for user in users)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_data_flows_one_way(path: Path) -> None:
    """A stage never imports a later one: parsing cannot decide, deciding not print."""
    own = stage(".".join(path.relative_to(PACKAGE).with_suffix("").parts))
    used = {name.removeprefix("mamba_advisor.") for name in imports(path)}

    later = {name for name in used if stage(name) > own >= 0}

    assert set() == later


def test_no_file_outgrows_a_screenful_of_screens() -> None:
    """A file over 400 lines wants to be two."""
    kept = [ROOT / "mamba_advisor", ROOT / "parsers", ROOT / "tests"]
    files = [p for top in kept for kind in ("*.py", "*.toml") for p in top.rglob(kind)]

    lengths = {p: len(p.read_text(encoding="utf-8").splitlines()) for p in files}

    assert {} == {p.name: n for p, n in lengths.items() if n > MAX_LINES}


def test_import_is_light() -> None:
    """``import mamba_advisor`` loads neither click, rich nor regex."""
    loaded = loaded_by("import mamba_advisor")

    assert set() == {"click", "rich", "regex", "importlib.metadata"} & loaded


def test_public_names_are_real() -> None:
    """Every name in ``__all__`` can be had, though none is imported before."""
    missing = [
        name for name in mamba_advisor.__all__ if not hasattr(mamba_advisor, name)
    ]

    assert [] == missing
    assert set(mamba_advisor.__all__) <= set(dir(mamba_advisor))


def test_unknown_name_is_refused() -> None:
    """A name that the package lacks is an `AttributeError`, as for any module."""
    assert not hasattr(mamba_advisor, "advice_of_the_day")


def loaded_by_call(*arguments: str) -> set[str]:
    """Return the modules that a call of the program loads."""
    return loaded_by(
        "import contextlib, os, sys\n"
        "from mamba_advisor.cli import main\n"
        "sys.stdout = open(os.devnull, 'w')\n"
        f"with contextlib.suppress(SystemExit): main({arguments!r})"
    )


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["analyze", "-h"]])
def test_help_is_light(arguments: list[str]) -> None:
    """Help and version load neither rich nor regex, nor any of the arithmetic."""
    loaded = loaded_by_call(*arguments)

    assert "click" in loaded
    assert set() == {"rich", "regex", "importlib.metadata"} & loaded
    assert [] == [name for name in loaded if name.startswith("mamba_advisor.sizing")]


@pytest.mark.parametrize("form", ["json", "flags", "markdown"])
def test_only_tables_load_rich(form: str) -> None:
    """Other forms than tables do without rich, and built-in dialects without regex."""
    log = "fixtures/demo/boot.log"

    loaded = loaded_by_call("analyze", log, "-L", "8k", "--format", form)
    table = loaded_by_call("analyze", log, "-L", "8k")

    assert "mamba_advisor.advice.engine" in loaded
    heavy = {"rich", "regex", "pathlib", "importlib.metadata", "concurrent.futures"}
    assert set() == heavy & loaded
    assert "rich" in table


BUILT_IN = frozenset({"eval", "exec", "compile", "__import__"})
COMMANDS = frozenset({"system", "popen"})
FORBIDDEN_IMPORTS = frozenset(
    {"pickle", "marshal", "shelve", "yaml", "ast", "subprocess", "ctypes", "runpy"}
)
IMPORTERS = {
    "cli/__init__.py",
    "compression.py",
    "lazy.py",
    "modelconfig/families/table.py",
    "postponed.py",
}
"""Modules that import by name: a name of their own, from a table or the source."""


@cache
def calls(path: Path) -> frozenset[tuple[str, bool]]:
    """Return what *path* calls: the name, and whether it is a bare one."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    bare = {(func.id, True) for func in called if isinstance(func, ast.Name)}
    of_others = {(f.attr, False) for f in called if isinstance(f, ast.Attribute)}
    return frozenset(bare | of_others)


def test_nothing_runs_what_a_log_says() -> None:
    """No code is made from text, and no module is imported by a name from outside."""
    found = {
        (path.relative_to(PACKAGE).as_posix(), name)
        for path in SOURCES
        for name, is_bare in calls(path)
        if name in (BUILT_IN if is_bare else COMMANDS)
    }
    importers = {
        path.relative_to(PACKAGE).as_posix()
        for path in SOURCES
        if "import_module" in {name for name, _ in calls(path)}
    }
    loaders = {
        path.relative_to(PACKAGE).as_posix()
        for path in SOURCES
        if ("load", False) in calls(path)
    }
    used = {
        name.split(".")[0]
        for path in SOURCES
        for name in imports(path)
        # It reads what Python has compiled of this package, as Python does.
        if (path.name, name) != ("importing.py", "marshal")
    }

    assert {("record.py", "exec")} == found  # of the names of our own fields
    assert set() == FORBIDDEN_IMPORTS & used
    assert importers <= IMPORTERS
    assert {"catalog.py"} == loaders  # an installed package's entry point
