"""``mamba-advisor compare``: two boots side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mamba_advisor.cli import main

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "fixtures" / "demo" / "boot.log"
AFTER = ROOT / "fixtures" / "boots" / "tp4-clean" / "boot.log"
DENSE = ROOT / "fixtures" / "boots" / "dense" / "boot.log"
FAILED = ROOT / "fixtures" / "boots" / "failed-state-cache" / "boot.log"


def compare(*arguments: object, text: bytes | None = None) -> Result:
    """Run ``mamba-advisor compare`` in this process."""
    return CliRunner().invoke(main, ["compare", *map(str, arguments)], input=text)


def test_screen() -> None:
    """The verdict comes first, then what changed."""
    shown = compare(DEMO, AFTER, "-L", "8k")

    assert (0, "") == (shown.exit_code, shown.stderr)
    assert "Verdict" in "\n".join(shown.stdout.splitlines()[:4])
    assert "tp_size" in shown.stdout


def test_json() -> None:
    """One object: before, after, changes and the verdict."""
    document = json.loads(compare(DEMO, AFTER, "-L", "8k", "--format", "json").stdout)

    assert {"schema_version", "before", "after", "changes", "verdict"} == set(document)
    assert str(DEMO) == document["before"]["source"]["name"]
    paths = {change["path"] for change in document["changes"]}
    assert {"settings.tp_size", "state_pool.slots"} <= paths


def test_nothing_changed() -> None:
    """A boot against itself is not better, and nothing differs."""
    shown = compare(DEMO, DEMO, "-L", "8k", "--format", "json")

    document = json.loads(shown.stdout)
    assert ([], 0, False) == (
        document["changes"],
        document["verdict"]["gain"],
        document["verdict"]["better"],
    )


def test_one_side_from_standard_input() -> None:
    """``-`` can stand for one of the two."""
    shown = compare(DEMO, "-", "-L", "8k", text=AFTER.read_bytes())

    assert 0 == shown.exit_code
    assert "standard input" in shown.stdout


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [(DEMO, FAILED, 5), (DENSE, DEMO, 4), ("none.log", FAILED, 2)],
)
def test_exit_status(before: Path | str, after: Path | str, status: int) -> None:
    """Of the two boots' statuses the first of 2, 5, 3, 4, 6 wins."""
    assert status == compare(before, after).exit_code


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["-", "-"], "Only one of the logs"),
        ([DEMO, DEMO, "--boot", "all"], "one boot of each log"),
        ([DEMO], "Missing argument 'AFTER'."),
        ([DEMO, DEMO, "--format", "flags"], "no flags"),
    ],
)
def test_wrong_call(arguments: list[object], reason: str) -> None:
    """A wrong call is exit 2, and the last line on stderr says why."""
    failed = compare(*arguments)

    assert 2 == failed.exit_code
    assert reason in failed.stderr.splitlines()[-1]


def test_plot(tmp_path: Path) -> None:
    """Both boots are drawn into one file."""
    picture = tmp_path / "change.svg"

    shown = compare(DEMO, AFTER, "-L", "8k", "--plot", picture)

    assert 0 == shown.exit_code
    assert picture.read_text().startswith("<svg")
