"""The launch flags alone, for ``$(...)``."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from mamba_advisor.advice.model import Advice
from mamba_advisor.errors import InputError
from mamba_advisor.report import words


def render_flags(advices: Sequence[Advice]) -> str:
    """Return the recommended flags, quoted for a shell, a line per boot.

    The advice to keep the split is an empty line.

    Raises:
        InputError: A boot has no recommendation; the message says what it takes.
    """
    return "".join(f"{_line(advice)}\n" for advice in advices)


def _line(advice: Advice) -> str:
    if advice.recommendation is None:
        raise InputError(f"{words.name(advice)}: no flags to give: {_reason(advice)}")
    return shlex.join(advice.recommendation.flags)


def _reason(advice: Advice) -> str:
    workload = advice.workload
    if workload.avg_context is None and workload.concurrency is None:
        return "the mean context per request is needed (-L TOKENS)"
    return advice.verdict.headline
