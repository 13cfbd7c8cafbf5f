"""No sequence of readings, however absurd, stops the boot model."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress

import pytest

from mamba_advisor.boot import binding_rank, spread, stages, workers
from mamba_advisor.boot.builder import BootBuilder
from mamba_advisor.boot.demands import require_pools
from mamba_advisor.boot.model import Source
from mamba_advisor.boot.outcome import KINDS
from mamba_advisor.boot.phase import PHASES
from mamba_advisor.boot.releases import INTRODUCED, KNOWN
from mamba_advisor.errors import MambaAdvisorError
from mamba_advisor.facts import Rank, Reading, Value
from mamba_advisor.measured import Measured

EVENTS = (
    *PHASES,
    *KINDS,
    *("server-args", "ready", "kv-dtype", "hybrid-backend", "tree-cache", "retract"),
    *("notice-radix-disabled", "notice-dcp", "notice-pd-slots", "runtime-exhausted"),
    *("failure-cause", "unknown-wording", "an-event-of-a-plug-in"),
)
COUNTS = (
    *("state_slots", "kv_tokens", "swa_tokens", "full_tokens", "max_running_requests"),
    *("granted", "slots_per_request", "requested", "entry_bytes", "context_len"),
    *("running", "queued", "full_tokens", "dcp_size", "page_size"),
)
SIZES = (
    *("conv_bytes", "ssm_bytes", "draft_ssm_bytes", "k_bytes", "v_bytes", "kv_bytes"),
    *("avail_bytes", "used_bytes", "rest_bytes", "slot_bytes", "ring_d_bytes"),
)
CLASSES = ("Qwen3NextForCausalLM", "Qwen3NextForCausalLMMTP", "LlamaForCausalLM", "")
NUMBERS = (0, 1, 2, 48, 64, 6400, 12800, -1, 10**17)


def readings(seed: int, length: int) -> Iterator[Reading]:
    """Yield *length* readings at random."""
    rnd = random.Random(seed)
    for line in range(1, length + 1):
        facts: dict[str, Value] = {
            name: rnd.choice(NUMBERS) for name in rnd.sample(COUNTS, rnd.randint(0, 6))
        }
        for name in rnd.sample(SIZES, rnd.randint(0, 4)):
            text = rnd.choice(("0.00", "1.00", "-3.05", "78.58"))
            facts[name] = Measured.from_text(text, "GiB", (line,))
        facts["model_type"] = rnd.choice(CLASSES)
        facts["form"] = rnd.choice(("repr", "dict", ""))
        names = rnd.sample([*INTRODUCED, "dp_size", "pp_size", "attn_dp_size"], 6)
        facts["arguments"] = {
            name: rnd.choice((None, True, 0, 4, "x")) for name in names
        }
        facts["subpool_name"] = rnd.choice(("mamba", "full", ""))
        yield Reading(
            rnd.choice(EVENTS),
            facts,
            line,
            "test/made",
            rank=Rank(rnd.randint(-1, 1), rnd.randint(-1, 1), rnd.randint(-1, 2)),
            last_rank=Rank(tp=3) if rnd.random() < 0.05 else None,
            speaker=rnd.choice(("", "", "", "pod-a", "pod-b")),
            stamp=rnd.choice(
                ("", "2026-08-03 09:12:00", "2026-08-03 07:00:00", "09:1")
            ),
            versions=(rnd.choice(("", *KNOWN)), rnd.choice(("", *KNOWN, "7.x"))),
            edited=rnd.random() < 0.1,
            joined=rnd.choice((0, 0, 0, 2)),
            doubtful=rnd.random() < 0.1,
            text="CUDA out of memory",
        )


@pytest.mark.parametrize("seed", range(25))
def test_random_readings(seed: int) -> None:
    """Boots come out numbered, with releases in order; every helper answers."""
    builder = BootBuilder()
    for number, reading in enumerate(readings(seed, 200)):
        builder.feed(reading)
        if number % 80 == 0:
            builder.boots(Source("made.log", number, 0))

    boots = builder.boots(Source("made.log", 300, 0))

    assert boots
    numbers = [boot.number for boot in boots]
    assert sorted(set(numbers)) == numbers
    for boot in boots:
        assert KNOWN.index(boot.releases.low) <= KNOWN.index(boot.releases.high)
        assert 1 <= min(workers(boot), stages(boot))
        assert binding_rank(boot) is None or boot.ranks
        assert set(spread(boot.ranks)) <= {"slots", "tokens", "pool_bytes"}
        assert (boot.failure is None) is (boot.outcome != "failed")
        with suppress(MambaAdvisorError):
            require_pools(boot)


def test_asking_changes_nothing() -> None:
    """Boots asked for half-way do not disturb what comes out at the end."""
    asked, quiet = BootBuilder(), BootBuilder()
    for reading in readings(7, 120):
        asked.feed(reading)
        asked.boots(Source("made.log", 0, 0))
        quiet.feed(reading)

    source = Source("made.log", 400, 0)
    assert quiet.boots(source) == asked.boots(source)
