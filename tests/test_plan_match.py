"""Config against log: exact integers, or a contradiction that says what would fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mamba_advisor.boot.model import (
    Boot,
    KvPool,
    RankBoot,
    Releases,
    Setting,
    Source,
    StatePool,
)
from mamba_advisor.errors import ConfigError, NotHybridError
from mamba_advisor.facts import Rank, Scalar
from mamba_advisor.measured import UNITS, Measured
from mamba_advisor.modelconfig import Launch, ModelBytes, measure
from mamba_advisor.modelconfig.published import all_published
from mamba_advisor.plan import match_geometry

GIB = UNITS["GiB"]
PUBLISHED = {model.name: dict(model.config) for model in all_published()}
NEXT = PUBLISHED["Qwen/Qwen3-Next-80B-A3B-Instruct"]
QWEN35 = PUBLISHED["Qwen/Qwen3.5-27B"]
SLOTS, TOKENS = 500, 1_000_000


def printed(size: int, line: int) -> Measured:
    """Return *size* as a log prints it: two decimals."""
    return Measured.from_text(f"{size / GIB:.2f}", "GiB", (line,))


def boot_of(
    model: ModelBytes, settings: dict[str, Scalar], *, page: int = 1, stage: int = -1
) -> Boot:
    """Return a boot whose pools print what *model* makes of `SLOTS` and `TOKENS`."""
    rows = SLOTS + 1
    pages = (TOKENS + page) // model.min_page_size
    kv = KvPool(TOKENS, printed(pages * model.printed_page_bytes, 11), lines=(11,))
    state = StatePool(
        SLOTS,
        printed(rows * model.conv_bytes_per_slot, 10),
        printed(rows * model.ssm_bytes_per_slot, 10),
        lines=(10,),
    )
    return Boot(
        source=Source("boot.log", 20, 1),
        number=1,
        outcome="ready",
        releases=Releases("0.5.23", "0.5.23"),
        hybrid=True,
        hybrid_evidence="line 10",
        architecture=model.architecture,
        draft_architecture=None,
        settings={name: Setting(value, "log:1") for name, value in settings.items()},
        ranks=(RankBoot(Rank(pp=stage), state_pool=state, kv_pool=kv),),
    )


def splits(name: str, tp: int) -> bool:
    """Return whether a model's heads divide over *tp* ranks."""
    try:
        measure(PUBLISHED[name], Launch(tp_size=tp))
    except ConfigError:
        return False
    return True


CASES = [(name, tp) for name in PUBLISHED for tp in (1, 2, 4, 8) if splits(name, tp)]


