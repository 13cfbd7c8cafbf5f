"""What a failed boot needs, and what every coach takes from the boot."""

from __future__ import annotations

from mamba_advisor.advice.model import Cost, Prediction, Recommendation
from mamba_advisor.advice.situation import Situation
from mamba_advisor.boot import binding_rank
from mamba_advisor.boot.model import RankBoot
from mamba_advisor.record import Record, replace

HUNDREDTH = 100
"""Fractions are advised in hundredths, rounded to the side that boots."""

HIGHEST_FRACTION = 0.97
"""No higher fraction is ever advised."""

RAISE = "raise --mem-fraction-static, or free memory on the GPU"
"""What to do where no exact step can be computed."""

TOO_LARGE = (
    "the weights alone do not fit: more GPUs (a larger --tp-size), a smaller or "
    "quantized model"
)
"""What to do where no fraction is enough."""


class Coaching(Record):
    """What a failed boot needs."""

    cause: str
    """One sentence."""

    recommendation: Recommendation | None
    """None: the figures do not tell how large a change must be."""

    advice: str = ""
    """What to do where no exact change can be computed."""


def recommendation(
    action: str,
    flags: tuple[str, ...],
    predicted: Prediction,
    reason: str,
    *,
    pin: int | None = None,
    ratio: float | None = None,
) -> Recommendation:
    """Return a recommendation for a boot that never ran: no gain, no cost."""
    return Recommendation(
        action=action,
        mamba_full_memory_ratio=ratio,
        formula_ratio=None,
        max_mamba_cache_size=pin,
        flags=flags,
        predicted=predicted,
        gain=None,
        cost=Cost(),
        reason=reason,
    )


def rank_of(situation: Situation) -> RankBoot | None:
    """Return the binding rank, else the first that printed anything."""
    ranks = situation.boot.ranks
    rank = binding_rank(situation.boot) or (ranks[0] if ranks else None)
    if rank is not None and rank.avail_before and rank.avail_before.low <= 0:
        return replace(rank, avail_before=None)
    return rank


def fraction_of(situation: Situation) -> float | None:
    """Return ``--mem-fraction-static`` in force, None when unknown."""
    value = situation.calibration.settled.value("mem_fraction_static")
    return float(value) if isinstance(value, int | float) else None
