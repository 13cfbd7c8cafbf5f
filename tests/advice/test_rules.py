"""Findings: each rule fires, does not fire, and says when it cannot tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mamba_advisor.advice.engine import advise
from mamba_advisor.advice.model import Finding, Severity, Workload
from mamba_advisor.advice.options import Overrides
from mamba_advisor.intake import read_log

Make = Callable[..., Any]
Print = Callable[[Any], list[str]]


def findings(
    lines: list[str],
    context: int | None = None,
    overrides: Overrides | None = None,
) -> dict[str, Finding]:
    """Return the findings on a log, by code."""
    boot = read_log(lines)[-1]
    advice = advise(boot, Workload(context, "option" if context else None), overrides)
    return {finding.code: finding for finding in advice.findings}


def test_state_pool_binds_below_what_was_asked(server: Make, print_boot: Print) -> None:
    """47 slots at S = 5 admit 9 of 32: a problem, with the lines that show it."""
    found = findings(print_boot(server("0.5.18", pin=47, max_running_requests=32)))

    finding = found["state-pool-binds"]
    assert Severity.PROBLEM == finding.severity
    assert "32 requests were asked for, 9 run at a time" in finding.message
    assert finding.lines


def test_state_pool_does_not_bind_at_the_limit_asked_for(
    server: Make, print_boot: Print
) -> None:
    """160 slots at S = 5 admit exactly the 32 asked for."""
    found = findings(print_boot(server("0.5.18", pin=161, max_running_requests=32)))

    assert "state-pool-binds" not in found
    assert "request-limit-binds" in found


@pytest.mark.parametrize(
    ("version", "code"),
    [("0.5.12", "silent-clamp"), ("0.5.15", "blamed-wrong-pool"), ("0.5.18", None)],
)
def test_what_sglang_says_of_the_clamp(
    version: str, code: str | None, server: Make, print_boot: Print
) -> None:
    """Silent before 0.5.14, wrong up to 0.5.16, right from 0.5.17."""
    found = findings(print_boot(server(version, pin=47, max_running_requests=32)))

    assert "state-pool-binds" in found
    said = {"silent-clamp", "blamed-wrong-pool"} & set(found)
    assert said == ({code} if code else set())


@pytest.mark.parametrize(("context", "binds"), [(8_000, False), (16_000, True)])
def test_kv_pool_binds(
    context: int, *, binds: bool, server: Make, print_boot: Print
) -> None:
    """1 326 317 tokens carry 165 requests of 8 000, 82 of 16 000; 151 are let in."""
    found = findings(print_boot(server("0.5.17")), context)

    assert binds == ("kv-pool-binds" in found)


def test_ratio_without_effect(server: Make, print_boot: Print) -> None:
    """A pin, or a request limit without radix cache, settles the slots."""
    pinned = findings(print_boot(server("0.5.18", pin=100)))
    radix_off = findings(
        print_boot(server("0.5.18", disable_radix_cache=True, max_running_requests=128))
    )
    plain = findings(print_boot(server("0.5.18")))

    assert "--max-mamba-cache-size" in pinned["ratio-ignored"].message
    assert "radix cache is off" in radix_off["ratio-ignored"].message
    assert "ratio-ignored" not in plain


@pytest.mark.parametrize(("pin", "fires"), [(45, True), (46, False)])
def test_spare_slot(pin: int, *, fires: bool, server: Make, print_boot: Print) -> None:
    """45 slots are exactly 9 × 5: one more is safer."""
    found = findings(print_boot(server("0.5.18", pin=pin)))

    assert fires == ("no-spare-slot" in found)


@pytest.mark.parametrize(("idle", "fires"), [(5.0, False), (14.0, True)])
def test_idle_memory(
    idle: float, *, fires: bool, server: Make, print_boot: Print
) -> None:
    """6 GiB of 78.58 stay free for activations; 14 GiB leave 0.10 to raise."""
    found = findings(print_boot(server("0.5.18", idle_gib=idle)))

    assert fires == ("memory-lies-idle" in found)
    if fires:
        assert "--mem-fraction-static 0.95" in found["memory-lies-idle"].message


def test_capped_tokens(server: Make, print_boot: Print) -> None:
    """A token cap leaves memory to nobody, and the budget is then a lower bound."""
    found = findings(print_boot(server("0.5.18", max_total_tokens=100_000)))

    assert "tokens-capped" in found
    assert "tokens-capped" not in findings(print_boot(server("0.5.18")))


def test_draft_kv_beside_the_budget(server: Make, print_boot: Print) -> None:
    """1.5 M tokens of a path-less draft at 1 024 B are 1.4 GiB that nobody budgeted."""
    known = server(
        "0.5.18",
        speculative_algorithm="NEXTN",
        draft_tokens=4,
        draft_steps=3,
        draft_topk=1,
        max_running_requests=48,
        draft_token=1_024,
    )

    found = findings(print_boot(known))

    assert "draft KV" in found["memory-unbudgeted"].message


def test_wide_rounding(server: Make, print_boot: Print) -> None:
    """Eight slots of 12 MB print 0.10 GB: 10 % either way is worth saying."""
    known = server(
        "0.5.18",
        architecture="FalconH1ForCausalLM",
        state_family="mamba2",
        conv=600_000,
        slot_bytes=12_000_000,
        pin=8,
    )

    assert "rounding-is-wide" in findings(print_boot(known))
    assert "rounding-is-wide" not in findings(print_boot(server("0.5.18")))


def test_several_reserves_are_answered_for_each(
    server: Make, print_boot: Print
) -> None:
    """Without arguments and limit S stays open: 257 // 5, 4, 3 are 51, 64, 85."""
    known = server("0.5.18", pin=257, with_arguments=False)
    lines = [line for line in print_boot(known) if "max_running_requests" not in line]

    finding = findings(lines)["slots-per-request-open"]

    assert all(answer in finding.message for answer in ("51", "64", "85"))


def test_option_against_the_log_is_said(server: Make, print_boot: Print) -> None:
    """What-if: pools as printed, predictions as given."""
    found = findings(
        print_boot(server("0.5.18")), 8192, Overrides(strategy="extra_buffer_lazy")
    )

    assert "mamba_radix_cache_strategy" in found["options-win"].message


def test_model_disagrees_visibly(server: Make, print_boot: Print) -> None:
    """Flags of another boot: the check differs, and a warning says to trust the log."""
    lines = print_boot(server("0.5.18"))
    lines[0] = lines[0].replace("memory_ratio=0.9", "memory_ratio=2.5")

    finding = findings(lines)["self-check-differs"]

    assert Severity.WARNING == finding.severity
    assert "758 slots" in finding.message
