"""Files without an end, named where a small one belongs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ENDLESS = Path("/dev/zero")


@pytest.mark.skipif(not ENDLESS.exists(), reason="needs a device without end")
@pytest.mark.parametrize("option", ["--parser", "--config"])
def test_endless_file_is_refused(option: str) -> None:
    """A device without end is refused in one line, before memory fills up."""
    expected = f"Error: {ENDLESS}"

    done = subprocess.run(
        [
            *(sys.executable, "-m", "mamba_advisor", "analyze"),
            *("fixtures/demo/boot.log", option, str(ENDLESS)),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=20,
    )

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(expected)
    assert "too large" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(not ENDLESS.exists(), reason="needs a device without end")
@pytest.mark.parametrize("log", [str(ENDLESS), "-"])
def test_endless_log_is_refused(log: str) -> None:
    """A device without end is no log: it would be read for ever."""
    with ENDLESS.open("rb") as endless:
        done = subprocess.run(
            [sys.executable, "-m", "mamba_advisor", "analyze", log],
            stdin=endless,
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            timeout=20,
        )

    said = f"Error: {log}: is a device, which may have no end; name a file\n"
    assert (2, "", said) == (done.returncode, done.stdout, done.stderr)
