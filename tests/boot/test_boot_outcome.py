"""Ready, failed or incomplete; and whether the model is a hybrid."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from mamba_advisor.boot.model import Boot
from mamba_advisor.facts import Rank, Reading

Say = Callable[..., Reading]
BootsOf = Callable[[Iterable[Reading]], list[Boot]]


def kv(say: Say, tokens: int = 100) -> Reading:
    """Return a KV line."""
    return say("kv-pool", kv_tokens=tokens, k_bytes="1.00", v_bytes="1.00")


def test_summary_or_ready_line_is_ready(say: Say, boots_of: BootsOf) -> None:
    """Bench and offline runs print no ready line; the summary is enough."""
    (bench,) = boots_of([kv(say), say("summary", kv_tokens=100)])
    (server,) = boots_of([kv(say), say("ready")])
    (cut,) = boots_of([kv(say)])

    assert ("ready", "ready", "incomplete") == (
        bench.outcome,
        server.outcome,
        cut.outcome,
    )


def test_failure_in_the_warm_up(say: Say, boots_of: BootsOf) -> None:
    """After the summary, before the ready line: the boot failed all the same."""
    (boot,) = boots_of(
        [
            kv(say),
            say("summary", kv_tokens=100),
            say("prefill", running=0),
            say("failure-exception"),
            say("failure-child"),
        ]
    )

    assert boot.failure
    assert ("failed", "scheduler-exception", "warm-up") == (
        boot.outcome,
        boot.failure.kind,
        boot.failure.phase,
    )


def test_failure_after_the_ready_line_is_a_note(say: Say, boots_of: BootsOf) -> None:
    """A server that once was ready has booted."""
    (boot,) = boots_of(
        [kv(say), say("ready"), say("failure-oom", text="CUDA out of memory")]
    )

    assert ("ready", None) == (boot.outcome, boot.failure)
    assert ["failed-after-ready"] == [note.code for note in boot.notes]


def test_cause_wins_over_its_wrappers(say: Say, boots_of: BootsOf) -> None:
    """The exception line comes first, the cause follows, the parent speaks last."""
    (boot,) = boots_of(
        [
            say("failure-exception"),
            say(
                "failure-state-cache",
                state_slots=-28,
                rest_bytes="-7.96",
                slot_bytes="0.1434",
            ),
            say("failure-child"),
        ]
    )

    assert boot.failure
    assert ("state-cache-not-positive", 2) == (boot.failure.kind, boot.failure.line)
    assert -28 == boot.failure.figures["state_slots"]
    assert boot.failure.rest
    assert round(-7.96 * 2**30) == boot.failure.rest.value


def test_first_cause_wins(say: Say, boots_of: BootsOf) -> None:
    """The out-of-memory error inside a failed capture does not replace it."""
    (boot,) = boots_of([say("failure-graph-capture"), say("failure-oom")])

    assert boot.failure
    assert "graph-capture-failed" == boot.failure.kind


@pytest.mark.parametrize(
    ("events", "phase"),
    [
        ([], "arguments"),
        (["server-args"], "weights"),
        (["server-args", "weights-begin"], "weights"),
        (["weights-begin", "weights-end"], "pools"),
        (["weights-begin", "weights-end", "kv-pool"], "pools"),
        (["kv-pool", "pool-end"], "graphs"),
        (["kv-pool", "pool-end", "graph-begin"], "graphs"),
        (["weights-end", "weights-end", "kv-pool", "pool-end"], "pools"),
        (["kv-pool", "pool-end", "summary"], "warm-up"),
    ],
)
def test_where_it_failed(
    say: Say, boots_of: BootsOf, events: list[str], phase: str
) -> None:
    """By the last line before; with a draft loaded, its pool is still to come."""
    facts: dict[str, dict[str, object]] = {}
    facts["server-args"] = {"arguments": {"tp_size": 1}, "form": "repr"}
    facts["kv-pool"] = {"kv_tokens": 100}
    models = iter(["Qwen3NextForCausalLM", "Qwen3NextForCausalLMMTP"])
    readings = []
    for event in events:
        if event == "weights-end":
            readings.append(say(event, model_type=next(models)))
        else:
            readings.append(say(event, **facts.get(event, {})))

    (boot,) = boots_of([*readings, say("failure-oom")])

    assert boot.failure
    assert phase == boot.failure.phase


def test_strategy_refused_after_a_ready_server_is_a_new_start(
    say: Say, boots_of: BootsOf
) -> None:
    """Arguments are checked before they are printed: a bare traceback."""
    boots = boots_of([kv(say), say("ready"), say("failure-strategy")])

    assert ["ready", "failed"] == [boot.outcome for boot in boots]


@pytest.mark.parametrize(
    ("event", "facts"),
    [
        ("state-pool", {"state_slots": 10}),
        ("unified-banner", {"state_slots": 10, "kv_tokens": 9}),
        ("capped", {"granted": 2, "state_slots": 10}),
        ("replayssm-rings", {}),
        ("hybrid-backend", {}),
        ("tree-cache", {"hybrid_ssm": True}),
        ("decode", {"state_usage": 0.4}),
        ("failure-state-cache", {"state_slots": -1}),
        ("failure-no-request", {"state_slots": 2}),
        ("weights-end", {"model_type": "Qwen3_5MoeForConditionalGeneration"}),
        ("weights-end", {"model_type": "NemotronH_Nano_VL_V2"}),
        ("weights-end", {"model_type": "Mamba2ForCausalLM"}),
        ("weights-end", {"model_type": "BailingMoeV3ForCausalLM"}),
    ],
)
def test_hybrid_by_any_one_line(
    say: Say, boots_of: BootsOf, event: str, facts: dict[str, object]
) -> None:
    """Each of these lines alone shows a model with states."""
    (boot,) = boots_of([say(event, **facts)])

    assert True is boot.hybrid
    assert boot.hybrid_evidence.startswith("line 1: ")


@pytest.mark.parametrize(
    "lines",
    [
        [("kv-pool", {"kv_tokens": 100})],
        [("tree-cache", {"hybrid_ssm": False})],
        [
            ("weights-end", {"model_type": "LlamaForCausalLM"}),
            ("kv-pool", {"kv_tokens": 1}),
        ],
        [("prefill", {"plain_usage": True, "pending_tokens": 4})],
        [
            ("capture", {}),
            ("decode", {"plain_usage": True}),
            ("graph-end", {"versions": ("0.5.14", "")}),
        ],
        [
            ("weights-end", {"model_type": "GraniteMoeHybridForCausalLM"}),
            ("tree-cache", {"hybrid_ssm": False}),
        ],
    ],
)
def test_not_hybrid(
    say: Say, boots_of: BootsOf, lines: list[tuple[str, dict[str, object]]]
) -> None:
    """A KV pool or plain batch lines of newer releases, and no sign of states."""
    (boot,) = boots_of([say(event, **facts) for event, facts in lines])

    assert False is boot.hybrid


@pytest.mark.parametrize(
    "lines",
    [
        [("summary", {"kv_tokens": 100})],
        [("weights-end", {"model_type": "KimiK2ForCausalLM"})],
        [("decode", {"plain_usage": True})],
        [("prefill", {"plain_usage": True, "pending_tokens": 4, "edited": True})],
    ],
)
def test_hybrid_unknown(
    say: Say, boots_of: BootsOf, lines: list[tuple[str, dict[str, object]]]
) -> None:
    """Plain batch lines of an old or unknown release, or a retyped one, say nothing."""
    (boot,) = boots_of([say(event, **facts) for event, facts in lines])

    assert None is boot.hybrid


def test_missing_state_line_does_not_unmake_a_hybrid(
    say: Say, boots_of: BootsOf
) -> None:
    """The class is of a hybrid family; its state-pool line was cut away."""
    (boot,) = boots_of(
        [say("weights-end", model_type="BailingMoeV3ForCausalLM"), kv(say)]
    )

    assert True is boot.hybrid


def test_doubtful_lines_fill_gaps_only(say: Say, boots_of: BootsOf) -> None:
    """A prompt may quote a pool line: the server's own stands, the rest is noted."""
    tp0 = Rank(tp=0)
    (boot,) = boots_of(
        [
            say("state-pool", rank=tp0, state_slots=10),
            say("state-pool", rank=tp0, state_slots=9999, doubtful=True),
            say("kv-pool", rank=tp0, kv_tokens=555, doubtful=True),
            say("failure-oom", doubtful=True),
            say("ready", doubtful=True),
        ]
    )

    (rank,) = boot.ranks
    assert rank.state_pool
    assert rank.kv_pool
    assert (10, 555) == (rank.state_pool.slots, rank.kv_pool.tokens)
    assert ("incomplete", None) == (boot.outcome, boot.failure)
    assert [("doubtful-lines", (3,))] == [(x.code, x.lines) for x in boot.notes]


