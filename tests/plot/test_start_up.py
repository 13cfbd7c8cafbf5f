"""Nobody pays for pictures who asks for none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

CALL = """
import contextlib, os, sys
from mamba_advisor.cli import main
sys.stdout = open(os.devnull, "w")
with contextlib.suppress(SystemExit):
    main(["analyze", "fixtures/demo/boot.log", "-L", "16k", *sys.argv[1:]])
sys.stderr.write(f"LOADED {' '.join(sys.modules)}")
"""
"""Call the program, then name every module that it has loaded."""


def loaded(*arguments: str) -> set[str]:
    """Return what of the drawing is loaded after a call with *arguments*."""
    done = subprocess.run(
        [sys.executable, "-c", CALL, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    names = done.stderr.rpartition("LOADED ")[2].split()
    return {n for n in names if n.startswith(("mamba_advisor.report.plot.", "vl_"))}


@pytest.mark.parametrize("form", ["json", "table", "flags"])
def test_reports_do_not_import_pictures(form: str) -> None:
    """Reports load nothing that draws."""
    assert set() == loaded("--format", form)


def test_svg_does_not_import_the_rest(tmp_path: Path) -> None:
    """An SVG needs neither the page nor the library for pixels."""
    names = loaded("--plot", str(tmp_path / "balance.svg"))

    assert "mamba_advisor.report.plot.svg" in names
    assert set() == {"mamba_advisor.report.plot.html", "vl_convert"} & names
