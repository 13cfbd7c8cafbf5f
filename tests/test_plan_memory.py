"""Memory of a planned server: GPUs, SGLang's default fraction, weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mamba_advisor.errors import InputError
from mamba_advisor.measured import UNITS, Measured
from mamba_advisor.modelconfig.published import all_published
from mamba_advisor.plan import PlanOptions
from mamba_advisor.plan.fraction import (
    default_fraction,
    given_fraction,
    vision_factor,
)
from mamba_advisor.plan.gpus import GPUS, find_gpu, gpu_of_size
from mamba_advisor.plan.weights import quantisation, stored_bytes, weights_on_rank

GIB, MIB = UNITS["GiB"], UNITS["MiB"]
PUBLISHED = {model.name: dict(model.config) for model in all_published()}

QWEN_9B: dict[str, Any] = {
    **PUBLISHED["Qwen/Qwen3.5-9B"]["text_config"],
    "architectures": ["Qwen3_5ForCausalLM"],
    "vocab_size": 248_320,
    "intermediate_size": 12_288,
    "tie_word_embeddings": False,
}
"""Qwen3.5-9B's text model with the fields that weights need."""

KIMI: dict[str, Any] = {
    **PUBLISHED["moonshotai/Kimi-Linear-48B-A3B-Instruct"],
    "vocab_size": 163_840,
    "intermediate_size": 9216,
    "moe_intermediate_size": 1024,
    "num_experts": 256,
    "num_shared_experts": 1,
    "first_k_dense_replace": 1,
}


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("h200", "H200 141GB"),
        ("H200", "H200 141GB"),
        ("NVIDIA H100 80GB", "H100 80GB"),
        ("8x H100-80GB", "H100 80GB"),
        ("a100", "A100 80GB"),
        ("A100-40GB", "A100 40GB"),
        ("RTX 4090", "RTX 4090 24GB"),
        ("5090", "RTX 5090 32GB"),
        ("rtx-pro-6000", "RTX PRO 6000 96GB"),
        ("DGX Spark", "DGX Spark (GB10) 128GB"),
        ("AMD Instinct MI300X", "MI300X 192GB"),
    ],
)
def test_gpu_by_any_usual_name(name: str, title: str) -> None:
    """Case, blanks, vendor, count and memory in the name do not matter."""
    assert title == find_gpu(name).title


@pytest.mark.parametrize("name", ["", "h1000", "tpu v5p", "x" * 500, "8x"])
def test_unknown_gpu_lists_the_known(name: str) -> None:
    """The way out is the size."""
    with pytest.raises(InputError, match="--gpu-memory SIZE") as caught:
        find_gpu(name)

    assert "H200 141GB" in str(caught.value)


@pytest.mark.parametrize("name", GPUS)
def test_gpu_table_is_sane(name: str) -> None:
    """Less is free than is there, the interval holds the usual, and is narrow."""
    gpu = GPUS[name]

    assert gpu.free.low < gpu.free.value < gpu.free.high < gpu.memory
    narrow = 0.15 if name == "dgxspark" else 0.05
    assert gpu.free.high - gpu.free.low < narrow * gpu.memory


@pytest.mark.parametrize(
    ("name", "gib"),
    [
        # Free before the weights in recorded boots.
        ("h100", 78.58),
        ("h100", 78.66),
        ("h200", 139.28),
        ("a100-40gb", 38.97),
        ("rtx4090", 22.93),
        ("rtx4090", 22.98),
        ("rtxpro6000", 93.77),
        ("dgxspark", 109.98),
        ("dgxspark", 111.97),
    ],
)
def test_recorded_memory_lies_in_the_interval(name: str, gib: float) -> None:
    """What real boots had free is possible by the table."""
    assert find_gpu(name).free.holds(round(gib * GIB))


@pytest.mark.parametrize(
    ("sold", "gib"), [(141, 139.28), (80, 78.66), (40, 38.97), (24, 22.93)]
)
def test_size_as_sold_holds_what_was_free(sold: int, gib: float) -> None:
    """A bare size leads to an interval that holds the real figure."""
    assert gpu_of_size(sold * GIB).free.holds(round(gib * GIB))


