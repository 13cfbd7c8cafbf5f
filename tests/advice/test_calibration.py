"""From a boot log to the arithmetic's terms, and the check of the model on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mamba_advisor.advice.calibration import calibrate
from mamba_advisor.advice.geometry import published
from mamba_advisor.intake import read_log

RELEASES = ("0.5.4", "0.5.7", "0.5.9", "0.5.12", "0.5.13", "0.5.16", "0.5.18", "0.5.23")


@pytest.mark.parametrize("version", RELEASES)
def test_boot_is_reproduced(
    version: str, server: Callable[..., Any], print_boot: Callable[[Any], list[str]]
) -> None:
    """A printed boot comes back to the integer in every release."""
    known = server(version)

    [boot] = read_log(print_boot(known))
    found = calibrate(boot, None, published(boot, None))

    assert "exact" == found.outcome
    assert 19_316_736 == found.slot.value if found.slot else None
    assert 12_288 == found.token.value if found.token else None
    assert found.budget
    assert found.budget.holds(round(28.833 * 2**30))


@pytest.mark.parametrize("version", RELEASES)
def test_speculative_boot_is_reproduced(
    version: str, server: Callable[..., Any], print_boot: Callable[[Any], list[str]]
) -> None:
    """Draft states follow the release's rule: reserve, joint solve or per slot."""
    known = server(
        version,
        speculative_algorithm="NEXTN",
        draft_tokens=4,
        draft_steps=3,
        draft_topk=1,
        max_running_requests=48,
    )

    [boot] = read_log(print_boot(known))
    found = calibrate(boot, None, published(boot, None))

    assert "exact" == found.outcome
    assert found.budget
    assert found.budget.holds(round(28.833 * 2**30))


def test_wrong_ratio_is_noticed(
    server: Callable[..., Any], print_boot: Callable[[Any], list[str]]
) -> None:
    """A log whose flags do not match its pools differs, and says so."""
    lines = print_boot(server("0.5.18"))
    lines[0] = lines[0].replace(
        "mamba_full_memory_ratio=0.9", "mamba_full_memory_ratio=2.5"
    )

    [boot] = read_log(lines)
    found = calibrate(boot, None, published(boot, None))

    assert "differs" == found.outcome


def test_unstated_split_is_not_checked(
    server: Callable[..., Any], print_boot: Callable[[Any], list[str]]
) -> None:
    """Without server_args a ratio of 2.5 is not guessed: the check is left open."""
    known = server("0.5.18", ratio=2.5, with_arguments=False)

    [boot] = read_log(print_boot(known))
    found = calibrate(boot, None, published(boot, None))

    assert found.outcome is None
    assert not found.split_known
    assert found.budget


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    version=st.sampled_from(RELEASES),
    rest=st.floats(2.0, 120.0),
    slot=st.integers(2_000_000, 200_000_000),
    token=st.integers(64, 2_000).map(lambda n: n * 64),
    ratio=st.floats(0.05, 5.0).map(lambda r: round(r, 3)),
    page=st.sampled_from([1, 16, 64]),
)
def test_truth_lies_in_the_interval(
    *,
    version: str,
    rest: float,
    slot: int,
    token: int,
    ratio: float,
    page: int,
    server: Callable[..., Any],
    print_boot: Callable[[Any], list[str]],
) -> None:
    """Whatever was printed with two decimals, the intervals hold the exact bytes."""
    known = server(
        version,
        architecture="FalconH1ForCausalLM",
        state_family="mamba2",
        conv=slot // 20,
        rest_gib=rest,
        slot_bytes=slot,
        cells=(token,),
        ratio=ratio,
        page_size=page,
        arguments={"disable_radix_cache": False},
    )
    sizes = known.sizes
    if sizes.error or (sizes.max_mamba_cache_size or 0) < 1:
        return

    [boot] = read_log(print_boot(known))
    found = calibrate(boot)

    assert found.slot
    assert found.token
    assert found.budget
    assert found.printed.slot
    assert found.printed.slot.holds(slot)
    assert found.printed.token
    assert found.printed.token.holds(token)
    assert found.budget.low <= rest * 2**30 <= found.budget.high
    assert found.outcome in ("exact", "consistent")
