"""What was found out about a server, for those who ask again: its replicas, mostly.

Many parts of an advice ask for the same, and the replicas of a server print the same
figures.
"""

from __future__ import annotations

from functools import lru_cache, update_wrapper
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Concatenate, ParamSpec, TypeVar

    from mamba_advisor.sizing.problem import SizingProblem

    P = ParamSpec("P")
    R = TypeVar("R")

REMEMBERED = 256
"""Results of a function that are kept at a time."""

FEW_STAGES = 64
"""Pipeline stages up to which they are: a log may claim thousands, each with figures
of its own, and then there are no replicas.
"""


def remembered(
    function: Callable[Concatenate[str, SizingProblem, P], R],
) -> Callable[Concatenate[str, SizingProblem, P], R]:
    """Return *function* with a memory for release, problem and whatever else it takes.

    What it returns is shared: it must not be changed.
    """
    known: Any = lru_cache(maxsize=REMEMBERED, typed=True)(function)

    def ask(
        version: str, problem: SizingProblem, /, *args: P.args, **settings: P.kwargs
    ) -> R:
        if len(problem.cells) > FEW_STAGES:
            return function(version, problem, *args, **settings)
        found: R = known(version, problem, *args, **settings)
        return found

    update_wrapper(ask, known)
    return ask
