"""Dialect files: what is refused, and how a pattern from outside runs."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from mamba_advisor.catalog import load_catalog
from mamba_advisor.dialect import entries, parse
from mamba_advisor.errors import DialectError
from mamba_advisor.measured import Measured
from mamba_advisor.pattern import Entry, Field, convert
from mamba_advisor.reader import read_readings
from mamba_advisor.selftest import load

GOOD = r"""
schema = 1
name = "mine"
title = "My own"

[[pattern]]
name = "mamba-pool"
versions = "0.5.4 –"
source = "srt/mem_cache/memory_pool.py"
anchor = "Cache is ready."
regex = '''(?<!Virtual)Cache is ready\. slots: (?P<slots>\d+), (?P<ssm>[\d.]+)GB(?: (?P<on>\w+))?'''

[pattern.fields]
slots = { fact = "state_slots", kind = "count" }
ssm = { fact = "ssm_bytes", kind = "size", unit = "GiB" }
on = { fact = "is_on", kind = "flag" }

[[pattern.sample]]
line = "[2026-09-09 11:57:18 TP0] Cache is ready. slots: 48, 6.46GB False"
facts = { state_slots = 48, ssm_bytes = "6.46 GiB", is_on = false }

[[reject]]
line = "VirtualCache is ready. slots: 48, 6.46GB"
why = "address space"
"""  # noqa: E501

SECOND = r"""
[[pattern]]
name = "second"
anchor = "Cache is ready."
regex = '''Cache is ready\. slots: (?P<n>\d+), 9'''

[pattern.fields]
n = { fact = "n", kind = "count" }

