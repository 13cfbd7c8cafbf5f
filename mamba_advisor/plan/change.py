"""Can this GPU carry it, and if not, what is the least change that does?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from mamba_advisor.errors import InputError, MambaAdvisorError
from mamba_advisor.modelconfig import ConfigFile
from mamba_advisor.plan.make import make_plan
from mamba_advisor.plan.model import Plan
from mamba_advisor.plan.options import PlanOptions
from mamba_advisor.record import Record, replace
from mamba_advisor.sizing.optimum import Split, best_split
from mamba_advisor.sizing.releases import since

MOST_GPUS = 64
"""No more GPUs than this are tried."""

FP8_KV = ("fp8_e4m3", "fp8_e5m2", "mxfp8", "nvfp4", "fp4_mx_block16")
"""KV types that FP8 would not make smaller."""


class Step(Record):
    """One change of the launch."""

    name: str
    """``state-dtype``, ``kv-dtype``, ``strategy`` or ``gpus``."""

    flags: tuple[str, ...]
    gate: str | None
    """What must be validated before production; None: nothing."""

    change: Mapping[str, Any]
    """Field of `PlanOptions` -> its new value."""


class Attempt(Record):
    """A launch, and what its best split carries."""

    steps: tuple[Step, ...]
    """Changes from the launch as given; empty: none."""

    plan: Plan
    split: Split | None
    """The best split of the usual budget; None: nothing boots."""

    carries: bool
    """Whether the wanted concurrency is reached with the usual budget."""

    surely: bool
    """Whether it is reached with the smallest budget, too."""

    @property
    def gpus(self) -> int:
        """GPUs of the whole server, plain replicas counted."""
        options = self.plan.options
        replicas = 1 if options.attn_dp_size > 1 else options.dp_size
        return options.tp_size * options.pp_size * replicas

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of all steps."""
        return tuple(flag for step in self.steps for flag in step.flags)


class Answer(Record):
    """Whether the launch as given carries it, and what would."""

    given: Attempt
    least: Attempt | None
    """The least change that carries it; None: not needed, or none was found."""

    closest: Attempt | None = None
    """Where nothing carries it: the attempt that carries most."""


def least_change(
    config: ConfigFile | Mapping[str, Any] | None,
    options: PlanOptions,
    *,
    avg_context: int,
    concurrency: int,
) -> Answer:
    """Return whether the planned server carries the load, and the least change.

    Fewest GPUs come first, then fewest changes, then those that need least
    validation: the strategy, the state's type, the KV's type.

    Args:
        config: As for `make_plan`.
        options: The launch as given; its budget must be known.
        avg_context: Mean resident tokens of a request.
        concurrency: Requests at a time, whole server.

    Raises:
        ConfigError: As `make_plan`, for the launch as given.
        InputError: Likewise; or the budget is unknown.
        NotHybridError: Likewise.
    """
    given = _attempt(config, options, (), avg_context, concurrency)
    if given.plan.missing:
        raise InputError(f"needs {' and '.join(given.plan.missing)}")
    if given.carries:
        return Answer(given, None)
    best = given
    for steps in _steps(given.plan):
        changed = _changed(options, steps)
        try:
            attempt = _attempt(config, changed, steps, avg_context, concurrency)
        except MambaAdvisorError:
            continue
        if not attempt.plan.loadable:
            continue
        if attempt.carries:
            return Answer(given, attempt)
        if _sustained(attempt) > _sustained(best):
            best = attempt
    return Answer(given, None, best)


def _sustained(attempt: Attempt) -> int:
    return attempt.split.sustained if attempt.split else -1