@pytest.mark.parametrize("size", [0, -1, 80, 1 << 50])
def test_size_of_no_gpu(size: int) -> None:
    """80 bytes are no GPU."""
    with pytest.raises(InputError, match="no GPU's memory"):
        gpu_of_size(size)


@pytest.mark.parametrize(
    ("version", "gpu", "options", "fraction"),
    [
        # Started with defaults on a simulated device: what server_args printed.
        ("0.5.18", "h100", {}, 0.830),
        ("0.5.23", "h100", {}, 0.830),
        ("0.5.23", "h200", {}, 0.903),
        ("0.5.23", "h100", {"max_running_requests": 16}, 0.835),
        ("0.5.18", "h100", {"tp_size": 4}, 0.819),
        ("0.5.18", "h100", {"tp_size": 2, "is_mla": True, "is_kda": True}, 0.815),
        ("0.5.23", "h100", {"tp_size": 2, "is_mla": True, "is_kda": True}, 0.834),
    ],
)
def test_default_fraction_is_sglangs(
    version: str, gpu: str, options: dict[str, Any], fraction: float
) -> None:
    """SGLang's own choice for the GPU, to the third digit."""
    found = default_fraction(version, find_gpu(gpu), **{**DEFAULTS, **options})

    assert fraction == pytest.approx(found.value, abs=1e-9)
    assert found.low < fraction < found.high


DEFAULTS: dict[str, Any] = {
    "tp_size": 1,
    "pp_size": 1,
    "attn_dp_size": 1,
    "is_mla": False,
    "is_kda": False,
    "config": {},
}


def test_old_release_is_less_sure() -> None:
    """0.5.6 was not executed: its printed 0.841 and 0.816 with drafts must fit."""
    gpu = find_gpu("h100")
    plain = default_fraction("0.5.6", gpu, **DEFAULTS)
    drafts = default_fraction("0.5.6", gpu, **DEFAULTS, speculative=True)

    assert plain.low < 0.841 < plain.high
    assert drafts.low < 0.816 < drafts.high


def test_attention_dp_keeps_more() -> None:
    """H100, TP 4, DP 4: 512 requests · 4 · 4.5 MiB more for the graphs: 0.113."""
    plain = default_fraction("0.5.23", find_gpu("h100"), **{**DEFAULTS, "tp_size": 4})
    wide = default_fraction(
        "0.5.23", find_gpu("h100"), **{**DEFAULTS, "tp_size": 4, "attn_dp_size": 4}
    )

    assert 0.113 == pytest.approx(plain.value - wide.value, abs=1.1e-3)


def test_vision_tower_takes_its_share() -> None:
    """24 layers of width 1152 are 1.266 ViT-L: 0.95 · (1 − 0.1 · 0.266) = 0.9248."""
    config = {"vision_config": {"num_hidden_layers": 24, "hidden_size": 1152}}

    assert 0.9248 == pytest.approx(vision_factor(config), abs=1e-4)
    assert 0.95 == pytest.approx(vision_factor({"vision_config": {}}))
    assert 1.0 == vision_factor({"vision_config": None})
    hostile = {"vision_config": {"hidden_size": "x", "num_hidden_layers": -3}}
    assert 0.95 == pytest.approx(vision_factor(hostile))


@pytest.mark.parametrize("value", [0.0, 1.0, -0.5, 1.5, float("nan"), float("inf")])
def test_fraction_has_to_be_one(value: float) -> None:
    """A share lies between 0 and 1."""
    with pytest.raises(InputError, match="between 0 and 1"):
        given_fraction(value)


def test_stated_weights_win() -> None:
    """What the user says is taken as it is, for one GPU."""
    options = PlanOptions(tp_size=8, weights=Measured.exact(76 * GIB))

    found = weights_on_rank({}, None, options)

    assert found is not None
    assert ("option", 76 * GIB) == (found.origin, found.size.value)


