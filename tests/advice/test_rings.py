"""ReplaySSM rings from a slot's own shape: the published sizes come out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mamba_advisor.advice.rings import ring_bytes_of
from mamba_advisor.sizing import SizingProblem

QN4 = SizingProblem(28.833, 19_316_736, (12_288,), state_family="gdn", draft_tokens=4)
"""36 layers of 8 value and 4 key heads of 128 × 128: 442 368 + 18 874 368 bytes."""


@pytest.mark.parametrize(
    ("version", "ring"),
    [("0.5.17", 451_584), ("0.5.19", 451_584), ("0.5.20", 3_557_376)],
)
def test_gdn_ring(version: str, ring: int) -> None:
    """36 × (8 + 4) × 4 × 128 × 2 + 36 × 8 × 4 × 8 is 451 584.

    From 0.5.20 16 entries twice: 36 × 2 × 12 × 16 × 128 × 2 + 36 × 8 × 16 × 4.
    """
    assert ring == ring_bytes_of(version, QN4, 442_368, 18_874_368, 16)


def test_kda_ring() -> None:
    """Kimi-Linear on TP4: 20 layers of 8 heads; 2 621 440 + 10 240 + 1 310 720."""
    kda = replace(QN4, state_family="kda")

    assert 3_942_400 == ring_bytes_of("0.5.20", kda, 368_640, 160 * 65_536, 16)


def test_other_families_and_releases_have_none() -> None:
    """Mamba-2 never has rings, and no budget knows them before 0.5.17."""
    mamba = replace(QN4, state_family="mamba2")

    assert ring_bytes_of("0.5.20", mamba, 442_368, 18_874_368, 16) is None
    assert ring_bytes_of("0.5.16", QN4, 442_368, 18_874_368, 16) is None
