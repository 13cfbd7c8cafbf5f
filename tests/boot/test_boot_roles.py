"""Whose pool is it: the target's, the draft's, or no pool at all?"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from mamba_advisor.boot.model import Boot, RankBoot
from mamba_advisor.facts import Rank, Reading

Say = Callable[..., Reading]
BootsOf = Callable[[Iterable[Reading]], list[Boot]]
GIB = 1 << 30


def only_rank(boots: list[Boot]) -> RankBoot:
    """Return the only rank of the only boot."""
    (boot,) = boots
    (rank,) = boot.ranks
    return rank


def weights(say: Say, model: str, avail: str, used: str) -> Reading:
    """Return a ``Load weight end`` line."""
    return say("weights-end", model_type=model, avail_bytes=avail, used_bytes=used)


def kv(say: Say, tokens: int, half: str, **rest: object) -> Reading:
    """Return a KV line with K and V of *half* GiB each."""
    return say("kv-pool", kv_tokens=tokens, k_bytes=half, v_bytes=half, **rest)


def test_draft_loaded_first(say: Say, boots_of: BootsOf) -> None:
    """0.5.14 and later: both loads, both pools; memory after is the draft's line."""
    rank = only_rank(
        boots_of(
            [
                say("weights-begin", avail_bytes="78.00"),
                weights(say, "Qwen3NextForCausalLM", "41.00", "37.00"),
                say("weights-begin", avail_bytes="41.00"),
                weights(say, "Qwen3NextForCausalLMMTP", "40.00", "1.00"),
                say("state-pool", state_slots=418, ssm_bytes="7.37"),
                kv(say, 1433248, "8.20"),
                say("pool-end", avail_bytes="8.00"),
                kv(say, 1433248, "0.68"),
                say("pool-end", avail_bytes="7.00"),
            ]
        )
    )

    assert rank.kv_pool
    assert rank.kv_pool.size
    assert rank.draft_kv_pool
    assert rank.draft_kv_pool.size
    assert (6, 8) == (rank.kv_pool.lines[0], rank.draft_kv_pool.lines[0])
    assert 16.4 == pytest.approx(rank.kv_pool.size.value / GIB, abs=1e-6)
    assert 1.36 == pytest.approx(rank.draft_kv_pool.size.value / GIB, abs=1e-6)
    assert rank.weights
    assert rank.draft_weights
    assert (38 * GIB, GIB) == (rank.weights.value, rank.draft_weights.value)
    assert rank.avail_before
    assert rank.avail_after
    assert (78 * GIB, 40 * GIB) == (rank.avail_before.value, rank.avail_after.value)
    assert rank.pool_end
    assert 7 * GIB == rank.pool_end.value


def test_draft_loaded_last(say: Say, boots_of: BootsOf) -> None:
    """Up to 0.5.13 the draft follows the graphs; its load is not the memory after."""
    rank = only_rank(
        boots_of(
            [
                say("weights-begin", avail_bytes="78.00"),
                weights(say, "Qwen3NextForCausalLM", "41.00", "37.00"),
                say("state-pool", state_slots=418, ssm_bytes="7.37"),
                kv(say, 1433248, "8.20"),
                say("pool-end", avail_bytes="8.00"),
                say("graph-end", used_bytes="1.00", avail_bytes="7.00"),
                say("init-begin"),
                say("weights-begin", avail_bytes="7.00"),
                weights(say, "Qwen3NextForCausalLMMTP", "6.00", "1.00"),
                kv(say, 1433248, "0.68"),
                say("pool-end", avail_bytes="4.00"),
            ]
        )
    )

    assert rank.avail_after
    assert rank.weights
    assert rank.draft_kv_pool
    assert 41 * GIB == rank.avail_after.value
    assert 38 * GIB == rank.weights.value
    assert (10,) == rank.draft_kv_pool.lines


