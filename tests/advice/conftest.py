"""A boot log printed from known figures, to be read back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from mamba_advisor.sizing import PoolSizes, SizingProblem, solve
from mamba_advisor.sizing.releases import since

GIB = 1 << 30


@dataclass(frozen=True)
class Server:
    """A server whose exact figures are known, and how it prints them."""

    version: str
    problem: SizingProblem
    conv: int
    """Convolution part of a slot, in bytes."""

    architecture: str = "Qwen3NextForCausalLM"
    tp_size: int = 1
    free_gib: float = 78.58
    after_gib: float = 40.62
    fraction: float = 0.85
    dtype: str = "bfloat16"
    is_mla: bool = False
    idle_gib: float = 5.0
    draft_token: int = 0
    """Stored bytes of a draft token; 0: no draft pool."""

    arguments: dict[str, Any] = field(default_factory=dict)
    """Further server arguments, or replacements."""

    with_arguments: bool = True

    @property
    def sizes(self) -> PoolSizes:
        """What the server decides."""
        return solve(self.version, self.problem)


def gb(value: int) -> str:
    """Return bytes as SGLang prints them, without the unit."""
    return f"{value / GIB:.2f}"


def server_args(server: Server) -> str:
    """Return the ``server_args`` line of the release."""
    problem = server.problem
    strategy = (
        "mamba_radix_cache_strategy"
        if since(server.version, "0.5.14")
        else "mamba_scheduler_strategy"
    )
    arguments: dict[str, Any] = {
        "model_path": "some/model",
        "mem_fraction_static": server.fraction,
        "max_running_requests": problem.max_running_requests,
        "max_total_tokens": problem.max_total_tokens,
        "page_size": problem.page_size,
        "tp_size": server.tp_size,
        "pp_size": 1,
        "dp_size": problem.attn_dp_size,
        "enable_dp_attention": problem.attn_dp_size > 1,
        "speculative_algorithm": problem.speculative_algorithm,
        "speculative_num_steps": problem.draft_steps or None,
        "speculative_eagle_topk": problem.draft_topk or None,
        "speculative_num_draft_tokens": problem.draft_tokens or None,
        "disable_radix_cache": problem.disable_radix_cache,
        "disable_overlap_schedule": problem.disable_overlap_schedule,
        "mamba_full_memory_ratio": problem.ratio,
        "max_mamba_cache_size": problem.pin,
    }
    if since(server.version, "0.5.7"):
        arguments[strategy] = problem.strategy
    if since(server.version, "0.5.15"):
        arguments["dcp_size"] = problem.dcp_size
    arguments.update(server.arguments)
    if since(server.version, "0.5.19"):
        return f"server_args={arguments!r}"
    fields = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return f"server_args=ServerArgs({fields})"


def kv_line(server: Server, token: int, rows: int) -> str:
    """Return the KV line of the release for *rows* tokens."""
    size = (rows + server.problem.page_size) * token
    typed = f"dtype: torch.{server.dtype}, " if since(server.version, "0.5.13") else ""
    if server.is_mla:
        sizes = f"KV size: {gb(size)} GB"
    else:
        sizes = f"K size: {gb(size // 2)} GB, V size: {gb(size // 2)} GB"
    return f"KV Cache is allocated. {typed}#tokens: {rows}, {sizes}"


def weights_line(server: Server) -> str:
    """Return the ``Load weight end`` line of the release."""
    elapsed = "elapsed=9.20 s, " if since(server.version, "0.5.9") else ""
    typed = "" if since(server.version, "0.5.10") else "dtype=torch.bfloat16, "
    return (
        f"Load weight end. {elapsed}type={server.architecture}, {typed}"
        f"avail mem={server.after_gib:.2f} GB, "
        f"mem usage={server.free_gib - server.after_gib:.2f} GB."
    )


def print_log(server: Server) -> list[str]:
    """Return the boot log of *server*, with the clock standing still."""
    sizes, problem = server.sizes, server.problem
    slots, rows = sizes.max_mamba_cache_size or 0, sizes.kv_tokens or 0
    rank = " TP0" if server.tp_size > 1 else ""
    stamp = f"[2026-09-09 11:57:18{rank}] "
    cell = problem.cells[0]
    conv, ssm = server.conv, problem.slot_bytes - server.conv
    lines = [f"[2026-09-09 11:57:10] {server_args(server)}"] * server.with_arguments
    lines += [
        f"{stamp}Load weight begin. avail mem={server.free_gib:.2f} GB",
        stamp + weights_line(server),
    ]
    for warning in sizes.warnings:
        if warning["kind"] == "max_running_requests_capped_by_state_cache":
            lines.append(
                f"{stamp}max_running_requests is capped to {warning['granted']} by "
                f"the mamba state cache (max_mamba_cache_size={warning['slots']}, "
                f"{warning['slots_per_request']} state slots per request). To raise "
                "it: increase --mamba-full-memory-ratio or --max-mamba-cache-size, or "
                "halve the state size with --mamba-ssm-dtype bfloat16."
            )
        elif warning["kind"] == "max_running_requests_reduced":
            lines.append(
                f"{stamp}max_running_requests was reduced from the requested "
                f"{warning['requested']} to {warning['granted']} (per dp worker) due "
                "to the available KV cache capacity."
            )
    drafts = ""
    if problem.draft_tokens and sizes.spec_state_slots is not None:
        copies = (sizes.spec_state_slots + 1) * problem.draft_tokens
        drafts = (
            f"intermediate_ssm_state_cache size: {gb(copies * ssm)}GB "
            f"intermediate_conv_window_cache size: {gb(copies * conv)}GB "
        )
    lines += [
        f"{stamp}Mamba Cache is allocated. max_mamba_cache_size: {slots}, conv_state "
        f"size: {gb((slots + 1) * conv)}GB, ssm_state size: "
        f"{gb((slots + 1) * ssm)}GB {drafts}",
        stamp + kv_line(server, cell, rows),
        f"{stamp}Memory pool end. avail mem=11.40 GB",
    ]
    if server.draft_token:
        lines += [
            stamp + kv_line(server, server.draft_token, rows),
            f"{stamp}Memory pool end. avail mem=11.00 GB",
        ]
    lines += [
        f"{stamp}max_total_num_tokens={sizes.kv_tokens_printed}, "
        "chunked_prefill_size=8192, max_prefill_tokens=16384, "
        f"max_running_requests={sizes.max_running_requests}, "
        f"context_len={problem.context_len}, "
        f"available_gpu_mem={server.idle_gib:.2f} GB",
        "[2026-09-09 11:58:00] The server is fired up and ready to roll!",
    ]
    return [line + "\n" for line in lines]


@pytest.fixture
def print_boot() -> Callable[[Server], list[str]]:
    """Return the printer of boot logs."""
    return print_log


@pytest.fixture
def server() -> Callable[..., Server]:
    """Return a maker of servers: Qwen3-Next on TP4 unless told otherwise.

    36 state layers of 8 heads of 128 × 128 in float32 and 6144 convolution channels
    in bf16 are 442 368 + 18 874 368 bytes a slot; 12 attention layers with one KV head
    of 256 are 12 288 bytes a token.
    """

    def make(version: str = "0.5.18", **changes: Any) -> Server:
        own = {
            name: changes.pop(name)
            for name in tuple(changes)
            if name in Server.__dataclass_fields__ and name != "problem"
        }
        arguments: dict[str, Any] = {
            "rest_gib": 28.833,
            "slot_bytes": 19_316_736,
            "cells": (12_288,),
            "context_len": 262_144,
            "strategy": "extra_buffer" if since(version, "0.5.14") else "no_buffer",
        }
        arguments.update(changes)
        own.setdefault("conv", 442_368)
        own.setdefault("tp_size", 4)
        return Server(version, SizingProblem(**arguments), **own)

    return make
