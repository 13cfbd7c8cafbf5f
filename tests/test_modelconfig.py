"""Byte constants of a ``config.json``: SGLang's own integers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mamba_advisor.errors import ConfigError, InputError
from mamba_advisor.modelconfig import Launch, ModelBytes, measure, model_bytes
from mamba_advisor.modelconfig.published import all_published

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "configs"
CASES = json.loads((FIXTURES / "constants.json").read_text(encoding="utf-8"))
PUBLISHED = {model.name: dict(model.config) for model in all_published()}
"""Model name -> its config."""


def differences(result: ModelBytes, expected: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of *result* that are not as *expected*."""
    found = json.loads(json.dumps({name: getattr(result, name) for name in expected}))
    return {name: found[name] for name in expected if found[name] != expected[name]}


def case_name(case: Mapping[str, Any]) -> str:
    """Return a test's name: the model and what is not as by default."""
    words = [f"{name}={value}" for name, value in case["options"].items()]
    return " ".join([case["model"].rpartition("/")[2], *words])


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_constants_are_sglangs_own(case: Mapping[str, Any]) -> None:
    """Every figure that SGLang computed comes out, to the byte."""
    result = model_bytes(PUBLISHED[case["model"]], **case["options"])

    assert {} == differences(result, case["expected"])
    assert (case["family"], case["loadable"]) == (result.family, result.loadable)


def reference_cases(shared: Path) -> list[dict[str, Any]]:
    """Return the cases of the reference, or skip without them."""
    path = shared / "reference" / "model-bytes-cases.json"
    if not path.is_file():
        pytest.skip("needs the reference cases")
    cases: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return cases


def reference_launch(case: Mapping[str, Any]) -> Launch:
    """Return the arguments of a reference case."""
    flags = dict(case["flags"])
    drafts = case.get("speculative") or {}
    return Launch(
        tp_size=case["tp"],
        pp_size=case["pp"],
        dcp_size=case["dcp"],
        attn_dp_size=case["attn_dp"],
        pp_rank=case["pp_rank"],
        conv_dtype=flags.pop("SGLANG_MAMBA_CONV_DTYPE"),
        speculative_num_draft_tokens=drafts.get("num_draft_tokens", 0),
        speculative_eagle_topk=drafts.get("eagle_topk", 1),
        enable_linear_replayssm_spec=drafts.get("linear_replayssm_spec", False),
        linear_replayssm_cache_len=drafts.get("replayssm_cache_len", 16),
        **flags,
    )


def test_every_reference_case_reproduces(shared: Path) -> None:
    """All 81 cases come out: bytes, shapes, element types, family, loadable."""
    wrong = {}
    cases = reference_cases(shared)
    for case in cases:
        result = measure(case["config"], reference_launch(case))
        found = differences(result, case["expected"])
        for name, key in (
            ("conv_dtype", "conv_dtype"),
            ("ssm_dtype", "ssm_dtype"),
            ("kv_dtype", "kv_dtype"),
            ("family", "family"),
            ("loadable", "loadable"),
        ):
            if getattr(result, name) != case[key]:
                found[name] = getattr(result, name)
        if found:
            wrong[case["id"]] = found

    assert {} == wrong
    assert 81 == len(cases)


def test_published_figures_agree(shared: Path) -> None:
    """What cookbooks and boot logs print holds the computed figures.

    ``factor`` × the constant lies in [``min``, ``max``], the printed rounding.
    """
    checked = 0
    for case in reference_cases(shared):
        result = measure(case["config"], reference_launch(case))
        for claim in case.get("published", ()):
            value = getattr(result, claim["quantity"]) * claim.get("factor", 1)
            low, high = claim["min"] * (1 - 1e-12), claim["max"] * (1 + 1e-12)

            assert low <= value <= high, (case["id"], claim)
            checked += 1

    assert checked >= 15


