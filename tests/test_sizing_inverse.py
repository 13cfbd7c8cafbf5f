"""Backward: the budget behind printed pools, and the flag behind wanted slots."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mamba_advisor.sizing import (
    SizingInputs,
    SizingProblem,
    allocated_unbudgeted,
    decided_by,
    is_capped,
    pin_for_concurrency,
    pin_for_slots,
    ratio_for_concurrency,
    ratio_for_slots,
    rest_interval,
    solve,
    state_charge,
    sustained,
)
from mamba_advisor.sizing.inputs import reduce_inputs
from mamba_advisor.sizing.inverse import MAX_RATIO, Threshold, round_ratio
from mamba_advisor.sizing.releases import KNOWN_RELEASES
from mamba_advisor.sizing.search import Search

RECORDS = json.loads(
    (Path(__file__).resolve().parent.parent / "fixtures/sizing/records.json").read_text(
        encoding="utf-8"
    )
)["records"]

QN4 = SizingProblem(
    rest_gib=28.833,
    slot_bytes=19_316_736,
    cells=(12_288,),
    context_len=262_144,
    strategy="extra_buffer",
)
"""Qwen3-Next-80B-A3B on one of four 80 GB GPUs."""

DRAFTING = replace(QN4, speculative_algorithm="NEXTN", draft_tokens=4)
"""The same with four draft tokens; the limit is then 48."""

VERSIONS = st.sampled_from(KNOWN_RELEASES)


@st.composite
def problems(draw: st.DrawFn) -> SizingProblem:
    """Draw a boot with room for both pools."""
    return SizingProblem(
        rest_gib=draw(st.floats(2, 120)),
        slot_bytes=draw(st.integers(1 << 20, 1 << 27)),
        cells=(draw(st.integers(512, 1 << 17)),),
        page_size=draw(st.sampled_from([1, 16, 64])),
        ratio=draw(st.floats(0.05, 10)),
        max_running_requests=draw(st.none() | st.integers(8, 512)),
        strategy=draw(st.sampled_from(["no_buffer", "extra_buffer"])),
        draft_tokens=draw(st.sampled_from([0, 0, 2, 4])),
        draft_steps=1,
        draft_topk=1,
        attn_dp_size=draw(st.sampled_from([1, 1, 2])),
    )


def booted() -> Iterator[tuple[str, SizingProblem, int, int]]:
    """Yield release, problem, K and T of every record that starts."""
    for record in RECORDS:
        outputs = record["outputs"]
        if outputs["error"] is None:
            inputs = SizingInputs.from_record(record["inputs"])
            problem = reduce_inputs(record["version"], inputs)
            slots, tokens = outputs["max_mamba_cache_size"], outputs["kv_tokens"]
            yield record["version"], problem, slots, tokens


def test_budget_lies_in_its_interval() -> None:
    """K and T of every release give the budget back, to the page; rounding: a byte."""
    seen = 0
    for version, problem, slots, tokens in booted():
        low, high = rest_interval(version, problem, slots, tokens)
        truth = problem.rest_gib * 2**30
        seen += 1

        assert low - 1 <= truth
        assert truth < high + 1 or is_capped(problem, tokens)
        assert high - low == problem.page_size * max(problem.cells)
    assert seen > 30


def test_charge_of_the_running_example() -> None:
    """Slots; from 0.5.17 also the padding slot, and with drafts 49 × 4 states."""
    slot = QN4.slot_bytes

    assert 759 * slot == state_charge("0.5.12", QN4, 759)
    assert 759 * slot == state_charge("0.5.17", QN4, 758)
    assert (419 + 49 * 4) * slot == state_charge("0.5.17", DRAFTING, 418)
    assert 151 * 5 * slot == state_charge("0.5.4", DRAFTING, 151)


@settings(max_examples=200, deadline=None)
@given(VERSIONS, problems())
def test_budget_of_any_boot(version: str, problem: SizingProblem) -> None:
    """Whatever boots, its K and T lead back to an interval that holds the budget."""
    sizes = solve(version, problem)
    if not sizes.boots:
        return
    assert sizes.max_mamba_cache_size is not None
    assert sizes.kv_tokens is not None
    low, high = rest_interval(
        version, problem, sizes.max_mamba_cache_size, sizes.kv_tokens
    )

    assert low - 1 <= problem.rest_gib * 2**30 < high + 1


@settings(max_examples=200, deadline=None)
@given(VERSIONS, problems(), st.integers(1, 400))
def test_ratio_for_slots_gives_them(
    version: str, problem: SizingProblem, slots: int
) -> None:
    """The printed ratio boots with at least the slots, and a tenth less has fewer."""
    ratio = ratio_for_slots(version, problem, slots)
    if ratio is None:
        return
    sizes = solve(version, replace(problem, ratio=ratio, pin=None))
    less = solve(version, replace(problem, ratio=ratio * 0.9, pin=None))

    assert sizes.boots
    assert slots <= (sizes.max_mamba_cache_size or 0)
    assert (less.max_mamba_cache_size or 0) < slots
    assert len(f"{ratio:.10g}".replace(".", "").lstrip("0").rstrip("0")) <= 6


@settings(max_examples=100, deadline=None)
@given(VERSIONS, problems())
def test_ratio_in_force_is_found_again(version: str, problem: SizingProblem) -> None:
    """A ratio that boots is found from its slots, at most a tenth above."""
    slots = solve(version, problem).max_mamba_cache_size or 0
    if slots < 1 or not solve(version, problem).boots:
        return
    ratio = ratio_for_slots(version, problem, slots)

    assert ratio is not None
    assert ratio <= problem.ratio * 1.1


@settings(max_examples=200, deadline=None)
@given(VERSIONS, problems(), st.integers(1, 200))
def test_pin_for_slots_gives_them(
    version: str, problem: SizingProblem, slots: int
) -> None:
    """A pin gives each worker exactly the slots, wherever the release heeds it."""
    pin = pin_for_slots(version, problem, slots)
    if pin is None:
        return
    pinned = replace(problem, pin=pin)

    assert "pin" == decided_by(version, pinned)
    assert slots == solve(version, pinned).max_mamba_cache_size


@settings(max_examples=200, deadline=None)
@given(VERSIONS, problems(), st.floats(1.01, 3))
def test_more_ratio_more_slots(
    version: str, problem: SizingProblem, factor: float
) -> None:
    """A larger ratio never gives fewer slots, nor more tokens."""
    small = solve(version, problem)
    large = solve(version, replace(problem, ratio=problem.ratio * factor))
    if not (small.boots and large.boots):
        return

    assert (small.max_mamba_cache_size or 0) <= (large.max_mamba_cache_size or 0)
    # Up to 0.5.6 every request brings up to 106 tokens of head-room with it.
    assert (small.kv_tokens or 0) + 100 * 512 >= (large.kv_tokens or 0)


@settings(max_examples=200, deadline=None)
@given(VERSIONS, problems(), st.floats(0.1, 20))
def test_more_memory_never_hurts(
    version: str, problem: SizingProblem, gib: float
) -> None:
    """With more to share neither the slots nor the limit fall."""
    small = solve(version, problem)
    large = solve(version, replace(problem, rest_gib=problem.rest_gib + gib))
    if not small.boots:
        return

    assert (small.max_mamba_cache_size or 0) <= (large.max_mamba_cache_size or 0)
    assert (small.max_running_requests or 0) <= (large.max_running_requests or 0)


@pytest.mark.parametrize(
    ("version", "slots", "ratio"),
    [
        # 758 slots and padding: 759 P of 28.833 GiB: 0.47357 ÷ 0.52643 = 0.8996.
        ("0.5.17", 758, 0.9),
        # 100 slots: 101 P are 1.8170 GiB: 1.8170 ÷ 27.0160 = 0.06726.
        ("0.5.17", 100, 0.0673),
        # Without padding 1.7990 ÷ 27.0340 = 0.06655, and 0.067 still gives 100.
        ("0.5.12", 100, 0.067),
    ],
)
def test_ratio_for_slots(version: str, slots: int, ratio: float) -> None:
    """As few digits as cost less than half a per cent of the slots."""
    assert ratio == ratio_for_slots(version, QN4, slots)


def test_ratio_that_leaves_nothing_is_none() -> None:
    """1602 slots and padding are 28.84 GiB, more than there is to share."""
    assert ratio_for_slots("0.5.17", QN4, 1602) is None


def test_flags_that_do_not_decide_give_none() -> None:
    """0.5.6 ignores a pin beside the radix cache, and the ratio without it."""
    plain = replace(QN4, disable_radix_cache=True)

    assert pin_for_slots("0.5.6", QN4, 10) is None
    assert ratio_for_slots("0.5.6", plain, 10) is None
    assert 10 == pin_for_slots("0.5.6", plain, 10)


@pytest.mark.parametrize(
    ("version", "family", "pin"),
    [("0.5.6", "gdn", 40), ("0.5.6", "kda", 10), ("0.5.7", "kda", 40)],
)
def test_pins_are_for_all_workers(version: str, family: str, pin: int) -> None:
    """Four DP workers share a pin; up to 0.5.6 those of GDN models only."""
    shared = replace(QN4, attn_dp_size=4, state_family=family, disable_radix_cache=True)

    assert pin == pin_for_slots(version, shared, 10)


def test_concurrency() -> None:
    """30 requests need 150 slots, as a pin 151; 48 is the most with drafts."""
    ratio = ratio_for_concurrency("0.5.20", QN4, 30, 8192)
    assert ratio is not None
    sizes = solve("0.5.20", replace(QN4, ratio=ratio))

    assert 30 == sustained(sizes, 8192)
    assert 151 == pin_for_concurrency("0.5.20", QN4, 30, 8192)
    assert pin_for_concurrency("0.5.20", DRAFTING, 48) is not None
    assert pin_for_concurrency("0.5.20", DRAFTING, 49) is None
    assert ratio_for_concurrency("0.5.20", QN4, 30, 100_000) is None


def test_sustained_is_the_smaller_side() -> None:
    """758 // 5 = 151 requests, 1,326,317 // 10,000 = 132; none where it fails."""
    sizes = solve("0.5.20", QN4)

    assert (151, 132) == (sustained(sizes, None), sustained(sizes, 10_000))
    assert 0 == sustained(solve("0.5.20", replace(QN4, pin=1)), 10_000)


