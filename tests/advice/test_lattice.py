"""From printed decimals to the one integer behind them."""

from __future__ import annotations

import pytest

from mamba_advisor.advice.lattice import state_candidates, token_candidates
from mamba_advisor.measured import Measured


def gib(text: str) -> Measured:
    """Return a size as printed."""
    return Measured.from_text(text, "GiB")


def test_sample_slot_is_exact() -> None:
    """0.41 + 17.61 GB in 501 rows: 36 layers × 16 heads, half as many key heads.

    576 heads × 65 536 B are 37 748 736 B; 36 × 4096 channels × 3 × 2 B are 884 736 B.
    """
    found = state_candidates("Qwen3NextForCausalLM", gib("0.41"), gib("17.61"), 501)

    assert {884_736 + 37_748_736} == {slot.total for slot in found}


def test_kda_slot_is_exact() -> None:
    """Kimi-K3 on TP8: 69 layers × 12 heads = 828; × 65 536 and × 2 304 bytes."""
    found = state_candidates("KimiK3ForCausalLM", gib("0.46"), gib("13.04"), 258)

    assert [(1_907_712, 54_263_808)] == [(slot.conv, slot.ssm) for slot in found]


def test_small_pool_stays_open() -> None:
    """Nine rows of 0.10 GB leave 10 %, and more than one lattice point in it."""
    found = state_candidates("Qwen3_5ForCausalLM", gib("0.00"), gib("0.10"), 9)

    assert 1 < len({slot.total for slot in found})


def test_other_families_have_no_lattice() -> None:
    """Mamba-2 heads come in many sizes, so nothing is concluded."""
    assert () == state_candidates("FalconH1ForCausalLM", gib("0.41"), gib("17.61"), 501)


def test_tiny_heads_are_not_taken_for_published_ones() -> None:
    """A slot of 36 864 + 393 216 B prints conv digits that no 128-wide head has.

    48 heads of 64 x 64 in 16 bits equal 12 of 128 x 128; their convolution does not
    (12 heads have 27 648 B at most), and 20 000 rows tell the difference.
    """
    rows = 20_001
    conv = gib(f"{36_864 * rows / 2**30:.2f}")
    ssm = gib(f"{393_216 * rows / 2**30:.2f}")

    assert () == state_candidates("Qwen3NextForCausalLM", conv, ssm, rows)


def test_token_bytes_are_exact() -> None:
    """7.59 + 7.59 GB over 1 326 318 rows: 12 288 B, the only multiple of 64 inside."""
    size = gib("7.59") + gib("7.59")

    found = token_candidates(
        "Qwen3NextForCausalLM", size, 1_326_318, "bfloat16", is_mla=False
    )

    assert (12_288,) == found


@pytest.mark.parametrize(
    ("architecture", "dtype", "is_mla"),
    [
        ("Glm5NextForConditionalGeneration", "bfloat16", True),
        ("Qwen4ExpForCausalLM", "bfloat16", False),
        ("Qwen3NextForCausalLM", "float4_e2m1fn_x2", False),
    ],
)
def test_odd_layouts_have_no_lattice(
    architecture: str, dtype: str, *, is_mla: bool
) -> None:
    """A sparse index or block scales make a token no multiple of anything."""
    found = token_candidates(
        architecture, gib("15.18"), 1_326_318, dtype, is_mla=is_mla
    )

    assert () == found


def test_few_tokens_leave_several_values() -> None:
    """4 161 rows of 0.13 GB: multiples of 64 B lie closer than the rounding allows."""
    found = token_candidates(
        "Qwen3_5ForCausalLM", gib("0.13"), 4_161, "bfloat16", is_mla=False
    )

    assert 2 == len(found)
