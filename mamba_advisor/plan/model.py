"""A plan: what a config and the arguments amount to before any boot."""

from __future__ import annotations

from mamba_advisor.boot.model import Boot
from mamba_advisor.measured import Measured
from mamba_advisor.modelconfig import ModelBytes
from mamba_advisor.plan.fraction import Fraction
from mamba_advisor.plan.gpus import Gpu
from mamba_advisor.plan.options import PlanOptions
from mamba_advisor.plan.weights import Weights
from mamba_advisor.record import Record
from mamba_advisor.sizing import SizingProblem


class Plan(Record):
    """Everything up to the pool arithmetic, for one rank of the planned server."""

    boot: Boot
    """The server as if it had been read: settings, no ranks, no outcome."""

    model: ModelBytes
    """Byte constants, exact."""

    options: PlanOptions
    version: str
    """The release whose arithmetic is used."""

    problem: SizingProblem | None
    """Best estimate; None: the budget is unknown."""

    low: SizingProblem | None
    """As `problem`, with the smallest budget that is possible."""

    high: SizingProblem | None
    """As `problem`, with the largest budget that is possible."""

    budget: Measured | None
    """What both pools share, in bytes; negative: the weights do not fit."""

    charged_cell: int
    """KV bytes that the budget pays for one token on the largest stage."""

    draft_cell: int | None = None
    """KV bytes per token that a draft stores and nobody charges; None: no draft, or
    its size is unknown.
    """

    gpu: Gpu | None = None
    fraction: Fraction | None = None
    weights: Weights | None = None
    reserve: Measured | None = None
    """What the release reserves beside the fraction, in bytes."""

    assumptions: tuple[str, ...] = ()
    """What was taken without being stated, a sentence each."""

    missing: tuple[str, ...] = ()
    """What would have to be stated for a budget, an option each."""

    @property
    def constants_exact(self) -> bool:
        """Whether bytes per slot and token are known to the byte: always."""
        return True

    @property
    def budget_exact(self) -> bool:
        """Whether the budget is known to the byte."""
        return self.budget is not None and self.budget.is_exact

    @property
    def loadable(self) -> bool:
        """Whether SGLang's model code takes this layout, as far as is known."""
        return self.model.loadable
