"""The README tells the same as the program."""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from mamba_advisor.cli import COMMANDS, main
from mamba_advisor.cli.show import PRECEDENCE
from mamba_advisor.selftest import load

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
SESSION = re.compile(r"```console\n\$ mamba-advisor (?P<args>.*)\n(?P<out>[^`]*)```")
SESSIONS = SESSION.findall(TEXT)
OWN_STATUS = 70
"""A crash of the program: not a status that users plan for."""


@pytest.mark.parametrize(("args", "out"), SESSIONS, ids=[args for args, _ in SESSIONS])
def test_session(args: str, out: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every console block that calls the program shows its real output.

    ``UPDATE_GOLDEN=1`` writes what it is now, and fails.
    """
    monkeypatch.chdir(ROOT)

    result = CliRunner().invoke(main, shlex.split(args), catch_exceptions=False)

    shown = "".join(line.rstrip() + "\n" for line in result.output.splitlines())
    if os.environ.get("UPDATE_GOLDEN") == "1" and shown != out:
        now = README.read_text(encoding="utf-8")
        head = f"```console\n$ mamba-advisor {args}\n"
        README.write_text(now.replace(head + out, head + shown), encoding="utf-8")
        pytest.fail("README.md rewritten; read the diff and run again")
    assert out == shown


def test_every_command_is_shown() -> None:
    """No command goes undocumented."""
    shown = {args.split()[0] for args, _ in SESSIONS}

    assert set(COMMANDS) <= shown


def test_every_exit_status_is_explained() -> None:
    """The table of exit codes has a row for every status, and no other."""
    rows = {int(row) for row in re.findall(r"^\| (\d+) \|", TEXT, re.MULTILINE)}

    assert {0, *PRECEDENCE} - {OWN_STATUS} == rows


def test_dialect_example_is_sound() -> None:
    """The dialect that the README shows proves itself."""
    (example,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)

    dialect = load(example, "README.md")

    assert 1 == len(dialect.patterns)
    assert example.count("\n") <= 16


def test_every_make_target_is_named() -> None:
    """What ``make`` offers is in the README, and what the README names exists."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[0].split())

    named = set(re.findall(r"^make (\w+)", TEXT, re.MULTILINE))
    assert named <= targets
    assert targets - {"all", "install"} <= named


def test_every_extra_is_named() -> None:
    """The optional extras of the project are in the README."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    extras = project["project"]["optional-dependencies"].keys() - {"test"}
    assert {name for name in extras if f"[{name}]" not in TEXT} == set()
