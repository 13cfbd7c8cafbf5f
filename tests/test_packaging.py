"""The wheel: what it holds, and that it works without the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import mamba_advisor

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "fixtures" / "demo" / "boot.log"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel, once for all tests of this file."""
    pytest.importorskip("hatchling", reason="hatchling builds the wheel")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=300,
    )
    (built,) = folder.glob("*.whl")
    return built


def run(path: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the program from *path*, a folder or a wheel, far from the checkout."""
    return subprocess.run(
        [sys.executable, "-m", "mamba_advisor", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_wheel_holds_the_dialects_and_nothing_stray(wheel: Path) -> None:
    """Dialects lie inside the package; neither tests nor a top-level folder come."""
    names = zipfile.ZipFile(wheel).namelist()

    shipped = {Path(name).name for name in names if "/parsers/" in name}
    assert {path.name for path in (ROOT / "parsers").iterdir()} == shipped
    assert {
        "mamba_advisor",
        f"mamba_advisor-{mamba_advisor.__version__}.dist-info",
    } == {name.split("/")[0] for name in names}
    assert "mamba_advisor/py.typed" in names
    assert not [name for name in names if "__pycache__" in name]


@pytest.mark.parametrize("unpacked", [True, False], ids=["installed", "zipped"])
def test_wheel_works_alone(wheel: Path, unpacked: bool, tmp_path: Path) -> None:
    """Unpacked or not, the wheel reads a log with the dialects that it carries."""
    place = tmp_path / "site" if unpacked else wheel
    if unpacked:
        zipfile.ZipFile(wheel).extractall(place)
    where = subprocess.run(
        [sys.executable, "-c", "import mamba_advisor; print(mamba_advisor.__file__)"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(place)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout

    advised = run(place, "analyze", str(DEMO), "-L", "16k", cwd=tmp_path)
    listed = run(place, "parsers", cwd=tmp_path)

    assert where.startswith(str(place))
    assert (0, "") == (advised.returncode, advised.stderr)
    assert "17" in advised.stdout
    assert (0, "") == (listed.returncode, listed.stderr)
    assert "sglang" in listed.stdout


def test_foreign_parsers_folder_is_ignored(wheel: Path, tmp_path: Path) -> None:
    """A ``parsers`` folder in the working directory is never looked at."""
    (tmp_path / "parsers").mkdir()
    (tmp_path / "parsers" / "sglang.toml").write_text("no TOML at all [")

    listed = run(wheel, "parsers", cwd=tmp_path)

    assert 0 == listed.returncode


def test_version_is_one() -> None:
    """The version stands in the package, and the project file reads it there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    assert "mamba_advisor/__init__.py" == project["tool"]["hatch"]["version"]["path"]
    assert ["version"] == project["project"]["dynamic"]