[[pattern.sample]]
line = "Cache is ready. slots: 48, 9"
facts = { n = 48 }
"""


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("schema = 1", "schema = 2", "schema 2 is not known"),
        ("schema = 1", "schema = ", "not TOML"),
        ('name = "mine"', 'name = "my own"', "is not a word"),
        ('name = "mine"', "name = 3", "name is not a string"),
        ('name = "mine"', "", "the file has no name"),
        ('title = "My own"', 'titel = "My own"', "unknown keys: titel"),
        ('title = "My own"', "edited = 1", "edited is not true or false"),
        ('title = "My own"', "rank = true", "rank is not an integer"),
        ('source = "srt', 'sources = "srt', "unknown keys: sources"),
        ('versions = "0.5.4 –"', 'versions = "new"', "is not a range"),
        (r"(?P<slots>\d+)", r"(?P<slots>\d+", "missing )"),
        ("slots = {", "slot = {", "groups and fields differ: slot, slots"),
        ('unit = "GiB"', 'unit = "GB"', "does not go with unit 'GB'"),
        (', unit = "GiB"', "", "does not go with unit ''"),
        ('kind = "count"', 'kind = "count", unit = "B"', "does not go with unit 'B'"),
        ('kind = "count"', 'kind = "int"', "kind 'int' is not known"),
        ('kind = "count" }', 'kind = "count", x = 1 }', "unknown keys: x"),
        ('{ fact = "state_slots", kind = "count" }', "3", "is not a table"),
        ("state_slots = 48", "state_slots = 47", "sample states 47"),
        ('"6.46 GiB"', '"6.47 GiB"', "sample states '6.47 GiB'"),
        ("is_on = false", "is_on = true", "sample states True"),
        (", is_on = false }", " }", "sample states 'nothing'"),
        ("(?<!Virtual)", "", "from a line it must not read"),
        ('anchor = "Cache is ready."', 'anchor = "Pool"', "does not read its sample"),
        ("6.46GB F", "x F", "does not read its sample"),
        ("[[pattern.sample]]", "[[pattern.samples]]", "unknown keys: samples"),
        ("[[reject]]\n", "[reject]\n", "write [[reject]]"),
        ("[[reject]]\n", SECOND.replace(", 9", ", 6") + "[[reject]]\n", "n: "),
        ("[[reject]]\n", SECOND.replace('"second"', '"mamba-pool"') + "[[reject]]\n",
         "two patterns have the same name"),
    ],
)  # fmt: skip
def test_broken_file_is_refused(old: str, new: str, reason: str) -> None:
    """The message names the file and what is wrong with it."""
    assert old in GOOD
    with pytest.raises(DialectError) as caught:
        load(GOOD.replace(old, new, 1), "my.toml")

    assert caught.value.where.startswith("my.toml")
    assert reason in caught.value.reason


def test_file_without_samples_is_refused() -> None:
    """A pattern that nothing proves is not taken."""
    text = GOOD[: GOOD.index("[[pattern.sample]]")]
    with pytest.raises(DialectError, match="has no sample"):
        load(text, "my.toml")


def test_file_without_patterns_is_refused() -> None:
    """An empty dialect is a mistake."""
    with pytest.raises(DialectError, match="has no pattern"):
        load('schema = 1\nname = "a"\n', "my.toml")


@pytest.mark.parametrize(
    "text", ["a" * (1 << 20) + "a", "a = " + "[" * 100000, "\0", "x = {" * 5000]
)
def test_hostile_file_is_refused(text: str) -> None:
    """No file makes the loader crash or hang."""
    with pytest.raises(DialectError):
        load(text, "my.toml")


def test_good_file_is_loaded() -> None:
    """Every key lands where it belongs."""
    dialect = load(GOOD, "my.toml")
    (pattern,) = dialect.patterns

    assert ("mine", "My own", 0, False) == (
        dialect.name,
        dialect.title,
        dialect.rank,
        dialect.edited,
    )
    assert ("0.5.4", "") == pattern.versions
    assert ["slots", "ssm", "on"] == [field.group for field in pattern.fields]
    assert 1 == len(dialect.rejects)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("0.5.4 –", ("0.5.4", "")),
        ("0.5.4 – 0.5.12", ("0.5.4", "0.5.12")),
        ("0.5.4-0.5.12", ("0.5.4", "0.5.12")),
        ("– 0.5.9", ("", "0.5.9")),
        ("0.5.13", ("0.5.13", "0.5.13")),
        ("–", ("", "")),
    ],
)
def test_versions_are_a_range(written: str, expected: tuple[str, str]) -> None:
    """A dash is a range, open where a release is missing; none is one release."""
    dialect = parse(GOOD.replace("0.5.4 –", written), "my.toml")

    assert expected == dialect.patterns[0].versions


def test_event_follows_from_the_facts() -> None:
    """A pattern that names no event has that of the facts, else its own name."""
    facts = GOOD.replace('on = { fact = "is_on"', 'on = { fact = "conv_bytes"')

    assert "state-pool" == parse(facts, "my.toml").patterns[0].event
    assert "mamba-pool" == parse(GOOD, "my.toml").patterns[0].event


@pytest.mark.parametrize("gap", [r"(?:\w|\w\w)*", r"(?:[^x]|[^x][^y])*"])
def test_catastrophic_regex_is_refused_when_loaded(gap: str) -> None:
    """It hits the fuse on a probe; the message names the pattern."""
    text = GOOD.replace(r"ready\. slots", rf"ready\.{gap} slots")
    start = time.monotonic()
    with pytest.raises(DialectError) as caught:
        load(text, "my.toml")

    assert "pattern 'mamba-pool': its regex is too slow" in caught.value.reason
    assert time.monotonic() - start < 20


def test_slow_regex_is_stopped_on_a_line() -> None:
    """What no probe finds is stopped by the fuse, and the line is named."""
    text = GOOD.replace(r"ready\. slots", r"ready\.(?:é|éé)* slots")
    (entry,) = entries(load(text, "my.toml"))
    with pytest.raises(DialectError) as caught:
        entry.read("Cache is ready." + "é" * 60000 + "!", (812,))

    assert "pattern 'mamba-pool'" in caught.value.reason
    assert "line 812" in caught.value.reason


class Ticks:
    """A clock that goes on by a step each time that it is asked."""

    def __init__(self) -> None:
        self.step = self.now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        self.now += self.step
        return self.now


def read_often(entry: Entry, times: int) -> None:
    """Have a line that the entry reads read many times."""
    for number in range(1, times + 1):
        assert entry.read("Cache is ready. slots: 12, 1.50GB", (number,)) is not None


def test_regex_that_is_slow_in_sum_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stays below the limit on every line is stopped when it goes on so."""
    ticks = Ticks()
    monkeypatch.setattr("mamba_advisor.dialect.thread_time", ticks)
    (entry,) = entries(parse(GOOD, "my.toml"))
    ticks.step = 0.01

    read_often(entry, 1000)
    with pytest.raises(DialectError, match=r"pattern 'mamba-pool'.* 1 s for a million"):
        read_often(entry, 100)


