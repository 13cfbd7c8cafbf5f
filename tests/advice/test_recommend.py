"""The one thing to do, and that its prediction is what the model then decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mamba_advisor.advice.engine import advise
from mamba_advisor.advice.model import Workload
from mamba_advisor.intake import read_log
from mamba_advisor.sizing import solve

Make = Callable[..., Any]
Print = Callable[[Any], list[str]]

SPECULATION = {
    "speculative_algorithm": "NEXTN",
    "draft_tokens": 4,
    "draft_steps": 3,
    "draft_topk": 1,
}


@pytest.mark.parametrize("version", ["0.5.4", "0.5.9", "0.5.13", "0.5.18", "0.5.23"])
@pytest.mark.parametrize("context", [2048, 8192, 32768])
def test_prediction_is_what_the_release_decides(
    version: str, context: int, server: Make, print_boot: Print
) -> None:
    """The recommended flag gives the predicted slots, tokens and limit.

    It is put into the server that printed the log: to the integer, in every release.
    """
    known = server(version, ratio=0.5)
    [boot] = read_log(print_boot(known))

    advice = advise(boot, Workload(context, "option"))

    found = advice.recommendation
    assert found
    assert found.action in ("ratio", "pin")
    truth = replace(
        known.problem,
        ratio=found.mamba_full_memory_ratio or 0.5,
        pin=found.max_mamba_cache_size if found.action == "pin" else None,
    )
    sizes = solve(version, truth)
    assert sizes.max_mamba_cache_size == found.predicted.slots
    assert sizes.kv_tokens == found.predicted.kv_tokens
    assert sizes.max_running_requests == found.predicted.effective


def test_balanced_split_is_kept(server: Make, print_boot: Print) -> None:
    """QN4 at r = 0.9 is right for requests of 1 326 317 // 151 = 8 783 tokens."""
    [boot] = read_log(print_boot(server("0.5.17")))

    advice = advise(boot, Workload(8783, "option"))

    assert 8783 == advice.balanced_context
    assert advice.recommendation
    assert "keep" == advice.recommendation.action
    assert () == advice.recommendation.flags


def test_speculation_limit_is_raised(server: Make, print_boot: Print) -> None:
    """48 by speculation's default: no split helps, the limit is what to change."""
    known = server("0.5.18", max_running_requests=48, **SPECULATION)
    lines = print_boot(known)
    notice = (
        "[2026-09-09 11:57:09] Max running requests is reset to 48 for speculative "
        "decoding. You can override this by explicitly setting "
        "--max-running-requests.\n"
    )
    [boot] = read_log([notice, *lines])

    advice = advise(boot, Workload(8192, "option"))

    assert "speculation" == advice.concurrency.requested_by
    assert advice.recommendation
    assert "max-running-requests" == advice.recommendation.action
    assert "--max-running-requests" == advice.recommendation.flags[0]
    assert (advice.recommendation.gain or 0) > 40


def test_own_limit_is_kept(server: Make, print_boot: Print) -> None:
    """A limit that the user chose is a choice: no split will help."""
    [boot] = read_log(print_boot(server("0.5.18", max_running_requests=16)))

    advice = advise(boot, Workload(8192, "option"))

    assert "request" == advice.concurrency.binding
    assert advice.recommendation
    assert "keep" == advice.recommendation.action
    assert "no split will help" in advice.recommendation.reason


def test_target_is_pinned_with_one_slot_to_spare(
    server: Make, print_boot: Print
) -> None:
    """40 requests at S = 5 are 200 slots, and one: a pool of exactly C·S can crash."""
    [boot] = read_log(print_boot(server("0.5.18")))

    advice = advise(boot, Workload(None, None, concurrency=40))

    assert advice.recommendation
    assert ("--max-mamba-cache-size", "201") == advice.recommendation.flags
    assert 201 == advice.recommendation.predicted.slots


def test_unreachable_target_says_what_is_the_most(
    server: Make, print_boot: Print
) -> None:
    """4 000 requests of 32 768 tokens fit no split; the most that fit is advised."""
    [boot] = read_log(print_boot(server("0.5.18")))

    advice = advise(boot, Workload(32768, "option", concurrency=4000))

    assert advice.recommendation
    assert 40 < (advice.recommendation.predicted.concurrency or 0) < 120


def test_pin_in_force_is_answered_by_a_pin(server: Make, print_boot: Print) -> None:
    """A ratio has no effect beside a pin, so the pin is what changes."""
    [boot] = read_log(print_boot(server("0.5.18", pin=100)))

    advice = advise(boot, Workload(8192, "option"))

    assert advice.recommendation
    assert "--max-mamba-cache-size" == advice.recommendation.flags[0]
    assert "ratio-ignored" in {finding.code for finding in advice.findings}


def test_nothing_is_recommended_without_a_workload(
    server: Make, print_boot: Print
) -> None:
    """Without context and concurrency there is a table over contexts instead."""
    [boot] = read_log(print_boot(server("0.5.18")))

    advice = advise(boot)

    assert advice.recommendation is None
    assert [2048, 8192, 32768, 131072] == [row.avg_context for row in advice.sweep]
    assert all(
        (row.predicted.concurrency or 0) >= (row.today or 0) for row in advice.sweep
    )


def test_ratio_ignored_by_the_pin_of_0_5_6(server: Make, print_boot: Print) -> None:
    """Up to 0.5.6 a pin does nothing with the radix cache on: a ratio is advised."""
    [boot] = read_log(print_boot(server("0.5.6", pin=100)))

    advice = advise(boot, Workload(2048, "option"))

    assert advice.recommendation
    assert "--mamba-full-memory-ratio" == advice.recommendation.flags[0]
    assert "pin-ignored" in {finding.code for finding in advice.findings}
