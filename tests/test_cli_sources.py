"""Which logs the arguments of a call stand for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mamba_advisor.cli.sources import expand
from mamba_advisor.errors import InputError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with logs, other files and a hidden folder; work in it."""
    for name in (
        "run10.log",
        "run9.log",
        "old/run1.log.2026-01-01.gz",
        "old/notes.md",
        "old/model.safetensors",
        ".cache/hidden.log",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_folder_stands_for_its_logs(folder: Path) -> None:
    """A folder gives every log below it, numbers in order, nothing hidden."""
    assert ["old/run1.log.2026-01-01.gz", "run9.log", "run10.log"] == [
        str(Path(path).relative_to(folder)) for path in expand([str(folder)])
    ]


def test_pattern_that_the_shell_left(folder: Path) -> None:
    """A quoted glob is expanded, and a file named twice is read once."""
    assert ["run10.log", "run9.log"] == expand(["run10.log", "run*.log"])


def test_file_whose_name_looks_like_a_pattern(folder: Path) -> None:
    """A file that exists is no pattern: ``a[1].log``."""
    (folder / "a[1].log").write_text("")

    assert ["a[1].log"] == expand(["a[1].log"])


@pytest.mark.parametrize("kept", ["-", "missing.log", "https:/missing.log"])
def test_what_is_kept(kept: str, folder: Path) -> None:
    """Standard input and missing files are for the reader to judge."""
    assert [kept] == expand([kept])


@pytest.mark.parametrize(
    ("argument", "reason"),
    [("none*.log", "no file matches"), ("empty", "holds no log")],
)
def test_nothing_found(argument: str, reason: str, folder: Path) -> None:
    """What stands for no log at all is an error that names it."""
    (folder / "empty").mkdir()

    with pytest.raises(InputError, match=reason):
        expand([argument])


def test_folder_gives_no_device(tmp_path: Path) -> None:
    """What lies below a folder may be a device without an end, or a pipe."""
    (tmp_path / "a.log").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "b.log")
    (tmp_path / "c.log").write_text("")

    assert [str(tmp_path / "c.log")] == expand([str(tmp_path)])


def test_link_that_leads_back(folder: Path) -> None:
    """A link to the folder that holds it makes no further paths; two make 2⁴⁰."""
    (folder / "back").symlink_to(".")

    assert ["run9.log"] == expand(["**/run9*"])
    assert 3 == len(expand([str(folder)]))


def test_any_folders_in_a_pattern(folder: Path) -> None:
    """``**`` stands for folders of any depth, none included, hidden ones left out."""
    deep = folder / "old" / "[a]" / "run2.log"
    deep.parent.mkdir()
    deep.write_text("")

    assert ["old/[a]/run2.log", "run9.log", "run10.log"] == expand(["**/*.log"])
    assert ["old/[a]/run2.log"] == expand(["old/**/*.log"])
    assert [str(deep)] == expand([f"{folder}/**/[[]a]/**/*.log"])


def test_empty_argument() -> None:
    """An empty word, from an unset variable perhaps, is named as what it is."""
    with pytest.raises(InputError, match="empty argument"):
        expand([""])
