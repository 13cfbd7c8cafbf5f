"""Pipeline stages: what the budget pays for beside what one rank prints.

Each stage prints its own layers (all of them up to 0.5.9, as far as state goes).  The
budget of 0.5.10 to 0.5.16 pays every rank the state of all layers, from 0.5.17 that of
the stage with most of them.  The token count is the smallest of all stages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mamba_advisor.advice.constants import slot_bytes, token_bytes
from mamba_advisor.boot.model import Boot, RankBoot
from mamba_advisor.boot.shape import stages as stage_count
from mamba_advisor.record import Record
from mamba_advisor.sizing.releases import since

if TYPE_CHECKING:
    from fractions import Fraction

MOST_LAYERS = 512
"""Stage shares are fractions of whole layers, with no larger denominator."""


class Shares(Record):
    """Factors from what the binding rank stores to what is paid for."""

    slot_factor: Fraction | int
    """Charged state bytes of a slot ÷ stored on the binding rank."""

    cell_factors: tuple[Fraction | int, ...]
    """Token bytes of each stage ÷ those of the binding rank."""

    def slot(self, stored: int) -> int:
        """Return the charged bytes of a slot that stores *stored* bytes."""
        return int(stored * self.slot_factor)

    def cells(self, cell: int) -> tuple[int, ...]:
        """Return the charged bytes of a token on each stage."""
        return tuple(int(cell * factor) for factor in self.cell_factors)


SINGLE = Shares(1, (1,))
"""No pipeline stages."""


def shares_of(boot: Boot, rank: RankBoot, version: str) -> Shares:
    """Return what each stage pays, relative to the binding *rank*.

    Stages print two decimals, so the factors are the simplest fractions of whole
    layers that these allow.  A stage that the log does not show is taken to equal
    the binding one.
    """
    count = stage_count(boot)
    if count < 2:  # noqa: PLR2004
        return SINGLE
    seen = {
        other.rank.pp: other
        for other in reversed(boot.ranks)
        if other.rank.dp == rank.rank.dp and other.state_pool and other.kv_pool
    }
    own_slot, own_token = slot_bytes(rank.state_pool), token_bytes(rank.kv_pool, 1)
    if own_slot is None or own_token is None:
        return SINGLE
    states: list[Fraction | int] = []
    cells: list[Fraction | int] = []
    for _, other in sorted(seen.items()):
        slot, token = slot_bytes(other.state_pool), token_bytes(other.kv_pool, 1)
        states.append(_fraction(slot.value, own_slot.value) if slot else 1)
        cells.append(_fraction(token.value, own_token.value) if token else 1)
    states += [1] * (count - len(states))
    cells += [1] * (count - len(cells))
    if not since(version, "0.5.10"):
        return Shares(1, tuple(cells))
    if not since(version, "0.5.17"):
        return Shares(sum(states), tuple(cells))
    return Shares(max(states), tuple(cells))


def _fraction(value: int, own: int) -> Fraction | int:
    """Return value ÷ own as the simplest fraction within what two decimals allow."""
    from fractions import Fraction

    if own == 0:
        return 1
    exact = Fraction(value, own)
    for most in (1, 2, 4, 8, 16, 32, 64, 128, MOST_LAYERS):
        near = exact.limit_denominator(most)
        if abs(near - exact) * 200 < exact:
            return near
    return exact
