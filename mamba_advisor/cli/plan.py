"""``mamba-advisor plan``: advice before any boot."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from mamba_advisor.cli import values
from mamba_advisor.cli.declared import Declared, count, declare, tokens
from mamba_advisor.cli.options import Command, Option
from mamba_advisor.cli.show import finish
from mamba_advisor.errors import FAILED_BOOT, TooLittleError

if TYPE_CHECKING:
    from mamba_advisor.cli.call import Options
    from mamba_advisor.plan import PlanOptions

PLAN: tuple[Declared, ...] = (
    declare(
        "--gpus",
        metavar="NAME",
        help="GPU by name, for its public memory size: h100, h200, rtx4090, ...",
    ),
    declare(
        "--weights",
        type=values.measured_size,
        metavar="SIZE",
        help="Weights on one GPU, as SGLang prints them when loaded; else the files "
        "beside the config, else an estimate.",
    ),
    declare(
        "--budget",
        type=values.measured_size,
        metavar="SIZE",
        help="What both pools share on one GPU, where it is known.",
    ),
    declare(
        "--state-bytes",
        type=values.byte_count,
        metavar="N",
        help="Bytes of a state slot on one GPU, by hand.",
    ),
    declare(
        "--kv-bytes",
        type=values.byte_count,
        metavar="N",
        help="KV bytes of a token on one GPU, by hand.",
    ),
    tokens("--context-length", text="Longest context of a request."),
    tokens("--max-total-tokens", text="Cap on KV tokens."),
    count("--page-size", text="Tokens of a KV page."),
    declare(
        "--enable-dp-attention",
        is_flag=True,
        default=False,
        help="--dp-size counts attention workers, not replicas.",
    ),
    count("--ep-size", text="Expert-parallel width."),
    declare(
        "--speculative-algorithm", metavar="NAME", help="EAGLE, NEXTN, DFLASH, ..."
    ),
    count("--speculative-num-steps", text="Draft steps."),
    count("--speculative-eagle-topk", text="Drafts kept in each step."),
    declare(
        "--speculative-draft-model-path",
        "draft",
        metavar="CONFIG.json",
        help="The draft model's config, a file or a folder.",
    ),
    declare(
        "--swa-full-tokens-ratio",
        type=values.ratio,
        metavar="RATIO",
        help="Sliding-window tokens : full tokens, of models that have both.",
    ),
)
"""What only a plan takes."""


def _planning(command: Callable[..., None]) -> Callable[..., None]:
    """Give *command* the options of `PLAN`."""
    for names, settings in reversed(PLAN):
        command = click.option(*names, cls=Option, section="Plan", **settings)(command)
    return command


@click.command("plan", cls=Command)
@click.argument("config", metavar="CONFIG.json", required=False)
@_planning
@click.pass_context
def command(
    ctx: click.Context, /, options: Options, config: str | None, **given: Any
) -> None:
    """Advise before any boot, from a model's config.json.

    CONFIG.json is a file, a model's folder, or the name of a model in the local
    Hugging Face cache; nothing is downloaded.  It can be left out where --state-bytes
    and --kv-bytes are given.
    """
    from mamba_advisor.advice.planned import advise_plan
    from mamba_advisor.fleet import Outcome
    from mamba_advisor.modelconfig import read_config
    from mamba_advisor.plan import make_plan
    from mamba_advisor.plan.change import least_change

    if config is None and not (given["state_bytes"] and given["kv_bytes"]):
        raise click.UsageError("Missing argument 'CONFIG.json'.", ctx)
    model = None if config is None else read_config(config)
    wanted = _plan_options(options, given)
    plan = make_plan(model, wanted)
    task = options.task()
    load = options.workload
    answer = None
    if load.avg_context and load.concurrency and not plan.missing:
        answer = least_change(
            model, wanted, avg_context=load.avg_context, concurrency=load.concurrency
        )
    advice = advise_plan(
        plan, load, answer=answer, sweep=task.sweep, curves=task.curves
    )
    error = ""
    if plan.missing:
        error = f"no memory to split is known: give {' and '.join(plan.missing)}"
    status = TooLittleError.exit_code if error else 0
    if advice.verdict.kind == "failed":
        status = FAILED_BOOT
    finish(ctx, [Outcome(plan.boot.source.name, advice, error, status)], options)


def _plan_options(options: Options, given: dict[str, Any]) -> PlanOptions:
    """Return what the options say about the server that is planned."""
    from mamba_advisor.modelconfig import read_config
    from mamba_advisor.plan import PlanOptions

    rest = dict(given)
    draft, shared = rest.pop("draft"), options.overrides
    width = shared.dp_size or 1
    attention = rest.pop("enable_dp_attention")
    return PlanOptions(
        **{
            name: value
            for name, value in {**dict(shared.items()), **rest}.items()
            if value is not None
        },
        draft_config=None if draft is None else read_config(draft).config,
        attn_dp_size=width if attention else 1,
    )
