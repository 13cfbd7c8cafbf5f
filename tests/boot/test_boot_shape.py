"""Workers, stages, the binding rank and the spread of ranks."""

from __future__ import annotations

import pytest

from mamba_advisor.boot import binding_rank, spread, stages, workers
from mamba_advisor.boot.model import (
    Boot,
    KvPool,
    RankBoot,
    Releases,
    Setting,
    Source,
    StatePool,
)
from mamba_advisor.facts import Rank
from mamba_advisor.measured import Measured

GIB = 1 << 30


def rank(
    tags: Rank, slots: int | None = 10, tokens: int | None = 100, kv: int = GIB
) -> RankBoot:
    """Return a rank with pools of *slots* and of *tokens* in *kv* bytes."""
    state = None
    if slots is not None:
        state = StatePool(slots, Measured.exact(0), Measured.exact(GIB))
    pool = None if tokens is None else KvPool(tokens, Measured.exact(kv))
    return RankBoot(tags, state_pool=state, kv_pool=pool)


def boot(
    *ranks: RankBoot, release: str = "0.5.18", **settings: tuple[int, str]
) -> Boot:
    """Return a boot of *ranks*; settings are value and origin."""
    return Boot(
        source=Source("made.log", 1, 1),
        number=1,
        outcome="ready",
        releases=Releases(release, release),
        hybrid=True,
        hybrid_evidence="",
        architecture=None,
        draft_architecture=None,
        settings={name: Setting(*value) for name, value in settings.items()},
        ranks=ranks,
    )


@pytest.mark.parametrize(
    ("why", "ranks", "tp"),
    [
        ("fewest tokens", [rank(Rank(tp=0)), rank(Rank(tp=1), tokens=99)], 1),
        ("then fewest slots", [rank(Rank(tp=0)), rank(Rank(tp=1), slots=9)], 1),
        ("tokens before slots", [rank(Rank(tp=0), 9), rank(Rank(tp=1), 10, 99)], 1),
        ("then most bytes", [rank(Rank(tp=0)), rank(Rank(tp=1), kv=2 * GIB)], 1),
        ("then the lowest", [rank(Rank(tp=1)), rank(Rank(tp=0))], 0),
        ("both pools first", [rank(Rank(tp=0), None, 9), rank(Rank(tp=1))], 1),
        ("one pool is better than none", [rank(Rank(tp=3), None, 9)], 3),
    ],
)
def test_binding_rank(why: str, ranks: list[RankBoot], tp: int) -> None:
    """The order of the public interface: tokens, slots, bytes, tags."""
    bound = binding_rank(boot(*ranks))

    assert bound is not None, why
    assert tp == bound.rank.tp, why


def test_no_pool_no_binding_rank() -> None:
    """A rank that printed only weights limits nothing yet."""
    assert binding_rank(boot(rank(Rank(), None, None))) is None


@pytest.mark.parametrize(
    ("release", "settings", "expected"),
    [
        ("0.5.18", {"dp_size": (4, "log:1"), "attn_dp_size": (4, "inferred")}, 4),
        ("0.5.18", {"dp_size": (2, "log:1"), "attn_dp_size": (1, "inferred")}, 2),
        ("0.5.22", {"dp_size": (2, "log:1"), "attn_dp_size": (4, "log:1")}, 8),
        ("0.5.22", {"dp_size": (1, "log:1"), "attn_dp_size": (4, "log:1")}, 4),
        ("0.5.22", {}, 1),
    ],
)
def test_workers(
    release: str, settings: dict[str, tuple[int, str]], expected: int
) -> None:
    """``dp_size`` counts all workers up to 0.5.21, replicas only from 0.5.22."""
    assert expected == workers(boot(release=release, **settings))


def test_workers_by_tags() -> None:
    """Without arguments the DP tags count."""
    tagged = boot(rank(Rank(dp=0)), rank(Rank(dp=1)), rank(Rank(dp=2)))

    assert 3 == workers(tagged)


def test_stages() -> None:
    """By the argument, else by the PP tags; a server has one at least."""
    assert 4 == stages(boot(pp_size=(4, "log:1")))
    assert 2 == stages(boot(rank(Rank(pp=0)), rank(Rank(pp=1))))
    assert 1 == stages(boot())


def test_spread_names_only_what_differs() -> None:
    """Equal slots are not named; tokens and bytes differ."""
    ranks = [rank(Rank(tp=0)), rank(Rank(tp=1), tokens=90, kv=3 * GIB)]

    assert spread(ranks) == {"tokens": (90, 100), "pool_bytes": (2 * GIB, 4 * GIB)}
