"""Where one server start ends and the next begins."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from mamba_advisor.boot.builder import KEEP, BootBuilder
from mamba_advisor.boot.model import Boot, Source
from mamba_advisor.facts import Rank, Reading

Say = Callable[..., Reading]
BootsOf = Callable[[Iterable[Reading]], list[Boot]]
TP0, TP1 = Rank(tp=0, text="TP0"), Rank(tp=1, text="TP1")


def arguments(say: Say, **values: object) -> Reading:
    """Return a whole ``server_args`` line."""
    return say("server-args", form="repr", arguments={"tp_size": 1, **values})


def pools(say: Say, slots: int, tokens: int, rank: Rank = TP0) -> list[Reading]:
    """Return the pool lines of one rank, K and V together 4 GiB."""
    return [
        say(
            "state-pool",
            rank=rank,
            state_slots=slots,
            conv_bytes="0.10",
            ssm_bytes="4.00",
        ),
        say("kv-pool", rank=rank, kv_tokens=tokens, k_bytes="2.00", v_bytes="2.00"),
        say("pool-end", rank=rank, avail_bytes="9.00"),
    ]


def slots_of(boots: list[Boot]) -> list[int | None]:
    """Return the slots of each boot's first rank."""
    states = [boot.ranks[0].state_pool if boot.ranks else None for boot in boots]
    return [state.slots if state else None for state in states]


def test_new_arguments_begin_a_new_start(say: Say, boots_of: BootsOf) -> None:
    """A restart in the same file; numbers and lines tell the starts apart."""
    first, second = boots_of(
        [
            *(arguments(say), *pools(say, 10, 100), say("ready")),
            *(arguments(say), *pools(say, 20, 90)),
        ]
    )

    assert (1, 1, 5, "ready") == (
        first.number,
        first.first_line,
        first.last_line,
        first.outcome,
    )
    assert (2, 6, 9, "incomplete") == (
        second.number,
        second.first_line,
        second.last_line,
        second.outcome,
    )
    assert 2 == first.source.boots == second.source.boots


def test_notices_before_the_arguments_go_with_them(say: Say, boots_of: BootsOf) -> None:
    """The main process explains itself before it prints its arguments."""
    first, second = boots_of(
        [
            arguments(say),
            *pools(say, 10, 100),
            say(
                "notice-overlap-disabled",
                text="Disabling overlap",
                strategy="no_buffer",
            ),
            arguments(say),
        ]
    )

    assert () == first.notices
    assert ["notice-overlap-disabled"] == [x.code for x in second.notices]


def test_a_served_server_does_not_load_again(say: Say, boots_of: BootsOf) -> None:
    """Without arguments: weights after the ready line are another start's."""
    boots = boots_of(
        [
            *(*pools(say, 10, 100), say("summary", rank=TP0, kv_tokens=100)),
            say("ready"),
            say("weights-begin", rank=TP1, avail_bytes="20.00"),
            *pools(say, 12, 90, TP1),
        ]
    )

    assert [10, 12] == slots_of(boots)


def test_second_pool_of_a_rank_begins_a_start(say: Say, boots_of: BootsOf) -> None:
    """Only pool lines, twice on each rank: two starts of two ranks."""
    first, second = boots_of(
        [
            *(*pools(say, 10, 100), *pools(say, 10, 100, TP1)),
            *(*pools(say, 12, 90), *pools(say, 12, 90, TP1)),
        ]
    )

    assert [10, 12] == slots_of([first, second])
    assert ["TP0", "TP1"] == [rank.rank.text for rank in second.ranks]


def test_a_rank_without_tag_that_repeats_is_no_start(
    say: Say, boots_of: BootsOf
) -> None:
    """Two ranks whose tags somebody cut off print the same lines twice."""
    (boot,) = boots_of([*pools(say, 10, 100, Rank()), *pools(say, 10, 100, Rank())])

    assert 1 == len(boot.ranks)
    assert None is boot.ranks[0].draft_kv_pool


def test_equal_slots_with_other_tokens_are_two_starts(
    say: Say, boots_of: BootsOf
) -> None:
    """A pinned state pool repeats exactly; the KV line shows that it is new.

    The state-pool line before it then belongs to the second start, too.
    """
    boots = boots_of([*pools(say, 48, 100)[:2], *pools(say, 48, 120)[:2]])

    assert [48, 48] == slots_of(boots)
    assert [100, 120] == [
        x.ranks[0].kv_pool.tokens for x in boots if x.ranks[0].kv_pool
    ]


