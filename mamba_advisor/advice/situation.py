"""A boot, its workload and what today's split carries: what every rule looks at."""

from __future__ import annotations

from typing import Literal

from mamba_advisor.advice.calibration import Calibration
from mamba_advisor.advice.model import (
    Binding,
    Concurrency,
    Limits,
    Prediction,
    Workload,
)
from mamba_advisor.advice.predict import Case, binding_of, limits_of, predict
from mamba_advisor.boot import workers
from mamba_advisor.boot.model import Boot
from mamba_advisor.record import Record
from mamba_advisor.sizing import SizingProblem
from mamba_advisor.sizing.forward import known_pools
from mamba_advisor.sizing.problem import SPECULATION_LIMIT


class Situation(Record):
    """Everything that rules and levers look at."""

    calibration: Calibration
    workload: Workload
    concurrency: Concurrency
    today: Prediction | None
    """What today's split gives at the workload's context, as printed and modelled."""

    @property
    def boot(self) -> Boot:
        """The boot."""
        return self.calibration.boot

    @property
    def version(self) -> str:
        """The release whose arithmetic is used."""
        return self.calibration.version

    @property
    def context(self) -> int | None:
        """Average resident tokens of a request, None when unknown."""
        return self.workload.avg_context

    @property
    def problem(self) -> SizingProblem | None:
        """The plan: the boot with options applied."""
        return self.calibration.planned

    @property
    def target(self) -> int | None:
        """The concurrency wanted per DP worker, rounded up."""
        wanted = self.workload.concurrency
        if wanted is None:
            return None
        return -(-wanted // self.concurrency.workers)

    def predict(
        self, problem: SizingProblem, corners: tuple[Case, ...] = ()
    ) -> Prediction:
        """Return what *problem* gives at the workload's context."""
        return predict(self.version, problem, self.context, corners)


def situation_of(calibration: Calibration, workload: Workload) -> Situation:
    """Return what today's split of *calibration* carries under *workload*."""
    concurrency = _concurrency(calibration, workload)
    problem = calibration.planned
    today = (
        predict(calibration.version, problem, workload.avg_context, calibration.corners)
        if problem
        else None
    )
    return Situation(calibration, workload, concurrency, today)


def _concurrency(calibration: Calibration, workload: Workload) -> Concurrency:
    boot, printout = calibration.boot, calibration.printout
    candidates = calibration.slots_candidates
    reserved = candidates[0] if len(candidates) == 1 else None
    requested, by = requested_of(calibration)
    limits = _limits(calibration, workload.avg_context, requested, reserved)
    predicted = _predicted(calibration)
    in_force = printout.limit
    if in_force is None and reserved is not None:
        in_force = predicted
    sustained = None
    if workload.avg_context and in_force is not None and limits.kv is not None:
        sustained = min(in_force, limits.kv)
    shown = sustained if sustained is not None else in_force
    return Concurrency(
        requested=requested,
        effective=printout.limit,
        sustained=sustained,
        workers=workers(boot),
        slots_per_request=reserved,
        slots_per_request_candidates=candidates,
        limits=limits,
        binding=binding_of(limits, shown),
        predicted=predicted,
        requested_by=by,
    )


def requested_of(
    calibration: Calibration,
) -> tuple[int | None, Literal["user", "speculation", "default"] | None]:
    """Return the limit that was asked for, per DP worker, and who asked."""
    boot, settled = calibration.boot, calibration.settled
    problem = settled.booted
    asked = boot.reduced.figures.get("requested") if boot.reduced else None
    share = problem.attn_dp_size
    if problem.max_running_requests is not None:
        per_worker = max(1, problem.max_running_requests // share)
        by_default = problem.speculative and _reset_to_48(boot, problem)
        return per_worker, "speculation" if by_default else "user"
    if isinstance(asked, int):
        return asked, "user"
    in_force = calibration.printout.limit
    if problem.speculative and (in_force or SPECULATION_LIMIT) >= SPECULATION_LIMIT:
        return SPECULATION_LIMIT // share, "speculation"
    if settled.states("max_running_requests"):
        return None, "default"
    booted = calibration.trial.problem if calibration.trial else None
    if booted is not None and booted.max_running_requests is not None:
        # Nothing else explains the limit in force: somebody asked for it.
        return booted.max_running_requests // share, "user"
    return None, None


def _reset_to_48(boot: Boot, problem: SizingProblem) -> bool:
    """Return whether 48 is speculation's default: the notice says so."""
    return problem.max_running_requests == SPECULATION_LIMIT and any(
        notice.code == "notice-speculation-48" for notice in boot.notices
    )


def _limits(
    calibration: Calibration,
    context: int | None,
    requested: int | None,
    reserved: int | None,
) -> Limits:
    """Return the limits on the printed pools; what needs S is None without it."""
    slots, rows = calibration.printout.slots, calibration.printout.tokens
    problem = calibration.booted or calibration.settled.booted
    if rows is None:
        state = slots // reserved if slots is not None and reserved else None
        return Limits(state=state, request=requested)
    logical = rows * problem.dcp_size
    if slots is None:
        return Limits(kv=logical // context if context else None, request=requested)
    found = limits_of(
        calibration.version,
        problem,
        slots,
        rows,
        context=context,
        reserved=reserved or 1,
    )
    return Limits(
        state=found.state if reserved else None,
        kv=found.kv,
        kv_floor=found.kv_floor,
        request=requested,
        heuristic=found.heuristic,
    )


def _predicted(calibration: Calibration) -> int | None:
    """Return the limit that the model computes for the boot as it was."""
    if calibration.booted is None or len(calibration.slots_candidates) != 1:
        return None
    return known_pools(calibration.version, calibration.booted).max_running_requests


def binding_words(binding: Binding | None) -> str:
    """Return the name of a limit for people."""
    return {
        "state": "the state pool",
        "kv": "the KV pool",
        "kv_floor": "the KV pool (half its tokens)",
        "request": "--max-running-requests",
        "heuristic": "SGLang's own ceiling of 2048 to 4096",
        None: "nothing that the log shows",
    }[binding]
