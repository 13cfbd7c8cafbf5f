"""Patterns look at so much of a line, and keep so much of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mamba_advisor.catalog import builtin_files, load_catalog
from mamba_advisor.dialect import parse
from mamba_advisor.facts import Rank, Reading
from mamba_advisor.pattern import MAX_TEXT, REACH, SPAN, Entry, Field, convert
from mamba_advisor.reader import LineReader
from mamba_advisor.report.plot.markup import element
from mamba_advisor.scan.sieve import (
    ENOUGH,
    MAX_DROPPED,
    MAX_KNOWN,
    MAX_SHAPES,
    MAX_TAGS,
    Sieve,
)
from mamba_advisor.server_args import MAX_RAW, parse_arguments
from mamba_advisor.shipped import sketch

CATALOG = load_catalog(plugins=False)
DECODE = (
    "[2026-03-07 04:31:24 TP0] Decode batch, #running-req: 8, #full token: 9000, full"
    " token usage: 0.10, mamba num: 40, mamba usage: 0.20, cuda graph: True, gen"
    " throughput (token/s): 512.55, #queue-req: 0"
)


def samples() -> Iterator[tuple[Entry, str]]:
    """Yield each shipped pattern that does not read arguments, with its first line."""
    for where, text in builtin_files():
        for entry, pattern in zip(
            sketch(text, where), parse(text, where).patterns, strict=True
        ):
            if not any(field.kind == "arguments" for field in pattern.fields):
                yield entry, pattern.samples[0].line.partition("] ")[2]


def test_wording_far_behind_in_a_line_is_not_looked_for() -> None:
    """What a prompt may hold is passed over, and takes no time."""
    read = [(entry, line) for entry, line in samples() if line and entry.read(line)]
    assert len(read) > 50

    for entry, line in read:
        assert entry.read("- " * SPAN + line) is None
        begins = entry.pattern.regex.startswith(entry.anchor.partition(" ")[0] or "\0")
        assert not begins or entry.read("- " * REACH + line) is None
        assert not begins or entry.read(f"{entry.anchor} {'- ' * SPAN}{line}") is None


@pytest.mark.parametrize("text", ["1 " * 5000, "9" * 5000, "-" * 5000])
def test_list_is_of_sane_length_and_numbers(text: str) -> None:
    """Neither a list nor a number in it is longer than any that a server prints."""
    value = convert(Field("group", "fact", "list"), text)

    assert isinstance(value, tuple)
    assert len(value) <= 4096
    assert all(abs(number) < 10**18 for number in value)


@pytest.mark.parametrize("text", ["9" * 19, "9" * 5000, "1." + "9" * 5000])
@pytest.mark.parametrize("kind", ["count", "number", "size"])
def test_number_without_end_is_none(kind: str, text: str) -> None:
    """More digits than any figure has are no figure."""
    unit = "GiB" if kind == "size" else ""

    assert convert(Field("group", "fact", kind, unit), text) is None


def test_text_is_kept_up_to_a_bound() -> None:
    """The first characters of a text are enough to tell it by."""
    assert "x" * MAX_TEXT == convert(Field("group", "fact", "text"), " " + "x" * 5000)


def sieve() -> Sieve:
    """Return one that has learned nothing."""
    return Sieve(CATALOG.exact, lambda: read)


def read(line: bytes) -> Reading | None:
    """Return the reading of a line, as the scan asks for it."""
    reader = LineReader(CATALOG)
    found = [*reader.feed(1, line), *reader.finish()]
    return found[0] if len(found) == 1 else None


def learn(learning: Sieve, number: int) -> None:
    """Show batch lines of a wording of their own."""
    odd = "".join(chr(97 + int(digit)) for digit in str(number))
    line = f"{DECODE}, {odd}: True".encode()
    reading = read(line)
    assert reading is not None
    for _ in range(ENOUGH):
        learning.note_batch(line, reading)


def test_shapes_in_force_have_a_bound() -> None:
    """Each shape makes the one expression longer: so many, and no more."""
    learning = sieve()
    for number in range(20):
        learn(learning, number)

    assert MAX_SHAPES == len(learning._shapes)


def test_shapes_of_many_starts_have_a_bound() -> None:
    """What earlier starts printed is remembered up to a bound."""
    learning = sieve()
    for number in range(150):
        learn(learning, number)
        learning.disarm()

    assert 0 < len(learning._known) <= MAX_KNOWN


def test_ranks_told_apart_have_a_bound() -> None:
    """Ranks without end, and ranks that repeat others, are named up to a bound."""
    learning = sieve()
    for tp in range(2000):
        learning.note_rank("", Rank(tp=tp, text=f"TP{tp}"))

    assert MAX_TAGS + 1 == len(learning.ranks)
    assert MAX_DROPPED == len(learning._dropped[""])


def test_quotes_stay_inside_an_attribute() -> None:
    """A text from a log ends no attribute, whichever quotes it holds."""
    picture = element("p", title="""a" onload='x' b""")

    assert '<p title="a&quot; onload=&#39;x&#39; b"></p>' == picture


def test_argument_is_kept_up_to_a_bound() -> None:
    """A value that is no number and no string is kept as text: its beginning."""
    found = parse_arguments(f"ServerArgs(a={'x' * 5000}, b=1)")

    assert {"a": "x" * MAX_RAW, "b": 1} == found
