"""From a config and arguments to the problem that the pool arithmetic solves."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest

from mamba_advisor.errors import ConfigError, FactError, InputError, NotHybridError
from mamba_advisor.measured import UNITS, Measured
from mamba_advisor.modelconfig.published import all_published
from mamba_advisor.plan import PlanOptions, make_plan
from mamba_advisor.sizing import solve

GIB = UNITS["GiB"]
PUBLISHED = {model.name: dict(model.config) for model in all_published()}
NEXT = PUBLISHED["Qwen/Qwen3-Next-80B-A3B-Instruct"]
QWEN35 = PUBLISHED["Qwen/Qwen3.5-27B"]
INKLING = PUBLISHED["thinkingmachines/Inkling"]
GLM = PUBLISHED["zai-org/GLM-5.3-Flash"]
KIMI = PUBLISHED["moonshotai/Kimi-Linear-48B-A3B-Instruct"]
NANO = PUBLISHED["nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"]

QN4 = PlanOptions(tp_size=4, budget=Measured.exact(round(28.833 * GIB)))
"""The reference's common example: Qwen3-Next on four ranks with 28.833 GiB."""


def test_reference_example() -> None:
    """0.5.17, no speculation: K 758, T 1 326 317 within a page, 5 slots: 151."""
    plan = make_plan(
        NEXT, replace(QN4, sglang_version="0.5.17", context_length=262_144)
    )

    assert plan.problem is not None
    sizes = solve(plan.version, plan.problem)
    assert (758, 5, 151) == (
        sizes.max_mamba_cache_size,
        sizes.slots_per_request,
        sizes.max_running_requests,
    )
    assert 1_326_317 == pytest.approx(sizes.kv_tokens or 0, abs=100)


def test_plan_of_the_first_screen() -> None:
    """H200, TP 8, 76 GiB of weights: 139.1 · fraction − 76 GiB, with its interval."""
    options = PlanOptions(
        tp_size=8,
        gpus="h200",
        weights=Measured.exact(76 * GIB),
        mem_fraction_static=0.9,
    )

    plan = make_plan(QWEN35, options)

    assert plan.budget is not None
    assert round(139.1 * 0.9 * GIB) - 76 * GIB == pytest.approx(
        plan.budget.value, abs=16
    )
    assert plan.low is not None
    assert plan.problem is not None
    assert plan.high is not None
    assert plan.low.rest_gib < plan.problem.rest_gib < plan.high.rest_gib
    assert (19_243_008, (16_384,)) == (plan.problem.slot_bytes, plan.problem.cells)
    assert not plan.budget_exact
    assert plan.constants_exact
    assert () == plan.missing


def test_boot_like_facts() -> None:
    """The plan's boot has settings with origins, no ranks, no outcome."""
    plan = make_plan(NEXT, replace(QN4, ratio=2.0, sglang_version="0.5.20"))

    boot = plan.boot
    assert (None, True, ()) == (boot.outcome, boot.hybrid, boot.ranks)
    assert "Qwen3NextForCausalLM" == boot.architecture
    assert ("0.5.20", "0.5.20", True) == (
        boot.releases.low,
        boot.releases.high,
        boot.releases.given,
    )
    origins = {name: setting.origin for name, setting in boot.settings.items()}
    assert "option" == origins["tp_size"]
    assert "option" == origins["mamba_full_memory_ratio"]
    assert "default" == origins["pp_size"]
    assert "inferred" == origins["mamba_radix_cache_strategy"]
    assert "extra_buffer" == boot.setting("mamba_radix_cache_strategy").value


def test_plan_survives_pickling() -> None:
    """A plan goes to another process whole."""
    plan = make_plan(NEXT, QN4)

    assert plan == pickle.loads(pickle.dumps(plan))


def test_what_is_missing_is_named() -> None:
    """Without GPU and weights the constants stand, and the way out is named."""
    plan = make_plan(NEXT, PlanOptions())

    assert plan.problem is None
    assert plan.budget is None
    assert ("--gpu-memory SIZE or --gpus NAME", "--weights SIZE") == plan.missing
    assert 77_266_944 == plan.model.state_bytes_per_slot