@pytest.mark.parametrize(
    ("digits", "up", "expected"),
    [(2, True, 0.46), (2, False, 0.45), (4, True, 0.4568), (6, False, 0.456789)],
)
def test_rounding_goes_to_the_safe_side(digits: int, up: bool, expected: float) -> None:
    """Significant digits, up for a ratio that must suffice, else down."""
    assert expected == round_ratio(0.456789, digits, up=up)


def test_threshold_is_as_close_as_its_digits() -> None:
    """K = 9.7·r up to 50: 21 slots from 2.16495 on; 60 with no ratio."""

    def slots_of(ratio: float) -> int:
        return min(50, int(9.7 * ratio))

    threshold, beyond = Threshold(slots_of, 21), Threshold(slots_of, 60)
    assert (2.1, 2.16, 2.164) == tuple(threshold.below(digits) for digits in (2, 3, 4))
    assert (2.2, 2.17) == (threshold.above(2), threshold.above(3))
    assert MAX_RATIO == beyond.below(3)
    assert not beyond.is_reached


@pytest.mark.parametrize("guess", [0.0, 1e-9, 0.3, 0.684038, 0.7, 1.0, 5.0, -1.0])
def test_a_wrong_guess_changes_no_ratio(guess: float) -> None:
    """It is where the search begins, not where it ends."""

    def slots_of(ratio: float) -> int:
        return min(50, int(9.7 * ratio))

    guessed, plain = Threshold(slots_of, 21, guess), Threshold(slots_of, 21)
    for digits in (2, 3, 4, 5, 6):
        assert plain.below(digits) == guessed.below(digits)
        assert plain.above(digits) == guessed.above(digits)


