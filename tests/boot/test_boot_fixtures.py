"""Recorded boots of every kind: adding one needs no Python, see `check`."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mamba_advisor.boot import binding_rank, spread, stages, workers
from mamba_advisor.boot.model import Boot, Setting
from mamba_advisor.intake import read_log
from mamba_advisor.measured import Measured

FOLDER = Path(__file__).resolve().parent.parent.parent / "fixtures" / "boots"
CASES = sorted(path.parent for path in FOLDER.glob("*/about.toml"))


def gib(size: Measured | None) -> float | None:
    """Return *size* in GiB with the two decimals of the log."""
    return None if size is None else round(size.value / (1 << 30), 2)


def plain(boot: Boot) -> dict[str, Any]:
    """Return what can be said of a boot as a whole."""
    failure = boot.failure
    return {
        "outcome": boot.outcome,
        "versions": [boot.releases.low, boot.releases.high],
        "architecture": boot.architecture,
        "draft_architecture": boot.draft_architecture,
        "hybrid": boot.hybrid,
        "unified": boot.unified,
        "post_capture": boot.post_capture,
        "speaker": boot.speaker,
        "first_line": boot.first_line,
        "ranks": [rank.rank.text for rank in boot.ranks],
        "workers": workers(boot),
        "stages": stages(boot),
        "summaries": len(boot.summaries),
        "limit": boot.summaries[0].max_running_requests if boot.summaries else None,
        "capped": list(boot.capped.figures.values()) if boot.capped else None,
        "notices": [notice.code for notice in boot.notices],
        "notes": [note.code for note in boot.notes],
        "spread": {name: list(ends) for name, ends in spread(boot.ranks).items()},
        "failure": failure.kind if failure else None,
        "phase": failure.phase if failure else None,
        "failure_line": failure.line if failure else None,
        "failure_figures": dict(failure.figures) if failure else None,
    }


def pooled(boot: Boot) -> dict[str, Any]:
    """Return the figures of the binding rank, sizes in GiB as printed."""
    rank = binding_rank(boot)
    if rank is None:
        return {}
    state, kv, draft = rank.state_pool, rank.kv_pool, rank.draft_kv_pool
    return {
        "binding": rank.rank.text,
        "slots": state.slots if state else None,
        "conv_gib": gib(state.conv) if state else None,
        "ssm_gib": gib(state.ssm) if state else None,
        "draft_ssm_gib": gib(state.draft_ssm) if state else None,
        "draft_conv_gib": gib(state.draft_conv) if state else None,
        "slot_entry_bytes": state.entry_bytes if state else None,
        "tokens": kv.tokens if kv else None,
        "kv_gib": gib(kv.size) if kv else None,
        "dtype": kv.dtype if kv else None,
        "token_entry_bytes": kv.entry_bytes if kv else None,
        "draft_tokens": draft.tokens if draft else None,
        "draft_kv_gib": gib(draft.size) if draft else None,
        "weights_gib": gib(rank.weights),
        "draft_weights_gib": gib(rank.draft_weights),
        "before_gib": gib(rank.avail_before),
        "after_gib": gib(rank.avail_after),
        "pool_end_gib": gib(rank.pool_end),
        "graphs_gib": gib(rank.graphs),
        "idle_gib": gib(rank.idle),
    }


def check(boot: Boot, expected: dict[str, Any]) -> None:
    """Compare *boot* with a ``[[boot]]`` table; what it leaves out is not compared."""
    settings = expected.pop("settings", {})
    origins = expected.pop("origins", {})
    known = {**plain(boot), **pooled(boot)}

    assert expected == {name: known.get(name, "no such figure") for name in expected}
    assert settings == {name: boot.setting(name).value for name in settings}
    assert origins == {name: boot.setting(name).origin for name in origins}


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_recorded_boot(folder: Path) -> None:
    """The boots of a recorded log, in order, are what its ``about.toml`` says."""
    about = tomllib.loads((folder / "about.toml").read_text(encoding="utf-8"))

    boots = read_log(folder / "boot.log")

    assert len(about["boot"]) == len(boots)
    for boot, expected in zip(boots, about["boot"], strict=True):
        check(boot, dict(expected))


def test_cut_anywhere_gives_no_other_figures() -> None:
    """A log cut after any line states no pool figure that the whole one does not."""
    lines = (FOLDER / "mtp-loaded-first" / "boot.log").read_text("utf-8").splitlines()
    (whole,) = read_log(lines)
    known = pooled(whole)
    constant = (
        "slots",
        "tokens",
        "kv_gib",
        "draft_tokens",
        "draft_kv_gib",
        "before_gib",
    )

    for end in range(len(lines)):
        for boot in read_log(lines[:end]):
            part = pooled(boot)
            said = {name: part.get(name) for name in constant}
            assert all(said[name] in (None, known[name]) for name in constant), end


@pytest.mark.parametrize("name", ["tp4-clean", "mtp-loaded-last", "dp-attention"])
def test_order_of_ranks_does_not_matter(
    name: str, shuffled: Callable[[list[str], int], list[str]]
) -> None:
    """Ranks may interleave in any way that keeps the order of each rank's lines."""
    lines = (FOLDER / name / "boot.log").read_text(encoding="utf-8").splitlines()
    (boot,) = read_log(lines)

    for seed in range(5):
        (other,) = read_log(shuffled(lines, seed))
        assert pooled(boot) == pooled(other)
        assert boot.settings == {
            name: Setting(setting.value, boot.settings[name].origin)
            for name, setting in other.settings.items()
        }


@pytest.fixture
def shuffled() -> Callable[[list[str], int], list[str]]:
    """Return a function that interleaves the ranks' lines anew."""
    import random
    import re

    def shuffle(lines: list[str], seed: int) -> list[str]:
        tag = re.compile(r"^\[[^\]]*? ((?:DP|PP|TP)\d[^\]]*)\]")
        rnd = random.Random(seed)
        queues: dict[str, list[str]] = {}
        slots = []
        for line in lines:
            match = tag.match(line)
            name = match.group(1) if match else ""
            queues.setdefault(name, []).append(line)
            slots.append(name)
        # The main process keeps its places; ranks swap theirs within each stretch.
        out, pending = [], []
        for name in slots:
            if name:
                pending.append(name)
                continue
            rnd.shuffle(pending)
            out += [queues[other].pop(0) for other in pending]
            out.append(queues[""].pop(0))
            pending = []
        rnd.shuffle(pending)
        return out + [queues[other].pop(0) for other in pending]

    return shuffle