def test_edited_and_joined_lines_are_noted(say: Say, boots_of: BootsOf) -> None:
    """Facts of retyped or broken lines are taken, and marked as such."""
    (boot,) = boots_of(
        [
            say("state-pool", state_slots=10, edited=True),
            say("kv-pool", kv_tokens=100, joined=1),
        ]
    )

    assert {"edited-lines": (1,), "joined-lines": (2,)} == {
        note.code: note.lines for note in boot.notes
    }


def test_unknown_exception_is_named(say: Say, boots_of: BootsOf) -> None:
    """The first error below a traceback says what no pattern knows."""
    (boot,) = boots_of(
        [
            say("failure-cause", text="ValueError: a client's request"),
            say("failure-exception"),
            say("failure-cause", text="TypeError: copy_() takes a tensor"),
            say("failure-cause", text="ConnectionError: peer is gone"),
            say("failure-child"),
        ]
    )

    assert boot.failure
    assert ("scheduler-exception", "TypeError: copy_() takes a tensor", 3) == (
        boot.failure.kind,
        boot.failure.message,
        boot.failure.line,
    )


def test_error_of_a_serving_server_is_no_failure(say: Say, boots_of: BootsOf) -> None:
    """An error line alone, while the server serves, says nothing of the boot."""
    (boot,) = boots_of([say("ready"), say("failure-cause", text="ValueError: x")])

    assert ("ready", None, ()) == (boot.outcome, boot.failure, boot.notes)
