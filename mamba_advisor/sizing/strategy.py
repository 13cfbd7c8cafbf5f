"""What ``auto`` becomes: the strategy of the state cache, by release and family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from mamba_advisor.sizing.releases import Eras, choose, parse_release

Support: TypeAlias = Literal["buffer", "plain", "unlisted"]
"""``buffer``: extra_buffer is possible; ``plain``: only no_buffer is; ``unlisted``:
the release has states for the family and does not know it for the radix cache.
"""

BUFFERED: dict[str, tuple[str, str]] = {
    "Qwen3Next": ("0.5.7", ""),
    "Qwen3_5": ("0.5.9", ""),
    "Qwen3_5Moe": ("0.5.9", ""),
    "Qwen3_5ForCausalLM": ("0.5.19", ""),
    "Qwen3_5MoeForCausalLM": ("0.5.19", ""),
    "InternS2Preview": ("0.5.12", ""),
    "MiniCPMV4_6": ("0.5.12", ""),
    "BailingMoeV2_5": ("0.5.13", ""),
    "FalconH1": ("0.5.13", ""),
    "GraniteMoeHybrid": ("0.5.13", ""),
    "NemotronH": ("0.5.13", ""),
    "NemotronHPuzzle": ("0.5.13", ""),
    "JetNemotron": ("0.5.13", "0.5.13"),
    "JetVLM": ("0.5.13", "0.5.13"),
    "KimiLinear": ("0.5.16", ""),
    "KimiK3": ("0.5.17", ""),
    "BailingMoeV3": ("0.5.19", ""),
    "Glm5Next": ("0.5.20", ""),
    "NemotronH_Omni_Reasoning_V3": ("0.5.20", ""),
    "Qwen4Exp": ("0.5.20", ""),
    "BailingMoeV3VL": ("0.5.21", ""),
    "Inkling": ("0.5.21", ""),
    "MiniCPMV4_7": ("0.5.23", ""),
}
"""Class name up to ``For``, or the whole of it where the task makes a difference ->
first and last release with extra_buffer (empty: open).
"""

PLAIN: dict[str, str] = {
    "JetNemotron": "0.5.14",
    "JetVLM": "0.5.14",
    "Lfm2": "0.5.14",
    "Zaya": "0.5.14",
    "Lfm2Moe": "0.5.17",
    "InternS2Mobius": "0.5.18",
    "GigaChat35": "0.5.21",
}
"""Class name up to ``For`` -> first release that lists it without extra_buffer."""


def buffer_support(version: str, architecture: str) -> Support | None:
    """Return how far *version* supports the radix cache of a family.

    Args:
        version: The release.
        architecture: The target's model class, ``Qwen3NextForCausalLM``.

    Returns:
        None for a class that is not known here.

    Raises:
        InputError: *version* is not a release.
    """
    family = architecture
    if family not in BUFFERED:
        family = architecture.partition("For")[0]
    release = parse_release(version)
    if family in BUFFERED:
        first, last = BUFFERED[family]
        if release >= parse_release(first) and (
            not last or release <= parse_release(last)
        ):
            return "buffer"
    if family in PLAIN:
        return "plain" if release >= parse_release(PLAIN[family]) else "unlisted"
    return "unlisted" if family in BUFFERED else None


def _never_buffered(
    support: Support, overlap: bool, paged: bool, triton: bool
) -> tuple[str, bool]:
    """0.5.4–0.5.13: ``auto`` is ``no_buffer``, whatever the model."""
    return "no_buffer", overlap


def _buffered_where_possible(
    support: Support, overlap: bool, paged: bool, triton: bool
) -> tuple[str, bool]:
    """From 0.5.14: a buffer where it is wanted and possible, else no overlap."""
    if support == "unlisted":
        return "auto", overlap
    if (overlap or paged) and support == "buffer" and triton:
        return "extra_buffer", overlap
    return "no_buffer", False


AUTO_RULES: Eras[Callable[[Support, bool, bool, bool], tuple[str, bool]]] = (
    ("0.5.4", _never_buffered),
    ("0.5.14", _buffered_where_possible),
)
"""First release -> (support, overlap, page above 1, triton) -> (strategy, overlap)."""


def resolve_auto(
    version: str,
    support: Support,
    *,
    radix: bool = True,
    overlap: bool = True,
    page_size: int = 1,
    pp_size: int = 1,
    triton: bool = True,
) -> tuple[str, bool]:
    """Return what ``auto`` becomes, and whether the overlap scheduler stays on.

    Args:
        version: The release.
        support: See `buffer_support`.
        radix: Whether the radix cache is on; without it nothing is resolved.
        overlap: Whether the overlap scheduler is wanted.
        page_size: As asked for, before an attention backend changes it.
        pp_size: Pipeline stages; more than one switch overlap off afterwards.
        triton: Whether ``linear_attn_backend`` is ``triton``.

    Returns:
        The strategy, ``auto`` where it is left unresolved (S is then that of
        ``no_buffer``), and the overlap scheduler.

    Raises:
        FactError: *version* is 0.5.3 or older.
        InputError: *version* is not a release.
    """
    resolved = choose(AUTO_RULES, version)
    strategy, overlap = (
        resolved(support, overlap, page_size > 1, triton)
        if radix
        else ("auto", overlap)
    )
    return strategy, overlap and pp_size == 1
