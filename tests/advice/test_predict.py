"""Predictions: their intervals hold the truth that the log's decimals hide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from mamba_advisor.advice.engine import advise
from mamba_advisor.advice.model import Workload
from mamba_advisor.intake import read_log
from mamba_advisor.sizing import solve


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    rest=st.floats(0.08, 40.0),
    slot=st.integers(700_000, 60_000_000),
    token=st.integers(16, 600).map(lambda n: n * 64),
    ratio=st.floats(0.1, 4.0).map(lambda r: round(r, 3)),
    context=st.sampled_from([512, 2048, 8192]),
)
@example(rest=1.0, slot=11024273, token=1024, ratio=2.0, context=512)
@example(rest=1.125, slot=10691978, token=1024, ratio=0.25, context=512)
def test_truth_lies_in_the_predicted_interval(
    *,
    rest: float,
    slot: int,
    token: int,
    ratio: float,
    context: int,
    server: Callable[..., Any],
    print_boot: Callable[[Any], list[str]],
) -> None:
    """What the release decides on the advised flag lies in what was predicted.

    The server knows its exact bytes, the advice only two decimals of them.  The
    budget itself is a page of tokens wide, so one token may be missing.
    """
    known = server(
        "0.5.18",
        architecture="FalconH1ForCausalLM",
        state_family="mamba2",
        conv=slot // 20,
        rest_gib=rest,
        slot_bytes=slot,
        cells=(token,),
        ratio=ratio,
    )
    sizes = known.sizes
    assume(sizes.error is None)
    assume((sizes.max_mamba_cache_size or 0) >= 5)
    [boot] = read_log(print_boot(known))

    advice = advise(boot, Workload(context, "option"))

    found = advice.recommendation
    assume(advice.self_check.outcome is not None)
    assume(found is not None and found.action in ("ratio", "pin"))
    assert found
    truth = replace(
        known.problem,
        ratio=found.mamba_full_memory_ratio or ratio,
        pin=found.max_mamba_cache_size if found.action == "pin" else None,
    )
    real, said = solve("0.5.18", truth), found.predicted
    slots, tokens = real.max_mamba_cache_size, real.kv_tokens
    assume(real.error is None)
    assert slots is not None
    assert tokens is not None
    assert said.slots is not None
    assert said.kv_tokens is not None
    low, high = _ends(said.slots, said.slots_low, said.slots_high)
    assert low <= slots <= high
    least, most = _ends(said.kv_tokens, said.tokens_low, said.tokens_high)
    assert least - 1 <= tokens <= most + 1


def _ends(value: int, low: int | None, high: int | None) -> tuple[int, int]:
    """Return the ends of an interval, *value* for both where it has none."""
    return value if low is None else low, value if high is None else high