@pytest.mark.parametrize(("name", "tp"), CASES)
def test_printed_pools_recover_the_constants(name: str, tp: int) -> None:
    """Geometry → two decimals → intervals that hold the geometry's integers."""
    config = PUBLISHED[name]
    model = measure(config, Launch(tp_size=tp))
    boot = boot_of(
        model,
        {"tp_size": tp, "page_size": model.min_page_size},
        page=model.min_page_size,
    )

    found = match_geometry(config, boot)

    assert found.fits
    assert model.state_bytes_per_slot == found.slot_bytes
    state, kv = boot.ranks[0].state_pool, boot.ranks[0].kv_pool
    assert state is not None
    assert state.conv is not None
    assert state.ssm is not None
    per_slot = (state.conv + state.ssm) // (SLOTS + 1)
    assert per_slot.holds(model.state_bytes_per_slot)
    assert kv is not None
    assert kv.size is not None
    assert (kv.size // (TOKENS + model.min_page_size)).holds(found.token_bytes)
    assert (10, 11) == found.lines


def test_another_width_is_a_contradiction() -> None:
    """A log of TP 4 beside a stated TP 2: TP 4 is named."""
    model = measure(QWEN35, Launch(tp_size=4))

    found = match_geometry(QWEN35, boot_of(model, {"tp_size": 2}))

    assert not found.fits
    assert found.contradiction is not None
    assert "ssm_state size" in found.contradiction
    assert "(they would fit with --tp-size 4)" in found.contradiction
    assert 38_486_016 == found.would_fit[0].model.state_bytes_per_slot


def test_another_state_dtype_is_a_contradiction() -> None:
    """A flag in the environment leaves no line: bfloat16 is named."""
    model = measure(NEXT, Launch(tp_size=4, mamba_ssm_dtype="bfloat16"))

    found = match_geometry(
        NEXT, boot_of(model, {"tp_size": 4, "mamba_ssm_dtype": None})
    )

    assert found.contradiction is not None
    assert "--mamba-ssm-dtype bfloat16" in found.contradiction


def test_another_model_is_a_contradiction() -> None:
    """The 122B's log beside the 35B's config: the published model is named."""
    other = PUBLISHED["Qwen/Qwen3.5-122B-A10B"]
    model = measure(other, Launch(tp_size=4))

    found = match_geometry(
        PUBLISHED["Qwen/Qwen3.5-35B-A3B"], boot_of(model, {"tp_size": 4})
    )

    assert found.contradiction is not None
    assert "Qwen/Qwen3.5-122B-A10B" in found.contradiction


def test_another_class_is_a_contradiction() -> None:
    """The log's model class and the config's are named."""
    model = measure(QWEN35, Launch(tp_size=4))

    found = match_geometry(NEXT, boot_of(model, {"tp_size": 4}))

    assert found.contradiction is not None
    assert found.contradiction.startswith(
        "the log is of a Qwen3_5ForConditionalGeneration, the config of a "
        "Qwen3NextForCausalLM"
    )


def test_unstated_width_is_inferred() -> None:
    """A log without server_args: the width that fits is taken, and said."""
    model = measure(QWEN35, Launch(tp_size=4))

    found = match_geometry(QWEN35, boot_of(model, {}))

    assert found.fits
    assert 38_486_016 == found.slot_bytes
    assert (
        "the log does not state it: --tp-size 4 fits the figures",
    ) == found.inferred


def test_width_and_types_are_inferred_together() -> None:
    """Several open settings: the fewest changes that fit are taken."""
    launch = Launch(tp_size=2, mamba_ssm_dtype="bfloat16", kv_cache_dtype="fp8_e4m3")
    model = measure(QWEN35, launch)

    found = match_geometry(QWEN35, boot_of(model, {"tp_size": 2}))

    assert found.fits
    assert model.state_bytes_per_slot == found.slot_bytes
    assert "--mamba-ssm-dtype bfloat16" in found.inferred[0]
    assert "--kv-cache-dtype fp8_e4m3" in found.inferred[0]


def test_printed_kv_type_wins_over_the_flag() -> None:
    """The pool's line says fp8, the flag auto."""
    model = measure(QWEN35, Launch(kv_cache_dtype="fp8_e4m3"))
    boot = boot_of(model, {"kv_cache_dtype": "auto"})
    rank = boot.ranks[0]
    assert rank.kv_pool is not None
    pool = replace(rank.kv_pool, dtype="float8_e4m3fn")
    boot = replace(boot, ranks=(replace(rank, kv_pool=pool),))

    found = match_geometry(QWEN35, boot)

    assert found.fits
    assert 32_768 == found.token_bytes


def test_stage_of_the_binding_rank() -> None:
    """35B on three stages: the last one has 10 states and 4 attention layers."""
    config = PUBLISHED["Qwen/Qwen3.5-35B-A3B"]
    model = measure(config, Launch(pp_size=3, pp_rank=2))

    found = match_geometry(config, boot_of(model, {"pp_size": 3}, stage=2))

    assert found.fits
    assert 4 * 2048 == found.token_bytes


def test_forced_page_is_known() -> None:
    """GLM-5.3: 977 pages of 11 · (1 024 · 1 024 B + 64 rows of 132 B).

    The index is stored at 8.25 B a token and priced at 9 B.
    """
    config = PUBLISHED["zai-org/GLM-5.3-Flash"]
    model = measure(config, Launch(tp_size=8))

    found = match_geometry(config, boot_of(model, {"tp_size": 8}, page=1024))

    assert found.fits
    kv = found.checks[-1]
    assert (977, 11 * (1024 * 1024 + 64 * 132)) == (kv.rows, kv.each)
    assert 11_363 == found.model.kv_bytes_per_token


def test_nothing_printed_is_nothing_matched() -> None:
    """A boot without pools neither fits nor contradicts; the bytes stand."""
    model = measure(QWEN35, Launch(tp_size=4))
    boot = replace(boot_of(model, {"tp_size": 4}), ranks=())

    found = match_geometry(QWEN35, boot)

    assert not found.fits
    assert found.contradiction is None
    assert 38_486_016 == found.slot_bytes


def test_heads_that_do_not_split_name_the_width_that_fits() -> None:
    """A stated TP 5 cannot be; the figures are those of TP 4."""
    model = measure(QWEN35, Launch(tp_size=4))

    found = match_geometry(QWEN35, boot_of(model, {"tp_size": 5}))

    assert found.contradiction is not None
    assert "do not divide over 5 ranks" in found.contradiction
    assert "--tp-size 4" in found.contradiction
    assert 38_486_016 == found.slot_bytes


@pytest.mark.parametrize(
    ("config", "error"),
    [({"model_type": "qwen3"}, NotHybridError), ({}, ConfigError)],
)
def test_config_that_cannot_be_read(
    config: dict[str, Any], error: type[Exception]
) -> None:
    """The config's own error comes through."""
    model = measure(QWEN35, Launch())

    with pytest.raises(error):
        match_geometry(config, boot_of(model, {}))


def test_hostile_settings_do_not_crash() -> None:
    """Widths that are none count as 1."""
    model = measure(QWEN35, Launch())
    settings: dict[str, Scalar] = {
        "tp_size": -4,
        "pp_size": "two",
        "dcp_size": 3,
        "attn_dp_size": 0,
        "mamba_ssm_dtype": "int3",
        "kv_cache_dtype": None,
        "page_size": True,
    }

    assert match_geometry(QWEN35, boot_of(model, settings)).fits


def test_compressed_index_is_not_in_the_pool_line() -> None:
    """Qwen4-Exp: K and V are 24 576 B a token, the price is 25 344 B."""
    config = PUBLISHED["Qwen/Qwen3.8-Flash-Next"]
    model = measure(config, Launch())

    found = match_geometry(config, boot_of(model, {"page_size": 64}, page=64))

    assert found.fits
    assert (24_576, 25_344) == (found.token_bytes, found.model.kv_bytes_per_token)