def _attempt(
    config: ConfigFile | Mapping[str, Any] | None,
    options: PlanOptions,
    steps: tuple[Step, ...],
    avg_context: int,
    concurrency: int,
) -> Attempt:
    """Return what the best split of *options* carries."""
    plan = make_plan(config, options)
    workers = max(options.dp_size, options.attn_dp_size)
    wanted = -(-concurrency // workers)
    splits = [
        best_split(plan.version, problem, avg_context, wanted)
        if problem is not None and problem.rest_gib > 0
        else None
        for problem in (plan.problem, plan.low)
    ]
    reached = [
        split is not None and split.is_reached and plan.loadable for split in splits
    ]
    return Attempt(steps, plan, splits[0], reached[0], reached[1])


def _changed(options: PlanOptions, steps: tuple[Step, ...]) -> PlanOptions:
    """Return *options* with all *steps* made; one's own size by hand goes."""
    for step in steps:
        options = replace(options, **step.change)
    return options


def _steps(plan: Plan) -> Iterator[tuple[Step, ...]]:
    """Yield combinations of changes, the least first."""
    soft = _soft_steps(plan)
    wider: list[tuple[Step, ...]] = [(), *((step,) for step in _wider(plan))]
    for gpus in wider:
        for count in range(len(soft) + 1):
            for chosen in combinations(soft, count):
                if gpus or chosen:
                    yield (*chosen, *gpus)


def _soft_steps(plan: Plan) -> list[Step]:
    """Return the changes that need no further GPU, those that risk least first."""
    options, found = plan.options, []
    if _can_be_lazy(plan):
        found.append(
            Step(
                "strategy",
                ("--mamba-radix-cache-strategy", "extra_buffer_lazy"),
                "check prefix hits: the lazy buffer keeps fewer checkpoints",
                {"strategy": "extra_buffer_lazy"},
            )
        )
    if plan.model.ssm_bytes_per_slot and plan.model.ssm_dtype == "float32":
        found.append(
            Step(
                "state-dtype",
                ("--mamba-ssm-dtype", "bfloat16"),
                "validate accuracy on long outputs with a bfloat16 state",
                {"mamba_ssm_dtype": "bfloat16"},
            )
        )
    if plan.model.kv_bytes_per_token and plan.model.kv_dtype not in (
        *FP8_KV,
        "unknown",
    ):
        found.append(
            Step(
                "kv-dtype",
                ("--kv-cache-dtype", "fp8_e4m3"),
                "validate accuracy with an fp8 KV cache",
                {"kv_cache_dtype": "fp8_e4m3"},
            )
        )
    return [step for step in found if not _by_hand(options, step)]


def _by_hand(options: PlanOptions, step: Step) -> bool:
    """Return whether a constant by hand hides what the step would change."""
    return (step.name == "state-dtype" and options.state_bytes is not None) or (
        step.name == "kv-dtype" and options.kv_bytes is not None
    )


def _can_be_lazy(plan: Plan) -> bool:
    """Return whether the lazy buffer would reserve fewer slots here."""
    problem = plan.problem
    return (
        problem is not None
        and problem.strategy == "extra_buffer"
        and not problem.disable_radix_cache
        and not problem.disable_overlap_schedule
        and since(plan.version, "0.5.13")
        and (since(plan.version, "0.5.17") or not problem.speculative)
    )


def _wider(plan: Plan) -> list[Step]:
    """Return wider tensor parallelism and more replicas, fewest GPUs first.

    Constants of one rank given by hand do not tell what another width would take;
    weights given by hand are taken to split evenly.
    """
    options, found = plan.options, []
    fixed = (options.state_bytes, options.kv_bytes, options.budget)
    may_split = all(value is None for value in fixed)
    may_copy = options.attn_dp_size == 1
    factor = 2
    while factor * options.tp_size * options.pp_size * options.dp_size <= MOST_GPUS:
        copies = 1
        while copies <= factor:
            split = factor // copies
            if (may_split or split == 1) and (may_copy or copies == 1):
                found.append(_more_gpus(options, split, copies))
            copies *= 2
        factor *= 2
    return found


def _more_gpus(options: PlanOptions, split: int, copies: int) -> Step:
    """Return the step to *split* times the TP width and *copies* times the replicas."""
    change: dict[str, Any] = {}
    flags: tuple[str, ...] = ()
    if split > 1:
        change["tp_size"] = options.tp_size * split
        flags += ("--tp-size", str(change["tp_size"]))
        if options.weights is not None:
            change["weights"] = options.weights // split
    if copies > 1:
        change["dp_size"] = options.dp_size * copies
        flags += ("--dp-size", str(change["dp_size"]))
    return Step("gpus", flags, None, change)
