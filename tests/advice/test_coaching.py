"""Failed boots: the cause, and a change after which the same arithmetic boots."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mamba_advisor.advice.engine import advise
from mamba_advisor.advice.model import Advice
from mamba_advisor.intake import read_log
from mamba_advisor.sizing import SizingProblem, solve

STAMP = "[2026-09-09 11:57:18] "

ARGUMENTS = (
    "server_args=ServerArgs(model_path='m', mem_fraction_static={fraction}, "
    "max_running_requests={limit}, max_total_tokens=None, page_size=1, tp_size=1, "
    "pp_size=1, dp_size=1, speculative_algorithm=None, disable_radix_cache=False, "
    "disable_overlap_schedule=False, mamba_full_memory_ratio={ratio}, "
    "max_mamba_cache_size={pin}, mamba_radix_cache_strategy='extra_buffer', "
    "dcp_size=1)\n"
)


def failed(
    error: str,
    *,
    fraction: float = 0.55,
    ratio: float = 0.9,
    limit: int | None = None,
    pin: int | None = None,
    before: float = 22.98,
    after: float = 9.60,
) -> Advice:
    """Return the advice on a 0.5.18 boot that ends with *error*."""
    arguments = ARGUMENTS.format(fraction=fraction, ratio=ratio, limit=limit, pin=pin)
    lines = [
        STAMP + arguments,
        f"{STAMP}Load weight begin. avail mem={before:.2f} GB\n",
        f"{STAMP}Load weight end. elapsed=1.14 s, type=FalconH1ForCausalLM, "
        f"avail mem={after:.2f} GB, mem usage={before - after:.2f} GB.\n",
        f"{STAMP}Scheduler hit an exception: Traceback (most recent call last):\n",
        f"{error}\n",
    ]
    [boot] = read_log(lines)
    return advise(boot)


STATE_EMPTY = (
    "RuntimeError: Not enough GPU memory for hybrid (mamba/linear-attention) state "
    "cache. Computed max_mamba_cache_size={slots} (total_rest_memory={rest:.2f} GB, "
    "mamba_cache_per_req={slot:.2f} MB). Try: (1) reduce --max-running-requests, (2) "
    "increase --mem-fraction-static, (3) reduce --speculative-num-draft-tokens, or (4) "
    "use GPUs with more memory."
)


def test_overdrawn_budget_needs_a_higher_fraction() -> None:
    """A budget of −0.74 GiB has to become 1.92 GiB.

    6 slots of 132.9 MiB are 7 rows, 0.91 GiB, and the state share is 0.9 / 1.9 of all.
    (1.92 + 0.74) ÷ 22.98 is 0.116: 0.67 boots where 0.66 does not.
    """
    advice = failed(STATE_EMPTY.format(slots=-4, rest=-0.74, slot=132.90))

    assert "failed" == advice.verdict.kind
    assert advice.recommendation
    assert ("--mem-fraction-static", "0.67") == advice.recommendation.flags
    assert "lowering --mem-fraction-static makes it worse" in advice.verdict.detail


@pytest.mark.parametrize(("fraction", "boots"), [(0.67, True), (0.66, False)])
def test_advised_fraction_is_the_smallest(fraction: float, *, boots: bool) -> None:
    """The release's own arithmetic, with the printed figures."""
    rest = -0.74 + 22.98 * (fraction - 0.55)
    problem = SizingProblem(
        rest_gib=rest,
        slot_bytes=round(132.90 * 2**20),
        cells=(90_112,),
        strategy="extra_buffer",
    )

    sizes = solve("0.5.18", problem)

    slots = sizes.max_mamba_cache_size or 0
    assert boots == (slots >= 6)