def test_second_kv_line_is_the_draft_by_order_alone(
    say: Say, boots_of: BootsOf
) -> None:
    """A log cut to its pools: same tokens after the first ``Memory pool end``."""
    rank = only_rank(
        boots_of(
            [
                say("state-pool", state_slots=64, ssm_bytes="3.05"),
                kv(say, 295950, "4.52"),
                say("pool-end", avail_bytes="21.57"),
                kv(say, 295950, "3.39"),
            ]
        )
    )

    assert rank.draft_kv_pool
    assert (4,) == rank.draft_kv_pool.lines


def test_draft_rows_under_dcp(say: Say, boots_of: BootsOf) -> None:
    """A replicated draft holds the rows of all DCP ranks: 8 times the tokens."""
    rank = only_rank(boots_of([kv(say, 1000, "4.00"), kv(say, 8000, "1.00")]))

    assert rank.kv_pool
    assert rank.draft_kv_pool
    assert (1000, 8000) == (rank.kv_pool.tokens, rank.draft_kv_pool.tokens)


def test_several_draft_runners_add_up(say: Say, boots_of: BootsOf) -> None:
    """Multi-layer drafts print one pool each."""
    rank = only_rank(
        boots_of(
            [
                kv(say, 1000, "4.00"),
                say("pool-end", avail_bytes="9.00"),
                kv(say, 1000, "0.50"),
                say("pool-end", avail_bytes="8.00"),
                kv(say, 1000, "0.50"),
            ]
        )
    )

    assert rank.draft_kv_pool
    assert rank.draft_kv_pool.size
    assert 2 * GIB == rank.draft_kv_pool.size.value


def test_stateful_draft(say: Say, boots_of: BootsOf) -> None:
    """Inkling's draft heads own a state pool and print a second line (0.5.16+)."""
    rank = only_rank(
        boots_of(
            [
                weights(say, "InklingForCausalLM", "41.00", "37.00"),
                weights(say, "InklingMTPForCausalLM", "40.00", "1.00"),
                say("state-pool", state_slots=400, conv_bytes="2.00"),
                kv(say, 1000, "4.00"),
                say("pool-end", avail_bytes="9.00"),
                say("state-pool", state_slots=400, conv_bytes="0.20"),
                kv(say, 1000, "0.50"),
            ]
        )
    )

    assert rank.state_pool
    assert rank.draft_state_pool
    assert (3, 6) == (rank.state_pool.lines[0], rank.draft_state_pool.lines[0])


def test_unified_pool_ignores_the_address_range(say: Say, boots_of: BootsOf) -> None:
    """0.00 GB beside the banner: tokens are addresses; the banner's figures count."""
    rank = only_rank(
        boots_of(
            [
                say("unified-subpool", subpool_name="mamba", entry_bytes=823296),
                say("unified-subpool", subpool_name="full", entry_bytes=1024),
                kv(say, 3920867, "0.00"),
                say("unified-banner", state_slots=2309, kv_tokens=2064434),
                say("pool-end", avail_bytes="3.74"),
            ]
        )
    )

    assert rank.state_pool
    assert rank.kv_pool
    assert (2309, 823296) == (rank.state_pool.slots, rank.state_pool.entry_bytes)
    assert (2064434, 1024) == (rank.kv_pool.tokens, rank.kv_pool.entry_bytes)
    assert None is rank.draft_kv_pool


def test_address_range_before_a_banner_without_subpools(
    say: Say, boots_of: BootsOf
) -> None:
    """The banner wins also where the lines above the KV line were cut."""
    rank = only_rank(
        boots_of(
            [
                kv(say, 3920867, "0.00"),
                say("unified-banner", state_slots=2309, kv_tokens=2064434),
            ]
        )
    )

    assert rank.kv_pool
    assert 2064434 == rank.kv_pool.tokens