@pytest.mark.parametrize("version", ["0.5.4", "0.5.7", "0.5.8", "0.5.13", "0.5.17"])
@pytest.mark.parametrize("slots", [2, 37, 150])
def test_the_charge_tells_where_the_ratio_lies(version: str, slots: int) -> None:
    """The guess is right without draft states: some questions do, not fifty."""
    search = Search(version, QN4, 8192, 0)
    asked: list[float] = []

    def slots_of(ratio: float) -> int:
        asked.append(ratio)
        return search.slots_of(ratio)

    guessed = search.threshold(slots)
    plain = Threshold(search.slots_of, slots)
    assert plain.is_reached
    guessed._slots_of = slots_of
    assert (plain.below(5), plain.above(5)) == (guessed.below(5), guessed.above(5))
    assert len(asked) <= 3


@pytest.mark.parametrize(
    ("version", "problem", "state", "drafts"),
    [
        # The padding slot is charged from 0.5.17; its draft states, too.
        ("0.5.16", QN4, 1, 0),
        ("0.5.17", QN4, 0, 0),
        ("0.5.16", DRAFTING, 1, 4),
        ("0.5.17", DRAFTING, 0, 0),
        # Nothing is reserved for (48 + 1) × 4 draft states beside a pin of 0.5.7.
        ("0.5.7", replace(DRAFTING, pin=400), 1, 196),
        ("0.5.8", replace(DRAFTING, pin=400), 1, 4),
        # 0.5.22 keeps no draft states on a prefill server.
        ("0.5.22", replace(DRAFTING, disaggregation_mode="prefill"), 0, 0),
    ],
)
def test_what_no_budget_pays_for(
    version: str, problem: SizingProblem, state: int, drafts: int
) -> None:
    """Counted in slots; the KV pool has a padding page in every release."""
    beside = allocated_unbudgeted(version, problem, solve(version, problem))

    assert state * problem.slot_bytes == beside.state
    assert drafts * problem.slot_bytes == beside.draft_states
    assert (12_288, 0) == (beside.kv_padding, beside.rings)


@pytest.mark.parametrize(("version", "rows"), [("0.5.16", 1001), ("0.5.17", 8001)])
def test_uncharged_draft_pool(version: str, rows: int) -> None:
    """1000 tokens and a page; with DCP 8 every rank keeps 8000 from 0.5.17."""
    capped = replace(DRAFTING, max_total_tokens=1000, dcp_size=8)
    sizes = solve(version, capped)
    beside = allocated_unbudgeted(version, capped, sizes, draft_cell=1024)

    assert rows * 1024 == beside.draft_kv
    assert beside.total >= beside.draft_kv + beside.kv_padding


def test_rings_of_decode_are_never_charged() -> None:
    """758 slots and padding have a ring each."""
    ringed = replace(QN4, ring_bytes=1000)

    assert (
        759_000 == allocated_unbudgeted("0.5.17", ringed, solve("0.5.17", ringed)).rings
    )


def test_refused_boot_allocates_nothing() -> None:
    """There is nothing beside pools that are not there."""
    refused = replace(QN4, pin=1)

    assert 0 == allocated_unbudgeted("0.5.20", refused, solve("0.5.20", refused)).total
