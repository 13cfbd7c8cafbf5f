"""A plan as advice: can it carry the load, and if not, what can."""

from __future__ import annotations

from mamba_advisor.advice.model import Advice, Workload
from mamba_advisor.advice.planned import advise_plan
from mamba_advisor.measured import UNITS, Measured
from mamba_advisor.modelconfig.published import all_published
from mamba_advisor.plan import PlanOptions, make_plan
from mamba_advisor.plan.change import least_change

GIB = UNITS["GiB"]
QWEN_NEXT = next(
    dict(model.config) for model in all_published() if "Qwen3-Next" in model.name
)
OPTIONS = PlanOptions(
    tp_size=4,
    gpus="h100",
    weights=Measured.exact(38 * GIB),
    mem_fraction_static=0.85,
)


def planned(context: int, concurrency: int) -> Advice:
    """Return the advice on Qwen3-Next on four H100."""
    answer = least_change(
        QWEN_NEXT, OPTIONS, avg_context=context, concurrency=concurrency
    )
    workload = Workload(context, "option", concurrency)
    return advise_plan(make_plan(QWEN_NEXT, OPTIONS), workload, answer=answer)


def test_constants_are_exact_and_pools_are_predictions() -> None:
    """19 316 736 and 12 288 bytes on TP4; slots and tokens follow from the budget."""
    advice = planned(8192, 40)

    assert advice.is_plan
    assert advice.state_pool
    assert advice.kv_pool
    assert advice.state_pool.bytes_per_slot == Measured.exact(19_316_736)
    assert advice.kv_pool.bytes_per_token == Measured.exact(12_288)
    assert advice.concurrency.effective is None
    assert advice.concurrency.predicted == advice.state_pool.slots // 5


def test_launch_that_carries_the_load_says_so() -> None:
    """40 requests of 8 192 tokens fit four H100 with much to spare."""
    codes = {finding.code for finding in planned(8192, 40).findings}

    assert "carries-target" in codes


def test_least_change_is_recommended() -> None:
    """200 requests do not fit as given; the change is one set of flags."""
    advice = planned(8192, 200)

    assert advice.recommendation
    assert "least-change" == advice.recommendation.action
    assert (advice.recommendation.predicted.concurrency or 0) >= 200
    assert advice.recommendation.flags
