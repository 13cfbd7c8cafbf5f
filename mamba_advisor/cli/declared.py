"""The shared options as declared: names, kinds, help; by headline of ``--help``."""

from __future__ import annotations

from typing import Any

import click

from mamba_advisor.cli import values

FORMATS = ("table", "json", "markdown", "flags")
PLOT_FORMATS = ("svg", "png", "html")
STRATEGIES = ("auto", "no_buffer", "extra_buffer", "extra_buffer_lazy")
KV_DTYPES = ("auto", "bf16", "bfloat16", "fp8_e4m3", "fp8_e5m2", "fp4_e2m1")
STATE_DTYPES = ("float32", "bfloat16", "float16")

Declared = tuple[tuple[str, ...], dict[str, Any]]
"""Names and settings of one option."""


def declare(*names: str, **settings: Any) -> Declared:
    """Return the declaration of an option that is None unless given."""
    return names, {"default": None, **settings}


def tokens(*names: str, text: str) -> Declared:
    """Declare an option that takes a number of tokens."""
    return declare(*names, type=values.tokens, metavar="TOKENS", help=text)


def count(*names: str, text: str, metavar: str = "N") -> Declared:
    """Declare an option that takes a whole number from 1."""
    return declare(*names, type=values.count, metavar=metavar, help=text)


def choice(name: str, choices: tuple[str, ...], *, text: str, **more: Any) -> Declared:
    """Declare an option that takes one of a few words."""
    return declare(name, type=click.Choice(choices), help=text, **more)


def remember_debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    """Note ``--debug`` for the whole call, before or after the command's name."""
    if value:
        ctx.meta["debug"] = True


WORKLOAD = (
    tokens(
        "-L",
        "--avg-context",
        text="Mean context per request, input + output; 8k is 8192.",
    ),
    tokens("--input-len", text="Mean input; with --output-len in place of -L."),
    tokens("--output-len", text="Mean output."),
    count(
        "-c",
        "--concurrency",
        text="Requests at a time that the whole server should carry.",
    ),
    count(
        "--sessions",
        text="Idle conversations that should stay resumable, whole server.",
    ),
)

FACTS = (
    choice("--strategy", STRATEGIES, text="State checkpoints of the prefix cache."),
    declare("--radix-cache/--no-radix-cache", help="Prefix cache."),
    declare("--overlap/--no-overlap", help="Overlap scheduler."),
    declare(
        "--skip-decode-lock/--no-skip-decode-lock",
        help="SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK, from 0.5.17.",
    ),
    declare(
        "--draft-tokens",
        type=values.count_or_zero,
        metavar="N",
        help="Draft tokens of speculative decoding; 0: none.",
    ),
    declare("--replayssm/--no-replayssm", help="ReplaySSM rings, from 0.5.17."),
    count("--tp-size", text="Tensor-parallel width."),
    count("--dp-size", text="Data-parallel width."),
    count("--pp-size", text="Pipeline stages."),
    count("--dcp-size", text="Decode-context-parallel width."),
    choice("--kv-cache-dtype", KV_DTYPES, text="Element type of the KV pool."),
    choice("--mamba-ssm-dtype", STATE_DTYPES, text="Element type of the states."),
    declare(
        "--mem-fraction-static",
        type=values.fraction,
        metavar="FRACTION",
        help="Share of the GPU for weights and pools, 0 to 1.",
    ),
    declare(
        "--mamba-full-memory-ratio",
        "ratio",
        type=values.ratio,
        metavar="RATIO",
        help="State pool : KV pool.",
    ),
    count(
        "--max-mamba-cache-size",
        "pin",
        metavar="SLOTS",
        text="State slots, whole server, in place of the ratio.",
    ),
    count("--max-running-requests", text="Limit on requests, whole server."),
    declare(
        "--gpu-memory",
        type=values.size,
        metavar="SIZE",
        help="Memory of one GPU; 80G, 80GB and 80GiB are 80 × 2³⁰ bytes.",
    ),
    declare(
        "--sglang-version",
        type=values.release,
        metavar="X.Y.Z",
        help="Release whose arithmetic applies.",
    ),
)

OUTPUT = (
    choice(
        "--format",
        FORMATS,
        text="flags: only the launch flags, for $(...).",
        default="table",
        show_default=True,
    ),
    declare(
        "--explain",
        is_flag=True,
        default=False,
        help="Every formula with its numbers and log lines.",
    ),
    declare(
        "--sweep",
        is_flag=True,
        default=False,
        help="A grid over average context and concurrency.",
    ),
    declare(
        "--plot",
        metavar="FILE",
        help="Draw to FILE.svg, FILE.png or FILE.html; -: to stdout, in place of "
        "the report.",
    ),
    choice(
        "--plot-format",
        PLOT_FORMATS,
        text="Format of --plot where its name does not tell (svg).",
    ),
    choice(
        "--color",
        ("auto", "always", "never"),
        text="NO_COLOR and FORCE_COLOR are heeded, too.",
        default="auto",
        show_default=True,
    ),
    declare(
        "--parser",
        "parsers",
        multiple=True,
        metavar="FILE",
        help="A further log dialect; repeatable.",
    ),
    declare(
        "--boot",
        type=values.which_boot,
        default="last",
        show_default=True,
        metavar="last|all|N",
        help="Which server start in the log.",
    ),
    count(
        "--require-concurrency",
        text="Exit 6 when this boot runs fewer requests at a time.",
    ),
    declare(
        "-q", "--quiet", is_flag=True, default=False, help="No notes and no progress."
    ),
    declare(
        "--debug",
        is_flag=True,
        default=False,
        expose_value=False,
        callback=remember_debug,
        help="Show tracebacks.",
    ),
)

EVIDENCE = (
    declare(
        "--config",
        metavar="CONFIG.json",
        help="The model's config: makes the log's rounded figures exact.",
    ),
    declare(
        "--metrics",
        metavar="FILE|URL",
        help="Prometheus text of the running server: evidence of its load.",
    ),
    declare("--server", metavar="URL", help="A running server: its arguments."),
    declare(
        "--follow",
        is_flag=True,
        default=False,
        help="Keep reading a growing log, through rotation.",
    ),
)

SECTIONS = {
    "Workload": WORKLOAD,
    "Facts and what-ifs; an option wins over the log": FACTS,
    "Output": OUTPUT,
    "Evidence": EVIDENCE,
}
"""Headline in ``--help`` -> its options."""
