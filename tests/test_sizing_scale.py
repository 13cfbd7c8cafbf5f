"""The scale of problems with nothing to share, or nothing to pay."""

from __future__ import annotations

import pytest

from mamba_advisor.sizing import SizingProblem
from mamba_advisor.sizing.rules import settle
from mamba_advisor.sizing.scale import Scale, Span


def scale(rest_gib: float, slot_bytes: int, cell: int, spare_slots: int = 0) -> Scale:
    """Return the scale of a problem of 0.5.18."""
    problem = SizingProblem(rest_gib=rest_gib, slot_bytes=slot_bytes, cells=(cell,))
    return Scale.of(*settle("0.5.18", problem), 1000, spare_slots)


@pytest.mark.parametrize("rest_gib", [0.0, -1.0, -1e6])
def test_nothing_to_share(rest_gib: float) -> None:
    """Without a budget no pool is looked at, and none carries a request."""
    nothing = scale(rest_gib, 19_316_736, 12_288)

    assert 0 == nothing.most
    assert 0 == nothing.carries(0) == nothing.others(0) == nothing.others(5)
    assert Span(0, -1, 0) == nothing.best()


def test_slots_that_weigh_nothing() -> None:
    """Slots of 0 bytes are no divisor."""
    assert scale(1.0, 0, 12_288).most == 1 << 30


def test_tokens_and_slots_that_weigh_nothing() -> None:
    """Where no request takes anything, the guess is what the largest pool carries."""
    free = scale(1e-9, 0, 0)

    assert free.about_best() == free.state(free.most)


def test_fewer_slots_than_are_spared() -> None:
    """A pool that is smaller than what it spares carries nothing, not less."""
    assert 0 == scale(1.0, 19_316_736, 12_288, spare_slots=9).state(3)
