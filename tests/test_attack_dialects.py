"""Dialect files that are too much, and patterns that others keep waiting."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from mamba_advisor.catalog import load_catalog
from mamba_advisor.dialect import MAX_FILE, MAX_REGEX, entries, parse
from mamba_advisor.errors import DialectError
from mamba_advisor.selftest import load

GOOD = r"""
schema = 1
name = "mine"

[[pattern]]
name = "pool"
anchor = "Cache is ready."
regex = '''Cache is ready\. slots: (?P<slots>\d+)'''

[pattern.fields]
slots = { fact = "state_slots", kind = "count" }

[[pattern.sample]]
line = "Cache is ready. slots: 48"
facts = { state_slots = 48 }
"""


def padded(size: int) -> str:
    """Return a sound file of *size* characters."""
    return GOOD + "#" * (size - len(GOOD))


def with_regex(size: int) -> str:
    """Return a file, sound but for its size, with a regex of *size* characters."""
    text = r"Cache is ready\. slots: (?P<slots>\d+)"
    return GOOD.replace(text, text + "(?:)" * ((size - len(text)) // 4) + "x?")


class Package:
    """An installed package of dialects."""

    name = "acme"

    def load(self) -> str:
        """Return what it is imported as."""
        return "acme_dialects"


@pytest.fixture(params=["text", "parser", "plug-in"])
def refusal(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """Return what loads a file by one of three ways, and returns why it did not."""

    def of(text: str) -> str:
        (tmp_path / "x.toml").write_text(text)
        try:
            match request.param:
                case "text":
                    load(text, "x.toml")
                case "parser":
                    load_catalog([tmp_path / "x.toml"])
                case _:
                    monkeypatch.setattr("importlib.resources.files", lambda _: tmp_path)
                    monkeypatch.setattr("mamba_advisor.catalog.entry_points", installed)
                    return "".join(map(str, load_catalog().problems))
        except DialectError as error:
            return str(error)
        return ""

    return of


def installed(*, group: str) -> Sequence[Package]:
    """Return the one package that is installed."""
    return [Package()] if group else []


def test_file_has_a_largest_size(refusal: Any) -> None:
    """A sound file of 1 MiB is read; one character more is too much."""
    assert "" == refusal(padded(MAX_FILE))
    assert re.search("longer than 1048576|too large", refusal(padded(MAX_FILE + 1)))


def test_regex_has_a_largest_size(refusal: Any) -> None:
    """A regex of 8192 characters is compiled; one of 9000 is not."""
    assert "" == refusal(with_regex(MAX_REGEX - 4))
    assert "regex longer than 8192 characters" in refusal(with_regex(9000))


@pytest.mark.parametrize("opening", ["(", "(?=", "(?P<slots>"])
def test_deeply_nested_regex_is_refused(opening: str) -> None:
    """A regex that is too deep for its compiler is no traceback."""
    count = MAX_REGEX // (len(opening) + 1)
    text = r"Cache is ready\. slots: (?P<slots>\d+)"
    with pytest.raises(DialectError, match="regex does not compile"):
        load(GOOD.replace(text, opening * count + ")" * count), "my.toml")


def test_pattern_is_not_stopped_for_the_time_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only what a regex needs of the processor counts, not how long it waited."""

    class Waiting:
        groupindex: ClassVar[dict[str, int]] = {"slots": 1}

        def search(self, text: str, timeout: float) -> re.Match[str] | None:
            assert timeout > 0
            time.sleep(0.02)
            return re.search(r"slots: (?P<slots>\d+)", text)

    monkeypatch.setattr("mamba_advisor.dialect.SLACK_S", 0.2)
    monkeypatch.setattr("mamba_advisor.dialect._fused", lambda *_: Waiting())
    (entry,) = entries(parse(GOOD, "my.toml"))

    for number in range(20):
        assert entry.read("Cache is ready. slots: 48", (number,)) is not None