def test_refusal_names_the_rule() -> None:
    """2 Mamba groups on 4 ranks pad in the arithmetic, and the mixer asserts."""
    falcon = PUBLISHED["tiiuae/Falcon-H1-34B-Instruct"]

    result = model_bytes(falcon, tp_size=4)

    assert not result.loadable
    assert ("2 Mamba groups do not divide over 4 ranks (a single group would)",) == (
        result.refusals
    )


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", {"pp_size": 2}, "one pipeline stage"),
        ("inclusionAI/Ling-2.6-flash-fp8", {"tp_size": 8}, "group_norm_size 4"),
        ("Zyphra/ZAYA1-8B", {"tp_size": 4}, "2 KV heads do not divide over 4"),
        (
            "Zyphra/ZAYA1-8B",
            {"speculative_num_draft_tokens": 4},
            "zaya cannot speculate",
        ),
        ("Zyphra/ZAYA1-8B", {"tp_size": 2, "attn_dp_size": 2}, "DP attention"),
        ("zai-org/GLM-5.3-Flash", {"tp_size": 8, "dcp_size": 2}, "index_kpool"),
        (
            "moonshotai/Kimi-K3",
            {
                "tp_size": 8,
                "speculative_num_draft_tokens": 9,
                "enable_linear_replayssm_spec": True,
            },
            "2 × 9 draft tokens",
        ),
        ("moonshotai/Kimi-K3", {"sglang_version": "0.5.16"}, "0.5.17 is the first"),
        (
            "Qwen/Qwen3.5-27B",
            {"tp_size": 4, "dcp_size": 4, "sglang_version": "0.5.14"},
            "has no DCP",
        ),
        ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", {"tp_size": 16}, "40 query heads"),
    ],
)
def test_layouts_that_do_not_load(
    model: str, options: dict[str, Any], words: str
) -> None:
    """The arithmetic is done, and the reason why SGLang refuses is named."""
    result = model_bytes(PUBLISHED[model], **options)

    assert any(words in refusal for refusal in result.refusals)


def test_minicpm_needs_equal_lightning_heads() -> None:
    """Lightning attention has no grouped heads: 32 queries on 2 KV heads fail."""
    config = {**PUBLISHED["openbmb/MiniCPM-SALA"], "lightning_nkv": 2}

    result = model_bytes(config)

    assert "as many query as KV heads" in result.refusals[0]


def test_the_largest_stage_is_reported() -> None:
    """40 layers over 3 stages are 13, 13 and 14: 10 states each, 3, 3 and 4 KV.

    The first stage with most states stands for all; the last pays most per token.
    """
    result = model_bytes(PUBLISHED["Qwen/Qwen3.5-35B-A3B"], pp_size=3)

    assert (0, 13) == result.pp_layer_range
    assert [10, 10, 10] == [stage.state_layers for stage in result.stages]
    assert [3, 3, 4] == [stage.attention_layers for stage in result.stages]
    assert 4 * 2048 == result.largest_kv_bytes
    assert 6144 == result.kv_bytes_per_token


def test_charged_stage_share_divides_in_floating_point() -> None:
    """7 of 20 layers: int(85 114 880 × 0.35) is a byte below 7 × 4 255 744."""
    config = PUBLISHED["mistralai/Mamba-Codestral-7B-v0.1"]

    result = model_bytes({**config, "num_hidden_layers": 20}, pp_size=3)

    assert 20 * 4_255_744 == result.model_state_bytes
    assert 7 * 4_255_744 - 1 == result.budget_state_bytes_per_slot


def test_layer_partition_of_the_environment() -> None:
    """The given partition wins over the even one."""
    config = PUBLISHED["Qwen/Qwen3.5-35B-A3B"]

    result = model_bytes(config, pp_size=2, pp_layer_partition=(24, 16))

    assert [(0, 24), (24, 40)] == [(stage.start, stage.end) for stage in result.stages]
    assert 18 == result.linear_layers


@pytest.mark.parametrize("partition", [(24, 17), (40,), (40, 0)])
def test_wrong_partition_is_refused(partition: tuple[int, ...]) -> None:
    """A partition has to name every stage, none empty, and all layers."""
    with pytest.raises(InputError, match="partition"):
        model_bytes(
            PUBLISHED["Qwen/Qwen3.5-35B-A3B"], pp_size=2, pp_layer_partition=partition
        )


def test_head_count_that_does_not_divide() -> None:
    """SGLang asserts; the message says which count."""
    with pytest.raises(ConfigError, match="48 value heads do not divide over 5 ranks"):
        model_bytes(PUBLISHED["Qwen/Qwen3.5-27B"], tp_size=5)


def test_state_of_shared_groups_splits_over_all_ranks() -> None:
    """With shared context-parallel groups the state follows TP, the KV does not.

    TP 4, CP 4: attention is one rank wide (65 536 B a token), the state is split
    by 4 (38 486 016 B).
    """
    result = model_bytes(
        PUBLISHED["Qwen/Qwen3.5-27B"], tp_size=4, attn_cp_size=4, share_cp_group=True
    )

    assert (38_486_016, 65_536) == (
        result.state_bytes_per_slot,
        result.kv_bytes_per_token,
    )


