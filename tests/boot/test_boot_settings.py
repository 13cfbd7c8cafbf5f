"""Arguments: printed, changed by a later line, or implied."""

from __future__ import annotations

import pytest

from mamba_advisor.boot.model import Notice, Releases, Setting
from mamba_advisor.boot.settings import (
    infer_dcp,
    infer_radix,
    infer_strategy,
    settle,
)
from mamba_advisor.facts import Rank, Scalar

ANY = Releases("0.5.2", "0.5.23")


def printed(line: int = 3, **arguments: Scalar) -> dict[str, tuple[Scalar, int]]:
    """Return *arguments* as printed on *line*."""
    return {name: (value, line) for name, value in arguments.items()}


def test_printed_arguments_keep_value_and_line() -> None:
    """A value printed as None is known; what matters to nobody is left out."""
    settings = settle(
        printed(max_mamba_cache_size=None, tp_size=2, api_key="secret"), (), (), ANY
    )

    assert Setting(None, "log:3") == settings["max_mamba_cache_size"]
    assert Setting(2, "log:3") == settings["tp_size"]
    assert "api_key" not in settings


def test_former_names_appear_under_the_newest() -> None:
    """``mamba_scheduler_strategy`` of 0.5.7 to 0.5.13 was renamed."""
    settings = settle(printed(mamba_scheduler_strategy="no_buffer"), (), (), ANY)

    assert Setting("no_buffer", "log:3") == settings["mamba_radix_cache_strategy"]


@pytest.mark.parametrize(("line", "value"), [(2, False), (9, True)])
def test_a_notice_after_the_arguments_changes_them(line: int, value: bool) -> None:
    """Up to 0.5.6 a rank switches the radix cache off after the line was printed.

    What came before the line is in it already.
    """
    notice = Notice("notice-radix-disabled", "FalconH1Config model detected", line)

    settings = settle(printed(disable_radix_cache=False), [notice], (), ANY)

    assert value is settings["disable_radix_cache"].value


def test_a_notice_states_what_no_argument_line_does() -> None:
    """Without ``server_args`` the notice of no_buffer gives strategy and overlap."""
    notice = Notice("notice-overlap-disabled", "", 4, {"strategy": "no_buffer"})

    settings = settle({}, [notice], (), ANY)

    assert Setting("no_buffer", "log:4") == settings["mamba_radix_cache_strategy"]
    assert Setting(True, "log:4") == settings["disable_overlap_schedule"]


@pytest.mark.parametrize(("wide", "width"), [(True, 8), (False, 1)])
def test_attention_width_up_to_0_5_21(wide: bool, width: int) -> None:
    """It is ``dp_size`` under DP attention, else 1; 0.5.22 prints it itself."""
    settings = settle(printed(dp_size=8, enable_dp_attention=wide), (), (), ANY)

    assert Setting(width, "inferred") == settings["attn_dp_size"]


def test_attention_width_as_printed() -> None:
    """From 0.5.22 the argument is there, and nothing is inferred."""
    arguments = printed(dp_size=1, enable_dp_attention=True, attn_dp_size=4)

    settings = settle(arguments, (), (), ANY)

    assert Setting(4, "log:3") == settings["attn_dp_size"]


def test_tags_give_widths_where_arguments_are_missing() -> None:
    """Tags TP0 to TP3 on two stages: widths of 4 and 2, marked as inferred."""
    ranks = [Rank(pp=stage, tp=tp) for stage in range(2) for tp in range(4)]

    settings = settle({}, (), ranks, ANY)

    assert Setting(4, "inferred") == settings["tp_size"]
    assert Setting(2, "inferred") == settings["pp_size"]


def test_a_single_tag_gives_no_width() -> None:
    """A log filtered to TP0 does not say how many there are."""
    assert "tp_size" not in settle({}, (), [Rank(tp=0)], ANY)


def test_global_tags_show_dp_attention() -> None:
    """DP0 TP0, DP1 TP1: workers that share no TP rank split the attention."""
    settings = settle({}, (), [Rank(dp=0, tp=0), Rank(dp=1, tp=1)], ANY)

    assert Setting(2, "inferred") == settings["attn_dp_size"]


def test_repeated_tags_show_replicas() -> None:
    """DP0 TP0, DP0 TP1, DP1 TP0, DP1 TP1: two whole replicas."""
    ranks = [Rank(dp=dp, tp=tp) for dp in range(2) for tp in range(2)]

    settings = settle({}, (), ranks, ANY)

    assert Setting(1, "inferred") == settings["attn_dp_size"]
    assert Setting(2, "inferred") == settings["dp_size"]


def test_pipeline_switches_overlap_off() -> None:
    """Pipeline stages are incompatible with the overlap schedule in every release."""
    arguments = printed(pp_size=2, disable_overlap_schedule=False)

    settings = settle(arguments, (), (), ANY)

    assert Setting(True, "inferred") == settings["disable_overlap_schedule"]


def test_what_a_release_does_not_have() -> None:
    """Before 0.5.15 there is no decode-context parallelism and no unified pool."""
    settings = settle({}, (), (), Releases("0.5.10", "0.5.12"))

    assert Setting(1, "inferred") == settings["dcp_size"]
    assert Setting(False, "inferred") == settings["enable_unified_memory"]
    assert "dcp_size" not in settle({}, (), (), ANY)


def test_first_releases_run_hybrids_without_a_radix_cache() -> None:
    """Up to 0.5.3 it is switched off for every hybrid, whatever is printed."""
    settings = settle(
        printed(disable_radix_cache=False), (), (), Releases("0.5.2", "0.5.3")
    )

    assert True is settings["disable_radix_cache"].value


@pytest.mark.parametrize(
    ("known", "slots", "strategy"),
    [
        (None, 5, Setting("extra_buffer", "inferred")),
        (None, 4, Setting(None, None)),
        (None, 3, Setting(None, None)),
        ("auto", 5, Setting("extra_buffer", "inferred")),
        ("no_buffer", 5, Setting("no_buffer", "log:3")),
    ],
)
def test_strategy_from_printed_slots(
    known: str | None, slots: int, strategy: Setting
) -> None:
    """Five slots a request leave one strategy, three and four leave several."""
    settings = {"mamba_radix_cache_strategy": Setting(known, "log:3")} if known else {}

    assert strategy == infer_strategy(settings, slots)


@pytest.mark.parametrize(
    ("tree", "slots", "off"),
    [
        ("ChunkCache", None, True),
        ("UnifiedRadixCache", 3, False),
        (None, 1, True),
        (None, 3, None),
        ("SomePlugin", None, None),
    ],
)
def test_radix_cache_by_its_class_or_a_single_slot(
    tree: str | None, slots: int | None, off: bool | None
) -> None:
    """Without arguments: the cache's class, or one slot for each request."""
    assert off is infer_radix(tree, slots).value


@pytest.mark.parametrize(
    ("summed", "rows", "dcp"),
    [(8000, 1000, 8), (1000, 1000, None), (1500, 1000, None), (None, 1000, None)],
)
def test_dcp_by_the_summary(
    summed: int | None, rows: int | None, dcp: int | None
) -> None:
    """From 0.5.21 the summary counts logical tokens: rows times the DCP width."""
    assert dcp == infer_dcp(summed, rows).value
