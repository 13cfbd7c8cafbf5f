"""Layouts that SGLang's model code refuses although the arithmetic works."""

from __future__ import annotations

from collections.abc import Iterator

from mamba_advisor.modelconfig.attention import Gqa, Mla, SlidingGqa
from mamba_advisor.modelconfig.families import Family
from mamba_advisor.modelconfig.geometry import Geometry
from mamba_advisor.modelconfig.layout import Launch
from mamba_advisor.modelconfig.state import Kda, Mamba2


def find_refusals(
    family: Family, geometry: Geometry, launch: Launch
) -> tuple[str, ...]:
    """Return why SGLang would not load the model so, a sentence each.

    Returns:
        Empty when nothing is known against it.

    Source:
        Assertions in SGLang's ``srt/models/*.py`` and its layers (0.5.23).
    """
    return (
        *geometry.refusals,
        *_release(family, launch),
        *_heads(geometry, launch),
        *_state(geometry, launch),
        *_stages(family, geometry, launch),
        *_dcp(geometry, launch),
        *_speculation(family, geometry, launch),
    )


def _release(family: Family, launch: Launch) -> Iterator[str]:
    if not launch.since(family.since):
        yield (
            f"SGLang {launch.sglang_version} does not know {family.name} as a hybrid: "
            f"{family.since} is the first release that does"
        )


def _heads(geometry: Geometry, launch: Launch) -> Iterator[str]:
    ranks = launch.attn_tp_size
    if not geometry.replicates_kv:
        ranks = launch.tp_size
        if launch.attn_dp_size > 1:
            yield "this family does not work with DP attention"
    if geometry.query_heads is not None and geometry.query_heads % ranks:
        yield f"{geometry.query_heads} query heads do not divide over {ranks} ranks"
    if geometry.kv_follows_dcp:
        ranks //= launch.dcp_size
    for heads in _kv_heads(geometry):
        divides = heads % ranks == 0
        if not divides and (ranks % heads or not geometry.replicates_kv):
            yield f"{heads} KV heads do not divide over {ranks} ranks"


def _kv_heads(geometry: Geometry) -> tuple[int, ...]:
    """Return the KV head counts that have to split over the ranks."""
    attention = geometry.attention
    if isinstance(attention, SlidingGqa):
        return (attention.full.kv_heads, attention.local.kv_heads)
    return (attention.kv_heads,) if isinstance(attention, Gqa) else ()


def _state(geometry: Geometry, launch: Launch) -> Iterator[str]:
    state, groups = geometry.state, geometry.group_norm_size
    if isinstance(state, Mamba2):
        ranks = launch.tp_size if state.global_tp else launch.attn_tp_size
        if state.groups % ranks and state.groups != 1:
            yield (
                f"{state.groups} Mamba groups do not divide over {ranks} ranks "
                "(a single group would)"
            )
    if groups is not None and groups % launch.tp_size:
        yield f"group_norm_size {groups} does not divide over {launch.tp_size} ranks"


def _stages(family: Family, geometry: Geometry, launch: Launch) -> Iterator[str]:
    if geometry.one_stage and launch.pp_size > 1:
        yield f"{family.name} runs in one pipeline stage only"


def _dcp(geometry: Geometry, launch: Launch) -> Iterator[str]:
    if launch.dcp_size == 1:
        return
    if not launch.since("0.5.15"):
        yield f"SGLang {launch.sglang_version} has no DCP: it exists from 0.5.15"
    attention = geometry.attention
    if isinstance(attention, Mla) and attention.index and attention.index.pool > 1:
        yield "DCP is refused with a pooled index (index_kpool > 1)"


def _speculation(family: Family, geometry: Geometry, launch: Launch) -> Iterator[str]:
    drafts = launch.speculative_num_draft_tokens
    if not drafts:
        return
    if not geometry.speculates:
        yield f"{family.name} cannot speculate: its window layout is refused"
    length = launch.linear_replayssm_cache_len
    unfit = length & (length - 1) or length < 2 * drafts
    if (
        launch.enable_linear_replayssm_spec
        and isinstance(geometry.state, Kda)
        and unfit
    ):
        yield (
            f"a ReplaySSM ring of {length} is no power of two of at least "
            f"2 × {drafts} draft tokens"
        )
