"""Advice before any boot: a plan in the terms of the arithmetic."""

from __future__ import annotations

from mamba_advisor.advice.calibration import Calibration
from mamba_advisor.advice.choice import pin_flags, ratio_flags
from mamba_advisor.advice.constants import Printed
from mamba_advisor.advice.engine import advise_situation
from mamba_advisor.advice.model import (
    Advice,
    Cost,
    Drawn,
    Finding,
    Lever,
    Recommendation,
    Severity,
    Verdict,
    Workload,
)
from mamba_advisor.advice.predict import Case, prediction_of
from mamba_advisor.advice.reserve import Printout
from mamba_advisor.advice.settle import Settled
from mamba_advisor.advice.situation import Situation, situation_of
from mamba_advisor.advice.whatif import STATE_ELEMENT_BYTES, Share
from mamba_advisor.boot.model import Note
from mamba_advisor.measured import Measured, format_range
from mamba_advisor.plan.change import Answer, Attempt
from mamba_advisor.plan.model import Plan
from mamba_advisor.record import replace
from mamba_advisor.sizing import SizingProblem, solve


def advise_plan(
    plan: Plan,
    workload: Workload | None = None,
    *,
    answer: Answer | None = None,
    sweep: bool = False,
    curves: Drawn = "none",
) -> Advice:
    """Return everything that *plan* amounts to.

    Args:
        plan: A config and arguments, sized.
        workload: What the server is meant to carry.
        answer: Whether it carries that, and the least change that does; see
            `mamba_advisor.plan.change.least_change`.
        sweep: Fill the whole grid over contexts and concurrencies.
        curves: Which data of the pictures to fill.
    """
    calibration = calibration_of(plan)
    situation = situation_of(calibration, workload or Workload())
    advice = advise_situation(situation, sweep=sweep, curves=curves)
    if answer is not None:
        advice = _answered(advice, situation, answer)
    why = why_no_boot(plan)
    if not why:
        return advice
    kind = advice.verdict.kind if advice.recommendation else "failed"
    may_boot = plan.high is not None and solve(plan.version, plan.high).boots
    headline = f"This launch {'probably does' if may_boot else 'does'} not boot."
    return replace(advice, verdict=Verdict(headline, why, kind))


def why_no_boot(plan: Plan) -> str:
    """Return why SGLang would refuse the planned launch, "" where it would not."""
    if plan.problem is None or solve(plan.version, plan.problem).boots:
        return ""
    if plan.budget is None or plan.budget.value > 0:
        return "What the budget leaves is too little for one of the pools."
    fraction = "" if plan.fraction is None else f" of {plan.fraction.value:.3g}"
    missing = Measured(-plan.budget.value, max(0, -plan.budget.high), -plan.budget.low)
    return (
        f"The weights leave the pools nothing: {format_range(missing)} are missing. "
        f"A higher --mem-fraction-static than the one{fraction}, more GPUs "
        "(--tp-size) or smaller weights make room."
    )


def _answered(advice: Advice, situation: Situation, answer: Answer) -> Advice:
    """Return *advice* with the answer to "can this carry it, and if not, what can"."""
    wanted = situation.workload.concurrency or 0
    if answer.given.carries:
        sure = (
            "" if answer.given.surely else ", if the budget is not below the estimate"
        )
        message = f"this launch carries the {wanted:,} requests wanted{sure}"
        return _with_finding(advice, Finding("carries-target", Severity.OK, message))
    found = answer.least or answer.closest
    if found is None or found.split is None or not found.steps:
        message = f"this launch cannot carry the {wanted:,} requests wanted"
        return _with_finding(advice, Finding("cannot-carry", Severity.PROBLEM, message))
    lever = _lever(found, situation)
    flags = " ".join(lever.flags)
    if answer.least is None:
        carried = (lever.predicted.concurrency or 0) * situation.concurrency.workers
        message = (
            f"nothing that was tried carries the {wanted:,} requests wanted; closest "
            f"is {carried:,} with {flags}"
        )
        changed = _with_finding(
            advice, Finding("cannot-carry", Severity.PROBLEM, message)
        )
        return replace(changed, levers=(lever, *advice.levers))
    message = (
        f"this launch cannot carry the {wanted:,} requests wanted; the least change "
        f"that can, on {found.gpus} GPUs: {flags}"
    )
    recommendation = Recommendation(
        action="least-change",
        mamba_full_memory_ratio=found.split.ratio,
        formula_ratio=None,
        max_mamba_cache_size=found.split.pin,
        flags=lever.flags,
        predicted=lever.predicted,
        gain=lever.gain,
        cost=Cost(),
        reason=f"{message[0].lower()}{message[1:]}",
        before=lever.gate or "",
    )
    changed = _with_finding(advice, Finding("least-change", Severity.WARNING, message))
    return replace(
        changed,
        recommendation=recommendation,
        verdict=replace(advice.verdict, detail="", kind="improve"),
    )


