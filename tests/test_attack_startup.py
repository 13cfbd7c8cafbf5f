"""Signals while the program starts, when Python would answer them wrongly."""

from __future__ import annotations

import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "fixtures" / "demo" / "boot.log"
SCRIPTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]

PROGRAM = """
import os, sys

class Sender:
    def find_spec(self, name, *_):
        if name == "click":
            sys.meta_path.remove(self)
            os.kill(os.getpid(), NUMBER)

sys.meta_path.insert(0, Sender())
sys.argv = ["mamba-advisor", *ARGUMENTS]
from MODULE import NAME as start
start()
"""
"""The installed command, which gets a signal amid its imports."""


def struck(number: int, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command, and send it the signal *number* while it starts."""
    module, _, name = SCRIPTS["mamba-advisor"].partition(":")
    program = PROGRAM.replace("NUMBER", str(int(number)))
    program = program.replace("MODULE", module).replace("NAME", name)
    return subprocess.run(
        [sys.executable, "-c", program.replace("ARGUMENTS", repr(arguments))],
        input=DEMO.read_bytes(),
        capture_output=True,
        check=False,
        cwd=ROOT,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGINT, 130),
        (signal.SIGTERM, 143),
        (signal.SIGHUP, 0),
        (signal.SIGUSR1, 0),
    ],
)
def test_server_survives_an_early_signal(number: int, status: int) -> None:
    """The filter passes every byte on and advises, as if the signal had come later."""
    done = struck(number, "-L", "8k", "--format", "json")

    assert status == done.returncode
    assert DEMO.read_bytes() == done.stdout
    assert b'"outcome": "ready"' in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("number", "status", "said"),
    [
        (signal.SIGINT, 130, b"Error: interrupted\n"),
        (signal.SIGTERM, -signal.SIGTERM, b""),
    ],
)
def test_early_signal_ends_a_command(number: int, status: int, said: bytes) -> None:
    """Commands end as they do later: Ctrl-C in a line, without a traceback."""
    done = struck(number, "analyze", "-")

    assert (status, b"", said) == (done.returncode, done.stdout, done.stderr)


def test_next_to_nothing_is_imported_before_signals_wait() -> None:
    """In an import Ctrl-C is a traceback, as long as Python answers it."""
    script = (
        "import os, sys; before = {*sys.modules}; import mamba_advisor.__main__;"
        "print(*sorted({*sys.modules} - before - {'__future__', '_signal', 'gc'}))"
    )
    found = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert found.stdout.split() == [
        "mamba_advisor",
        "mamba_advisor.__main__",
        "mamba_advisor.lazy",
        "mamba_advisor.patience",
    ]
