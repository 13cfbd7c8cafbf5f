"""Before the first boot: a config and arguments become a sizing problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mamba_advisor.lazy import lazily

if TYPE_CHECKING:
    from mamba_advisor.plan.change import Answer, Attempt, Step, least_change
    from mamba_advisor.plan.make import make_plan
    from mamba_advisor.plan.match import GeometryMatch, match_geometry
    from mamba_advisor.plan.model import Plan
    from mamba_advisor.plan.options import PlanOptions

__all__ = [
    "Answer",
    "Attempt",
    "GeometryMatch",
    "Plan",
    "PlanOptions",
    "Step",
    "least_change",
    "make_plan",
    "match_geometry",
]

__getattr__ = lazily(
    __name__,
    {
        "Answer": "change",
        "Attempt": "change",
        "GeometryMatch": "match",
        "Plan": "model",
        "PlanOptions": "options",
        "Step": "change",
        "least_change": "change",
        "make_plan": "make",
        "match_geometry": "match",
    },
)
