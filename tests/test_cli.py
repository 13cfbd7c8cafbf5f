"""The command line as a whole: help, errors, what stands before a command."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mamba_advisor import __version__
from mamba_advisor.cli import COMMANDS, main
from mamba_advisor.cli.terminal import wants_color, width

ROOT = Path(__file__).resolve().parent.parent

PROMISED = """
    -L --avg-context --input-len --output-len -c --concurrency --sessions --strategy
    --radix-cache --no-radix-cache --overlap --no-overlap --skip-decode-lock
    --no-skip-decode-lock --draft-tokens --replayssm --no-replayssm --tp-size --dp-size
    --pp-size --dcp-size --kv-cache-dtype --mamba-ssm-dtype --mem-fraction-static
    --gpu-memory --sglang-version --format --explain --sweep --plot --color --parser
    --boot --require-concurrency -q --quiet --version --help -h
"""
"""Options of every advising command; the interface promises them."""


def call(*arguments: str, text: str | None = None) -> Result:
    """Run the program in this process."""
    return CliRunner().invoke(main, arguments, input=text)


@pytest.mark.parametrize("command", ["", "analyze", "plan", "compare"])
def test_promised_options(command: str) -> None:
    """Every advising command has the shared options, and its help names them."""
    shown = call(*command.split(), "--help").output.replace(",", " ").split()

    promised = set(PROMISED.split()) - ({"--version"} if command else set())
    assert set() == promised - set(shown)


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help(option: str) -> None:
    """The help lists the commands, and ends with 0."""
    shown = call(option)

    assert 0 == shown.exit_code
    assert all(f"\n  {name} " in shown.output for name in COMMANDS)


@pytest.mark.parametrize("columns", ["20", "80", "100", "300"])
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits(command: str, columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Help texts of every command fit the terminal, and at most 100 columns."""
    monkeypatch.setenv("COLUMNS", columns)

    shown = call(*command.split(), "--help")

    assert 0 == shown.exit_code
    if int(columns) >= 80:
        assert max(map(len, shown.output.splitlines())) <= min(int(columns), 100)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [("1", 20), ("19", 20), ("21", 21), ("0", 80), ("-5", 80), ("٣", 80), ("x", 80)],
)
def test_width(columns: str, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is laid out in less than 20 columns; nonsense is no width."""
    monkeypatch.setenv("COLUMNS", columns)
    with Path(os.devnull).open() as nowhere:
        assert expected == width(nowhere.fileno())


@pytest.mark.parametrize(
    ("term", "option", "expected"),
    [("xterm", "auto", True), ("dumb", "auto", False), ("dumb", "always", True)],
)
def test_dumb_terminal_gets_no_color(
    term: str, option: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal gets colours, one that calls itself dumb only when told so."""
    monkeypatch.setenv("TERM", term)
    leader, follower = pty.openpty()

    assert expected == wants_color(option, follower)
    os.close(leader)
    os.close(follower)


def test_reader_that_left() -> None:
    """Into a pipe that nobody reads ends like any tool: 128 + SIGPIPE, in silence."""
    source, sink = os.pipe()
    os.close(source)
    done = subprocess.run(
        [sys.executable, "-m", "mamba_advisor", "analyze", "fixtures/demo/boot.log"],
        stdout=sink,
        stderr=subprocess.PIPE,
        check=False,
        cwd=ROOT,
    )
    os.close(sink)

    assert (141, b"") == (done.returncode, done.stderr)


def test_version() -> None:
    """The version is one line."""
    assert f"mamba-advisor {__version__}\n" == call("--version").output


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["analzye", "x.log"], "Did you mean 'analyze'?"),
        (["--no-radix-cach"], "--no-radix-cache"),
        (["README.md"], "analyze README.md"),
        (["frobnicate"], "No such command 'frobnicate'."),
        (["analyze"], "Missing argument 'LOG...'."),
        (["analyze", "-L", "8q", "x"], "for example 9216, 8k or 1M"),
        (["analyze", "--strategy", "best", "x"], "extra_buffer_lazy"),
        (["--follow", "parsers"], "parsers takes no --follow."),
    ],
)
def test_wrong_call(
    arguments: list[str], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong call ends with 2, and the last line on stderr says what is meant."""
    monkeypatch.chdir(ROOT)

    failed = call(*arguments)

    assert 2 == failed.exit_code
    assert reason in failed.stderr.splitlines()[-1]
    assert "" == failed.stdout


@pytest.mark.parametrize("odd", ["\x1b[31m", "\u202e", "\nError: forged", "\udcff"])
def test_wrong_call_forges_nothing(odd: str) -> None:
    """An argument may be a file's name that the shell put in: it is shown harmless."""
    failed = call("compare", "a", "b", f"c{odd}d")

    assert "Error: Got unexpected extra argument (c" in failed.stderr
    assert failed.stderr.splitlines()[-1].endswith("d)")
    assert odd not in failed.stderr


def test_terminal_gets_help() -> None:
    """With a terminal on stdin and no command, the help comes, and 2; never a wait."""
    master, slave = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "mamba_advisor"],
        stdin=slave,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=60,
    )
    os.close(master)
    os.close(slave)

    assert 2 == done.returncode
    assert "Usage: mamba-advisor" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("arguments", "full", "said"),
    [
        (["--help"], "stdout", "Error: No space left on device\n"),
        (["analyze", "--help"], "stdout", "Error: No space left on device\n"),
        (["--unknown"], "stderr", ""),
        (["analyze", "missing.log"], "stderr", ""),
    ],
)
def test_full_disk(arguments: list[str], full: str, said: str) -> None:
    """Where help or an error cannot be written the status still says what it was."""
    with Path("/dev/full").open("wb") as target:
        done = subprocess.run(
            [sys.executable, "-m", "mamba_advisor", *arguments],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=target if full == "stdout" else subprocess.PIPE,
            stderr=target if full == "stderr" else subprocess.PIPE,
            check=False,
        )

    assert 2 == done.returncode
    shown = done.stderr if full == "stdout" else done.stdout
    assert said == shown.decode()


def test_shell_completion_knows_options_not_yet_named() -> None:
    """The shell asks for what a call may still name."""
    found = subprocess.run(
        [sys.executable, "-m", "mamba_advisor"],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ
        | {
            "_MAMBA_ADVISOR_COMPLETE": "bash_complete",
            "COMP_WORDS": "mamba-advisor analyze --quiet --max",
            "COMP_CWORD": "3",
        },
    )
    assert found.stdout.split() == [
        "plain,--max-mamba-cache-size",
        "plain,--max-running-requests",
    ]
