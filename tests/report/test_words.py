"""Numbers and names as people read them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mamba_advisor.advice.model import Advice, Interval
from mamba_advisor.boot.model import Releases
from mamba_advisor.measured import Measured
from mamba_advisor.report import words


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((), ""),
        ((12,), "line 12"),
        ((12, 31, 32, 33, 40), "lines 12, 31 to 33, 40"),
        ((1, 3, 5, 7, 9, 11, 13, 15), "lines 1, 3, 5, 7, 9, 11 and 2 more"),
        (tuple(range(1, 2001)), "lines 1 to 2000"),
    ],
)
def test_lines_are_joined_to_runs(numbers: tuple[int, ...], text: str) -> None:
    """Runs are joined; of more than six the rest is counted."""
    assert text == words.lines(numbers)


def test_all_lines_where_they_are_wanted() -> None:
    """An explanation cites every line."""
    assert words.lines((1, 3, 5, 7, 9, 11, 13), most=None).endswith("11, 13")


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (None, None, None, "unknown"),
        (1234, None, None, "1,234"),
        (206, 206, 206, "206"),
        (206, 198, 213, "206 (198 to 213)"),
        (100, 99, 101, "100"),
        (100, 98, 101, "100 (98 to 101)"),
        (0, 0, 1, "0 (0 to 1)"),
    ],
)
def test_intervals_matter_from_two_percent(
    value: int | None, low: int | None, high: int | None, text: str
) -> None:
    """± 1 of 100 is left out, 3 of 100 is shown."""
    assert text == words.spread(value, low, high)


@pytest.mark.parametrize(
    ("low", "value", "high", "text"),
    [
        (2343.6, 2349.0, 2353.1, "2,349"),
        (209.4, 314.2, 628.47, "209 to 629"),
        (97.5, 98.0, 99.6, "97 to 100"),
    ],
)
def test_a_wide_interval_stands_for_its_value(
    low: float, value: float, high: float, text: str
) -> None:
    """Within 2 % the value is good enough; else its ends, rounded outwards."""
    assert text == words.interval(Interval(value, low, high))


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (2.79, 2.9, "ratios from 2.79 to 2.9"),
        (0.453, 10_000.0, "ratios of 0.453 or more"),
        (0.453, 9_999.0, "ratios from 0.453 to 9,999"),
    ],
)
def test_a_range_of_ratios_may_have_no_end(low: float, high: float, text: str) -> None:
    """From 10,000 on, all memory but 0.01 % is the state pool's already."""
    assert text == words.ratios(low, high)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one two three", "one two three"),
        ("one two. Three four", "one two."),
        ("one. Two three four", "one. Two …"),
        ("one two 3.14159265", "one two …"),
        ("onetwothreefour", "onetwothreefo …"),
    ],
)
def test_long_messages_end_at_a_word(text: str, shown: str) -> None:
    """Of 13 characters: the sentence, where that leaves most of it, else the word."""
    assert shown == words.shortened(text, 13)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"),
        (0.00128, "0.00128"),
        (1.2345, "1.234"),
        (999.96, "1000"),
        (9850.4, "9,850"),
        (1e7, "10,000,000"),
    ],
)
def test_decimals_have_no_exponent(value: float | None, text: str) -> None:
    """Four significant digits, and whole numbers from a thousand on."""
    assert text == words.decimal(value)


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        (None, "unknown"),
        (Measured.exact(32_768, (3,)), "32.00 KiB"),
        (Measured.exact(32_768), "32.00 KiB~"),
        (Measured.from_text("0.09", "GiB", (3,)), "92.16 MiB (87.04 to 97.28 MiB)"),
        (Measured.from_text("9.46", "GiB", (3,)), "9.46 GiB"),
    ],
)
def test_sizes(quantity: Measured | None, text: str) -> None:
    """0.09 GB may be 0.085 to 0.095; of 9.46 GB the rounding does not matter."""
    assert text == words.size(quantity)


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        ("0.5.17", "0.5.18", "SGLang 0.5.17 to 0.5.18"),
        ("0.5.18", "0.5.18", "SGLang 0.5.18"),
        ("0.5.24", "", "SGLang 0.5.24 or later"),
        ("", "0.5.9", "SGLang up to 0.5.9"),
        ("", "", "SGLang of an unknown release"),
    ],
)
def test_releases(low: str, high: str, text: str, advices: dict[str, Advice]) -> None:
    """One release, a range, or none."""
    base = advices["state-bound"]

    advice = replace(base, boot=replace(base.boot, releases=Releases(low, high)))

    assert text == words.released(advice)


def test_a_limit_of_speculation_is_not_the_users(advices: dict[str, Advice]) -> None:
    """The default of 48 is named for what it is."""
    by_default = advices["speculation"].concurrency
    by_user = replace(by_default, requested_by="user")

    assert "speculation's default limit" == words.binding("request", by_default)
    assert "--max-running-requests" == words.binding("request", by_user)
