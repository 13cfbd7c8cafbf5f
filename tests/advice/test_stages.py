"""Pipeline stages: what the budget pays for beside what one rank prints."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mamba_advisor.advice.stages import SINGLE, shares_of
from mamba_advisor.boot.model import (
    Boot,
    KvPool,
    RankBoot,
    Releases,
    Setting,
    Source,
    StatePool,
)
from mamba_advisor.facts import Rank
from mamba_advisor.measured import Measured
from mamba_advisor.record import replace


def gib(text: str) -> Measured:
    """Return a size as printed."""
    return Measured.from_text(text, "GiB")


def stage(number: int, ssm: str, kv: str) -> RankBoot:
    """Return a stage with 100 rows of state and 1 000 000 tokens."""
    return RankBoot(
        Rank(pp=number, tp=0, text=f"PP{number} TP0"),
        state_pool=StatePool(99, gib("0.00"), gib(ssm)),
        kv_pool=KvPool(999_999, gib(kv)),
    )


def boot(*ranks: RankBoot, pp_size: int = 2) -> Boot:
    """Return a boot of these stages."""
    return Boot(
        source=Source("-", 1, 1),
        number=1,
        outcome="ready",
        releases=Releases("0.5.12", "0.5.18"),
        hybrid=True,
        hybrid_evidence="",
        architecture=None,
        draft_architecture=None,
        settings={"pp_size": Setting(pp_size, "log:1")},
        ranks=ranks,
    )


@pytest.mark.parametrize(
    ("version", "factor"),
    [("0.5.9", Fraction(1)), ("0.5.12", Fraction(2)), ("0.5.18", Fraction(1))],
)
def test_equal_stages(version: str, factor: Fraction) -> None:
    """Each rank is charged all layers up to 0.5.16, its own share from 0.5.17.

    Up to 0.5.9 every stage stores, and so prints, all of them.
    """
    first, second = stage(0, "9.00", "6.00"), stage(1, "9.00", "6.00")

    shares = shares_of(boot(first, second), first, version)

    assert factor == shares.slot_factor
    assert (Fraction(1), Fraction(1)) == shares.cell_factors


def test_uneven_stages_pay_for_the_largest() -> None:
    """10 and 13 state layers, 4 and 3 attention layers: 13/10 and 3/4 of the first."""
    first, second = stage(0, "10.00", "8.00"), stage(1, "13.00", "6.00")

    shares = shares_of(boot(first, second), first, "0.5.18")

    assert Fraction(13, 10) == shares.slot_factor
    assert 13_000 == shares.slot(10_000)
    assert (1_000, 750) == shares.cells(1_000)


def test_stage_that_is_not_shown_counts_as_an_equal_one() -> None:
    """One of two stages in a paste: the state of both is charged in 0.5.12."""
    only = stage(0, "9.00", "6.00")

    shares = shares_of(boot(only), only, "0.5.12")

    assert Fraction(2) == shares.slot_factor


def test_one_stage_changes_nothing() -> None:
    """Without pipeline parallelism a rank pays for what it prints."""
    only = stage(0, "9.00", "6.00")

    assert SINGLE == shares_of(boot(only, pp_size=1), only, "0.5.12")


@pytest.mark.parametrize("version", ["0.5.9", "0.5.12", "0.5.18"])
def test_stage_without_state_bytes_is_no_divisor(version: str) -> None:
    """A stage that prints 0.00 GB is taken to pay what the others do."""
    first, second = stage(0, "0.00", "6.00"), stage(1, "9.00", "6.00")

    shares = shares_of(boot(first, second), first, version)

    assert shares.slot_factor in (1, 2)
    assert (1, 1) == shares.cell_factors


def test_stage_without_a_state_pool_changes_nothing() -> None:
    """What others store cannot be told from what is not there."""
    first = replace(stage(0, "9.00", "6.00"), state_pool=None)
    second = stage(1, "9.00", "6.00")

    assert SINGLE == shares_of(boot(first, second), first, "0.5.18")