@pytest.mark.parametrize(
    ("config", "tp", "gib"),
    [
        # mem usage of boots with these dimensions in bfloat16.
        (QWEN_9B, 1, 16.66),
        (KIMI, 2, 45.78),
    ],
)
def test_estimate_holds_what_was_loaded(
    config: dict[str, Any], tp: int, gib: float
) -> None:
    """The formula's best value is within a few per cent of a real boot's weights."""
    found = weights_on_rank(config, None, PlanOptions(tp_size=tp))

    assert found is not None
    assert "estimate" == found.origin
    assert found.size.holds(round(gib * GIB))
    assert gib == pytest.approx(found.size.value / GIB, rel=0.03)
    assert "an estimate" in found.sentence


def test_truncated_config_has_no_estimate() -> None:
    """Without a vocabulary there is no guess."""
    config = PUBLISHED["Qwen/Qwen3.5-9B"]

    assert weights_on_rank(config, None, PlanOptions()) is None


def test_draft_head_adds_a_layer() -> None:
    """From 0.5.14 the draft's weights are loaded before the pools are sized."""
    plain = weights_on_rank(QWEN_9B, None, PlanOptions())
    drafts = PlanOptions(draft_tokens=4)
    charged = weights_on_rank(QWEN_9B, None, drafts)
    before = weights_on_rank(
        QWEN_9B, None, PlanOptions(draft_tokens=4, sglang_version="0.5.13")
    )

    assert plain is not None
    assert charged is not None
    assert before is not None
    assert plain.size == before.size
    assert 1.02 < charged.size.value / plain.size.value < 1.15


@pytest.mark.parametrize(
    ("quantization", "kind"),
    [
        (None, "plain"),
        ({"quant_method": "fp8"}, "8-bit"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "4-bit"),
        ({"quantization": {"quant_algo": "FP8"}}, "8-bit"),
        ({"quant_method": "awq", "bits": 4}, "4-bit"),
        ({"quant_method": "gptq", "bits": 8}, "8-bit"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"num_bits": 4}}},
            },
            "4-bit",
        ),
        ({"quant_method": "new"}, "unknown"),
        ({"quant_method": 7, "config_groups": []}, "unknown"),
        ("fp8", "plain"),
    ],
)
def test_quantisation(quantization: Any, kind: str) -> None:
    """The kind of quantisation decides the bytes of a parameter."""
    assert kind == quantisation({"quantization_config": quantization})


def shard(folder: Path, name: str, size: int) -> None:
    """Write a file of *size* bytes without content."""
    with (folder / name).open("wb") as file:
        file.truncate(size)


def test_files_beside_the_config(tmp_path: Path) -> None:
    """The shards' sizes count, a consolidated copy does not."""
    shard(tmp_path, "model-00001-of-00002.safetensors", 5 * MIB)
    shard(tmp_path, "model-00002-of-00002.safetensors", 3 * MIB)
    shard(tmp_path, "consolidated.safetensors", 8 * MIB)

    assert 8 * MIB == stored_bytes(tmp_path)

    found = weights_on_rank(QWEN_9B, tmp_path, PlanOptions(tp_size=2))
    assert found is not None
    assert "files" == found.origin
    assert 4 * MIB == found.size.value


def test_index_wins_over_the_files(tmp_path: Path) -> None:
    """total_size is exact, also where shards are missing."""
    shard(tmp_path, "model-00001-of-00002.safetensors", 5 * MIB)
    index = {"metadata": {"total_size": 9 * MIB}, "weight_map": {}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))

    assert 9 * MIB == stored_bytes(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"metadata": 3}',
        '{"metadata": {"total_size": -5}}',
        '{"metadata": {"total_size": true}}',
        '{"metadata": {"total_size": NaN}}',
        '{"metadata": {"total_size": 1e300}}',
        "[" * 100_000,
    ],
)
def test_broken_index_is_no_answer(tmp_path: Path, content: str) -> None:
    """A broken index is as good as none: the shards count, if there are any."""
    (tmp_path / "model.safetensors.index.json").write_text(content)

    assert stored_bytes(tmp_path) is None
    shard(tmp_path, "model.safetensors", 5 * MIB)
    assert 5 * MIB == stored_bytes(tmp_path)
