"""Advice before any boot: a plan in the terms of the arithmetic."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from mamba_advisor.advice.calibration import Calibration
from mamba_advisor.advice.constants import Printed
from mamba_advisor.advice.engine import advise_situation
from mamba_advisor.advice.model import Advice, Workload
from mamba_advisor.advice.predict import Case
from mamba_advisor.advice.reserve import Printout
from mamba_advisor.advice.settle import Settled
from mamba_advisor.advice.situation import situation_of
from mamba_advisor.advice.whatif import STATE_ELEMENT_BYTES
from mamba_advisor.boot.model import Note
from mamba_advisor.measured import Measured
from mamba_advisor.plan.model import Plan
from mamba_advisor.sizing import SizingProblem, solve


def advise_plan(
    plan: Plan,
    workload: Workload | None = None,
    *,
    sweep: bool = False,
    curves: bool = False,
) -> Advice:
    """Return everything that *plan* amounts to.

    Args:
        plan: A config and arguments, sized.
        workload: What the server is meant to carry.
        sweep: Fill the whole grid over contexts and concurrencies.
        curves: Fill the data of the pictures.
    """
    calibration = calibration_of(plan)
    situation = situation_of(calibration, workload or Workload())
    return advise_situation(situation, sweep=sweep, curves=curves)


def calibration_of(plan: Plan) -> Calibration:
    """Return *plan* as a calibration: exact bytes, and a budget with its interval."""
    model = plan.model
    template = plan.problem or SizingProblem(0.0, 1, (1,))
    sizes = solve(plan.version, template) if plan.problem else None
    reserved = sizes.slots_per_request if sizes else None
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
            sizes.max_mamba_cache_size if sizes else None,
            sizes.kv_tokens if sizes else None,
            None,
        ),
        printed=Printed(None, None, None),
        trial=None,
        slot=Measured.exact(model.state_bytes_per_slot),
        token=Measured.exact(model.kv_bytes_per_token),
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
        conv_share=Fraction(
            model.conv_bytes_per_slot, max(1, model.state_bytes_per_slot)
        ),
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
