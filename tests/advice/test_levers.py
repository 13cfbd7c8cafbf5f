"""Levers: those that exist in the release, fit the settings, and help this boot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mamba_advisor.advice.engine import advise
from mamba_advisor.advice.model import Workload
from mamba_advisor.intake import read_log

Make = Callable[..., Any]
Print = Callable[[Any], list[str]]


def names(lines: list[str], context: int | None = 8192) -> set[str]:
    """Return the names of the levers that a log is answered with."""
    [boot] = read_log(lines)
    return {lever.name for lever in advise(boot, Workload(context, "option")).levers}


@pytest.mark.parametrize(
    ("version", "has", "has_not"),
    [
        ("0.5.9", {"radix-off", "state-bfloat16"}, {"extra-buffer-lazy"}),
        ("0.5.16", {"extra-buffer-lazy", "overlap-off"}, {"skip-decode-lock"}),
        ("0.5.18", {"extra-buffer-lazy", "skip-decode-lock"}, set()),
    ],
)
def test_only_what_the_release_has(
    version: str,
    has: set[str],
    has_not: set[str],
    server: Make,
    print_boot: Print,
) -> None:
    """A lever of a later release is no lever."""
    found = names(print_boot(server(version)))

    assert has <= found
    assert not has_not & found


def test_lazy_is_refused_with_speculation_up_to_0_5_16(
    server: Make, print_boot: Print
) -> None:
    """0.5.13 to 0.5.16 refuse the lazy buffer beside drafts."""
    known = server(
        "0.5.16",
        speculative_algorithm="NEXTN",
        draft_tokens=4,
        draft_steps=3,
        draft_topk=1,
        max_running_requests=400,
    )

    assert "extra-buffer-lazy" not in names(print_boot(known))


def test_state_dtype_lever_needs_a_float32_state(
    server: Make, print_boot: Print
) -> None:
    """A state that is bfloat16 already cannot be halved once more."""
    known = server(
        "0.5.18",
        slot_bytes=442_368 + 9_437_184,
        arguments={"mamba_ssm_dtype": "bfloat16"},
    )

    assert "state-bfloat16" not in names(print_boot(known))


def test_fp8_lever_needs_16_bit_tokens(server: Make, print_boot: Print) -> None:
    """KV that is fp8 already cannot be halved once more."""
    known = server("0.5.18", cells=(6_144,), dtype="float8_e4m3fn")

    assert "kv-fp8" not in names(print_boot(known))


def test_every_lever_helps(server: Make, print_boot: Print) -> None:
    """What gains nothing is not shown, and the best comes first."""
    [boot] = read_log(print_boot(server("0.5.18")))

    levers = advise(boot, Workload(8192, "option")).levers

    gains = [lever.gain or 0 for lever in levers]
    assert gains == sorted(gains, reverse=True)
    assert min(gains) > 0


def test_radix_off_halves_nothing_but_s(server: Make, print_boot: Print) -> None:
    """Without a radix cache S is 1: 758 slots would carry 758 requests."""
    [boot] = read_log(print_boot(server("0.5.17")))

    levers = {lever.name: lever for lever in advise(boot).levers}

    assert 758 == levers["radix-off"].predicted.effective
    assert levers["radix-off"].gate
