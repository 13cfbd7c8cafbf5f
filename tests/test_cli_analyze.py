"""``mamba-advisor analyze``: formats, exit statuses, several logs, where things go."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mamba_advisor.advice.model import Workload
from mamba_advisor.boot.model import Boot
from mamba_advisor.cli import main
from mamba_advisor.cli.show import first_status
from mamba_advisor.fleet import Outcome, Task, advise_boot, analyze_fleet
from mamba_advisor.report import render
from mamba_advisor.report.page import DETAILED_BOOTS

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "fixtures" / "demo" / "boot.log"
DENSE = ROOT / "fixtures" / "boots" / "dense" / "boot.log"
FAILED = ROOT / "fixtures" / "boots" / "failed-state-cache" / "boot.log"
RESTARTED = ROOT / "fixtures" / "boots" / "crash-and-restart" / "boot.log"


def analyze(*arguments: object, text: str | bytes | None = None) -> Result:
    """Run ``mamba-advisor analyze`` in this process."""
    return CliRunner().invoke(main, ["analyze", *map(str, arguments)], input=text)


@pytest.fixture
def nothing(tmp_path: Path) -> Path:
    """Return a file without a line of a server."""
    path = tmp_path / "nothing.log"
    path.write_text("nothing of a server\n")
    return path


def test_table_answers_first() -> None:
    """The first ten lines hold the requests asked for and running, and the flag."""
    shown = analyze(DEMO, "-L", "16k")

    first = "\n".join(shown.stdout.splitlines()[:10])
    assert (0, "") == (shown.exit_code, shown.stderr)
    assert "32 requested → 17 effective" in first
    assert "--mamba-full-memory-ratio" in first
    assert max(map(len, shown.stdout.splitlines())) <= 80


def test_json_is_one_object() -> None:
    """One boot is one object, with the boot's figures."""
    document = json.loads(analyze(DEMO, "--format", "json").stdout)

    assert 1 == document["schema_version"]
    assert str(DEMO) == document["source"]["name"]
    assert (51, 137837) == (
        document["state_pool"]["slots"],
        document["kv_pool"]["tokens"],
    )


def test_json_of_several_is_an_array_in_order(tmp_path: Path) -> None:
    """Several boots are an array: in the order of the arguments, then of the log."""
    copy = tmp_path / "copy.log"
    shutil.copy(DEMO, copy)

    shown = analyze(RESTARTED, copy, DEMO, "--boot", "all", "--format", "json")

    documents = json.loads(shown.stdout)
    starts = [one for one in documents if one["source"]["name"] == str(RESTARTED)]
    assert documents[0]["source"]["boots"] == len(starts) > 1
    assert [*starts, *documents[-2:]] == documents
    assert [str(copy), str(DEMO)] == [one["source"]["name"] for one in documents[-2:]]


def test_json_without_a_boot_is_an_empty_array(nothing: Path) -> None:
    """JSON is one document, whatever happens; the reason is on stderr."""
    shown = analyze(nothing, "--format", "json")

    assert (3, []) == (shown.exit_code, json.loads(shown.stdout))
    assert 1 == len(shown.stderr.splitlines())


def test_flags_are_one_line() -> None:
    """``--format flags`` is what a launch command takes, and nothing else."""
    shown = analyze(DEMO, "-L", "16k", "--format", "flags")

    assert (0, "") == (shown.exit_code, shown.stderr)
    assert shown.stdout.startswith("--m")
    assert 1 == shown.stdout.count("\n")


def test_flags_without_a_workload() -> None:
    """No recommendation: nothing on stdout, the reason on stderr, exit 2."""
    shown = analyze(DEMO, "--format", "flags")

    assert (2, "") == (shown.exit_code, shown.stdout)
    assert "-L" in shown.stderr


def test_flags_without_a_boot(nothing: Path) -> None:
    """The first of 2, 5, 3, 4, 6 wins: no flags to give is 2."""
    shown = analyze(nothing, "--format", "flags", "-L", "16k")

    assert (2, "") == (shown.exit_code, shown.stdout)


def test_markdown() -> None:
    """A ticket gets Markdown: the flag as code, tables with bars."""
    shown = analyze(DEMO, "-L", "16k", "--format", "markdown").stdout

    assert "`--mamba-full-memory-ratio" in shown
    assert "| --- |" in shown


@pytest.mark.parametrize(
    ("logs", "status"),
    [
        ([DEMO], 0),
        ([DENSE], 4),
        ([FAILED], 5),
        (["missing.log"], 2),
        ([DENSE, DEMO], 4),
        ([DEMO, FAILED, DENSE], 5),
        ([FAILED, "missing.log"], 2),
    ],
)
def test_exit_status(logs: list[Path | str], status: int) -> None:
    """Of several statuses the first of 2, 5, 3, 4, 6 wins."""
    assert status == analyze(*logs, "-L", "8k").exit_code