def test_default_fraction_is_an_assumption() -> None:
    """What SGLang would choose is said, with its interval."""
    plan = make_plan(
        NEXT, PlanOptions(tp_size=4, gpus="h100", weights=Measured.exact(38 * GIB))
    )

    assert plan.fraction is not None
    assert not plan.fraction.is_given
    assert "default" == plan.boot.setting("mem_fraction_static").origin
    assert any("as SGLang chooses it" in sentence for sentence in plan.assumptions)


def test_size_wins_over_the_name() -> None:
    """``--gpu-memory`` beside ``--gpus`` keeps the kind, for its page size."""
    options = PlanOptions(
        tp_size=4,
        gpus="b200",
        gpu_memory=100 * GIB,
        weights=Measured.exact(38 * GIB),
    )

    plan = make_plan(NEXT, options)

    assert plan.gpu is not None
    assert (100, 100 * GIB) == (plan.gpu.sm, plan.gpu.memory)
    assert plan.problem is not None
    assert 64 == plan.problem.page_size


@pytest.mark.parametrize(
    ("config", "options", "strategy", "slots"),
    [
        (NEXT, {}, "extra_buffer", 5),
        (NEXT, {"overlap": False}, "no_buffer", 3),
        (NEXT, {"overlap": False, "page_size": 64}, "extra_buffer", 4),
        (NEXT, {"strategy": "extra_buffer_lazy"}, "extra_buffer_lazy", 4),
        (NEXT, {"strategy": "no_buffer"}, "no_buffer", 3),
        (NEXT, {"radix_cache": False}, "auto", 1),
        (NEXT, {"sglang_version": "0.5.13"}, "no_buffer", 3),
        (NEXT, {"sglang_version": "0.5.6"}, "no_buffer", 3),
        (NEXT, {"skip_decode_lock": True}, "extra_buffer", 4),
        (KIMI, {"sglang_version": "0.5.13"}, "auto", 1),
        (KIMI, {"sglang_version": "0.5.14"}, "auto", 3),
        (KIMI, {}, "extra_buffer", 5),
        (GLM, {"tp_size": 8}, "extra_buffer", 5),
        (INKLING, {"sglang_version": "0.5.16"}, "extra_buffer", 5),
        (PUBLISHED["openbmb/MiniCPM-SALA"], {}, "auto", 1),
        (PUBLISHED["LiquidAI/LFM2-1.2B"], {}, "no_buffer", 3),
        (PUBLISHED["mistralai/Mamba-Codestral-7B-v0.1"], {}, "auto", 3),
        (NANO, {"gpus": "b200", "draft_tokens": 4}, "extra_buffer", 5),
    ],
)
def test_strategy_by_release_and_family(
    config: dict[str, Any], options: dict[str, Any], strategy: str, slots: int
) -> None:
    """What ``auto`` becomes, and the slots that a request then takes."""
    plan = make_plan(config, PlanOptions(budget=Measured.exact(50 * GIB), **options))

    assert plan.problem is not None
    assert strategy == plan.problem.strategy
    assert slots == solve(plan.version, plan.problem).slots_per_request


def test_pipeline_stages_switch_overlap_off() -> None:
    """PP 2: extra_buffer was chosen before, so 4 slots; stages in the problem."""
    config = PUBLISHED["Qwen/Qwen3.5-35B-A3B"]

    plan = make_plan(config, PlanOptions(pp_size=2, budget=Measured.exact(50 * GIB)))

    assert plan.problem is not None
    assert plan.problem.disable_overlap_schedule
    assert (15, 30) == (
        plan.problem.stage_state_layers,
        plan.problem.all_state_layers,
    )
    assert (10_240, 10_240) == plan.problem.cells
    assert 4 == solve(plan.version, plan.problem).slots_per_request


