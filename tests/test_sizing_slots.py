"""S by release, what ``auto`` becomes, and which release is meant."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mamba_advisor.errors import FactError, InputError
from mamba_advisor.sizing import SizingProblem, slots_per_request, solve
from mamba_advisor.sizing.releases import (
    KNOWN_RELEASES,
    LAST_RELEASE,
    choose,
    parse_release,
    release_note,
    since,
)
from mamba_advisor.sizing.strategy import Support, buffer_support, resolve_auto

PROBLEM = SizingProblem(rest_gib=20.0, slot_bytes=20_000_000, cells=(10_000,))


@pytest.mark.parametrize(
    ("version", "plain", "buffered", "no_overlap", "drafting"),
    [
        ("0.5.4", 3, 3, 3, 3),
        ("0.5.6", 3, 3, 3, 3),
        ("0.5.7", 5, 5, 5, 4),
        ("0.5.8", 3, 5, 5, 4),
        ("0.5.9", 3, 5, 5, 4),
        ("0.5.10", 3, 5, 4, 5),
        ("0.5.12", 3, 5, 4, 5),
        ("0.5.13", 3, 5, 4, 5),
        ("0.5.23", 3, 5, 4, 5),
    ],
)
def test_slots_by_release(
    version: str, plain: int, buffered: int, no_overlap: int, drafting: int
) -> None:
    """3 and a buffer of 2; 1 with drafts up to 0.5.9, without overlap from 0.5.10."""
    assert plain == slots_per_request(version, "no_buffer", True, True, False)
    assert buffered == slots_per_request(version, "extra_buffer", True, True, False)
    assert no_overlap == slots_per_request(version, "extra_buffer", False, True, False)
    assert drafting == slots_per_request(version, "extra_buffer", True, True, True)


def test_no_buffer_of_0_5_7_reserves_five_with_drafts_too() -> None:
    """The defect of 0.5.7: ``no_buffer`` gets the two slots of a buffer."""
    assert 5 == slots_per_request("0.5.7", "no_buffer", False, True, True)


@pytest.mark.parametrize("version", KNOWN_RELEASES)
def test_without_radix_cache_one_slot(version: str) -> None:
    """Nothing is kept for reuse, so that a request needs its own state alone."""
    assert 1 == slots_per_request(version, "extra_buffer_lazy", False, False, True)


@pytest.mark.parametrize(
    ("strategy", "overlap", "expected"),
    [
        ("no_buffer", True, 3),
        ("extra_buffer", True, 4),
        ("extra_buffer", False, 3),
        ("extra_buffer_lazy", True, 3),
        ("extra_buffer_lazy", False, None),
    ],
)
def test_skip_decode_lock(strategy: str, overlap: bool, expected: int | None) -> None:
    """From 0.5.17 a buffer needs one less; before, the switch does nothing."""
    late = slots_per_request("0.5.17", strategy, overlap, True, False, True)
    early = slots_per_request("0.5.16", strategy, overlap, True, False, True)

    assert expected == late
    assert early == slots_per_request("0.5.16", strategy, overlap, True, False)


def test_lazy_without_overlap_is_refused_where_slots_are_needed() -> None:
    """With drafts before anything is settled, else only after T."""
    lazy = replace(PROBLEM, strategy="extra_buffer_lazy", disable_overlap_schedule=True)
    plain, drafting = (
        solve("0.5.20", lazy),
        solve("0.5.20", replace(lazy, draft_tokens=4)),
    )

    assert plain.error == drafting.error == "lazy_strategy_needs_overlap"
    assert plain.kv_tokens_profiled is not None
    assert drafting.max_mamba_cache_size is None


def test_printed_slots_win() -> None:
    """S as a log prints it is used in place of the rule's."""
    assert 2 == solve("0.5.20", replace(PROBLEM, slots_per_request=2)).slots_per_request


