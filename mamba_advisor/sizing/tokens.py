"""T: from the KV budget to the rows of the KV pool."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from mamba_advisor.record import Record
from mamba_advisor.sizing.problem import SizingProblem
from mamba_advisor.sizing.releases import Eras
from mamba_advisor.sizing.terms import GIB, Terms


class Tokens(Record):
    """Rows of the KV pool, on the way from the budget."""

    by_stage: tuple[int, ...]
    """What each stage's budget holds; empty where the release refused it at once."""

    rows: int
    """T; 0 or less is refused."""

    @property
    def profiled(self) -> int | None:
        """What the smallest stage holds."""
        return min(self.by_stage) if self.by_stage else None


def _head_room(terms: Terms, slots: int) -> int:
    """0.5.4–0.5.6: rows added for draft tokens of requests in flight."""
    problem = terms.problem
    if not problem.speculative:
        return 0
    requests = min(problem.requested or 0, slots // terms.reserved)
    per_request = problem.draft_steps * problem.draft_topk + problem.draft_tokens
    return requests * per_request + 100


def _no_head_room(terms: Terms, slots: int) -> int:
    """From 0.5.7: none."""
    return 0


HEAD_ROOMS: Eras[Callable[[Terms, int], int]] = (
    ("0.5.4", _head_room),
    ("0.5.7", _no_head_room),
)
"""First release -> (terms, K) -> tokens added to what the budget holds."""


def _align_last(problem: SizingProblem, kv_gib: float, head_room: int) -> Tokens:
    """0.5.4–0.5.10: divide, add head-room, cap, align; the check comes last."""
    held = _held(problem, kv_gib, page=1)
    return Tokens(held, _cap(problem, min(held) + head_room))


def _align_first(problem: SizingProblem, kv_gib: float, head_room: int) -> Tokens:
    """From 0.5.11: divide and align, refuse 0, cap, align again."""
    held = _held(problem, kv_gib, problem.page_size)
    least = min(held)
    return Tokens(held, _cap(problem, least)) if least > 0 else Tokens((), least)


def _held(problem: SizingProblem, kv_gib: float, page: int) -> tuple[int, ...]:
    """Return the tokens of each stage, in whole pages.

    A stage without attention layers takes what the others hold, a model without any
    what the flag or the context length says.
    """
    budget = int(kv_gib * GIB)
    charged = [budget // cell // page * page for cell in problem.cells if cell > 0]
    if len(charged) == len(problem.cells):
        return tuple(charged)
    free = min(charged, default=problem.max_total_tokens or problem.context_len)
    return tuple(
        budget // cell // page * page if cell > 0 else free for cell in problem.cells
    )


def _cap(problem: SizingProblem, rows: int) -> int:
    if problem.max_total_tokens is not None:
        rows = min(rows, problem.max_total_tokens)
    return rows // problem.page_size * problem.page_size


TokenRule: TypeAlias = Callable[[SizingProblem, float, int], Tokens]
"""(problem, GiB for KV, head-room in tokens) -> rows."""

TOKEN_RULES: Eras[TokenRule] = (
    ("0.5.4", _align_last),
    ("0.5.11", _align_first),
)
"""First release -> rule."""


def _printed_rows(problem: SizingProblem, rows: int) -> int:
    """Up to 0.5.20: the summary line prints rows of one rank."""
    return rows


def _printed_logical(problem: SizingProblem, rows: int) -> int:
    """From 0.5.21: the summary line prints what requests can use."""
    return rows * problem.dcp_size


PRINTED: Eras[Callable[[SizingProblem, int], int]] = (
    ("0.5.4", _printed_rows),
    ("0.5.21", _printed_logical),
)
"""First release -> (problem, T) -> ``max_total_num_tokens``."""
