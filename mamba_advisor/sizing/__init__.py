"""SGLang's pool arithmetic, release by release."""

from mamba_advisor.sizing.budget import (
    Unbudgeted,
    allocated_unbudgeted,
    is_capped,
    rest_interval,
    state_charge,
)
from mamba_advisor.sizing.forward import size_pools, solve
from mamba_advisor.sizing.inputs import SizingInputs
from mamba_advisor.sizing.pools import PoolSizes
from mamba_advisor.sizing.problem import SizingProblem
from mamba_advisor.sizing.slots import slots_per_request

__all__ = [
    "PoolSizes",
    "SizingInputs",
    "SizingProblem",
    "Unbudgeted",
    "allocated_unbudgeted",
    "is_capped",
    "rest_interval",
    "size_pools",
    "slots_per_request",
    "solve",
    "state_charge",
]
