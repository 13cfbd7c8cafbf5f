"""Changes to a sizing problem: what options and levers do to it."""

from __future__ import annotations

from mamba_advisor.advice.figures import Evidence
from mamba_advisor.advice.lattice import ELEMENT_BYTES
from mamba_advisor.advice.options import Overrides
from mamba_advisor.advice.trial import Trial
from mamba_advisor.measured import Measured
from mamba_advisor.record import Record, replace
from mamba_advisor.sizing import SizingProblem

STATE_ELEMENT_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
"""Value of ``--mamba-ssm-dtype`` -> bytes of a state element."""

DEFAULT_STATE_BYTES = 4
"""Bytes of a state element where nothing states its type: float32."""

GIB = 1 << 30
"""Bytes of what SGLang calls a GB."""


class Share(Record):
    """A part of something, in integers."""

    part: int
    whole: int

    def of(self, size: int) -> int:
        """Return that part of *size*, rounded down."""
        return size * self.part // self.whole


def apply(
    problem: SizingProblem, evidence: Evidence, trial: Trial, given: Overrides
) -> SizingProblem:
    """Return *problem* with every option that goes against the log applied.

    Args:
        problem: The boot as it was, complete.
        evidence: What it printed.
        trial: How it was understood.
        given: Options.
    """
    settled = evidence.settled
    planned = problem
    for name in (
        "ratio",
        "pin",
        "max_running_requests",
        "attn_dp_size",
        "dcp_size",
        "draft_tokens",
        "speculative_algorithm",
        "replayssm_spec",
        "strategy",
        "disable_radix_cache",
        "disable_overlap_schedule",
        "skip_decode_lock",
    ):
        was, wanted = getattr(settled.booted, name), getattr(settled.planned, name)
        if was != wanted:
            planned = replace(planned, **{name: wanted})
            if name in RESERVING:
                planned = replace(planned, slots_per_request=None)
    figures = trial.best
    if given.mamba_ssm_dtype:
        now = state_element_bytes(evidence, trial) or DEFAULT_STATE_BYTES
        share = Share(figures.conv, max(1, figures.slot))
        planned = with_state_dtype(planned, share, given.mamba_ssm_dtype, now)
    if given.kv_cache_dtype:
        now_kv = kv_element_bytes(evidence)
        planned = with_kv_dtype(planned, given.kv_cache_dtype, now_kv)
    fraction = settled.value("mem_fraction_static")
    read = evidence.boot.setting("mem_fraction_static").value
    before = evidence.rank.avail_before
    if isinstance(read, float) and isinstance(fraction, float) and before:
        planned = with_fraction(planned, before, fraction - read)
    return planned


RESERVING = (
    "strategy",
    "disable_radix_cache",
    "disable_overlap_schedule",
    "skip_decode_lock",
    "speculative_algorithm",
)
"""Arguments that S depends on."""


def with_fraction(
    problem: SizingProblem, before: Measured, change: float
) -> SizingProblem:
    """Return *problem* with ``--mem-fraction-static`` moved by *change*.

    Args:
        problem: A complete problem.
        before: Free memory before the weights, in bytes: what the fraction is of.
        change: New fraction minus the old one.
    """
    if not change:
        return problem
    return replace(problem, rest_gib=problem.rest_gib + before.value / GIB * change)


def with_state_dtype(
    problem: SizingProblem, conv_share: Share, dtype: str, element_bytes: int
) -> SizingProblem:
    """Return *problem* with the recurrent state held as *dtype*.

    Args:
        problem: A complete problem.
        conv_share: Convolution bytes of a slot ÷ all of its bytes; that part keeps
            its type.
        dtype: A key of `STATE_ELEMENT_BYTES`.
        element_bytes: Bytes of a recurrent-state element now.
    """
    wanted = STATE_ELEMENT_BYTES.get(dtype)
    if wanted is None or wanted == element_bytes:
        return problem
    conv = conv_share.of(problem.slot_bytes)
    recurrent = problem.slot_bytes - conv
    changed = conv + recurrent * wanted // element_bytes
    return replace(problem, slot_bytes=max(1, changed))


def with_kv_dtype(
    problem: SizingProblem, dtype: str, element_bytes: int | None
) -> SizingProblem:
    """Return *problem* with KV held as *dtype*; unchanged where that is unknown."""
    wanted = ELEMENT_BYTES.get(dtype)
    if wanted is None or element_bytes is None or wanted == element_bytes:
        return problem
    cells = tuple(
        max(1, cell * wanted // element_bytes) if cell else 0 for cell in problem.cells
    )
    return replace(problem, cells=cells)


def state_element_bytes(evidence: Evidence, trial: Trial) -> int | None:
    """Return the bytes of a state element: as set, else by geometry, else None."""
    stated = evidence.boot.setting("mamba_ssm_dtype").value
    if isinstance(stated, str) and stated in STATE_ELEMENT_BYTES:
        return STATE_ELEMENT_BYTES[stated]
    return trial.hypothesis.element if trial.hypothesis else None


def kv_element_bytes(evidence: Evidence) -> int | None:
    """Return the bytes of a KV element as printed, None where it was not."""
    pool = evidence.rank.kv_pool
    return ELEMENT_BYTES.get(pool.dtype or "") if pool else None