def test_inkling_has_defaults_of_its_own() -> None:
    """Ratio 0.1, sliding rows 0.1: 11 264 B a token at TP 8."""
    plan = make_plan(INKLING, PlanOptions(tp_size=8, budget=Measured.exact(50 * GIB)))

    assert plan.problem is not None
    assert (0.1, (11_264,)) == (plan.problem.ratio, plan.problem.cells)


@pytest.mark.parametrize(
    ("config", "options", "pages"),
    [
        (NEXT, {}, 1),
        (NEXT, {"page_size": 16}, 16),
        (NEXT, {"gpus": "b200"}, 64),
        (NEXT, {"gpus": "b200", "strategy": "no_buffer"}, 1),
        (NEXT, {"gpus": "h200"}, 1),
        (GLM, {"tp_size": 8}, 1024),
        (PUBLISHED["Qwen/Qwen3.8-Flash-Next"], {}, 64),
        (NANO, {"gpus": "b200", "draft_tokens": 4}, 64),
    ],
)
def test_page_size(config: dict[str, Any], options: dict[str, Any], pages: int) -> None:
    """The model's own, the flag's, or the backend's on SM100."""
    plan = make_plan(config, PlanOptions(budget=Measured.exact(50 * GIB), **options))

    assert plan.problem is not None
    assert pages == plan.problem.page_size


@pytest.mark.parametrize(
    ("version", "cell", "uncharged"),
    [
        # Qwen3-Next TP 4: 12 288 B over 12 layers, one MTP layer more is 13 312.
        ("0.5.13", 12_288, 1024),
        ("0.5.19", 12_288, 1024),
        ("0.5.20", 13_312, None),
        ("0.5.23", 13_312, None),
    ],
)
def test_mtp_head_is_charged_from_0_5_20(
    version: str, cell: int, uncharged: int | None
) -> None:
    """Path-less MTP is charged where the target's config tells its layers."""
    config = {**NEXT, "num_nextn_predict_layers": 1}
    options = replace(
        QN4, draft_tokens=4, speculative_algorithm="NEXTN", sglang_version=version
    )

    plan = make_plan(config, options)

    assert (cell, uncharged) == (plan.charged_cell, plan.draft_cell)


def test_mtp_head_without_the_field_is_never_charged() -> None:
    """0.5.23 does not know of a head that the config does not mention."""
    plan = make_plan(NEXT, replace(QN4, draft_tokens=4, speculative_algorithm="NEXTN"))

    assert (12_288, 1024) == (plan.charged_cell, plan.draft_cell)
    assert any("does not charge the draft" in text for text in plan.assumptions)


def test_block_draft_pays_by_its_own_config() -> None:
    """DFLASH, 5 layers, 8 KV heads of 128 on 4 ranks: 5 · 2 · 256 · 2 = 5 120 B."""
    draft = {
        "model_type": "qwen3",
        "num_hidden_layers": 5,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "hidden_size": 4096,
    }
    options = replace(
        QN4, draft_tokens=16, speculative_algorithm="DFLASH", draft_config=draft
    )

    plan = make_plan(NEXT, options)

    assert 12_288 + 5120 == plan.charged_cell


def test_unknown_block_draft_is_said() -> None:
    """Without the draft's config its KV is nobody's guess."""
    plan = make_plan(
        NEXT, replace(QN4, draft_tokens=16, speculative_algorithm="DFLASH")
    )

    assert 12_288 == plan.charged_cell
    assert any("give the draft's config" in text for text in plan.assumptions)


def test_algorithm_alone_takes_four_drafts() -> None:
    """SGLang chooses the number by the model; what was taken is said."""
    plan = make_plan(NEXT, replace(QN4, speculative_algorithm="NEXTN"))

    assert plan.problem is not None
    assert (4, 3, 1) == (
        plan.problem.draft_tokens,
        plan.problem.draft_steps,
        plan.problem.draft_topk,
    )
    assert 48 == plan.problem.requested
    assert any("4 draft tokens" in text for text in plan.assumptions)


