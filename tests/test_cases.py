"""Every published case and every real boot gives the figures that are known of it.

Run as a program it prints what was read of each, and what was not.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mamba_advisor.boot.demands import require_pools
from mamba_advisor.boot.model import Boot, Failure, Notice, RankBoot
from mamba_advisor.catalog import load_catalog
from mamba_advisor.errors import NotHybridError, TooLittleError
from mamba_advisor.intake import read_log
from mamba_advisor.measured import Measured
from mamba_advisor.reader import read_readings

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
PUBLISHED = sorted(SHARED.glob("logs/*.log"))
REAL = sorted(SHARED.glob("logs-real/*.log"))
GIB, MIB = 1 << 30, 1 << 20

CHANCE = {
    ("013", "a_total_tok_s"): "a line of the author's own tool",
    ("013", "b_total_tok_s"): "a line of the author's own tool",
    ("001", "state_slots_per_request"): "worked out by the author: 186 // 62",
    ("007", "requested_max_running_requests"): "only as digits of 330323",
    ("017", "slots_per_request"): "worked out: 360 // 72",
    ("021", "last_max_mamba_cache_size"): "only as digits of a date",
    ("023", "hicache_mamba_host_gb"): "a host pool",
    ("026", "requested_max_running_requests"): "only as digits of 2048",
    ("030", "requested_max_running_requests"): "only as a digit of 16",
    ("036", "slots_per_request"): "only as a digit of 2.54",
    ("043", "clamp"): "only as a digit of the time",
    ("043", "default_slots"): "only as a digit of 2.9",
    ("043", "slots_per_request"): "only as a digit of the time",
    ("050", "auto_slots_later"): "the same 16 as the cap line's, under another name",
    ("050", "sister_clamp"): "only as a digit of 16",
}
"""(case, key) -> why its log, which holds the digits, does not state the figure."""

POOLED = (
    (r"^hicache", ""),
    (r"avail\w*_gb$", "avail"),
    (r"intermediate_ssm_gb$", "draft_ssm"),
    (r"intermediate_conv_gb$", "draft_conv"),
    (r"conv(_state)?_gb$", "conv"),
    (r"ssm(_state)?_gb$", "ssm"),
    (r"draft_[kv]_gb$", "draft_half"),
    (r"(^|_)[kv]_gb$", "half"),
    (r"^(second_)?kv_gb$", "kv"),
    (r"(max_mamba_cache_size|slots)$", "slots"),
    (r"tokens$", "tokens"),
    (r"(max_running_requests|clamp)$", "limit"),
    (r"weights_gb$", "weights"),
    (r"total_rest_memory_gb$", "rest"),
    (r"mamba_cache_per_req_mb$", "slot_mib"),
    (r"slots_per_request$", "reserved"),
)
"""Key of ``[observed]`` -> what a boot calls the figure; all else is a line's own."""


NOTED = {
    "limit": "granted",
    "slots": "state_slots",
    "reserved": "slots_per_request",
}
"""Figure of a boot -> the fact of a limit's or a failure's line that states it."""


def sizes(rank: RankBoot) -> Iterator[tuple[str, Measured | None]]:
    """Yield the sizes of a rank by name, as printed."""
    if state := rank.state_pool:
        yield from (("conv", state.conv), ("ssm", state.ssm))
        yield from (("draft_ssm", state.draft_ssm), ("draft_conv", state.draft_conv))
    for name, size in rank.unplaced.items():
        yield name.removesuffix("_bytes"), size
    yield "weights", rank.weights
    for name, pool in (("", rank.kv_pool), ("draft_", rank.draft_kv_pool)):
        if pool:
            yield f"{name}kv", pool.size
            yield f"{name}half", pool.size // 2 if pool.size else None
    for avail in (rank.avail_before, rank.avail_after, rank.pool_end, rank.idle):
        yield "avail", avail


def figures(boots: list[Boot]) -> set[tuple[str, float]]:
    """Return the figures of *boots*: name and number, sizes in GiB."""
    found: set[tuple[str, float | None]] = set()
    for boot in boots:
        for rank in boot.ranks:
            for name, size in sizes(rank):
                if size is not None:
                    found.add((name, round(size.value / GIB, 2)))
            found.add(("slots", rank.state_pool.slots if rank.state_pool else None))
            found.add(("tokens", rank.kv_pool.tokens if rank.kv_pool else None))
        for summary in boot.summaries:
            found.add(("tokens", summary.tokens))
            found.add(("limit", summary.max_running_requests))
            if summary.avail:
                found.add(("avail", round(summary.avail.value / GIB, 2)))
        told: list[Notice | Failure] = [x for x in (boot.capped, boot.reduced) if x]
        told += [boot.failure] if boot.failure else []
        for line in told:
            for name, fact in NOTED.items():
                value = line.figures.get(fact)
                found.add((name, value if isinstance(value, int) else None))
        if boot.failure and boot.failure.rest and boot.failure.slot:
            found.add(("rest", round(boot.failure.rest.value / GIB, 2)))
            found.add(("slot_mib", round(boot.failure.slot.value / MIB, 2)))
    return {(name, number) for name, number in found if number is not None}


