"""Values, names and records that cannot be, at every entrance that takes some."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from mamba_advisor import Workload, advise, read_log
from mamba_advisor.boot import pools
from mamba_advisor.boot.model import KvPool
from mamba_advisor.cli import terminal, values
from mamba_advisor.dialect import parse
from mamba_advisor.errors import ConfigError, DialectError, InputError
from mamba_advisor.measured import Measured
from mamba_advisor.modelconfig.fields import Fields
from mamba_advisor.pattern import Field, convert
from mamba_advisor.report import render
from mamba_advisor.report.markdown import render_pages
from mamba_advisor.report.section import Cell, Drawing, Pair, Pairs, Section
from mamba_advisor.runtime.metrics import evidence_of, parse_metrics
from mamba_advisor.selftest import load

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "fixtures" / "demo" / "boot.log"
FORGED = "a\x1b[31m\u202eb"
"""A name that would change colour and direction of what follows it."""

DIALECT = """
schema = 1
name = "made"
title = "Made\\u001b[31m\\u202e"
[[pattern]]
name = "one"
event = "kv-pool"
regex = '{regex}'
anchor = "abc"
constants = {constants}
[[pattern.sample]]
line = "abc"
facts = {{}}
"""


def dialect(regex: str = "abc", constants: str = "{}") -> str:
    """Return the text of a dialect with one pattern."""
    return DIALECT.format(regex=regex, constants=constants)


@pytest.mark.parametrize("command", [("check",), ("list", "--parser")])
def test_dialect_forges_nothing(command: tuple[str, ...], tmp_path: Path) -> None:
    """The name of a file, and the title in it, are only text."""
    path = tmp_path / f"{FORGED}.toml"
    path.write_text(dialect(), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mamba_advisor", "parsers", *command, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert not re.search("[\x1b\u202e]", done.stdout + done.stderr)
    assert "made" in done.stdout + done.stderr or ".toml" in done.stdout


@pytest.mark.parametrize(
    "section",
    [
        Pairs("", (Pair("", (Cell(FORGED, "flag"),)),)),
        Drawing("", ((Cell(FORGED),),)),
    ],
)
def test_code_in_markdown_forges_nothing(section: Section) -> None:
    """What stands as code is not escaped by Markdown itself."""
    text = render_pages([("", [section])])

    assert not re.search("[\x1b\u202e]", text)
    assert "31m" in text


def test_regex_beyond_reason() -> None:
    """What nobody can compile is an error of the file."""
    with pytest.raises(DialectError):
        load(dialect("a{99999999999999999999999}"), "made.toml")


@pytest.mark.parametrize(
    "constants", ["{a = [1]}", "{a = 2020-01-01}", "{a = {b = 1}}"]
)
def test_constants_are_plain(constants: str) -> None:
    """A constant is a number, a text or a flag."""
    with pytest.raises(DialectError):
        parse(dialect(constants=constants), "made.toml")


@pytest.mark.parametrize("value", ["-1", "0", "True", "999999999999999999", "5000000"])
@pytest.mark.parametrize(
    "name",
    [
        *("context_length", "page_size", "tp_size", "dp_size", "pp_size"),
        *("attn_dp_size", "dcp_size", "max_running_requests", "max_mamba_cache_size"),
        *("max_total_tokens", "chunked_prefill_size", "speculative_num_draft_tokens"),
    ],
)
def test_setting_that_is_no_count(name: str, value: str) -> None:
    """No argument of a server makes figures that cannot be."""
    log = DEMO.read_text(encoding="utf-8")
    changed = re.sub(rf"\b{name}=[^,)]*", f"{name}={value}", log)
    if changed == log:
        changed = log.replace("ServerArgs(", f"ServerArgs({name}={value}, ", 1)
    boot = read_log(changed.split("\n"))[-1]
    advice = advise(boot, Workload(16384, "option"), curves="all")

    assert render([advice], "json")
    assert render([advice], "table")
    limits = advice.to_dict()["concurrency"]["limits"].values()
    assert all(limit is None or limit >= 0 for limit in limits)


@pytest.mark.parametrize("text", ["1.2.3", "1e5", "9" * 5000, "", "-", "\u0663"])
def test_size_that_is_no_number(text: str) -> None:
    """It is read by nobody."""
    assert convert(Field("group", "fact", "size", "GiB"), text) is None


def test_size_of_nothing() -> None:
    """Zero as printed is no less than nothing."""
    assert 0 == Measured.from_text("0.00", "GiB").low


def test_pool_without_tokens() -> None:
    """No draft fits a target that holds nothing."""
    assert not pools.fits_draft(KvPool(5, None), KvPool(0, None))


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_number_of_a_config(value: float) -> None:
    """A number of a model is more than nothing, and not endless."""
    with pytest.raises(ConfigError):
        Fields({"a": value}).number("a")


def test_long_value_of_a_config_is_quoted_in_part() -> None:
    """The error stays a line."""
    with pytest.raises(ConfigError) as found:
        Fields({"a": "x" * 9999}).count("a")

    assert len(str(found.value)) < 200


@pytest.mark.parametrize("kind", [values.ratio, values.fraction])
@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "0", "1e400", "x", ""])
def test_ratio_that_cannot_be(kind: Callable[[str], float], text: str) -> None:
    """A share of memory is a number above nothing."""
    with pytest.raises(click.BadParameter):
        kind(text)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (values.tokens, "9" * 15 + "M"),
        (values.size, "9999999T"),
        (values.count, "9" * 16),
        (values.byte_count, "9" * 15 + "G"),
    ],
)
def test_option_beyond_reason(kind: Callable[[str], int], text: str) -> None:
    """No machine has so much."""
    with pytest.raises(click.BadParameter):
        kind(text)


def test_metric_that_is_no_number() -> None:
    """It is passed over, and what is left is too little."""
    scrapes = parse_metrics(
        'sglang:num_running_reqs{model_name="a"} many\n'
        'sglang:num_queue_reqs{model_name="a"} 3\n'
    )

    with pytest.raises(InputError):
        evidence_of(scrapes)


def test_terminal_without_a_size() -> None:
    """A terminal that says 0 columns gets the usual width."""
    leader, follower = os.openpty()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS")
        assert 0 == os.get_terminal_size(follower).columns
        assert terminal.DEFAULT_WIDTH == terminal.width(follower)
    os.close(leader)
    os.close(follower)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_poor_encoding_is_drawn_with_what_it_has(encoding: str) -> None:
    """No sign of a drawing becomes a question mark."""
    done = subprocess.run(
        [sys.executable, "-m", "mamba_advisor", "analyze", str(DEMO), "-L", "8k"],
        cwd=ROOT,
        env=os.environ | {"PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )

    assert 0 == done.returncode
    assert done.stdout.isascii()
    assert b"?" not in done.stdout


def test_input_that_cannot_be_read() -> None:
    """Standard input that is open for writing alone is an error, not an end."""
    done = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m mamba_advisor 0>/dev/null"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )

    assert 2 == done.returncode
    assert b"standard input cannot be read" in done.stderr
