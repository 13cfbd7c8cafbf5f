"""Plans against boots of SGLang itself: from config and flags to its pools."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from mamba_advisor.intake import read_log
from mamba_advisor.measured import UNITS, Measured
from mamba_advisor.modelconfig.published import all_published
from mamba_advisor.plan import Plan, PlanOptions, make_plan, match_geometry
from mamba_advisor.sizing import PoolSizes, is_capped, rest_interval, solve
from mamba_advisor.sizing.releases import since

FLAGS: Mapping[str, tuple[str, type]] = {
    "--tp": ("tp_size", int),
    "--mem-fraction-static": ("mem_fraction_static", float),
    "--max-running-requests": ("max_running_requests", int),
    "--max-total-tokens": ("max_total_tokens", int),
    "--page-size": ("page_size", int),
    "--mamba-full-memory-ratio": ("ratio", float),
    "--max-mamba-cache-size": ("pin", int),
    "--mamba-radix-cache-strategy": ("strategy", str),
    "--mamba-scheduler-strategy": ("strategy", str),
    "--mamba-ssm-dtype": ("mamba_ssm_dtype", str),
    "--kv-cache-dtype": ("kv_cache_dtype", str),
    "--speculative-algorithm": ("speculative_algorithm", str),
    "--speculative-num-steps": ("speculative_num_steps", int),
    "--speculative-eagle-topk": ("speculative_eagle_topk", int),
    "--speculative-num-draft-tokens": ("draft_tokens", int),
    "--dp": ("dp_size", int),
}
"""SGLang's flag -> field of `PlanOptions`, and its type."""

OTHER_ARITHMETIC = ("unified-memory", "loglevel-warning", "genuine-cpu")
"""Boots that size by other rules, or print nothing."""


@dataclass(frozen=True)
class Recorded:
    """A recorded boot of a hybrid: facts beside the log."""

    name: str
    about: Mapping[str, Any]
    config: Mapping[str, Any]
    log: str

    @property
    def rank(self) -> Mapping[str, Any]:
        """The first rank's exact figures."""
        first: Mapping[str, Any] = self.about["rank"][0]
        return first

    def options(self) -> PlanOptions:
        """Return the boot's flags as options of a plan."""
        args = self.about["args"]
        found: dict[str, Any] = {}
        for flag, value in zip(args, [*args[1:], ""], strict=True):
            if flag in FLAGS:
                name, kind = FLAGS[flag]
                found[name] = kind(value)
        if "--disable-radix-cache" in args:
            found["radix_cache"] = False
        if "--disable-overlap-schedule" in args:
            found["overlap"] = False
        return PlanOptions(sglang_version=self.about["sglang"], **found)


def recorded(shared: Path) -> Iterator[Recorded]:
    """Yield the recorded boots of hybrids whose config is there."""
    folder = shared / "logs-real"
    for path in sorted(folder.glob("*.toml")):
        about = tomllib.loads(path.read_text(encoding="utf-8"))
        args = about.get("args", [])
        model = args[args.index("--model-path") + 1] if "--model-path" in args else ""
        config = folder / "models" / f"{Path(model).name}.json"
        skipped = any(word in path.stem for word in OTHER_ARITHMETIC)
        if skipped or not config.is_file() or "max_mamba_cache_size" not in str(about):
            continue
        if "rank" in about and "conv_bytes" in about["rank"][0]:
            yield Recorded(
                path.stem,
                about,
                json.loads(config.read_text(encoding="utf-8")),
                path.with_suffix(".log").read_text(encoding="utf-8", errors="replace"),
            )


@pytest.fixture(scope="module")
def boots() -> list[Recorded]:
    """Return all recorded boots, or skip without them."""
    shared = Path(__file__).resolve().parent.parent.parent / "shared"
    if not (shared / "logs-real").is_dir():
        pytest.skip("needs the recorded boots in ../shared")
    found = list(recorded(shared))
    assert len(found) > 40
    return found


def printed_sizes(log: str, pattern: str) -> list[Measured]:
    """Return the sizes that *pattern* finds in *log*, as printed."""
    return [Measured.from_text(text, "GiB") for text in re.findall(pattern, log)]


def test_constants_are_those_of_the_server(boots: list[Recorded]) -> None:
    """Rows × bytes per slot, and rows × bytes per token, are the tensors' bytes."""
    wrong = {}
    for boot in boots:
        model, rank = make_plan(boot.config, boot.options()).model, boot.rank
        rows = rank["conv_shape"][1]
        kv = rank.get("kv_buffer_bytes") or (
            rank["k_buffer_bytes"] + rank["v_buffer_bytes"]
        )
        expected = (rank["conv_bytes"], rank["ssm_bytes"], kv)
        found = (
            rows * model.conv_bytes_per_slot,
            rows * model.ssm_bytes_per_slot,
            (rank["kv_tokens"] + rank["page_size"]) * model.kv_bytes_per_token,
        )
        if expected != found:
            wrong[boot.name] = (expected, found)

    assert {} == wrong


