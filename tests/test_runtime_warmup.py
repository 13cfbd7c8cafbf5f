"""A boot's own warm-up is held back, and nothing is lost by it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mamba_advisor.facts import Rank, Reading, Value
from mamba_advisor.runtime.collector import EvidenceCollector
from mamba_advisor.runtime.warmup import MOST, WarmUp

EVENTS = ("prefill", "decode", "ready", "retract", "runtime-exhausted")


def reading(event: str, place: int, tp: int = -1) -> Reading:
    """Return the reading of a line of a run."""
    batch: dict[str, Value] = {
        "running": 2 + place,
        "queued": 1,
        "full_tokens": 900,
        "full_usage": 0.5,
    }
    prompt: dict[str, Value] = {"new_tokens": 70, "cached_tokens": 30}
    facts: dict[str, dict[str, Value]] = {
        "prefill": batch | prompt,
        "decode": batch,
        "retract": {"retracted": 1},
    }
    stamp = f"2026-02-27 00:00:{place % 60:02d}"
    return Reading(event, facts.get(event, {}), place + 1, "", Rank(tp=tp), stamp=stamp)


@given(
    st.lists(
        st.tuples(st.sampled_from(EVENTS), st.sampled_from((-1, 0, 1))), max_size=8
    ),
    st.integers(0, MOST + 2),
)
def test_as_without_holding_back(lines: list[tuple[str, int]], prompts: int) -> None:
    """After every line the evidence is that of a collector which took them all."""
    held, plain = WarmUp(), EvidenceCollector()
    events = [*[("prefill", 0)] * prompts, *lines]
    for place, (event, tp) in enumerate(events):
        held.feed(reading(event, place, tp))
        plain.feed(reading(event, place, tp))
        if place >= prompts - 1:
            assert held.evidence(limit=8) == plain.evidence(limit=8)


def test_asked_at_the_end_alone() -> None:
    """What was held back before the run counts as the collector counts it."""
    lines = [("prefill", 1), ("ready", -1), ("decode", 1), ("decode", 0)]
    held, plain = WarmUp(), EvidenceCollector()
    for place, (event, tp) in enumerate(lines):
        held.feed(reading(event, place, tp))
        plain.feed(reading(event, place, tp))
    found = held.evidence()
    assert found == plain.evidence()
    assert found is not None
    assert 1 == found.total.samples + found.total.left_out


def test_a_boot_alone_makes_no_collector() -> None:
    """Its warm-up and its ready line leave nothing to count."""
    held = WarmUp()
    for place, event in enumerate(("prefill", "prefill", "ready")):
        held.feed(reading(event, place))
    assert held.evidence() is None
    assert held._collector is None


def test_little_is_held_back() -> None:
    """A server that prints prefill lines for hours before it is ready is a run."""
    held = WarmUp()
    for place in range(MOST + 1):
        assert held._collector is None
        held.feed(reading("prefill", place))
    assert held._collector is not None