def stated(log: Path) -> set[float]:
    """Return every number that a line of *log* states, sizes in GiB and in MiB."""
    numbers: set[float] = set()
    for reading in read_readings(log, load_catalog(plugins=False)):
        for value in reading.facts.values():
            if isinstance(value, Measured):
                numbers |= {round(value.value / unit, 2) for unit in (GIB, MIB)}
            elif isinstance(value, int | float):
                numbers.add(round(float(value), 4))
    return numbers


def unread(log: Path) -> list[str]:
    """Return the figures known of *log*, and held by it, that were not read."""
    about = tomllib.loads(log.with_suffix(".toml").read_text(encoding="utf-8"))
    left_out = set(about.get("not_in_log", ()))
    boots = read_log(log)
    pooled, lines = figures(boots), stated(log)
    missing = []
    for key, value in about["observed"].items():
        if key in left_out or (log.name[:3], key) in CHANCE:
            continue
        name = next((name for form, name in POOLED if re.search(form, key)), "")
        known = (name, value) in pooled if name else round(value, 4) in lines
        if not known:
            missing.append(f"{key} = {value}")
    return missing


@pytest.mark.parametrize("log", PUBLISHED, ids=lambda log: log.stem)
def test_published_figures_are_read(shared: Path, log: Path) -> None:
    """What is known of a published log, and stands in it, is in the boots."""
    assert shared.is_dir()

    assert [] == unread(log)


@pytest.mark.parametrize("log", PUBLISHED, ids=lambda log: log.stem)
def test_published_models(shared: Path, log: Path) -> None:
    """A hybrid is never called none; a model that is none is refused with status 4.

    Of a single boot with both pools nothing more is needed.
    """
    about = tomllib.loads(log.with_suffix(".toml").read_text(encoding="utf-8"))
    assert shared.is_dir()

    boots = read_log(log)

    kinds = {boot.hybrid for boot in boots}
    if not about["hybrid"]:
        assert {False} == kinds
        with pytest.raises(NotHybridError):
            require_pools(boots[-1])
    else:
        assert kinds <= {True, None}
        last = boots[-1]
        both = any(rank.state_pool and rank.kv_pool for rank in last.ranks)
        if not both and last.outcome != "failed":
            with pytest.raises(TooLittleError):
                require_pools(last)


@pytest.mark.parametrize("log", REAL, ids=lambda log: log.stem)
def test_real_boots(shared: Path, log: Path) -> None:
    """Rank by rank, the pools are those that the server held in memory."""
    about = tomllib.loads(log.with_suffix(".toml").read_text(encoding="utf-8"))
    text = log.read_text(encoding="utf-8", errors="replace")
    assert shared.is_dir()

    boots = read_log(log)

    if "Load weight begin" not in text:
        assert all(boot.outcome == "failed" for boot in boots)
        return
    (boot,) = boots
    assert (about["sglang"], about["sglang"]) == (
        boot.releases.low,
        boot.releases.high,
    )
    assert [] == [note.message for note in boot.notes]
    assert about["fired_up"] is (boot.outcome == "ready")
    for truth, rank in zip(about.get("rank", ()), boot.ranks, strict=False):
        assert rank_differences(truth, rank, boot) == []


def rank_differences(truth: dict[str, Any], rank: RankBoot, boot: Boot) -> list[str]:
    """Return where *rank* contradicts the values that the server held."""
    state, kv = rank.state_pool, rank.kv_pool
    checks = [("kv_tokens", kv.tokens if kv else None)]
    if "max_mamba_cache_size" in truth and "ssm_bytes" in truth:
        checks.append(("max_mamba_cache_size", state.slots if state else None))
    limit = boot.summaries[0].max_running_requests if boot.summaries else None
    if limit is not None:
        checks.append(("max_running_requests", limit))
    wrong = [f"{key}: {truth[key]} read as {x}" for key, x in checks if truth[key] != x]
    draft = rank.draft_kv_pool
    printed = {
        "conv_bytes": state.conv if state else None,
        "ssm_bytes": state.ssm if state else None,
        "kv": kv.size if kv else None,
        "draft": draft.size if draft else None,
    }
    truth = {**truth, "kv": buffers(truth, ""), "draft": buffers(truth, "draft_")}
    for key, size in printed.items():
        if size is not None and not size.holds(truth[key]):
            wrong.append(f"{key}: {truth[key]} not in {size.low} to {size.high}")
    return wrong


def buffers(truth: dict[str, Any], of: str) -> int:
    """Return the bytes of the K and V buffers that the server held."""
    form = re.compile(rf"{of}(k|v|kv)_buffer_bytes")
    return sum(truth[key] for key in truth if form.fullmatch(key))


def main() -> None:
    """Print a line for each case: its boots, what they hold, what was not read."""
    for log in PUBLISHED + REAL:
        boots = read_log(log)
        held = ", ".join(
            f"{boot.outcome} {boot.releases.low}–{boot.releases.high} "
            + " ".join(f"{name}={n:g}" for name, n in sorted(figures([boot])))
            for boot in boots
        )
        missing = unread(log) if log in PUBLISHED else []
        print(f"{log.stem}: {held or 'no boot'}")
        print("   not read:", ", ".join(missing) or "nothing")


if __name__ == "__main__":
    main()
