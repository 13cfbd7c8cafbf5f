"""Dating a log by its wording and its argument names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mamba_advisor.boot.releases import (
    COMPLETE_ARGUMENTS,
    INTRODUCED,
    KNOWN,
    Dating,
    release_key,
)
from mamba_advisor.facts import Reading

Say = Callable[..., Reading]


def dated(*readings: Reading) -> Dating:
    """Return what *readings* date."""
    dating = Dating()
    for reading in readings:
        dating.feed(reading)
    return dating


def test_nothing_read_fits_every_release() -> None:
    """Without evidence the log may be of any known release."""
    releases = Dating().releases()

    assert ("0.5.2", "0.5.23", ()) == (
        releases.low,
        releases.high,
        releases.evidence,
    )


def test_wordings_intersect(say: Say) -> None:
    """0.5.13 or later, and 0.5.16 or earlier: 0.5.13 to 0.5.16, with both lines."""
    dating = dated(
        say("kv-pool", versions=("0.5.13", "")),
        say("linear-backend", versions=("0.5.10", "0.5.16")),
        say("pool-end", versions=("0.5.2", "")),
    )

    releases = dating.releases()

    assert ("0.5.13", "0.5.16") == (releases.low, releases.high)
    assert releases.evidence == (
        "line 1: this wording in the kv pool line is of 0.5.13 or later",
        "line 2: this wording in the linear backend line is of 0.5.10 to 0.5.16",
    )
    assert () == dating.notes()


def test_contradicting_wordings_leave_most_and_a_note(say: Say) -> None:
    """Three lines of 0.5.13 and later outvote one of 0.5.12 or earlier."""
    dating = dated(
        say("kv-pool", versions=("0.5.13", "")),
        say("graph-end", versions=("0.5.14", "")),
        say("capped", versions=("0.5.17", "")),
        say("kv-dtype", versions=("0.5.3", "0.5.12")),
    )

    releases = dating.releases()
    (note,) = dating.notes()

    assert ("0.5.17", "0.5.23") == (releases.low, releases.high)
    assert "releases-contradict" == note.code
    assert (4,) == note.lines
    assert "line 4 (is of 0.5.3 to 0.5.12)" in note.message


def test_no_majority_gives_the_widest_set(say: Say) -> None:
    """Two wordings that exclude each other weigh the same: everything they allow."""
    dating = dated(
        say("kv-pool", versions=("0.5.13", "0.5.16")),
        say("graph-end", versions=("0.5.6", "0.5.8")),
    )

    releases = dating.releases()

    assert ("0.5.6", "0.5.16") == (releases.low, releases.high)


@pytest.mark.parametrize("edit", ["edited", "joined"])
def test_a_shortened_log_is_not_dated_by_what_it_lacks(say: Say, edit: str) -> None:
    """Where a person cut fields, the older wording may be the newer one cut."""
    dating = dated(
        say("kv-pool", versions=("0.5.2", "0.5.12")),
        say("state-pool", versions=("0.5.4", ""), **{edit: 1}),
    )

    assert "0.5.23" == dating.releases().high


def test_doubtful_lines_date_nothing(say: Say) -> None:
    """A prompt may quote a line of any release."""
    dating = dated(say("kv-pool", versions=("0.5.13", ""), doubtful=True))

    assert "0.5.2" == dating.releases().low


def test_pending_tokens_date_a_batch_line(say: Say) -> None:
    """``#pending-token`` came with 0.5.11."""
    dating = dated(say("prefill", pending_tokens=7))

    assert "0.5.11" == dating.releases().low


@pytest.mark.parametrize("release", KNOWN[1:])
def test_whole_arguments_date_exactly(say: Say, release: str) -> None:
    """All names up to a release's, none of the next: it is that release."""
    arguments: dict[str, None] = {
        name: None
        for name, first in INTRODUCED.items()
        if release_key(first) <= release_key(release)
    }
    arguments |= {f"filler_{index}": None for index in range(COMPLETE_ARGUMENTS)}
    dating = Dating()

    dating.feed_arguments(arguments, say("server-args"))

    releases = dating.releases()
    assert (release, release) == (releases.low, releases.high)


def test_cut_arguments_date_only_what_they_show(say: Say) -> None:
    """In a line cut short a missing name may be behind the cut."""
    dating = Dating()

    dating.feed_arguments({"mamba_max_states_per_path": None}, say("server-args"))

    releases = dating.releases()
    assert ("0.5.17", "0.5.23") == (releases.low, releases.high)


def test_a_dropped_argument_dates_from_above(say: Say) -> None:
    """The strategy had its first name up to 0.5.13."""
    dating = Dating()

    dating.feed_arguments(
        {"mamba_scheduler_strategy": "no_buffer", "mamba_track_interval": 256},
        say("server-args"),
    )

    releases = dating.releases()
    assert ("0.5.7", "0.5.13") == (releases.low, releases.high)


def test_releases_sort_by_number() -> None:
    """0.5.10 follows 0.5.9; a development suffix does not disturb."""
    assert release_key("0.5.9") < release_key("0.5.10")
    assert (0, 5, 20) == release_key("0.5.20.dev728")


def test_the_first_line_of_a_kind_is_the_evidence(say: Say) -> None:
    """What later ones of the same wording say is known by then."""
    lines = [say("kv-pool", versions=("0.5.13", "")) for _ in range(3)]

    (evidence,) = dated(*lines).releases().evidence
    assert evidence.startswith(f"line {lines[0].line}: this wording")
