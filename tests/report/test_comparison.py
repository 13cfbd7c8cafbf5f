"""Two boots compared: what differs, what it brought, and whether we said so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mamba_advisor.advice.comparison import Comparison, compare
from mamba_advisor.advice.model import Advice
from mamba_advisor.errors import InputError
from mamba_advisor.measured import Measured
from mamba_advisor.report import render_comparison


def changed(comparison: Comparison) -> dict[str, tuple[Any, Any]]:
    """Return the changes by path."""
    return {change.path: (change.before, change.after) for change in comparison.changes}


def squeezed(text: str) -> str:
    """Return *text* on one line."""
    return " ".join(text.split())


@pytest.fixture
def before(advices: dict[str, Advice]) -> Advice:
    """Return a boot that carries 26, with the advice to set a ratio of 2.84."""
    return advices["state-bound"]


@pytest.fixture
def after(before: Advice) -> Advice:
    """Return the boot that follows the advice, and carries 41 as predicted."""
    assert before.state_pool is not None
    assert before.kv_pool is not None
    limits = replace(before.concurrency.limits, state=41, kv=41)
    return replace(
        before,
        settings={**before.settings, "mamba_full_memory_ratio": (2.84, "log:12")},
        state_pool=replace(before.state_pool, slots=206, rows=207),
        kv_pool=replace(before.kv_pool, tokens=168_960, logical_tokens=168_960),
        concurrency=replace(
            before.concurrency, effective=41, sustained=41, limits=limits
        ),
    )


def test_what_was_advised_was_met(before: Advice, after: Advice) -> None:
    """26 → 41 is +15, as BEFORE's advice promised."""
    verdict = compare(before, after).verdict

    assert (True, 15, True) == (verdict.better, verdict.gain, verdict.prediction_met)
    assert verdict.message == (
        "From 26 to 41 sustained requests at 4,096 tokens each: 15 more."
        " The prediction was met: 41 requests as predicted, 206 slots as predicted,"
        " 168,960 KV tokens as predicted."
    )


def test_fewer_than_promised_is_not_met(before: Advice, after: Advice) -> None:
    """39 where 41 were predicted is better than 26, and short of the promise."""
    fewer = replace(
        after, concurrency=replace(after.concurrency, effective=39, sustained=39)
    )

    verdict = compare(before, fewer).verdict

    assert (True, 13, False) == (verdict.better, verdict.gain, verdict.prediction_met)
    assert "not met: 39 requests for 41 predicted" in verdict.message


def test_an_interval_may_promise_less(before: Advice, after: Advice) -> None:
    """A prediction of 41 (39 to 42) is met by 39."""
    assert before.recommendation is not None
    predicted = replace(
        before.recommendation.predicted, concurrency_low=39, concurrency_high=42
    )
    vague = replace(
        before, recommendation=replace(before.recommendation, predicted=predicted)
    )
    fewer = replace(
        after, concurrency=replace(after.concurrency, effective=39, sustained=39)
    )

    assert compare(vague, fewer).verdict.prediction_met is True


def test_another_setting_puts_nothing_to_the_test(
    before: Advice, after: Advice
) -> None:
    """With a ratio of 2.5 the prediction for 2.84 stays open."""
    other = replace(
        after, settings={**after.settings, "mamba_full_memory_ratio": (2.5, "log:12")}
    )

    verdict = compare(before, other).verdict

    assert verdict.prediction_met is None
    assert "AFTER does not run with what was advised" in verdict.message


def test_another_model_puts_nothing_to_the_test(before: Advice, after: Advice) -> None:
    """The flags are there, and say nothing of the advice for another model."""
    other = replace(after, boot=replace(after.boot, architecture="FalconH1ForCausalLM"))

    verdict = compare(before, other).verdict

    assert verdict.prediction_met is None
    assert verdict.message.endswith(
        "AFTER runs another model: the advice is not put to the test."
    )


