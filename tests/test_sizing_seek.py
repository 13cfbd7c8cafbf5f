"""Looking for the last integer that holds, from good guesses and from bad ones."""

from __future__ import annotations

import pytest

from mamba_advisor.sizing.seek import last_holding


@pytest.mark.parametrize("guess", [-5, 0, 1, 49, 50, 51, 99, 100, 1000])
@pytest.mark.parametrize("last", [0, 1, 49, 50, 98, 99])
def test_any_guess_leads_there(last: int, guess: int) -> None:
    """The answer does not depend on the guess, and no end is asked for."""
    asked: list[int] = []

    def holds(number: int) -> bool:
        asked.append(number)
        return number <= last

    assert last == last_holding(holds, 0, 100, guess)
    assert {0, 100}.isdisjoint(asked)
    assert len(set(asked)) == len(asked)


def test_a_right_guess_takes_two_questions() -> None:
    """In a million numbers a right guess is as quick as among three."""
    asked: list[int] = []

    def holds(number: int) -> bool:
        asked.append(number)
        return number <= 700_000

    assert 700_000 == last_holding(holds, 0, 1_000_000, 700_000)
    assert [700_000, 700_001] == asked


def test_nothing_to_ask() -> None:
    """Where the ends are neighbours, the lower one is the answer."""
    assert 3 == last_holding(lambda _: False, 3, 4, 9)