def test_rings_instead_of_draft_states() -> None:
    """ReplaySSM for speculation: 0.5.20+ 3 557 376 B per request on QN4."""
    options = replace(
        QN4, draft_tokens=4, speculative_algorithm="NEXTN", replayssm=True
    )

    plan = make_plan(NEXT, options)

    assert plan.problem is not None
    assert plan.problem.replayssm_spec
    assert 3_557_376 == plan.problem.ring_bytes


def test_constants_by_hand() -> None:
    """Both constants are enough, whatever the config."""
    options = PlanOptions(
        state_bytes=50_000_000, kv_bytes=20_000, budget=Measured.exact(40 * GIB)
    )

    for config in (None, {"model_type": "somebodys_hybrid", "linear_attn_config": {}}):
        plan = make_plan(config, options)
        assert plan.problem is not None
        assert (50_000_000, (20_000,)) == (plan.problem.slot_bytes, plan.problem.cells)


def test_one_constant_by_hand() -> None:
    """The other comes from the config."""
    plan = make_plan(NEXT, replace(QN4, kv_bytes=20_000))

    assert plan.problem is not None
    assert (19_316_736, (20_000,)) == (plan.problem.slot_bytes, plan.problem.cells)


@pytest.mark.parametrize(
    ("config", "options", "error", "words"),
    [
        (NEXT, {"sglang_version": "0.5.3"}, FactError, "mamba-full-memory-ratio"),
        (NEXT, {"sglang_version": "new"}, InputError, "not an SGLang release"),
        (NEXT, {"ratio": 0.0}, InputError, "does not lie between"),
        (NEXT, {"ratio": float("nan")}, InputError, "does not lie between"),
        (NEXT, {"strategy": "lazy"}, InputError, "unknown strategy 'lazy'"),
        (NEXT, {"pin": 0}, InputError, "pin is 0"),
        (NEXT, {"page_size": -1}, InputError, "page_size is -1"),
        (NEXT, {"gpus": "abacus"}, InputError, "unknown GPU"),
        (NEXT, {"tp_size": 0}, InputError, "tp_size is 0"),
        (NEXT, {"tp_size": 3}, ConfigError, "do not divide over 3 ranks"),
        (None, {"state_bytes": 5}, InputError, "both --state-bytes and --kv-bytes"),
        ({"model_type": "qwen3"}, {}, NotHybridError, "not a hybrid"),
    ],
)
def test_plans_that_cannot_be(
    config: Any, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    """Each ends in an error of ours that names the option or the field."""
    with pytest.raises(error, match=words):
        make_plan(config, PlanOptions(**options))


def test_context_length_of_the_config() -> None:
    """The text section's max_position_embeddings, else an assumption."""
    budget = Measured.exact(40 * GIB)

    known = make_plan(
        PUBLISHED["Qwen/Qwen3.5-35B-A3B"], PlanOptions(budget=budget)
    ).problem
    taken = make_plan(NEXT, PlanOptions(budget=budget))

    assert known is not None
    assert 262_144 == known.context_len
    assert taken.problem is not None
    assert 131_072 == taken.problem.context_len
    assert any("no context length" in text for text in taken.assumptions)


def test_multimodal_reserve_since_0_5_18() -> None:
    """100 MiB for embeddings, and up to 1 GiB more; nothing before 0.5.18."""
    config = {**QWEN35, "vision_config": {}}
    options = PlanOptions(
        gpus="h100", weights=Measured.exact(30 * GIB), mem_fraction_static=0.85
    )

    new = make_plan(config, options)
    old = make_plan(config, replace(options, sglang_version="0.5.17"))

    assert new.reserve is not None
    assert (100 << 20, 1124 << 20) == (new.reserve.low, new.reserve.high)
    assert old.reserve is not None
    assert 0 == old.reserve.high


def test_weights_beyond_the_budget() -> None:
    """A budget below zero is a plan, too: the boot would fail."""
    plan = make_plan(
        NEXT, PlanOptions(tp_size=4, gpus="rtx4090", weights=Measured.exact(38 * GIB))
    )

    assert plan.problem is not None
    assert plan.problem.rest_gib < 0
    assert not solve(plan.version, plan.problem).boots