@pytest.mark.parametrize(
    ("flags", "settings", "met"),
    [
        (("--mamba-full-memory-ratio=2.840",), {"mamba_full_memory_ratio": 2.84}, True),
        (
            ("--mamba-scheduler-strategy", "extra_buffer"),
            {"mamba_radix_cache_strategy": "extra_buffer"},
            True,
        ),
        (
            ("--disable-radix-cache", "--max-running-requests", "41"),
            {"disable_radix_cache": True, "max_running_requests": 41},
            True,
        ),
        (("--disable-radix-cache",), {"disable_radix_cache": False}, None),
        (("--chunked-prefill-size", "2048"), {}, None),
    ],
)
def test_flags_are_found_in_the_settings(
    flags: tuple[str, ...],
    settings: dict[str, Any],
    met: bool | None,
    before: Advice,
    after: Advice,
) -> None:
    """Flags are compared by name and value, older names and ``=`` included."""
    assert before.recommendation is not None
    advised = replace(before.recommendation, flags=flags)
    known = {name: (value, "log:12") for name, value in settings.items()}

    comparison = compare(
        replace(before, recommendation=advised),
        replace(after, settings={**before.settings, **known}),
    )

    assert comparison.verdict.prediction_met is met


def test_to_keep_is_put_to_the_test_by_keeping(before: Advice, after: Advice) -> None:
    """The advice to keep holds where ratio, pin, fraction and limit stayed."""
    assert before.recommendation is not None
    predicted = replace(before.recommendation.predicted, concurrency=26)
    keep = replace(before.recommendation, action="keep", flags=(), predicted=predicted)
    kept = replace(before, recommendation=keep)

    assert compare(kept, before).verdict.prediction_met is True
    assert compare(kept, after).verdict.prediction_met is None


def test_what_failed_carries_nothing(
    before: Advice, advices: dict[str, Advice]
) -> None:
    """A boot after a failed one gains all it carries, and the other way round."""
    failed = replace(advices["failed"], recommendation=None)

    risen, fallen = compare(failed, before).verdict, compare(before, failed).verdict

    assert (True, 26, None) == (risen.better, risen.gain, risen.prediction_met)
    assert (False, -26) == (fallen.better, fallen.gain)
    assert "26 fewer" in fallen.message


def test_an_advice_that_does_not_boot_is_not_met(before: Advice, after: Advice) -> None:
    """The advised flags and a failed boot: the prediction was wrong."""
    crashed = replace(after, boot=replace(after.boot, outcome="failed"))

    verdict = compare(before, crashed).verdict

    assert verdict.prediction_met is False
    assert "AFTER failed with the advised flags." in verdict.message


def test_concurrency_is_compared_at_one_context(
    before: Advice, advices: dict[str, Advice]
) -> None:
    """The same pools at 4096 and at 32,768 tokens: 10 and 10, at the latter's."""
    verdict = compare(before, advices["kv-bound"]).verdict

    assert (False, 0) == (verdict.better, verdict.gain)
    assert "The same 10 sustained requests at 32,768 tokens each." in verdict.message


def test_without_a_context_the_limits_are_compared(
    advices: dict[str, Advice],
) -> None:
    """Nobody said a context: 26 in force against 30 in force."""
    before = advices["no-context"]
    after = replace(before, concurrency=replace(before.concurrency, effective=30))

    verdict = compare(before, after).verdict

    assert (True, 4) == (verdict.better, verdict.gain)
    assert "From 26 to 30 requests: 4 more." in verdict.message


def test_what_is_not_known_is_not_judged(advices: dict[str, Advice]) -> None:
    """A log without any limit leaves the verdict open."""
    before = advices["no-context"]
    after = replace(before, concurrency=replace(before.concurrency, effective=None))

    verdict = compare(before, after).verdict

    assert (None, None) == (verdict.better, verdict.gain)
    assert "do not say enough" in verdict.message


def test_other_workers_are_compared_as_a_server(before: Advice) -> None:
    """One worker with 26 against two with 26: 26 more on the whole server."""
    doubled = replace(before, concurrency=replace(before.concurrency, workers=2))

    verdict = compare(before, doubled).verdict

    assert 26 == verdict.gain
    assert "From 26 to 52 sustained requests on the whole server" in verdict.message


