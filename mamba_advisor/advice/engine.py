"""From a boot to advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mamba_advisor.advice import sweep as sweeping
from mamba_advisor.advice.calibration import Calibration, calibrate
from mamba_advisor.advice.constants import Hypothesis, slot_bytes, token_bytes
from mamba_advisor.advice.explain import derivations_of
from mamba_advisor.advice.levers import levers_of
from mamba_advisor.advice.model import (
    Advice,
    Drawn,
    Interval,
    KvPoolAdvice,
    RankAdvice,
    Recommendation,
    SelfCheck,
    StatePoolAdvice,
    SweepRow,
    Workload,
)
from mamba_advisor.advice.options import Overrides
from mamba_advisor.advice.residency import residency_of
from mamba_advisor.advice.rules import judge
from mamba_advisor.advice.rules.reading import model_agrees
from mamba_advisor.advice.situation import Situation, situation_of
from mamba_advisor.advice.verdict import verdict_of
from mamba_advisor.boot.model import Boot, KvPool, RankBoot, StatePool
from mamba_advisor.facts import Scalar
from mamba_advisor.measured import Measured
from mamba_advisor.record import replace

if TYPE_CHECKING:
    from mamba_advisor.advice.coaching import Coaching


def advise(
    boot: Boot,
    workload: Workload | None = None,
    overrides: Overrides | None = None,
    *,
    config: Mapping[str, Any] | None = None,
    sweep: bool = False,
    curves: Drawn = "none",
) -> Advice:
    """Return everything that *boot* amounts to.

    Args:
        boot: A start as read.
        workload: What the server is meant to carry; without a context the one that
            the run has shown is taken, and said to be measured.
        overrides: Facts and what-if values from options.
        config: The model's own ``config.json``, to make rounded figures exact.
        sweep: Fill the whole grid over contexts and concurrencies.
        curves: Which data of the pictures to fill.

    Returns:
        The advice; pure data, no error is raised for what the log does not hold.

    Raises:
        ConfigError: A field of *config* is missing or unusable.
        NotHybridError: *config* is not one of a hybrid.
    """
    wanted = _with_measured(boot, workload or Workload())
    geometries: tuple[Hypothesis, ...] = ()
    if config is not None:
        from mamba_advisor.advice.geometry import of_config

        known = of_config(config, boot, overrides)
        boot = replace(boot, notes=(*boot.notes, *known.notes))
        geometries = known.hypotheses

    def ask_published() -> Sequence[Hypothesis]:
        from mamba_advisor.advice.geometry import published

        return published(boot, overrides)

    calibration = calibrate(boot, overrides, geometries, ask_published)
    return advise_situation(
        situation_of(calibration, wanted), sweep=sweep, curves=curves
    )


def advise_situation(
    situation: Situation, *, sweep: bool = False, curves: Drawn = "none"
) -> Advice:
    """Return the advice on a situation; see `advise`."""
    coaching = _coaching(situation)
    recommendation = coaching.recommendation if coaching else _recommended(situation)
    rows: tuple[SweepRow, ...] = ()
    undecided = recommendation is None and coaching is None
    if sweep or undecided:
        rows = sweeping.sweep_rows(situation, full=sweep)
    equivalent = token_equivalent(situation.calibration)
    taken = recommendation.action if recommendation else ""
    calibration, boot = situation.calibration, situation.boot
    rank = calibration.rank
    dcp = calibration.settled.booted.dcp_size
    now = situation.concurrency.sustained
    if now is None:
        now = situation.concurrency.effective
    if now is None and situation.today is not None:
        now = situation.today.concurrency
    return Advice(
        boot=boot,
        workload=situation.workload,
        hybrid=boot.hybrid,
        verdict=verdict_of(situation, recommendation, coaching),
        settings=_settings(calibration),
        ranks=tuple(_rank(one, calibration) for one in boot.ranks),
        state_pool=(
            _state_pool(rank, calibration) if rank else _planned_state(calibration)
        ),
        kv_pool=(
            _kv_pool(rank, calibration, dcp) if rank else _planned_kv(calibration)
        ),
        draft_kv_pool=_draft_pool(rank, calibration) if rank else None,
        budget_bytes=calibration.budget,
        token_equivalent=equivalent,
        balanced_context=sweeping.balanced_context(situation),
        concurrency=situation.concurrency,
        self_check=_self_check(situation),
        recommendation=recommendation,
        levers=() if coaching else levers_of(situation, now, taken),
        sweep=rows,
        residency=residency_of(situation),
        findings=judge(situation),
        derivations=derivations_of(situation, equivalent, recommendation),
        curves=sweeping.curves_of(situation, recommendation, curves),
        is_plan=boot.outcome is None,
    )


def _recommended(situation: Situation) -> Recommendation | None:
    """Return the one thing to do, if it is known what the server is to carry."""
    if situation.context is None and situation.target is None:
        return None
    from mamba_advisor.advice.recommend import recommend

    return recommend(situation)


def _coaching(situation: Situation) -> Coaching | None:
    """Return what a failed boot needs; few boots fail, so few pay for the import."""
    if situation.boot.outcome != "failed":
        return None
    from mamba_advisor.advice.coaching import coach

    return coach(situation)


def _with_measured(boot: Boot, workload: Workload) -> Workload:
    """Take the context that the run has shown where none is given."""
    measured = boot.runtime.total.avg_context if boot.runtime else None
    if workload.avg_context is not None or not measured:
        return workload
    return replace(workload, avg_context=measured, origin="measured")


def token_equivalent(calibration: Calibration) -> Interval | None:
    """Return how many KV tokens one state slot costs in this boot.

    Source:
        Charged state bytes of a slot ÷ what the budget pays for a token; the ends
        divide the ends of both intervals.
    """
    problem = calibration.booted
    slot, token = calibration.slot, calibration.charged_token
    if slot is None or token is None or token.low < 1 or problem is None:
        return None
    lines = tuple(sorted({*slot.lines, *token.lines}))
    # A pipeline stage can be charged more layers than it stores.
    share = problem.slot_bytes / max(1, slot.value)
    return Interval(
        problem.slot_bytes / max(1, token.value),
        slot.low * share / token.high,
        slot.high * share / token.low,
        lines,
    )


def _settings(
    calibration: Calibration,
) -> Mapping[str, tuple[Scalar, str | None]]:
    return {
        name: (setting.value, setting.origin)
        for name, setting in calibration.settled.settings.items()
    }


def _self_check(situation: Situation) -> SelfCheck:
    calibration = situation.calibration
    finding = model_agrees(situation)
    message = finding.message if finding else ""
    trial = calibration.trial
    if trial is None:
        return SelfCheck(None, None, None, None, message)
    model = trial.predicted
    return SelfCheck(
        calibration.outcome, model.slots, model.tokens, model.limit, message
    )


# --- the pools as the document has them -------------------------------------------


def _rank(rank: RankBoot, calibration: Calibration) -> RankAdvice:
    return RankAdvice(
        rank=rank.rank.text,
        weights_bytes=_positive(rank.weights),
        avail_before_bytes=rank.avail_before,
        avail_after_bytes=rank.avail_after,
        state_pool=_state_pool(rank, calibration),
        kv_pool=_kv_pool(rank, calibration, calibration.settled.booted.dcp_size),
        draft_kv_pool=_draft_pool(rank, calibration),
        idle_bytes=rank.idle,
    )


def _positive(size: Measured | None) -> Measured | None:
    """Return *size*, None where memory was freed in between and it went below 0."""
    return size if size is not None and size.value >= 0 else None


def _state_pool(rank: RankBoot, calibration: Calibration) -> StatePoolAdvice | None:
    pool = rank.state_pool
    if pool is None:
        return None
    binding = rank is calibration.rank
    per_slot = calibration.slot if binding else slot_bytes(pool)
    return StatePoolAdvice(
        slots=pool.slots,
        rows=pool.slots + 1,
        bytes=_pool_bytes(pool, per_slot),
        bytes_per_slot=per_slot,
        conv_bytes=pool.conv,
        ssm_bytes=pool.ssm,
        draft_state_bytes=_add(pool.draft_ssm, pool.draft_conv),
        ring_bytes=pool.rings,
    )


def _pool_bytes(pool: StatePool, per_slot: Measured | None) -> Measured | None:
    """Return conv + ssm, from the slot where that is exact."""
    if per_slot is not None and per_slot.is_exact:
        return per_slot * (pool.slots + 1)
    return _add(pool.conv, pool.ssm)


def _kv_pool(
    rank: RankBoot, calibration: Calibration, dcp_size: int
) -> KvPoolAdvice | None:
    pool = rank.kv_pool
    if pool is None:
        return None
    page = calibration.settled.booted.page_size
    binding = rank is calibration.rank
    token = calibration.token if binding else token_bytes(pool, page)
    draft = (
        calibration.draft_token if binding else token_bytes(rank.draft_kv_pool, page)
    )
    return KvPoolAdvice(
        tokens=pool.tokens,
        logical_tokens=pool.tokens * dcp_size,
        bytes=_kv_bytes(pool, token, page),
        bytes_per_token=token,
        draft_bytes_per_token=draft,
        charged_bytes_per_token=calibration.charged_token if binding else None,
        dtype=pool.dtype,
    )


def _draft_pool(rank: RankBoot, calibration: Calibration) -> KvPoolAdvice | None:
    pool = rank.draft_kv_pool
    if pool is None:
        return None
    page = calibration.settled.booted.page_size
    token = (
        calibration.draft_token if rank is calibration.rank else token_bytes(pool, page)
    )
    return KvPoolAdvice(
        tokens=pool.tokens,
        logical_tokens=pool.tokens,
        bytes=_kv_bytes(pool, token, page),
        bytes_per_token=token,
        draft_bytes_per_token=None,
        charged_bytes_per_token=None,
        dtype=pool.dtype,
    )


def _kv_bytes(pool: KvPool, token: Measured | None, page: int) -> Measured | None:
    """Return the pool's bytes, from the token where that is exact."""
    if token is not None and token.is_exact:
        return token * (pool.tokens + page)
    return pool.size


