"""The two pools: what each holds, costs and carries, so that it can be checked."""

from __future__ import annotations

from dataclasses import replace

from mamba_advisor.advice.model import Advice, Interval
from mamba_advisor.measured import Measured
from mamba_advisor.report import render


def test_a_wide_exchange_rate_is_a_range(advices: dict[str, Advice]) -> None:
    """314 tokens a slot may be 209.4 to 628.5: the one figure would mislead."""
    base = advices["state-bound"]
    wide = Interval(314.2, 209.4, 628.5)

    assert "a slot costs 2,349 tokens" in render([base])
    assert "a slot costs 209 to 629 tokens" in render(
        [replace(base, token_equivalent=wide)]
    )


def test_what_a_token_is_charged_is_shown_where_it_differs(
    advices: dict[str, Advice],
) -> None:
    """73.41 MiB ÷ 40 KiB is the exchange rate where a draft is charged as well."""
    base = advices["state-bound"]
    assert base.kv_pool is not None
    charged = replace(base.kv_pool, charged_bytes_per_token=Measured.exact(40_960))

    assert "charged" not in render([base])
    assert "32.00 KiB a token, 40.00 KiB charged" in render(
        [replace(base, kv_pool=charged)]
    )


def test_unknown_slots_per_request_give_an_answer_each(
    advices: dict[str, Advice],
) -> None:
    """131 slots carry 131 // 4 = 32 requests at 4, 131 // 5 = 26 at 5."""
    base = advices["unified"]
    none = replace(base.concurrency.limits, state=None)
    unsure = replace(base.concurrency, limits=none)

    text = render([replace(base, concurrency=unsure)])

    assert "32 requests at 4 slots (26 at 5)" in text
    assert "depends on slots per request" in text


def test_one_candidate_stands_alone(advices: dict[str, Advice]) -> None:
    """131 slots carry 26 requests at 5."""
    base = advices["unified"]
    one = replace(base.concurrency, slots_per_request_candidates=(5,))

    assert "26 requests at 5 slots  " in render([replace(base, concurrency=one)])
