"""Facts of one boot that cannot be true together.

The pools are what the server allocated: where a flag, a notice or the summary says
otherwise, the pool lines are used, and a note names both.  Nothing is averaged.
"""

from __future__ import annotations

from collections.abc import Iterator

from mamba_advisor.boot.model import Boot, Note, RankBoot
from mamba_advisor.boot.pools import MAX_DCP
from mamba_advisor.boot.releases import release_key
from mamba_advisor.boot.shape import binding_rank, spread
from mamba_advisor.measured import format_bytes


def contradictions(boot: Boot) -> tuple[Note, ...]:
    """Return a note for every pair of facts of *boot* that exclude each other."""
    rank = binding_rank(boot)
    notes = [*_summary_against_pools(boot), *_tags_against_widths(boot)]
    if rank is not None:
        notes += [
            *_pin_against_slots(boot, rank),
            *_cap_against_slots(boot, rank),
            *_tokens_against_flags(boot, rank),
            *_draft_against_flags(boot, rank),
        ]
    return (*notes, *_limit_against_flags(boot), *_uneven(boot))


def _summary_against_pools(boot: Boot) -> Iterator[Note]:
    for summary in boot.summaries:
        pools = [
            rank.kv_pool
            for rank in boot.ranks
            if rank.kv_pool is not None and rank.rank.dp == summary.rank.dp
        ]
        if not pools or boot.post_capture or any(pool.upper_bound for pool in pools):
            continue
        pool = min(pools, key=lambda pool: pool.tokens)
        factor, rest = divmod(summary.tokens, pool.tokens) if pool.tokens else (0, 1)
        # Under DCP the summary counts logical tokens, a multiple of the rows.
        if rest == 0 and 1 <= factor <= MAX_DCP:
            continue
        yield Note(
            "warning",
            "tokens-contradict",
            f"line {summary.line} sums up {summary.tokens:,} KV tokens, the pool line "
            f"has {pool.tokens:,}: the pool's figure is used",
            (summary.line, *pool.lines),
        )


def _pin_against_slots(boot: Boot, rank: RankBoot) -> Iterator[Note]:
    pin = boot.setting("max_mamba_cache_size")
    mode = boot.setting("disaggregation_mode").value
    old = release_key(boot.releases.low) < release_key("0.5.7")
    pool = rank.state_pool
    if pool is None or not isinstance(pin.value, int) or old or mode == "decode":
        return
    width = _integer(boot, "attn_dp_size") or 1
    if pool.slots != pin.value // width:
        yield _against_flag(
            boot,
            "max_mamba_cache_size",
            f"{pin.value} state slots (over {width} workers), the pool has {pool.slots}"
            if width > 1
            else f"{pin.value} state slots, the pool has {pool.slots}",
            pool.lines,
        )


def _cap_against_slots(boot: Boot, rank: RankBoot) -> Iterator[Note]:
    pool = rank.state_pool
    slots = boot.capped.figures.get("state_slots") if boot.capped else None
    if boot.capped is None or pool is None or not isinstance(slots, int):
        return
    if slots != pool.slots and boot.setting("disaggregation_mode").value != "decode":
        yield Note(
            "warning",
            "slots-contradict",
            f"line {boot.capped.line} caps the requests for {slots:,} state slots, the "
            f"pool line has {pool.slots:,}: the pool's figure is used",
            (boot.capped.line, *pool.lines),
        )


def _tokens_against_flags(boot: Boot, rank: RankBoot) -> Iterator[Note]:
    pool = rank.kv_pool
    if pool is None or pool.upper_bound:
        return
    cap = _integer(boot, "max_total_tokens")
    if cap is not None and pool.tokens > cap:
        yield _against_flag(
            boot,
            "max_total_tokens",
            f"at most {cap:,} KV tokens, the pool has {pool.tokens:,}",
            pool.lines,
        )
    page = _integer(boot, "page_size")
    if page is not None and page > 1 and pool.tokens % page and not boot.unified:
        yield _against_flag(
            boot,
            "page_size",
            f"pages of {page} tokens, {pool.tokens:,} KV tokens are no whole pages",
            pool.lines,
        )


def _draft_against_flags(boot: Boot, rank: RankBoot) -> Iterator[Note]:
    algorithm = boot.setting("speculative_algorithm")
    pool = rank.state_pool
    if not algorithm.known or algorithm.value not in (None, "NONE") or pool is None:
        return
    if pool.draft_ssm is not None and pool.draft_ssm.high > 0:
        yield _against_flag(
            boot,
            "speculative_algorithm",
            "no speculation, the pool line has draft states",
            pool.lines,
        )


def _limit_against_flags(boot: Boot) -> Iterator[Note]:
    asked = _integer(boot, "max_running_requests")
    limits = [
        (summary.max_running_requests, summary.line)
        for summary in boot.summaries
        if summary.max_running_requests is not None
    ]
    if asked is None or not limits:
        return
    limit, line = max(limits)
    if limit > max(asked, 1):
        yield _against_flag(
            boot,
            "max_running_requests",
            f"{asked} requests, the limit in force is {limit}",
            (line,),
        )


def _tags_against_widths(boot: Boot) -> Iterator[Note]:
    for name, tags in (
        ("tp_size", {rank.rank.tp for rank in boot.ranks}),
        ("pp_size", {rank.rank.pp for rank in boot.ranks}),
    ):
        width = _integer(boot, name)
        if width is not None and tags and max(tags) >= width:
            tag = f"{name[:2].upper()}{max(tags)}"
            yield _against_flag(boot, name, f"{width}, a rank is tagged {tag}", ())


def _uneven(boot: Boot) -> Iterator[Note]:
    """Say in what ranks differ: not an error, but the smallest one decides."""
    stages = {rank.rank.pp for rank in boot.ranks}
    differing = [
        (name, low, high)
        for stage in stages
        for name, (low, high) in spread(
            [rank for rank in boot.ranks if rank.rank.pp == stage]
        ).items()
    ]
    if not differing:
        return
    words = [
        f"{format_bytes(low)} to {format_bytes(high)} in both pools"
        if name == "pool_bytes"
        else f"{low:,} to {high:,} {_UNEVEN_WORDS[name]}"
        for name, low, high in differing
    ]
    message = f"the ranks differ: {'; '.join(words)}. The tightest rank decides"
    yield Note("info", "ranks-differ", message)


_UNEVEN_WORDS = {"slots": "state slots", "tokens": "KV tokens"}
"""Figure of `spread` -> its unit in words."""


def _against_flag(boot: Boot, name: str, what: str, lines: tuple[int, ...]) -> Note:
    origin = boot.setting(name).origin or ""
    told = int(origin.removeprefix("log:")) if origin.startswith("log:") else None
    where = f"line {told}" if told else "the arguments"
    message = (
        f"{where}: {name} says {what}: the flags are of another boot or were changed; "
        "the pools are used as printed"
    )
    evidence = (told, *lines) if told else lines
    return Note("warning", "flags-contradict", message, tuple(sorted(set(evidence))))


def _integer(boot: Boot, name: str) -> int | None:
    value = boot.setting(name).value
    return value if isinstance(value, int) and not isinstance(value, bool) else None
