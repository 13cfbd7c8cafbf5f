"""What the run has shown: as much as its samples allow to say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mamba_advisor.advice.model import Advice
from mamba_advisor.report import render


def test_the_run_is_told(advices: dict[str, Advice]) -> None:
    """Samples, what was left out, context, queue, usages and the hot pool are there."""
    text = " ".join(render([advices["kv-bound"]], explain=True).split())

    for part in (
        "3,204 samples over 2 h 5 min, 2026-09-14 12:00:01 to 14:05:11",
        "120 lines left out: no request was running",
        "32,768 tokens per running request, 20,480 to 47,104 in 8 of 10 samples",
        "9.6 running (at most 11), 4.2 queued (at most 30)",
        "4.0 held per request, 5 reserved",
        "Usage state 32 % (at most 36 %), KV 97 % (at most 100 %)",
        "the KV pool is short: in 39 % of the samples requests queued",
        "61 % of the prompt tokens were cached",
        "DP1 32,768 9.6 4.2 32 % 97 % none",
        "enough for the 40 wanted",
    ):
        assert part in text


@pytest.mark.parametrize(("samples", "shown"), [(9, False), (10, True)])
def test_a_spread_takes_ten_samples(
    samples: int, shown: bool, advices: dict[str, Advice]
) -> None:
    """Of two samples nothing holds for 8 of 10."""
    base = advices["kv-bound"]
    assert base.boot.runtime is not None
    total = replace(base.boot.runtime.total, samples=samples)
    run = replace(base.boot.runtime, total=total)

    text = render([replace(base, boot=replace(base.boot, runtime=run))])

    assert shown is ("in 8 of 10 samples" in text)


@pytest.mark.parametrize(
    ("samples", "why", "shown"),
    [
        (2, "too few samples to tell: 2 decode lines", "too few samples to tell: 2"),
        (90, "hardly a request queued", "neither pool is short: hardly a request"),
        (0, "", "cannot tell before the first decode line"),
    ],
)
def test_what_is_not_known_is_not_called_idle(
    samples: int, why: str, shown: str, advices: dict[str, Advice]
) -> None:
    """That neither pool is short takes samples."""
    base = advices["kv-bound"]
    assert base.boot.runtime is not None
    total = replace(
        base.boot.runtime.total, samples=samples, hot_pool=None, hot_why=why
    )
    run = replace(base.boot.runtime, total=total)

    text = render([replace(base, boot=replace(base.boot, runtime=run))])

    assert f"Hot pool  {shown}" in text


def test_a_warm_up_is_no_run(advices: dict[str, Advice]) -> None:
    """Without a sample, a retraction or an exhausted pool there is nothing to tell."""
    base = advices["kv-bound"]
    assert base.boot.runtime is not None
    nothing = replace(
        base.boot.runtime,
        total=replace(base.boot.runtime.total, samples=0, retractions=0),
        workers=(),
        exhausted=(),
    )

    text = render([replace(base, boot=replace(base.boot, runtime=nothing))])

    assert "The run" not in text