def test_printed_pools_hold_the_constants(boots: list[Recorded]) -> None:
    """The log's two decimals hold rows × bytes of the plan."""
    for boot in boots:
        model, rank = make_plan(boot.config, boot.options()).model, boot.rank
        rows = rank["max_mamba_cache_size"] + 1
        conv = printed_sizes(boot.log, r"conv_state size: ([\d.]+) ?GB")
        ssm = printed_sizes(boot.log, r"ssm_state size: ([\d.]+) ?GB")

        assert conv, boot.name
        assert conv[0].holds(rows * model.conv_bytes_per_slot), boot.name
        assert ssm[0].holds(rows * model.ssm_bytes_per_slot), boot.name


def solved(plan: Plan) -> PoolSizes:
    """Return the pools of the best estimate."""
    assert plan.problem is not None
    return solve(plan.version, plan.problem)


def with_budget(boot: Recorded) -> Plan:
    """Return the plan with the budget that the boot's pools give back."""
    options = replace(boot.options(), budget=Measured.exact(1))
    plan = make_plan(boot.config, options)
    assert plan.problem is not None
    slots, tokens = boot.rank["max_mamba_cache_size"], boot.rank["kv_tokens"]
    low, _ = rest_interval(plan.version, plan.problem, slots, tokens)
    return make_plan(boot.config, replace(options, budget=Measured.exact(low)))


def test_pools_come_out_with_the_logs_budget(boots: list[Recorded]) -> None:
    """With the budget by inversion, K, T and the limit are the server's own."""
    wrong, capped = {}, []
    for boot in boots:
        plan = with_budget(boot)
        assert plan.problem is not None
        if is_capped(plan.problem, boot.rank["kv_tokens"]):
            # --max-total-tokens cut T down: the log gives a lower bound only.
            capped.append(boot.name)
            continue
        sizes = solved(plan)
        expected = (
            boot.rank["max_mamba_cache_size"],
            boot.rank["kv_tokens"],
            boot.rank["max_running_requests"],
        )
        found = (
            sizes.max_mamba_cache_size,
            sizes.kv_tokens,
            sizes.max_running_requests,
        )
        if expected != found:
            wrong[boot.name] = (expected, found, sizes.error)

    assert {} == wrong
    assert len(capped) < 3


def test_pools_lie_in_the_plans_interval(boots: list[Recorded]) -> None:
    """With fraction and weights of the log, K and T lie between the plan's ends."""
    wrong = {}
    for boot in boots:
        fraction = re.search(r"mem_fraction_static'?[=:] ?([\d.]+)", boot.log)
        usage = printed_sizes(boot.log, r"Load weight end.*?mem usage=([\d.]+) ?GB")
        ranks = boot.options().tp_size * max(1, boot.options().dp_size)
        if fraction is None or not usage:
            continue
        weights = usage[0]
        if since(boot.about["sglang"], "0.5.14") and len(usage) > ranks:
            # The draft is loaded before the pools are sized.
            weights = weights + usage[-1]
        memory = round(boot.about["nvidia_smi_mib"] * UNITS["MiB"])
        plan = make_plan(
            boot.config,
            replace(
                boot.options(),
                gpu_memory=memory,
                weights=weights,
                mem_fraction_static=float(fraction.group(1)),
            ),
        )
        assert plan.low is not None
        assert plan.high is not None
        low, high = solve(plan.version, plan.low), solve(plan.version, plan.high)
        for name, truth in (
            ("max_mamba_cache_size", boot.rank["max_mamba_cache_size"]),
            ("kv_tokens", boot.rank["kv_tokens"]),
        ):
            ends = (getattr(low, name) or 0, getattr(high, name) or 0)
            if not ends[0] <= truth <= ends[1]:
                wrong[boot.name, name] = (truth, ends)

    assert {} == wrong


def test_config_fits_every_recorded_log(boots: list[Recorded]) -> None:
    """Read as a log, every recorded boot fits its model's config, all figures."""
    wrong = {}
    for boot in boots:
        (read,) = read_log(boot.log.splitlines())
        match = match_geometry(boot.config, read)
        if not match.fits or match.inferred or len(match.checks) < 3:
            wrong[boot.name] = (match.contradiction, match.inferred)

    assert {} == wrong


@pytest.mark.parametrize(
    ("log", "model", "inferred"),
    [
        ("001-qwen35-9b-2x4090-tp2", "Qwen/Qwen3.5-9B", ()),
        ("002-lfm2-shortconv-bench-one-batch", "LiquidAI/LFM2-700M", ()),
        ("003-ling3-flash-fin-dgx-spark", "inclusionAI/Ling-3.0-flash", ()),
        ("004-ling3-tiny-dgx-spark", "inclusionAI/Ling-3.0-tiny", ()),
        ("007-qwen38-27b-fp8-h100", "Qwen/Qwen3.8-27B", ()),
        # Its arguments are prose; two nodes of one GPU each.
        (
            "009-qwen38-flash-next-2x-spark-tp2",
            "Qwen/Qwen3.8-Flash-Next",
            ("the log does not state it: --tp-size 2 fits the figures",),
        ),
    ],
)
def test_config_fits_published_logs(
    shared: Path, log: str, model: str, inferred: tuple[str, ...]
) -> None:
    """Logs that people published fit the public config of their model."""
    path = shared / "logs" / f"{log}.log"
    if not path.is_file():
        pytest.skip("needs the published logs")
    config = next(m.config for m in all_published() if m.name == model)

    match = match_geometry(config, read_log(path)[-1])

    assert match.fits
    assert inferred == match.inferred