@pytest.mark.parametrize(
    ("version", "support", "wanted", "expected"),
    [
        ("0.5.13", "buffer", {}, ("no_buffer", True)),
        ("0.5.14", "buffer", {}, ("extra_buffer", True)),
        ("0.5.14", "buffer", {"overlap": False}, ("no_buffer", False)),
        ("0.5.14", "buffer", {"overlap": 0, "page_size": 64}, ("extra_buffer", False)),
        ("0.5.14", "buffer", {"triton": False}, ("no_buffer", False)),
        ("0.5.14", "buffer", {"pp_size": 2}, ("extra_buffer", False)),
        ("0.5.14", "plain", {}, ("no_buffer", False)),
        ("0.5.14", "unlisted", {}, ("auto", True)),
        ("0.5.14", "buffer", {"radix": False}, ("auto", True)),
    ],
)  # fmt: skip
def test_auto_becomes(
    version: str,
    support: Support,
    wanted: dict[str, int],
    expected: tuple[str, bool],
) -> None:
    """From 0.5.14 a buffer where it is wanted and possible; else overlap goes."""
    assert expected == resolve_auto(version, support, **wanted)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("version", "architecture", "expected"),
    [
        ("0.5.12", "Qwen3NextForCausalLM", "buffer"),
        ("0.5.15", "KimiLinearForCausalLM", "unlisted"),
        ("0.5.16", "KimiLinearForCausalLM", "buffer"),
        ("0.5.13", "JetNemotronForCausalLM", "buffer"),
        ("0.5.14", "JetNemotronForCausalLM", "plain"),
        ("0.5.16", "Lfm2MoeForCausalLM", "unlisted"),
        ("0.5.17", "Lfm2MoeForCausalLM", "plain"),
        ("0.5.23", "NewHybridForCausalLM", None),
    ],
)
def test_families_by_release(
    version: str, architecture: str, expected: str | None
) -> None:
    """Support comes, and for JetNemotron goes, with releases; unknown stays unknown."""
    assert expected == buffer_support(version, architecture)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0.5.9", (0, 5, 9)),
        ("v0.5.17", (0, 5, 17)),
        ("0.5.10rc0", (0, 5, 10)),
        ("0.5.6.post2", (0, 5, 6)),
        (" 0.5.23.dev4+gabc ", (0, 5, 23)),
    ],
)
def test_release_is_three_numbers(text: str, numbers: tuple[int, int, int]) -> None:
    """Whatever stands around them is left out, and 9 comes before 10."""
    assert numbers == parse_release(text)
    assert since("0.5.10", "0.5.9")


@pytest.mark.parametrize("text", ["", "main", "0.5", "newest"])
def test_other_text_is_no_release(text: str) -> None:
    """The message says how to write one."""
    with pytest.raises(InputError, match=r"write it as 0\.5\.17"):
        parse_release(text)


@pytest.mark.parametrize("version", ["0.5.3", "0.5.2", "0.4.10"])
def test_old_releases_have_no_ratio(version: str) -> None:
    """Up to 0.5.3 there is nothing to set; the message says since when there is."""
    with pytest.raises(FactError, match=r"exists from 0\.5\.4"):
        solve(version, PROBLEM)


@pytest.mark.parametrize("version", ["0.5.24", "0.5.100", "0.6.0", "1.0.0"])
def test_newer_release_is_computed_as_the_newest(version: str) -> None:
    """Same figures, and a note that says so; a known release has none."""
    newer, newest = solve(version, PROBLEM), solve(LAST_RELEASE, PROBLEM)

    assert newest == replace(newer, note="")
    assert f"computed as {LAST_RELEASE}" in newer.note
    assert "" == release_note(LAST_RELEASE)


def test_choice_needs_an_entry() -> None:
    """A rule that begins later is not applied earlier."""
    eras = (("0.5.15", "new"), ("0.5.19", "newer"))

    assert ["new", "new", "newer"] == [
        choose(eras, version) for version in ("0.5.15", "0.5.18", "0.6.1")
    ]
    with pytest.raises(FactError, match=r"older than 0\.5\.15"):
        choose(eras, "0.5.14")