def test_not_a_hybrid_is_one_sentence() -> None:
    """A dense model has no ratio to set: one line on stderr, none on stdout."""
    shown = analyze(DENSE)

    assert "" == shown.stdout
    assert 1 == shown.stderr.count("\n")
    assert "not a hybrid" in shown.stderr


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ([DEMO, "--require-concurrency", "17"], 0),
        ([DEMO, "--require-concurrency", "18"], 6),
        ([FAILED, "--require-concurrency", "1"], 5),
        ([DENSE, DEMO, "--require-concurrency", "99"], 4),
    ],
)
def test_gate(arguments: list[object], status: int) -> None:
    """17 requests run at a time: 17 are enough, 18 are not; 6 only in place of 0."""
    assert status == analyze(*arguments).exit_code


def test_gate_says_what_is_missing() -> None:
    """The advice is printed all the same, the gate's reason on stderr."""
    shown = analyze(DEMO, "--require-concurrency", "18")

    assert "Verdict" in shown.stdout
    assert "runs 17 requests at a time, 18 are required" in shown.stderr


@pytest.mark.parametrize(
    ("arguments", "environment", "colored"),
    [
        ([], {}, False),
        (["--color", "always"], {}, True),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ([], {"NO_COLOR": ""}, False),
        (["--color", "always", "--format", "json"], {}, False),
    ],
)
def test_color(
    arguments: list[str],
    environment: dict[str, str],
    colored: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The option wins, then NO_COLOR, then FORCE_COLOR; JSON has none."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert colored == ("\x1b[" in analyze(DEMO, "-L", "8k", *arguments).stdout)


@pytest.mark.parametrize("columns", ["1", "20", "40", "80", "120", "banana"])
def test_any_width(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the terminal claims, there is a report."""
    monkeypatch.setenv("COLUMNS", columns)

    shown = analyze(DEMO, "-L", "8k")

    assert 0 == shown.exit_code
    assert "Verdict" in shown.stdout


def test_options_before_the_command_count() -> None:
    """``mamba-advisor -L 16k analyze`` is ``mamba-advisor analyze -L 16k``."""
    before = CliRunner().invoke(main, ["-L", "16k", "analyze", str(DEMO)])

    assert analyze(DEMO, "-L", "16k").stdout == before.stdout


def test_standard_input() -> None:
    """``-`` is standard input."""
    shown = analyze("-", "--format", "json", text=DEMO.read_bytes())

    assert "-" == json.loads(shown.stdout)["source"]["name"]


def test_option_wins_over_the_log() -> None:
    """A what-if value has the option as origin, in place of the log's line."""
    shown = analyze(DEMO, "--strategy", "extra_buffer", "--format", "json")

    setting = json.loads(shown.stdout)["settings"]["mamba_radix_cache_strategy"]
    assert {"value": "extra_buffer", "origin": "option"} == setting


def test_folder_and_summary(tmp_path: Path) -> None:
    """A folder gives a row for each log, worst first, and what failed on stderr."""
    shutil.copy(DEMO, tmp_path / "demo.log")
    shutil.copy(FAILED, tmp_path / "failed.log")
    shutil.copy(DENSE, tmp_path / "dense.log")

    shown = analyze(tmp_path, "-L", "16k")

    assert 5 == shown.exit_code
    assert shown.stdout.startswith("2 boots, worst first")
    assert "dense.log" in shown.stderr


def test_many_logs_in_parallel(tmp_path: Path) -> None:
    """Forty logs come out as one array, in order, without a word on stderr."""
    for number in range(40):
        shutil.copy(DEMO, tmp_path / f"{number}.log")

    shown = analyze(tmp_path, "--format", "json")

    names = [Path(one["source"]["name"]).name for one in json.loads(shown.stdout)]
    assert [f"{number}.log" for number in range(40)] == names
    assert "" == shown.stderr


def test_logs_in_parallel_say_what_each_says_alone(tmp_path: Path) -> None:
    """Workers that write the JSON themselves change no value and no status."""
    odd = tmp_path / "odd.log"
    odd.write_text("nothing of a server\n")
    logs = [DEMO, FAILED, odd, DENSE, RESTARTED]
    options = ["--require-concurrency", "18", "-L", "8k", "--format", "json"]

    together = analyze(*logs, *options)
    alone = [analyze(log, *options) for log in logs]

    told = [json.loads(one.stdout) for one in alone if one.stdout != "[]\n"]
    assert told == json.loads(together.stdout)
    assert len(told) + len("[]") == together.stdout.count("\n"), "a line each"
    assert "".join(one.stderr for one in alone) == together.stderr
    assert first_status(one.exit_code for one in alone) == together.exit_code


def test_summary_needs_no_more_than_is_kept(tmp_path: Path) -> None:
    """Of many logs only what the summary shows is kept, and it shows the same."""
    boots = [path for path in (ROOT / "fixtures" / "boots").iterdir() if path.is_dir()]
    for number in range(2):
        for boot in boots:
            shutil.copy(boot / "boot.log", tmp_path / f"{boot.name}{number}.log")
    logs = sorted(map(str, tmp_path.iterdir()))
    found = analyze_fleet(logs, Task(Workload(8192, "option")))
    whole = [one.advice for outcomes in found for one in outcomes if not one.error]

    shown = analyze(*logs, "-L", "8k")

    assert len(logs) > DETAILED_BOOTS
    assert render([one for one in whole if one is not None]) == shown.stdout


def test_trouble_with_one_log_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of the program on one log is a line, and the others are advised on."""
    odd = tmp_path / "odd.log"
    shutil.copy(DEMO, odd)

    def trouble(source: str, boot: Boot, task: Task) -> Outcome:
        if source == str(odd):
            raise RuntimeError("a joint is loose")
        return advise_boot(source, boot, task)

    monkeypatch.setattr("mamba_advisor.fleet.advise_boot", trouble)
    shown = analyze(odd, DEMO, "-L", "8k")

    assert 70 == shown.exit_code
    assert "Verdict" in shown.stdout
    assert "odd.log: this should not happen" in shown.stderr
    assert "a joint is loose (--debug shows more)" in shown.stderr


@pytest.mark.parametrize("before", [True, False])
def test_debug_shows_the_traceback(
    before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ``--debug``, before or after the command, the traceback comes, too."""

    def trouble(*_: object) -> None:
        raise RuntimeError("a joint is loose")

    monkeypatch.setattr("mamba_advisor.fleet.advise_boot", trouble)
    call = ["--debug", "analyze"] if before else ["analyze", "--debug"]
    shown = CliRunner().invoke(main, [*call, str(DEMO)])

    assert 70 == shown.exit_code
    assert "Traceback" in shown.stderr


@pytest.mark.parametrize(
    ("form", "start"), [("svg", b"<svg"), ("html", b"<!doctype html>")]
)
def test_plot(form: str, start: bytes, tmp_path: Path) -> None:
    """``--plot FILE`` draws to the file and reports as ever; a note names the file."""
    picture = tmp_path / f"boot.{form}"

    shown = analyze(DEMO, "-L", "16k", "--plot", picture)

    assert picture.read_bytes().lower().startswith(start)
    assert "Verdict" in shown.stdout
    assert f"Note: pictures are in {picture}\n" == shown.stderr


def test_plot_to_stdout_takes_the_place_of_the_report() -> None:
    """``--plot -`` writes the picture, and nothing else, to stdout."""
    shown = analyze(DEMO, "-L", "16k", "--plot", "-")

    assert shown.stdout.startswith("<svg")
    assert shown.stdout.rstrip().endswith("</svg>")


def test_plot_that_cannot_be_written() -> None:
    """A folder that is not there is exit 2, and the path is named."""
    shown = analyze(DEMO, "-L", "16k", "--plot", "none/boot.svg")

    assert 2 == shown.exit_code
    assert "'none/boot.svg'" in shown.stderr


def test_dialect_from_the_command_line(tmp_path: Path) -> None:
    """An unsound dialect file is exit 2, and the message names it."""
    broken = tmp_path / "acme.toml"
    broken.write_text("schema = 1\n")

    shown = analyze(DEMO, "--parser", broken)

    assert 2 == shown.exit_code
    assert "acme.toml" in shown.stderr


def test_control_sequences_in_a_path_are_shown(tmp_path: Path) -> None:
    """What a terminal would obey in a file's name is shown as an escape."""
    odd = tmp_path / "\x1b[31mred.log"
    shutil.copy(DEMO, odd)

    shown = analyze(odd, "-L", "8k")
    missing = analyze(f"{odd}x")

    assert 0 == shown.exit_code
    assert "\x1b" not in shown.output + missing.output


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([DEMO, DEMO.parent / "x.log", "--follow"], "one file"),
        ([DEMO, "y.log", "--metrics", "m.txt"], "one log"),
        ([DEMO, "--boot", "9"], "no server start 9"),
        ([DEMO, "--config", "none.json"], "none.json"),
        ([DEMO, "--metrics", "none.txt"], "none.txt"),
    ],
)
def test_wrong_call(arguments: list[object], reason: str) -> None:
    """What cannot be done is said in the last line on stderr."""
    failed = analyze(*arguments)

    assert failed.exit_code in {2, 3}
    assert reason in failed.stderr.splitlines()[-1]
