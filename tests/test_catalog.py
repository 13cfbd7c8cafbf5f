"""Where dialects come from, and which one wins."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from mamba_advisor import catalog as module
from mamba_advisor.catalog import load_catalog
from mamba_advisor.errors import DialectError
from mamba_advisor.reader import read_readings

ROOT = Path(__file__).resolve().parent.parent
DIALECT = """
schema = 1
name = "{name}"
title = "{title}"

[[pattern]]
name = "p"
event = "{event}"
anchor = "{anchor}"
regex = \'\'\'{anchor} (?P<n>\\d+)\'\'\'

[pattern.fields]
n = {{ fact = "n", kind = "count" }}

[[pattern.sample]]
line = "{anchor} 5"
facts = {{ n = 5 }}
"""

find_entry_points = module.entry_points


def dialect(
    name: str = "acme",
    title: str = "t",
    event: str = "acme-event",
    anchor: str = "acme says",
) -> str:
    """Return a sound dialect file."""
    return DIALECT.format(name=name, title=title, event=event, anchor=anchor)


def test_built_in_dialects_are_found() -> None:
    """A checkout reads them from the folder beside the package."""
    names = {dialect.name for dialect in load_catalog().dialects()}

    assert {path.stem for path in (ROOT / "parsers").glob("*.toml")} == names


def test_later_file_wins_by_name(tmp_path: Path) -> None:
    """The second of two dialects with one name replaces the first."""
    first, second = tmp_path / "1.toml", tmp_path / "2.toml"
    first.write_text(dialect(anchor="old words"))
    second.write_text(dialect(anchor="new words"))
    catalog = load_catalog([first, second])
    readings = list(read_readings(["old words 1", "new words 2"], catalog))

    assert [2] == [reading.facts["n"] for reading in readings]


def test_file_replaces_a_built_in_dialect(tmp_path: Path) -> None:
    """A user can put a dialect of ours aside."""
    file = tmp_path / "x.toml"
    file.write_text(dialect(name="sglang-kv"))
    catalog = load_catalog([file])

    assert [str(file)] == [
        one.where for one in catalog.dialects() if one.name == "sglang-kv"
    ]


def test_files_wording_beats_the_built_in_one(tmp_path: Path) -> None:
    """On a line that both read, the user's reading of an event is the one."""
    file = tmp_path / "x.toml"
    file.write_text(
        dialect(event="ready", anchor="ready to roll!").replace("roll! (", "roll!(")
        .replace("(?P<n>\\d+)", "(?P<n>\\d+)?").replace("roll! 5", "roll!5")
    )  # fmt: skip
    (reading,) = read_readings(
        ["[2026-01-01 10:00:00] The server is fired up and ready to roll!"],
        load_catalog([file]),
    )

    assert "acme/p" == reading.pattern


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read: No such file"),
        (b"\xff\xfe", "cannot be read"),
        (b"schema = 9", "schema 9 is not known"),
    ],
)
def test_unusable_file_is_named(
    content: bytes | None, words: str, tmp_path: Path
) -> None:
    """The message names the file and the reason."""
    file = tmp_path / "x.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(DialectError, match=words) as caught:
        load_catalog([file])

    assert "x.toml" in str(caught.value)


def install(folder: Path, name: str, files: dict[str, str]) -> None:
    """Make a package with dialects, and announce it as pip would."""
    package = folder / name
    package.mkdir(parents=True)
    for file, text in {"__init__.py": "", **files}.items():
        (package / file).write_text(text)
    info = folder / f"{name}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[mamba_advisor.parsers]\nx = {name}\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder on the import path, searched for plug-ins."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(module, "entry_points", find_entry_points)
    return folder


def test_plug_in_is_found(site: Path) -> None:
    """A package that announces dialects brings them."""
    install(site, "acme_sound", {"a.toml": dialect(), "notes.txt": "x"})
    catalog = load_catalog()
    (reading,) = read_readings(["acme says 7"], catalog)

    assert 7 == reading.facts["n"]
    assert () == catalog.problems


def test_unsound_plug_in_is_left_out(site: Path) -> None:
    """It is named among the problems, and nothing else suffers."""
    install(site, "acme_unsound", {"a.toml": "schema = 9", "b.toml": dialect()})
    install(site, "acme_broken", {"__init__.py": "raise RuntimeError('boom')"})
    catalog = load_catalog()

    assert ["plug-in x", "plug-in x, a.toml"] == sorted(
        problem.where for problem in catalog.problems
    )
    assert 1 == len(list(read_readings(["acme says 7"], catalog)))
    assert not load_catalog(plugins=False).problems


def test_current_directory_is_no_installation(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies where the user stands is not imported."""
    install(site, "acme_here", {"__init__.py": "raise RuntimeError('imported')"})
    monkeypatch.chdir(site)

    assert () == load_catalog().problems


def test_zipped_package_carries_its_dialects(tmp_path: Path) -> None:
    """The dialects are found inside a zipped wheel as well."""
    wheel = tmp_path / "wheel.zip"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in (ROOT / "mamba_advisor").rglob("*.py"):
            archive.write(path, path.relative_to(ROOT))
        for path in (ROOT / "parsers").glob("*.toml"):
            archive.write(path, f"mamba_advisor/parsers/{path.name}")
    code = "from mamba_advisor.catalog import *; print(len(load_catalog().entries))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(wheel)},
    )

    assert f"{len(load_catalog().entries)}\n" == done.stdout


def test_missing_dialects_are_a_broken_installation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Neither place exists: say so."""
    monkeypatch.setattr(module, "__file__", str(tmp_path / "x" / "catalog.py"))
    monkeypatch.setattr("importlib.resources.files", lambda _: tmp_path)
    with pytest.raises(DialectError, match="its own dialects are missing"):
        load_catalog()
