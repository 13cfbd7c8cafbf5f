"""SGLang's pool arithmetic, release by release.

Forward: `solve` and `size_pools`.  Backward: `rest_interval`, `ratio_for_slots`,
`pin_for_slots` and their likes.  The best setting: `best_split`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mamba_advisor.sizing.budget import (
    Unbudgeted,
    allocated_unbudgeted,
    is_capped,
    rest_interval,
    state_charge,
)
from mamba_advisor.sizing.forward import size_pools, solve
from mamba_advisor.sizing.inverse import (
    formula_ratio,
    pin_for_concurrency,
    pin_for_slots,
    ratio_for_concurrency,
    ratio_for_slots,
    sustained,
)
from mamba_advisor.sizing.limits import RequestLimits
from mamba_advisor.sizing.optimum import Split, best_split
from mamba_advisor.sizing.pools import PoolSizes
from mamba_advisor.sizing.problem import SizingProblem
from mamba_advisor.sizing.rules import request_limits
from mamba_advisor.sizing.slots import slots_per_request
from mamba_advisor.sizing.terms import decided_by

if TYPE_CHECKING:
    from mamba_advisor.sizing.inputs import SizingInputs

__all__ = [
    "PoolSizes",
    "RequestLimits",
    "SizingInputs",
    "SizingProblem",
    "Split",
    "Unbudgeted",
    "allocated_unbudgeted",
    "best_split",
    "decided_by",
    "formula_ratio",
    "is_capped",
    "pin_for_concurrency",
    "pin_for_slots",
    "ratio_for_concurrency",
    "ratio_for_slots",
    "request_limits",
    "rest_interval",
    "size_pools",
    "slots_per_request",
    "solve",
    "state_charge",
    "sustained",
]


def __getattr__(name: str) -> Any:
    # SGLang's own inputs serve checks of the arithmetic; reading logs needs none.
    if name != "SizingInputs":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mamba_advisor.sizing.inputs import SizingInputs

    return SizingInputs
