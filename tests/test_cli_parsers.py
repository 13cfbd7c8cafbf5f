"""``mamba-advisor parsers``: listing, showing and checking dialects."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mamba_advisor.cli import main

ROOT = Path(__file__).resolve().parent.parent

GOOD = r"""
schema = 1
name = "acme"
title = "ACME's wrapper"

[[pattern]]
name = "acme-pool"
event = "state-pool"
anchor = "acme slots"
regex = '''acme slots=(?P<slots>\d+)'''

[pattern.fields]
slots = { fact = "state_slots", kind = "count" }

[[pattern.sample]]
line = "[2026-09-09 11:57:18] acme slots=48"
facts = { state_slots = 48 }

[[reject]]
line = "no acme slots here"
"""


@pytest.fixture
def acme(tmp_path: Path) -> Path:
    """Return a sound dialect file."""
    path = tmp_path / "acme.toml"
    path.write_text(GOOD)
    return path


def parsers(*arguments: object) -> Result:
    """Run ``mamba-advisor parsers``."""
    return CliRunner().invoke(main, ["parsers", *map(str, arguments)])


def test_list_names_every_dialect() -> None:
    """Every built-in file is listed by its name, and the listing fits 80 columns."""
    shown = parsers().output

    names = {line.split()[0] for line in shown.splitlines() if not line.startswith(" ")}
    assert {path.stem for path in (ROOT / "parsers").glob("*.toml")} == names - {"NAME"}
    assert max(map(len, shown.splitlines())) <= 80
    assert shown == parsers("list").output


@pytest.mark.parametrize("before", [True, False])
def test_further_dialect_is_listed_with_its_place(acme: Path, before: bool) -> None:
    """``--parser`` counts before and after ``list``; the file's path is shown."""
    option = ("--parser", acme)

    shown = parsers(*option, "list") if before else parsers("list", *option)

    assert 0 == shown.exit_code
    assert "acme" in shown.output
    assert str(acme) in "".join(shown.output.split("\n")).replace(" ", "")


def test_show_prints_the_file(acme: Path) -> None:
    """A dialect is shown as it is written."""
    shown = parsers("--parser", acme, "show", "acme")

    assert GOOD == shown.output


def test_show_obeys_no_control_sequence(acme: Path) -> None:
    """What a terminal would obey is shown as an escape."""
    acme.write_text(GOOD.replace("ACME's wrapper", "\N{RIGHT-TO-LEFT OVERRIDE}x"))

    shown = parsers("--parser", acme, "show", "acme").output

    assert r"\u202ex" in shown
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in shown


def test_show_in_a_poor_encoding() -> None:
    """What the terminal's encoding lacks becomes a question mark."""
    done = subprocess.run(
        [sys.executable, "-m", "mamba_advisor", "parsers", "show", "sglang-pools"],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "latin-1:strict"},
        capture_output=True,
        check=False,
    )

    assert (0, b"") == (done.returncode, done.stderr)
    assert b'versions = "0.5.2 ? 0.5.3' in done.stdout


def test_show_unknown() -> None:
    """An unknown name ends with 2, and the known ones are named."""
    shown = parsers("show", "acme")

    assert 2 == shown.exit_code
    assert "'acme' (there are foreign, " in shown.stderr


def test_check_sound_file(acme: Path) -> None:
    """A sound file is said to be sound, with what was proved."""
    assert (
        f"{acme}: sound: 1 pattern, 1 sample, 1 reject\n"
        == parsers("check", acme).output
    )


def test_check_goes_on_after_an_error(acme: Path, tmp_path: Path) -> None:
    """Each broken file is named with its reason; the others are checked, too."""
    broken = tmp_path / "broken.toml"
    broken.write_text(GOOD.replace("state_slots = 48", "state_slots = 47"))

    checked = parsers("check", broken, tmp_path / "none.toml", acme)

    assert 2 == checked.exit_code
    first, second = checked.stderr.splitlines()
    assert "acme-pool" in first
    assert "sample states 47" in first
    assert "none.toml: cannot be read" in second
    assert "sound" in checked.stdout


def test_check_without_files() -> None:
    """Without files, every dialect in force is proved."""
    checked = parsers("check")

    assert 0 == checked.exit_code
    assert len(list((ROOT / "parsers").glob("*.toml"))) == checked.output.count(
        ": sound:"
    )


def test_unsound_plugin_is_named_once_and_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An installed plug-in that cannot be loaded is a note; advice is given."""

    class Broken:
        name = "acme"

        def load(self) -> None:
            raise ImportError("no module named 'acme_dialects'")

    monkeypatch.setattr(
        "mamba_advisor.catalog.entry_points", lambda *, group: [Broken()]
    )
    demo = str(ROOT / "fixtures" / "demo" / "boot.log")

    shown = CliRunner().invoke(main, ["analyze", demo, demo + ".", demo, "-L", "8k"])
    quiet = CliRunner().invoke(main, ["analyze", demo, "-q", "-L", "8k"])
    listed = parsers()

    assert 1 == shown.stderr.count("plug-in acme")
    assert "Verdict" in shown.stdout
    assert "" == quiet.stderr
    assert "plug-in acme" in listed.stderr