def _planned_state(calibration: Calibration) -> StatePoolAdvice | None:
    """Return the state pool that a plan will have; None for a boot without one."""
    slots, slot = calibration.printout.slots, calibration.slot
    if calibration.boot.outcome is not None or slots is None or slot is None:
        return None
    share = calibration.conv_share
    conv = Measured.exact(share.of(slot.value) * (slots + 1) if share else 0)
    whole = slot * (slots + 1)
    return StatePoolAdvice(
        slots=slots,
        rows=slots + 1,
        bytes=whole,
        bytes_per_slot=slot,
        conv_bytes=conv,
        ssm_bytes=whole - conv,
        draft_state_bytes=None,
        ring_bytes=None,
    )


def _planned_kv(calibration: Calibration) -> KvPoolAdvice | None:
    """Return the KV pool that a plan will have; None for a boot without one."""
    tokens, token = calibration.printout.tokens, calibration.token
    if calibration.boot.outcome is not None or tokens is None or token is None:
        return None
    settled = calibration.settled.booted
    return KvPoolAdvice(
        tokens=tokens,
        logical_tokens=tokens * settled.dcp_size,
        bytes=token * (tokens + settled.page_size),
        bytes_per_token=token,
        draft_bytes_per_token=calibration.draft_token,
        charged_bytes_per_token=calibration.charged_token,
        dtype=None,
    )


def _add(first: Measured | None, second: Measured | None) -> Measured | None:
    if first is None or second is None:
        return first or second
    return first + second
