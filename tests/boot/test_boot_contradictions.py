"""Facts that exclude each other are named; the pools are trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from mamba_advisor.boot.model import Boot
from mamba_advisor.facts import Rank, Reading

Say = Callable[..., Reading]
BootsOf = Callable[[Iterable[Reading]], list[Boot]]


def boot_with(
    say: Say,
    boots_of: BootsOf,
    *,
    draft: str = "",
    summary: dict[str, int] | None = None,
    **values: Any,
) -> Boot:
    """Return a boot of 48 slots and 6400 tokens with arguments *values*."""
    states = {"draft_ssm_bytes": draft} if draft else {}
    (boot,) = boots_of(
        [
            say("server-args", form="repr", arguments=values),
            say("state-pool", state_slots=48, ssm_bytes="6.46", **states),
            say("kv-pool", kv_tokens=6400, k_bytes="1.00", v_bytes="1.00"),
            *([say("summary", **summary)] if summary else []),
        ]
    )
    return boot


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"max_mamba_cache_size": 64}, "64 state slots, the pool has 48"),
        ({"max_total_tokens": 6000}, "at most 6,000 KV tokens, the pool has 6,400"),
        ({"page_size": 128 * 3}, "6,400 KV tokens are no whole pages"),
        ({"max_mamba_cache_size": 48, "tp_size": 1}, ""),
        ({"max_total_tokens": 6400, "page_size": 64}, ""),
    ],
)
def test_flags_against_pools(
    say: Say, boots_of: BootsOf, values: dict[str, Any], words: str
) -> None:
    """A guide's flags beside another run's log."""
    boot = boot_with(say, boots_of, mamba_track_interval=256, **values)

    notes = [note for note in boot.notes if note.code == "flags-contradict"]
    assert bool(words) == bool(notes)
    assert all(words in note.message and note.lines for note in notes)
    assert boot.ranks[0].state_pool
    assert 48 == boot.ranks[0].state_pool.slots


def test_pin_is_divided_over_workers(say: Say, boots_of: BootsOf) -> None:
    """The flag is global: 192 over four attention-DP workers are 48 each."""
    boot = boot_with(
        say,
        boots_of,
        mamba_track_interval=256,
        max_mamba_cache_size=192,
        dp_size=4,
        enable_dp_attention=True,
    )

    assert () == boot.notes


def test_limit_above_what_was_asked(say: Say, boots_of: BootsOf) -> None:
    """No release grants more requests than were asked for."""
    boot = boot_with(
        say,
        boots_of,
        summary={"kv_tokens": 6400, "max_running_requests": 16},
        max_running_requests=8,
    )

    (note,) = boot.notes
    assert "8 requests, the limit in force is 16" in note.message
    assert (1, 4) == note.lines


def test_draft_states_without_speculation(say: Say, boots_of: BootsOf) -> None:
    """The pool line has draft states, the flags no algorithm."""
    boot = boot_with(say, boots_of, draft="1.05", speculative_algorithm=None)

    assert ["flags-contradict"] == [note.code for note in boot.notes]


@pytest.mark.parametrize(("tokens", "codes"), [(6400, []), (51200, []), (7000, ["x"])])
def test_summary_against_the_pool(
    say: Say, boots_of: BootsOf, tokens: int, codes: list[str]
) -> None:
    """Equal, or a multiple (logical tokens under DCP), is no contradiction."""
    boot = boot_with(say, boots_of, summary={"kv_tokens": tokens})

    assert len(codes) == len([x for x in boot.notes if x.code == "tokens-contradict"])


def test_cap_against_the_pool(say: Say, boots_of: BootsOf) -> None:
    """The cap is computed from the slots that the pool then has."""
    capped = say("capped", granted=9, state_slots=47, slots_per_request=5)
    (boot,) = boots_of(
        [
            capped,
            say("state-pool", state_slots=48, ssm_bytes="6.46"),
            say("kv-pool", kv_tokens=6400),
        ]
    )

    (note,) = boot.notes
    assert ("slots-contradict", (1, 2)) == (note.code, note.lines)


def test_tag_beyond_the_width(say: Say, boots_of: BootsOf) -> None:
    """TP3 cannot be a rank of a server with two."""
    (boot,) = boots_of(
        [
            say("server-args", form="repr", arguments={"tp_size": 2}),
            say("state-pool", rank=Rank(tp=3), state_slots=48),
        ]
    )

    assert ["flags-contradict"] == [note.code for note in boot.notes]
    assert "a rank is tagged TP3" in boot.notes[0].message


def test_uneven_ranks_are_reported(say: Say, boots_of: BootsOf) -> None:
    """Uneven ranks are no contradiction: the spread is said."""
    pools = [
        say(event, rank=Rank(tp=tp), **facts)
        for tp, half in enumerate(("2.00", "1.00"))
        for event, facts in (
            (
                "state-pool",
                {"state_slots": 37, "conv_bytes": "0.00", "ssm_bytes": "1.00"},
            ),
            ("kv-pool", {"kv_tokens": 333254, "k_bytes": half, "v_bytes": half}),
        )
    ]

    (boot,) = boots_of(pools)

    (note,) = boot.notes
    assert ("info", "ranks-differ") == (note.severity, note.code)
    assert "3.00 GiB to 5.00 GiB" in note.message
