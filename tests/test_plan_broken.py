"""A plan from an untrusted config ends in a plan or in an error of ours."""

from __future__ import annotations

import copy
import math
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mamba_advisor.errors import MambaAdvisorError
from mamba_advisor.measured import UNITS, Measured
from mamba_advisor.modelconfig.published import all_published
from mamba_advisor.plan import PlanOptions, least_change, make_plan
from mamba_advisor.sizing import solve

GIB = UNITS["GiB"]
PUBLISHED = {model.name: dict(model.config) for model in all_published()}

JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 600_000),
    st.just(10**5000),
    st.floats(),
    st.text(max_size=6),
    st.lists(st.integers(-2, 9), max_size=4),
    st.dictionaries(
        st.sampled_from(["hidden_size", "num_hidden_layers", "bits", "quantization"]),
        st.one_of(st.integers(-2, 9000), st.text(max_size=3), st.none()),
        max_size=3,
    ),
)

SIDE_FIELDS = (
    "vision_config",
    "quantization_config",
    "vocab_size",
    "intermediate_size",
    "moe_intermediate_size",
    "num_experts",
    "n_shared_experts",
    "first_k_dense_replace",
    "tie_word_embeddings",
    "max_position_embeddings",
    "num_nextn_predict_layers",
    "hidden_size",
    "architectures",
    "q_lora_rank",
)
"""Fields that a plan reads beside the geometry."""


@st.composite
def odd_configs(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a published config with junk in the fields that weights are counted by."""
    config: dict[str, Any] = copy.deepcopy(
        PUBLISHED[draw(st.sampled_from(sorted(PUBLISHED)))]
    )
    tower = config.get("text_config", config)
    for name in draw(st.lists(st.sampled_from(SIDE_FIELDS), max_size=4)):
        section = draw(st.sampled_from([config, tower]))
        section[name] = draw(JUNK)
    if draw(st.booleans()):
        tower.setdefault("vocab_size", 1000)
        tower.setdefault("intermediate_size", 1000)
    return config


OPTIONS = st.builds(
    PlanOptions,
    tp_size=st.sampled_from([1, 2, 4, 8]),
    pp_size=st.sampled_from([1, 1, 1, 2, 3]),
    dcp_size=st.sampled_from([1, 1, 2]),
    attn_dp_size=st.sampled_from([1, 1, 2]),
    mem_fraction_static=st.one_of(st.none(), st.floats()),
    gpus=st.sampled_from([None, "h100", "b200", "rtx4090", "mi300x", "spark"]),
    weights=st.sampled_from([None, Measured.exact(GIB), Measured.exact(400 * GIB)]),
    strategy=st.sampled_from(["auto", "no_buffer", "extra_buffer_lazy"]),
    radix_cache=st.sampled_from([None, True, False]),
    overlap=st.sampled_from([None, True, False]),
    draft_tokens=st.one_of(st.none(), st.integers(0, 9)),
    speculative_algorithm=st.sampled_from([None, "NEXTN", "DFLASH", "NGRAM"]),
    draft_config=st.sampled_from([None, {}, {"num_hidden_layers": 2}]),
    max_running_requests=st.one_of(st.none(), st.integers(-1, 300)),
    ratio=st.one_of(st.none(), st.floats()),
    pin=st.one_of(st.none(), st.integers(-1, 3000)),
    replayssm=st.booleans(),
    sglang_version=st.sampled_from(["0.5.3", "0.5.4", "0.5.14", "0.5.18", "0.5.23"]),
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(config=odd_configs(), options=OPTIONS)
def test_odd_plan_never_crashes(config: dict[str, Any], options: PlanOptions) -> None:
    """What is planned can be solved, and its interval holds its best value."""
    try:
        plan = make_plan(config, options)
    except MambaAdvisorError:
        return

    if plan.budget is not None and plan.problem is not None:
        assert plan.budget.holds(plan.budget.value)
        assert math.isfinite(plan.problem.rest_gib)
        solve(plan.version, plan.problem)
    assert all(sentence for sentence in plan.assumptions)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    name=st.sampled_from(sorted(PUBLISHED)),
    context=st.sampled_from([1, 500, 9216, 10**6]),
    concurrency=st.sampled_from([1, 30, 5000]),
)
def test_least_change_never_crashes(name: str, context: int, concurrency: int) -> None:
    """Every answer is consistent: what carries is reached by its own split."""
    options = PlanOptions(gpus="h200", weights=Measured.exact(60 * GIB))

    answer = least_change(
        PUBLISHED[name], options, avg_context=context, concurrency=concurrency
    )

    for attempt in (answer.given, answer.least):
        if attempt is not None and attempt.carries:
            assert attempt.split is not None
            workers = attempt.plan.options.dp_size
            assert attempt.split.sustained * workers >= concurrency
    assert answer.given.carries == (answer.least is None and answer.closest is None)
