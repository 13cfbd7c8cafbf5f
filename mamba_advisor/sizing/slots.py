"""S: the state slots that a release reserves for one running request."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from mamba_advisor.sizing.problem import SizingProblem
from mamba_advisor.sizing.releases import Eras, choose

SlotRule: TypeAlias = Callable[[str, bool, bool, bool], "int | None"]
"""(strategy, overlap, speculative, skip decode lock) -> S with the radix cache on."""


def _s_fixed(strategy: str, overlap: bool, speculative: bool, skip: bool) -> int:
    """S in 0.5.4–0.5.6: 3, one active state and two for radix copies."""
    return 3


def _s_always_buffered(
    strategy: str, overlap: bool, speculative: bool, skip: bool
) -> int:
    """S in 0.5.7: 5 also for ``no_buffer``, 4 for a buffer with speculation."""
    return 4 if strategy != "no_buffer" and speculative else 5


def _s_by_speculation(
    strategy: str, overlap: bool, speculative: bool, skip: bool
) -> int:
    """S in 0.5.8–0.5.9: a buffer adds 2, with speculation 1."""
    if strategy == "no_buffer":
        return 3
    return 4 if speculative else 5


def _s_by_overlap(strategy: str, overlap: bool, speculative: bool, skip: bool) -> int:
    """S in 0.5.10–0.5.12: a buffer adds 2, without overlap 1."""
    if strategy == "no_buffer":
        return 3
    return 5 if overlap else 4


def _s_lazy(strategy: str, overlap: bool, speculative: bool, skip: bool) -> int | None:
    """S in 0.5.13–0.5.16: the lazy buffer adds 1 and is refused without overlap."""
    if strategy == "extra_buffer_lazy":
        return 4 if overlap else None
    return _s_by_overlap(strategy, overlap, speculative, skip)


def _s_skip_lock(
    strategy: str, overlap: bool, speculative: bool, skip: bool
) -> int | None:
    """S from 0.5.17: as before, a buffer needs one less without the decode lock."""
    slots = _s_lazy(strategy, overlap, speculative, skip)
    if slots is None or strategy == "no_buffer" or not skip:
        return slots
    return slots - 1


SLOT_RULES: Eras[SlotRule] = (
    ("0.5.4", _s_fixed),
    ("0.5.7", _s_always_buffered),
    ("0.5.8", _s_by_speculation),
    ("0.5.10", _s_by_overlap),
    ("0.5.13", _s_lazy),
    ("0.5.17", _s_skip_lock),
)
"""First release -> rule."""


def slots_per_request(  # noqa: PLR0917 - five independent switches
    version: str,
    strategy: str,
    overlap: bool,
    radix: bool,
    speculative: bool,
    skip_decode_lock: bool = False,
) -> int | None:
    """Return S, the slots that one running request reserves.

    Args:
        version: The release.
        strategy: Resolved: ``no_buffer``, ``extra_buffer`` or ``extra_buffer_lazy``.
            One that the release does not know yet counts as ``extra_buffer``; an
            ``auto`` left unresolved reserves what ``no_buffer`` does.
        overlap: Whether the overlap scheduler is on.
        radix: Whether the radix cache is on; without it S is 1 in every release.
        speculative: Whether any speculation is on.
        skip_decode_lock: ``SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK``, from 0.5.17.

    Returns:
        S; None where the release refuses the combination.

    Raises:
        FactError: *version* is older than 0.5.4.
        InputError: *version* is not a release.

    Source:
        SGLang's slot accounting per release, read and executed.
    """
    rule = choose(SLOT_RULES, version)
    return _apply(rule, radix, strategy, overlap, speculative, skip_decode_lock)


def reserved_slots(rule: SlotRule, problem: SizingProblem) -> int | None:
    """Return S of *problem*: as it is known, else by *rule*; None: refused."""
    if problem.slots_per_request is not None:
        return problem.slots_per_request
    return _apply(
        rule,
        not problem.disable_radix_cache,
        problem.strategy,
        not problem.disable_overlap_schedule,
        problem.speculative,
        problem.skip_decode_lock,
    )


def _apply(rule: SlotRule, radix: bool, strategy: str, *switches: bool) -> int | None:
    if not radix:
        return 1
    return rule("no_buffer" if strategy == "auto" else strategy, *switches)
