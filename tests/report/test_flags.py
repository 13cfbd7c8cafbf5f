"""The flags alone, ready for a shell."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from mamba_advisor.advice.model import Advice
from mamba_advisor.errors import InputError
from mamba_advisor.report import render


def test_flags_are_one_line(advices: dict[str, Advice]) -> None:
    """Nothing but the recommended flags, on one line."""
    assert "--mamba-full-memory-ratio 2.84\n" == render(
        [advices["state-bound"]], "flags"
    )


def test_several_boots_give_a_line_each_in_order(advices: dict[str, Advice]) -> None:
    """The lines are in the order of the boots; to keep a split takes no flag."""
    chosen = [advices["plan"], advices["kv-bound"]]

    assert "\n--max-mamba-cache-size 81\n" == render(chosen, "flags")


def test_flags_are_quoted(advices: dict[str, Advice]) -> None:
    """A value that a shell would take apart comes back as one word."""
    base = advices["state-bound"]
    assert base.recommendation is not None
    odd = replace(base.recommendation, flags=("--model", "a b;$(c)"))

    line = render([replace(base, recommendation=odd)], "flags")

    assert ["--model", "a b;$(c)"] == shlex.split(line)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("no-context", r"no flags to give: the mean context .* needed \(-L TOKENS\)"),
        ("unified", "no flags to give: One buffer holds both pools"),
    ],
)
def test_no_recommendation_is_an_error(
    kind: str, reason: str, advices: dict[str, Advice]
) -> None:
    """Without a recommendation nothing is printed, and the message says why."""
    with pytest.raises(InputError, match=reason) as caught:
        render([advices["state-bound"], advices[kind]], "flags")

    assert 2 == caught.value.exit_code