def test_scattered_sconv_splits_the_stream() -> None:
    """Inkling TP 8: 3 · (2·128 + 2·256 + 2·6144/8) · 66 · 2 B = 912 384 B."""
    result = model_bytes(
        PUBLISHED["thinkingmachines/Inkling"], tp_size=8, enable_scattered_sconv=True
    )

    assert 912_384 == result.state_bytes_per_slot


def test_int8_checkpoint_of_the_reference() -> None:
    """Qwen3.5-27B in float32: 41 877 504 B each, charged nowhere."""
    result = model_bytes(
        PUBLISHED["Qwen/Qwen3.5-27B"], enable_int8_mamba_checkpoint=True
    )

    (pool,) = result.unbudgeted
    assert ("int8 checkpoint", 41_877_504, "checkpoint") == (
        pool.name,
        pool.bytes,
        pool.per,
    )


def test_decode_ring_per_slot() -> None:
    """48 layers · 16 · ((48·128 + 16·128)·4 + 4·48) B = 25 313 280 B per slot."""
    result = model_bytes(PUBLISHED["Qwen/Qwen3.5-27B"], enable_linear_replayssm=True)

    (ring,) = result.unbudgeted
    assert (48 * 16 * (8192 * 4 + 192), "slot") == (ring.bytes, ring.per)


def test_qwen4_keeps_more_than_it_charges() -> None:
    """PLE windows: 2560 · 4 channels · 9 columns · 2 B = 184 320 B per slot."""
    result = model_bytes(PUBLISHED["Qwen/Qwen3.8-Flash-Next"])

    sizes = {part.name: (part.bytes, part.per) for part in result.unbudgeted}
    assert (184_320, "slot") == sizes["embedding windows (PLE)"]
    assert (16, "slot") == sizes["n-gram context"]
    assert (4 * (128 * 2 * 12 + 24), "request") == sizes["pending index keys"]


def test_registry_model_has_no_rings() -> None:
    """GigaChat counts as hybrid by SGLang's registry, which ReplaySSM ignores."""
    result = model_bytes(
        PUBLISHED["ai-sage/GigaChat3.5-432B-A28B"],
        tp_size=8,
        speculative_num_draft_tokens=4,
        enable_linear_replayssm_spec=True,
    )

    assert result.replayssm_ring_bytes is None
    assert 4 * 16_097_280 == result.budget_intermediate_bytes_per_request


def test_unknown_argument_is_named() -> None:
    """A misspelt option is no silent default."""
    with pytest.raises(InputError, match="tp_sice"):
        model_bytes(PUBLISHED["Qwen/Qwen3.5-27B"], tp_sice=2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tp_size": 0}, "tp_size is 0"),
        ({"tp_size": -2}, "tp_size is -2"),
        ({"tp_size": True}, "not a whole number"),
        ({"pp_size": 1.5}, "pp_size is 1.5"),
        ({"tp_size": 10**30}, "not between 1 and"),
        ({"tp_size": 4, "attn_dp_size": 3}, "does not divide by attention DP"),
        ({"tp_size": 4, "dcp_size": 3}, "dcp_size 3 does not divide"),
        ({"speculative_num_draft_tokens": -1}, "-1 draft tokens"),
        ({"pp_size": 2, "pp_rank": 2}, "pp_rank 2"),
        ({"mamba_ssm_dtype": "fp8"}, "mamba_ssm_dtype is 'fp8'"),
        ({"conv_dtype": "int8"}, "conv_dtype is 'int8'"),
        ({"kv_cache_dtype": "int4"}, "kv_cache_dtype is 'int4'"),
        ({"sglang_version": "main"}, "not an SGLang release"),
    ],
)
def test_impossible_arguments(options: dict[str, Any], words: str) -> None:
    """An argument that cannot be is an input error that quotes it."""
    with pytest.raises(InputError, match=words):
        model_bytes(PUBLISHED["Qwen/Qwen3.5-27B"], **options)


def test_more_stages_than_layers() -> None:
    """Empty stages cannot be."""
    with pytest.raises(ConfigError, match="64 layers do not fill 65"):
        model_bytes(PUBLISHED["Qwen/Qwen3.5-27B"], pp_size=65)


@pytest.mark.parametrize("ratio", [0.0, -1.0, float("nan"), float("inf"), 1.5])
def test_sliding_ratio_has_to_be_a_share(ratio: float) -> None:
    """Sliding-window rows are a share of the full ones."""
    with pytest.raises(InputError, match="swa_full_tokens_ratio"):
        model_bytes(PUBLISHED["thinkingmachines/Inkling"], swa_full_tokens_ratio=ratio)
