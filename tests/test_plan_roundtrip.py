"""Geometry → boot log as SGLang prints it → advice: the same constants."""

from __future__ import annotations

import pytest

from mamba_advisor.advice.engine import advise
from mamba_advisor.advice.model import Workload
from mamba_advisor.boot.model import Boot
from mamba_advisor.errors import MambaAdvisorError
from mamba_advisor.intake import read_log
from mamba_advisor.measured import UNITS, Measured
from mamba_advisor.modelconfig.published import all_published
from mamba_advisor.plan import Plan, PlanOptions, make_plan, match_geometry
from mamba_advisor.sizing import PoolSizes, solve

GIB = UNITS["GiB"]
BUDGET = 28_833_000_000
WORKLOAD = Workload(avg_context=8192, origin="option")
PUBLISHED = {model.name: dict(model.config) for model in all_published()}


def shown(size: int) -> str:
    """Return *size* with SGLang's two decimals."""
    return f"{size / GIB:.2f}"


def plan_of(name: str, tp: int) -> tuple[Plan, PoolSizes] | None:
    """Return a model's plan and its pools; None where it does not load or boot."""
    options = PlanOptions(tp_size=tp, budget=Measured.exact(BUDGET))
    try:
        plan = make_plan(PUBLISHED[name], options)
    except MambaAdvisorError:
        return None
    assert plan.problem is not None
    sizes = solve(plan.version, plan.problem)
    plain = plan.model.attention_kind in ("gqa", "mla")
    return (plan, sizes) if plan.loadable and sizes.boots and plain else None


def log_of(plan: Plan, sizes: PoolSizes) -> str:
    """Return the boot log that a server of *plan* would print on one rank."""
    model, problem, rows = plan.model, plan.problem, sizes.max_mamba_cache_size
    assert problem is not None
    assert rows is not None
    assert sizes.kv_tokens is not None
    conv = shown((rows + 1) * model.conv_bytes_per_slot)
    ssm = shown((rows + 1) * model.ssm_bytes_per_slot)
    pages = (sizes.kv_tokens + problem.page_size) // model.min_page_size
    kv = pages * model.printed_page_bytes
    half = shown(kv // 2)
    size = (
        f"KV size: {shown(kv)} GB"
        if model.attention_kind == "mla"
        else f"K size: {half} GB, V size: {half} GB"
    )
    arguments = {
        "model_path": "models/m",
        "tp_size": plan.options.tp_size,
        "page_size": problem.page_size,
        "mem_fraction_static": 0.85,
        "mamba_full_memory_ratio": problem.ratio,
        "max_mamba_cache_size": None,
        "max_running_requests": None,
        "mamba_radix_cache_strategy": problem.strategy,
        "disable_radix_cache": problem.disable_radix_cache,
        "disable_overlap_schedule": problem.disable_overlap_schedule,
        "speculative_algorithm": None,
        "kv_cache_dtype": "auto",
        "mamba_ssm_dtype": None,
        "dp_size": 1,
        "pp_size": 1,
        "dcp_size": 1,
    }
    stamp = "[2026-09-09 11:57:18]"
    lines = [
        f"server_args={arguments!r}",
        "Load weight begin. avail mem=78.58 GB",
        f"Load weight end. elapsed=9.21 s, type={model.architecture}, "
        "avail mem=40.62 GB, mem usage=37.96 GB.",
        f"Mamba Cache is allocated. max_mamba_cache_size: {rows}, conv_state size: "
        f"{conv}GB, ssm_state size: {ssm}GB ",
        f"KV Cache is allocated. dtype: torch.bfloat16, #tokens: {sizes.kv_tokens}, "
        f"{size}",
        "Memory pool end. avail mem=9.50 GB",
        f"max_total_num_tokens={sizes.kv_tokens_printed}, chunked_prefill_size=8192, "
        f"max_prefill_tokens=16384, max_running_requests={sizes.max_running_requests}, "
        f"context_len={problem.context_len}, available_gpu_mem=9.10 GB",
        "The server is fired up and ready to roll!",
    ]
    return "".join(f"{stamp} {line}\n" for line in lines)


def read(text: str) -> Boot:
    """Return the only boot of a log."""
    (boot,) = read_log(text.splitlines())
    return boot


CASES = [(name, tp) for name in PUBLISHED for tp in (1, 2, 4, 8) if plan_of(name, tp)]


@pytest.mark.parametrize(("name", "tp"), CASES)
def test_constants_come_back(name: str, tp: int) -> None:
    """The advice on the log holds the geometry's integers, with the config exactly."""
    found = plan_of(name, tp)
    assert found is not None
    plan, sizes = found

    boot = read(log_of(plan, sizes))
    match = match_geometry(PUBLISHED[name], boot)
    advice = advise(boot, WORKLOAD, config=PUBLISHED[name])

    assert match.fits
    assert plan.model.state_bytes_per_slot == match.slot_bytes
    assert plan.model.printed_kv_bytes_per_token == match.token_bytes
    assert "exact" == advice.self_check.outcome
    assert advice.state_pool is not None
    assert advice.kv_pool is not None
    slot, token = advice.state_pool.bytes_per_slot, advice.kv_pool.bytes_per_token
    assert slot is not None
    assert token is not None
    assert slot.is_exact
    assert slot.holds(plan.model.state_bytes_per_slot)
    assert token.holds(plan.model.printed_kv_bytes_per_token)
    assert advice.kv_pool.charged_bytes_per_token is not None
    assert advice.kv_pool.charged_bytes_per_token.holds(plan.charged_cell)


@pytest.mark.parametrize("name", sorted({name for name, _ in CASES}))
def test_intervals_hold_without_the_config(name: str) -> None:
    """The log alone leads to intervals, and the geometry's integers lie in them."""
    tp = max(tp for known, tp in CASES if known == name)
    found = plan_of(name, tp)
    assert found is not None
    plan, sizes = found

    advice = advise(read(log_of(plan, sizes)), WORKLOAD)

    assert advice.state_pool is not None
    assert advice.kv_pool is not None
    slot, token = advice.state_pool.bytes_per_slot, advice.kv_pool.bytes_per_token
    assert slot is not None
    assert token is not None
    assert slot.holds(plan.model.state_bytes_per_slot)
    assert token.holds(plan.model.printed_kv_bytes_per_token)


def test_every_family_takes_the_trip() -> None:
    """No family with a KV line of one kind is left out."""
    families = {
        make_plan(PUBLISHED[name], PlanOptions(tp_size=tp)).model.family
        for name, tp in CASES
    }

    assert families >= {
        "qwen3_next",
        "qwen3_5",
        "qwen3_5_moe",
        "qwen4_exp",
        "kimi_linear",
        "kimi_k3",
        "glm5_next",
        "nemotron_h",
        "nemotron_h_nano_vl",
        "falcon_h1",
        "jet_nemotron",
        "jet_vlm",
        "granitemoehybrid",
        "lfm2",
        "lfm2_moe",
        "bailing_hybrid",
        "bailing_hybrid_v3",
        "minicpm_sala",
        "gigachat3_5",
        "zaya",
    }
