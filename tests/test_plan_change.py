"""Can it carry the load, and what is the least change that can."""

from __future__ import annotations

from typing import Any

import pytest

from mamba_advisor.errors import InputError
from mamba_advisor.measured import UNITS, Measured
from mamba_advisor.modelconfig.published import all_published
from mamba_advisor.plan import Answer, PlanOptions, least_change

GIB = UNITS["GiB"]
PUBLISHED = {model.name: dict(model.config) for model in all_published()}
QWEN35 = PUBLISHED["Qwen/Qwen3.5-27B"]

H100 = PlanOptions(
    gpus="h100", weights=Measured.exact(50 * GIB), mem_fraction_static=0.85
)
"""Some 16.7 GiB for both pools: 78.5 · 0.85 − 50."""


def asked(concurrency: int, **options: Any) -> Answer:
    """Return the answer for contexts of 9 216 tokens."""
    fields = {name: getattr(H100, name) for name in H100.__dataclass_fields__}
    return least_change(
        QWEN35,
        PlanOptions(**{**fields, **options}),
        avg_context=9216,
        concurrency=concurrency,
    )


def test_it_carries_without_a_change() -> None:
    """10 requests: 51 slots of 147 MiB and 92 160 tokens of 64 KiB are 12.9 GiB."""
    answer = asked(10)

    assert answer.given.carries
    assert answer.given.surely
    assert answer.least is None
    assert 1 == answer.given.gpus


def test_strategy_is_the_least_change() -> None:
    """14 requests: 70 slots and 8 GiB of KV are 17.9 GiB, 56 slots only 15.9."""
    answer = asked(14)

    assert not answer.given.carries
    assert answer.least is not None
    assert ("--mamba-radix-cache-strategy", "extra_buffer_lazy") == answer.least.flags
    assert ["strategy"] == [step.name for step in answer.least.steps]
    assert answer.least.steps[0].gate is not None


def test_state_dtype_before_two_changes() -> None:
    """17 requests: bfloat16 states halve 12 GiB; the lazy buffer alone saves 2.4."""
    answer = asked(17)

    assert answer.least is not None
    assert ("--mamba-ssm-dtype", "bfloat16") == answer.least.flags


def test_changes_add_up_before_gpus_do() -> None:
    """25 requests: 125 slots of 75 MiB and 7 GiB of fp8 KV are 16.2 GiB of 16.7."""
    answer = asked(25)

    assert answer.least is not None
    assert 1 == answer.least.gpus
    assert ["state-dtype", "kv-dtype"] == [step.name for step in answer.least.steps]


def test_more_gpus_when_nothing_else_helps() -> None:
    """300 requests: 8 ranks at least; the weights split with them."""
    answer = asked(300)

    assert answer.least is not None
    assert "--tp-size" in answer.least.flags
    assert answer.least.gpus > 1
    assert answer.least.plan.weights is not None
    ranks = answer.least.plan.options.tp_size
    assert 50 * GIB // ranks == answer.least.plan.weights.size.value


def test_replicas_when_heads_do_not_split() -> None:
    """24 query heads stop at TP 8: a second replica doubles what one carries."""
    answer = asked(700)

    assert answer.least is not None
    assert "--dp-size" in answer.least.flags
    assert answer.least.plan.options.tp_size <= 8


def test_nothing_carries_it() -> None:
    """A million requests: the closest attempt is shown instead."""
    answer = asked(1_000_000)

    assert answer.least is None
    assert answer.closest is not None
    assert answer.closest.split is not None
    assert answer.given.split is not None
    assert answer.closest.split.sustained > answer.given.split.sustained


def test_weights_that_do_not_fit_want_gpus() -> None:
    """90 GiB on an H100: nothing boots, two of them do."""
    answer = asked(8, weights=Measured.exact(90 * GIB))

    assert answer.given.split is None
    assert answer.least is not None
    assert ("--tp-size", "2") == answer.least.flags


def test_constants_by_hand_leave_replicas() -> None:
    """Bytes of one rank do not tell those of half a rank: no TP, no dtypes."""
    answer = asked(20, state_bytes=153_944_064, kv_bytes=65_536)

    assert answer.least is not None
    names = {step.name for step in answer.least.steps}
    assert names <= {"strategy", "gpus"}
    assert "--tp-size" not in answer.least.flags


def test_workers_share_the_load() -> None:
    """20 requests over two replicas are 10 each, which one GPU carries."""
    answer = asked(20, dp_size=2)

    assert answer.given.carries
    assert 2 == answer.given.gpus


def test_budget_has_to_be_known() -> None:
    """Without a GPU there is nothing to answer."""
    with pytest.raises(InputError, match="--gpu-memory SIZE"):
        asked(20, gpus=None)