def test_same_weights_after_the_pools_begin_a_start(
    say: Say, boots_of: BootsOf
) -> None:
    """A server killed without a word; what it loads next is no draft model."""
    load = {"model_type": "Qwen3NextForCausalLM", "used_bytes": "30.00"}
    boots = boots_of(
        [
            say("weights-begin", rank=TP0, avail_bytes="78.00"),
            say("weights-end", rank=TP0, avail_bytes="48.00", **load),
            *pools(say, 10, 100),
            say("weights-begin", rank=TP0, avail_bytes="77.00"),
            say("weights-end", rank=TP0, avail_bytes="47.00", **load),
        ]
    )

    assert 2 == len(boots)
    before = boots[1].ranks[0].avail_before
    assert before is not None
    assert (6,) == before.lines


def test_summaries_of_one_rank_are_starts(say: Say, boots_of: BootsOf) -> None:
    """A diary of ready lines: each is a boot; a line quoted twice is one."""
    boots = boots_of(
        [
            say("summary", kv_tokens=374208, max_running_requests=3, stamp="a"),
            say("summary", kv_tokens=519552, max_running_requests=2, stamp="b"),
            say("summary", kv_tokens=519552, max_running_requests=2, stamp="b"),
            say("capped", granted=2, state_slots=10, slots_per_request=5),
        ]
    )

    assert [374208, 519552, None] == [
        boot.summaries[0].tokens if boot.summaries else None for boot in boots
    ]
    assert None is not boots[2].capped


def test_summary_quoted_above_its_pools_is_one_start(
    say: Say, boots_of: BootsOf
) -> None:
    """A report that gives the result first: the token counts show they belong."""
    (boot,) = boots_of(
        [
            say("summary", rank=TP0, kv_tokens=100, max_running_requests=3),
            *pools(say, 10, 100),
        ]
    )

    assert [10] == slots_of([boot])
    assert 1 == len(boot.summaries)


def test_summary_of_another_start_is_apart(say: Say, boots_of: BootsOf) -> None:
    """Other token counts: the summary is an earlier start's, whose pools are cut."""
    boots = boots_of(
        [
            say("summary", rank=TP0, kv_tokens=77, max_running_requests=3),
            *pools(say, 10, 100),
        ]
    )

    assert [None, 10] == slots_of(boots)


def test_a_dying_server_prints_on(say: Say, boots_of: BootsOf) -> None:
    """After the child died, another rank's late line begins no start."""
    boots = boots_of(
        [
            say("weights-begin", rank=TP0, avail_bytes="78.00"),
            say("failure-exception", rank=TP0),
            say("failure-child"),
            say("weights-begin", rank=TP1, avail_bytes="78.00"),
        ]
    )

    assert ["failed"] == [boot.outcome for boot in boots]


def test_a_dead_server_starts_anew(say: Say, boots_of: BootsOf) -> None:
    """After the child died, the same rank loads again: a restart."""
    boots = boots_of(
        [
            say("weights-begin", rank=TP0, avail_bytes="78.00"),
            say("failure-child"),
            say("weights-begin", rank=TP0, avail_bytes="78.00"),
            *pools(say, 10, 100),
            say("ready"),
        ]
    )

    assert ["failed", "ready"] == [boot.outcome for boot in boots]


def test_quoted_arguments_begin_no_start(say: Say, boots_of: BootsOf) -> None:
    """Single arguments noted above a log, or among its lines, are read along."""
    (boot,) = boots_of(
        [
            say("server-args", arguments={"mem_fraction_static": 0.78}),
            say("server-args", arguments={"max_running_requests": 6}),
            *pools(say, 97, 484032),
            say("server-args", arguments={"page_size": 64}),
        ]
    )

    assert 0.78 == boot.setting("mem_fraction_static").value
    assert "log:6" == boot.setting("page_size").origin


def test_whole_arguments_follow_quoted_ones(say: Say, boots_of: BootsOf) -> None:
    """Notes above a log belong to the start that follows."""
    (boot,) = boots_of(
        [say("server-args", arguments={"page_size": 64}), arguments(say)]
    )

    assert {"page_size", "tp_size"} <= set(boot.settings)


def test_speakers_are_servers(say: Say, boots_of: BootsOf) -> None:
    """Two containers, interleaved; a traceback without prefix follows its server."""
    a, b = {"speaker": "a"}, {"speaker": "b"}
    first, second = boots_of(
        [
            say("server-args", form="repr", arguments={"tp_size": 1}, **a),
            say("server-args", form="repr", arguments={"tp_size": 1}, **b),
            say("state-pool", state_slots=10, **a),
            say("state-pool", state_slots=20, **b),
            say("failure-exception", **b),
            say("failure-oom"),
            say("kv-pool", kv_tokens=100, **a),
        ]
    )

    assert ("a", "b") == (first.speaker, second.speaker)
    assert [10, 20] == slots_of([first, second])
    assert ("incomplete", "failed") == (first.outcome, second.outcome)