def test_upper_bound_waits_for_the_late_figure(say: Say, boots_of: BootsOf) -> None:
    """``VA upper bound`` is address space; post-capture sizing states the pool."""
    bound = kv(say, 700032, "8.00", upper_bound=True, kv_dtype="torch.bfloat16")
    late = say("post-capture-tokens", kv_tokens=640000, kv_bytes="14.65")

    early = only_rank(boots_of([bound]))
    rank = only_rank(boots_of([bound, late]))

    assert early.kv_pool
    assert early.kv_pool.upper_bound
    assert rank.kv_pool
    assert not rank.kv_pool.upper_bound
    assert (640000, "bfloat16") == (rank.kv_pool.tokens, rank.kv_pool.dtype)


@pytest.mark.parametrize("label", [True, False])
def test_window_pool_is_apart(say: Say, boots_of: BootsOf, label: bool) -> None:
    """SWA hybrids print a line per inner pool, with a label from 0.5.17 on."""
    full = {"kv_label": "Full"} if label else {}
    window = {"kv_label": "SWA"} if label else {}
    rank = only_rank(
        boots_of(
            [
                say("swa-pool", full_tokens=512000, swa_tokens=51200),
                kv(say, 51200, "0.40", **window),
                kv(say, 512000, "3.91", **full),
                say("pool-end", avail_bytes="9.00"),
            ]
        )
    )

    assert rank.kv_pool
    assert rank.swa_pool
    assert (512000, 51200) == (rank.kv_pool.tokens, rank.swa_pool.tokens)


def test_dtype_of_the_early_line_fills_all_ranks(say: Say, boots_of: BootsOf) -> None:
    """0.5.3 to 0.5.12 print the KV dtype once, on rank 0."""
    (boot,) = boots_of(
        [
            say("kv-dtype", rank=Rank(tp=0), kv_dtype="torch.float8_e4m3fn"),
            kv(say, 100, "1.00", rank=Rank(tp=0)),
            kv(say, 100, "1.00", rank=Rank(tp=1)),
        ]
    )

    assert ["float8_e4m3fn"] * 2 == [x.kv_pool.dtype for x in boot.ranks if x.kv_pool]


def test_rings_and_checkpoints_join_the_state_pool(say: Say, boots_of: BootsOf) -> None:
    """Rings are summed: d, k and g of 0.054, 0.027 and 0.001 GiB."""
    rank = only_rank(
        boots_of(
            [
                say("state-pool", state_slots=10, ssm_bytes="1.00"),
                say(
                    "replayssm-rings",
                    ring_d_bytes="0.054",
                    ring_k_bytes="0.027",
                    ring_g_bytes="0.001",
                ),
                say("checkpoint-pool", checkpoint_bytes="0.50"),
            ]
        )
    )

    assert rank.state_pool
    assert rank.state_pool.rings
    assert rank.state_pool.checkpoints
    assert 0.082 == pytest.approx(rank.state_pool.rings.value / GIB, abs=1e-6)
    assert GIB // 2 == rank.state_pool.checkpoints.value


def test_sizes_without_slots_are_noted(say: Say, boots_of: BootsOf) -> None:
    """A retyped line without the slot count gives no pool, but is not lost."""
    (boot,) = boots_of([say("state-pool", ssm_bytes="5.17")])

    (rank,) = boot.ranks
    assert None is rank.state_pool
    assert 5.17 == pytest.approx(rank.unplaced["ssm_bytes"].value / GIB, abs=1e-6)
    assert ["slots-not-stated"] == [note.code for note in boot.notes]


def test_idle_is_the_last_figure(say: Say, boots_of: BootsOf) -> None:
    """A rank's idle memory: its last ``avail mem``, or the summary's."""
    rank = only_rank(
        boots_of(
            [
                kv(say, 100, "1.00"),
                say("pool-end", avail_bytes="9.00"),
                say("graph-end", used_bytes="1.50", avail_bytes="7.00"),
                say("graph-end", used_bytes="0.50", avail_bytes="6.50"),
                say("summary", kv_tokens=100, avail_bytes="6.25"),
            ]
        )
    )

    assert rank.idle
    assert rank.graphs
    assert (6.25 * GIB, 2 * GIB) == (rank.idle.value, rank.graphs.value)