def test_sound_regex_may_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time is granted by what was read, and what is not used is not saved up."""
    ticks = Ticks()
    monkeypatch.setattr("mamba_advisor.dialect.thread_time", ticks)
    monkeypatch.setattr("mamba_advisor.dialect.SLACK_S", 0.1)
    (entry,) = entries(parse(GOOD, "my.toml"))

    ticks.step = 1e-4
    read_often(entry, 5000)
    ticks.step = 0.01
    with pytest.raises(DialectError):
        read_often(entry, 20)


def test_user_wording_reads_a_log(tmp_path: Path) -> None:
    """A new wording needs no Python, only a file."""
    file = tmp_path / "mine.toml"
    file.write_text(GOOD, encoding="utf-8")
    line = "[2027-01-01 10:00:00 TP1] Cache is ready. slots: 12, 1.50GB"
    (reading,) = read_readings([line], load_catalog([file]))

    assert "mine/mamba-pool" == reading.pattern
    assert 12 == reading.facts["state_slots"]
    assert 1 == reading.rank.tp


def test_built_in_dialects_need_no_regex_library() -> None:
    """Reading a log with the built-in dialects imports neither regex nor tomllib."""
    code = (
        "import sys\n"
        "from mamba_advisor.catalog import load_catalog\n"
        "from mamba_advisor.reader import read_readings\n"
        "lines = ['[2026-01-01 10:00:00] Memory pool end. avail mem=1.00 GB']\n"
        "assert len(list(read_readings(lines, load_catalog()))) == 1\n"
        "loaded = {'regex', 'tomllib', 'importlib.resources', 'importlib.metadata',"
        " 'json', 'lzma', 'bz2', 'pathlib', 'click', 'rich'}\n"
        "print(sorted(loaded & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).resolve().parent.parent,
    )

    assert "[]\n" == done.stdout


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("count", "1,049,344", 1049344),
        ("count", "333'254", 333254),
        ("count", "-28", -28),
        ("count", "1.5", None),
        ("count", "9" * 19, None),
        ("count", "²", None),
        ("number", "0.59", 0.59),
        ("number", "nan", None),
        ("flag", "False", False),
        ("flag", "VA upper bound", True),
        ("list", "[1, 2, 4]", (1, 2, 4)),
        ("text", " a ", "a"),
    ],
)
def test_kinds_convert(kind: str, text: str, expected: object) -> None:
    """What is not of its kind converts to nothing, and the pattern does not read."""
    assert expected == convert(Field("g", "f", kind), text)


def test_sizes_carry_their_rounding() -> None:
    """6.46 GiB is good to 0.005 GiB; 17 GiB typed by a person to half a GiB."""
    exact = convert(Field("g", "f", "size", "GiB"), "6.46", (7,))
    typed = convert(Field("g", "f", "size", "GiB"), "17", typed=True)

    assert Measured(6936372183, 6931003473, 6941740893, (7,)) == exact
    assert Measured(17 << 30, 33 << 29, 35 << 29) == typed