def test_bad_split_needs_a_pin_not_memory() -> None:
    """66 GiB and a ratio of 0.00001: the budget is there, so it is split anew."""
    advice = failed(
        STATE_EMPTY.format(slots=-1, rest=66.15, slot=0.79),
        ratio=0.00001,
        limit=64,
        before=78.66,
        after=78.60,
        fraction=0.841,
    )

    assert advice.recommendation
    assert ("--max-mamba-cache-size", "321") == advice.recommendation.flags
    assert 64 == advice.recommendation.predicted.effective


def test_pin_that_takes_everything_is_dropped() -> None:
    """The message suggests a fraction of 0.000; the pin of 200 000 is the cause."""
    advice = failed(
        "ValueError: Loaded weights leave no GPU memory for the KV cache under "
        "--mem-fraction-static=0.841. Raise --mem-fraction-static above 0.000 "
        "(minimum viable = 1 - available/pre = 0.0000). If using speculative decoding, "
        "draft weights are now counted.",
        pin=200_000,
        before=78.66,
        after=78.60,
        fraction=0.841,
    )

    assert "--max-mamba-cache-size 200,000" in advice.verdict.headline
    assert advice.recommendation
    assert "--mamba-full-memory-ratio" == advice.recommendation.flags[0]


def test_weights_that_do_not_fit_are_no_matter_of_the_split() -> None:
    """Out of memory before the pools: no fraction helps."""
    lines = [
        STAMP + ARGUMENTS.format(fraction=0.85, ratio=0.9, limit=None, pin=None),
        f"{STAMP}Load weight begin. avail mem=7.08 GB\n",
        f"{STAMP}Scheduler hit an exception: Traceback (most recent call last):\n",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 0.01 GiB. GPU 0 "
        "has a total capacity of 7.60 GiB of which 0.00 GiB is free.\n",
    ]
    [boot] = read_log(lines)

    advice = advise(boot)

    assert "weights do not fit" in advice.verdict.headline
    assert advice.recommendation is None


def test_graph_capture_is_where_lowering_is_right() -> None:
    """After the pools the reflex is right, and the message says so."""
    pools = [
        STAMP + ARGUMENTS.format(fraction=0.9, ratio=0.9, limit=None, pin=None),
        f"{STAMP}Load weight begin. avail mem=78.58 GB\n",
        f"{STAMP}Load weight end. elapsed=1.14 s, type=Qwen3NextForCausalLM, avail "
        "mem=40.62 GB, mem usage=37.96 GB.\n",
        f"{STAMP}Mamba Cache is allocated. max_mamba_cache_size: 860, conv_state size: "
        "0.35GB, ssm_state size: 15.13GB \n",
        f"{STAMP}KV Cache is allocated. dtype: torch.bfloat16, #tokens: 1500000, K "
        "size: 8.58 GB, V size: 8.58 GB\n",
        f"{STAMP}Memory pool end. avail mem=7.50 GB\n",
        f"{STAMP}Capture target decode CUDA graph begin. backend=full, "
        "num_tokens_per_req=1, bs=[1, 2], avail mem=7.00 GB\n",
        f"{STAMP}Scheduler hit an exception: Traceback (most recent call last):\n",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 "
        "has a total capacity of 79.18 GiB of which 0.50 GiB is free.\n",
    ]
    [boot] = read_log(pools)

    advice = advise(boot)

    assert "graph capture" in advice.verdict.headline
    assert advice.recommendation
    assert "--mem-fraction-static" == advice.recommendation.flags[0]
    assert float(advice.recommendation.flags[1]) < 0.9
    assert "here lowering is right" in advice.verdict.detail
    assert "memory-lies-idle" not in {finding.code for finding in advice.findings}


def test_refused_arguments_name_the_way_out() -> None:
    """A bare assertion tells which flag to add."""
    lines = ["AssertionError: no_buffer do not support overlap schedule. Try to set\n"]
    boots = read_log(lines)
    if not boots:
        pytest.fail("the refusal was not taken for a failed boot")

    advice = advise(replace(boots[-1]))

    assert "--disable-overlap-schedule" in advice.verdict.detail