def test_changes_name_what_differs(before: Advice, after: Advice) -> None:
    """Settings that both logs know, pools, limits; nothing that stayed."""
    changes = changed(compare(before, after))

    assert (0.9, 2.84) == changes["settings.mamba_full_memory_ratio"]
    assert (131, 206) == changes["state_pool.slots"]
    assert (344_064, 168_960) == changes["kv_pool.logical_tokens"]
    assert (84, 41) == changes["concurrency.limits.kv"]
    assert "settings.tp_size" not in changes
    assert "concurrency.requested" not in changes


def test_rounding_is_no_change(before: Advice) -> None:
    """9.46 and 9.47 GB touch at 9.465; 9.46 and 9.48 GB do not."""
    assert before.state_pool is not None

    def with_bytes(text: str) -> Advice:
        assert before.state_pool is not None
        pool = replace(before.state_pool, bytes=Measured.from_text(text, "GiB"))
        return replace(before, state_pool=pool)

    near = changed(compare(before, with_bytes("9.47")))
    far = changed(compare(before, with_bytes("9.48")))

    assert "state_pool.bytes" not in near
    assert "state_pool.bytes" in far


def test_an_unknown_setting_is_no_change(before: Advice) -> None:
    """What one log does not state cannot be said to differ."""
    silent = replace(before, settings={"tp_size": (None, None)})

    changes = changed(compare(before, silent))

    assert not [path for path in changes if path.startswith("settings.")]


def test_the_screen_shows_both(before: Advice, after: Advice) -> None:
    """Verdict first, then the figures side by side, then the settings."""
    text = render_comparison(compare(before, after))

    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "Verdict better: +15 requests" in lines[2]
    assert "Forecast met" in lines
    assert "sustained 26 41" in lines
    assert "mamba_full_memory_ratio 0.9 2.84" in lines
    assert max(map(len, text.splitlines())) <= 80


def test_two_measured_contexts_are_told(
    before: Advice, advices: dict[str, Advice]
) -> None:
    """4096 and 32,768 tokens were measured; the verdict names one of them."""
    text = squeezed(render_comparison(compare(before, advices["kv-bound"])))

    assert "Caution two contexts were measured, 4,096 tokens before and 32,768" in text
    assert "Caution" not in render_comparison(compare(before, before))


@pytest.mark.parametrize(
    ("architecture", "path", "shown"),
    [
        ("Qwen3_5ForConditionalGeneration", "/b/other", False),
        ("FalconH1ForCausalLM", "/a/model", True),
        (None, "/b/model/", False),
        (None, "/b/other", True),
        (None, None, False),
    ],
)
def test_two_models_are_told(
    architecture: str | None, path: str | None, shown: bool, before: Advice
) -> None:
    """By the class, else by the name; where a folder was moved nothing changed."""
    boot = replace(before.boot, architecture=architecture)

    def at(advice: Advice, path: str | None) -> Advice:
        return replace(
            advice, settings={**advice.settings, "model_path": (path, "log:1")}
        )

    comparison = compare(at(before, "/a/model"), at(replace(before, boot=boot), path))

    assert shown is ("Caution   two models" in render_comparison(comparison))


def test_a_dense_model_has_no_split(before: Advice, advices: dict[str, Advice]) -> None:
    """A hybrid against a dense model is no comparison of splits."""
    dense = advices["not-hybrid"]

    one = squeezed(render_comparison(compare(dense, before)))
    both = squeezed(render_comparison(compare(dense, dense)))

    assert "Caution BEFORE is not a hybrid: there is no split to compare" in one
    assert "Caution BEFORE and AFTER are not hybrids" in both
    assert "two models" not in one


def test_a_comparison_has_no_flags(before: Advice) -> None:
    """``--format flags`` makes no sense for two boots."""
    with pytest.raises(InputError, match="compare has no flags"):
        render_comparison(compare(before, before), "flags")