def _with_finding(advice: Advice, finding: Finding) -> Advice:
    findings = sorted((finding, *advice.findings), key=lambda one: -one.severity)
    return replace(advice, findings=tuple(findings))


def _lever(found: Attempt, situation: Situation) -> Lever:
    """Return an attempt as a lever, with the split that goes with it."""
    split, plan = found.split, found.plan
    assert split is not None
    assert plan.problem is not None
    by_ratio = split.flag == "ratio"
    chosen = ratio_flags(split.ratio) if by_ratio else pin_flags(split.pin)
    predicted = prediction_of(
        plan.version, plan.problem, split.sizes, situation.context
    )
    gates = [step.gate for step in found.steps if step.gate]
    now = situation.today.concurrency if situation.today else None
    return Lever(
        name="least-change",
        flags=(*found.flags, *chosen),
        predicted=predicted,
        gain=(predicted.concurrency or 0) - (now or 0),
        gate="; ".join(gates) or None,
        reason=f"on {found.gpus} GPUs",
    )


def calibration_of(plan: Plan) -> Calibration:
    """Return *plan* as a calibration: exact bytes, and a budget with its interval."""
    model = plan.model
    template = plan.problem or SizingProblem(0.0, 1, (1,))
    sizes = solve(plan.version, template) if plan.problem else None
    reserved = sizes.slots_per_request if sizes else None
    boots = sizes is not None and sizes.boots
    settled = Settled(
        versions=(plan.version,),
        settings=plan.boot.settings,
        booted=template,
        planned=template,
        assumed={},
    )
    ends = (plan.low, plan.high) if plan.low != plan.high else ()
    return Calibration(
        boot=replace(plan.boot, notes=(*plan.boot.notes, *_notes(plan))),
        rank=None,
        settled=settled,
        printout=Printout(
            sizes.max_mamba_cache_size if sizes and boots else None,
            sizes.kv_tokens if sizes and boots else None,
            None,
        ),
        printed=Printed(None, None, None),
        trial=None,
        slot=Measured.exact(model.state_bytes_per_slot),
        token=Measured.exact(model.printed_kv_bytes_per_token),
        draft_token=(
            None if plan.draft_cell is None else Measured.exact(plan.draft_cell)
        ),
        charged_token=Measured.exact(plan.charged_cell),
        budget=plan.budget,
        slots_candidates=(reserved,) if reserved else (),
        planned=plan.problem,
        corners=tuple(Case(plan.version, end) for end in ends if end is not None),
        outcome=None,
        why_unchecked="nothing was booted yet",
        split_known=True,
        conv_share=Share(model.conv_bytes_per_slot, max(1, model.state_bytes_per_slot)),
        state_element=STATE_ELEMENT_BYTES.get(model.ssm_dtype),
        kv_element={"bfloat16": 2, "float16": 2}.get(model.kv_dtype),
    )


def _notes(plan: Plan) -> list[Note]:
    """Return what the plan took for granted, and what it lacks."""
    notes = [Note("problem", "model-refused", why) for why in plan.model.refusals]
    if plan.missing:
        options = ", ".join(plan.missing)
        notes.append(Note("warning", "budget-unknown", f"no budget without {options}"))
    notes.extend(Note("info", "assumed", why) for why in plan.assumptions)
    return notes