def test_nodes_of_one_server_are_one_boot(say: Say, boots_of: BootsOf) -> None:
    """Each node prints the arguments, with its own number and the same address."""
    node = {"nnodes": 2, "dist_init_addr": "10.0.0.1:5000"}
    (boot,) = boots_of(
        [
            say(
                "server-args",
                form="repr",
                arguments={**node, "node_rank": 0},
                speaker="a",
            ),
            say(
                "server-args",
                form="repr",
                arguments={**node, "node_rank": 1},
                speaker="b",
            ),
            say("state-pool", rank=TP0, state_slots=10, speaker="a"),
            say("state-pool", rank=TP1, state_slots=10, speaker="b"),
        ]
    )

    assert ["TP0", "TP1"] == [rank.rank.text for rank in boot.ranks]


@pytest.mark.parametrize(
    ("before", "now", "boots"),
    [
        ("2026-05-13 15:16:44", "2026-05-13 15:09:13", 2),
        ("2026-05-13 15:16:44", "2026-05-13 15:16:40", 1),
        ("2026-10-25 02:59:58", "2026-10-25 02:00:01", 1),
        ("15:16:44", "15:09:13", 1),
    ],
)
def test_runs_pasted_one_after_the_other(
    say: Say, boots_of: BootsOf, before: str, now: str, boots: int
) -> None:
    """Batch lines alone: a clock that steps back by minutes shows another run.

    A clock being set and the end of summer time do not; nor do times without a day.
    """
    lines = [say("decode", running=1, stamp=stamp) for stamp in (before, now)]

    assert boots == len(boots_of(lines))


def test_collapsed_ranks_are_all_there(say: Say, boots_of: BootsOf) -> None:
    """``TP0..3`` speaks for four ranks."""
    (boot,) = boots_of(
        [say("state-pool", rank=TP0, last_rank=Rank(tp=3), state_slots=10)]
    )

    assert ["TP0", "TP1", "TP2", "TP3"] == [rank.rank.text for rank in boot.ranks]


def test_notices_alone_make_a_boot(say: Say, boots_of: BootsOf) -> None:
    """What little is there can still be said."""
    (boot,) = boots_of([say("notice-dcp", text="DCP", dcp_size=2)])

    assert (1, "incomplete", 2) == (
        boot.number,
        boot.outcome,
        boot.setting("dcp_size").value,
    )


def test_complete_at_the_ready_line(say: Say) -> None:
    """The ready line ends a boot; without one, a batch line after the summary does."""
    builder = BootBuilder()
    done = []
    for reading in (
        *pools(say, 10, 100),
        say("summary", rank=TP0, kv_tokens=100),
        say("prefill", rank=TP0, running=0),
        arguments(say),
        say("ready"),
    ):
        builder.feed(reading)
        done.append(builder.complete)

    assert [False, False, False, False, True, False, True] == done


def test_complete_at_a_failure_with_its_cause(say: Say) -> None:
    """The wrapper line comes first; the cause, some lines below, is waited for."""
    builder = BootBuilder()
    done = []
    for event in ("failure-exception", "failure-oom"):
        builder.feed(say(event))
        done.append(builder.complete)

    assert [False, True] == done


def test_many_starts_are_counted_and_the_last_kept(say: Say) -> None:
    """A crash loop of ten times `KEEP`: the last ones in full, all of them counted."""
    builder = BootBuilder()
    for index in range(10 * KEEP):
        builder.feed(arguments(say))
        for reading in pools(say, index, 100):
            builder.feed(reading)

    boots = builder.boots(Source("made.log", 0, 0))

    assert 10 * KEEP == boots[-1].source.boots
    assert 10 * KEEP - 1 == slots_of(boots)[-1]
    assert KEEP + 1 == len(boots)


def test_the_first_value_of_an_argument_counts(say: Say, boots_of: BootsOf) -> None:
    """A person may quote an argument again, and name ones that nobody asks for."""
    (boot,) = boots_of(
        [
            say("server-args", form="pair", arguments={"page_size": 4, "odd": 1}),
            say("server-args", form="pair", arguments={"page_size": 8, "dp_size": 2}),
            *pools(say, 10, 100),
        ]
    )

    assert (4, "log:1") == (
        boot.setting("page_size").value,
        boot.setting("page_size").origin,
    )
    assert 2 == boot.setting("dp_size").value
