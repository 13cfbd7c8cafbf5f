"""Reading option values, and what several of them amount to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import pytest

from mamba_advisor.advice.model import Workload
from mamba_advisor.cli import values
from mamba_advisor.cli.call import gather
from mamba_advisor.cli.declared import SECTIONS
from mamba_advisor.cli.options import Command, Option

GIB = 1 << 30


def parsed(*arguments: str) -> dict[str, Any]:
    """Return what click makes of *arguments*, by parameter."""
    options = [
        Option(names, section=title, **settings)
        for title, declared in SECTIONS.items()
        for names, settings in declared
    ]
    return dict(
        click.Command("x", params=[*options]).make_context("x", [*arguments]).params
    )


CALLS: tuple[list[str], ...] = (
    [],
    ["-L", "8k", "--format", "json"],
    ["--input-len=1k", "--output-len", "2k", "-q"],
    ["--no-overlap", "--radix-cache", "--mamba-full-memory-ratio", "3"],
    ["--parser", "a.toml", "--parser=b.toml", "--boot", "all"],
    ["--plot", "x.svg", "--debug"],
    ["-qL8k", "--color=never"],
    ["-c", "7", "--", "--sweep"],
)


@pytest.mark.parametrize("arguments", CALLS, ids=" ".join)
def test_options_that_no_argument_names_have_their_defaults(
    arguments: list[str],
) -> None:
    """They are not made, and the call comes to the same."""
    command = Command("x", params=[click.Argument(["logs"], nargs=-1)])
    params = command.make_context("x", [*arguments]).params
    assert params.pop("logs") == (("--sweep",) if "--" in arguments else ())
    assert gather(params) == gather(parsed(*arguments[: 2 if "--" in arguments else 9]))


def test_only_named_options_are_made() -> None:
    """Where an argument is not understood at once, and for help, all are."""
    for arguments, made in (
        (["--format", "json"], ["--format"]),
        (["--no-overlap", "--tp-size=2"], ["--overlap", "--tp-size"]),
        (["-qL8k"], None),
    ):
        command = Command("x")
        command.make_context("x", arguments)
        found = [option.opts[-1] for option in command._made.values()]
        assert found == made if made else len(found) > 30
    assert len(Command("x").get_params(click.Context(Command("x")))) > 30


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (values.tokens, "9216", 9216),
        (values.tokens, "8k", 8192),
        (values.tokens, "128K", 131072),
        (values.tokens, "1M", 1048576),
        (values.tokens, "1.5k", 1536),
        (values.tokens, "1_000", 1000),
        (values.size, "80G", 80 * GIB),
        (values.size, "80GB", 80 * GIB),
        (values.size, "80 GiB", 80 * GIB),
        (values.size, "512m", GIB // 2),
        (values.size, "79.18G", 85018877624),
        (values.byte_count, "65536", 65536),
        (values.byte_count, "64K", 65536),
        (values.byte_count, "64KiB", 65536),
        (values.count, "16", 16),
        (values.count_or_zero, "0", 0),
        (values.release, "v0.5.17", "0.5.17"),
        (values.release, "0.5.9.post1", "0.5.9"),
        (values.which_boot, "all", "all"),
        (values.which_boot, "2", 2),
        (values.fraction, "0.85", 0.85),
        (values.ratio, "14", 14.0),
    ],
)
def test_value(read: Callable[[Any], Any], text: str, value: object) -> None:
    """Multiples are those of 1024; what was read once is kept as it is."""
    assert value == read(text)
    assert value == read(value)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (values.tokens, "0"),
        (values.tokens, "-8k"),
        (values.tokens, "8q"),
        (values.tokens, "8G"),
        (values.tokens, "0.5"),
        (values.tokens, ""),
        (values.tokens, "٣"),
        (values.tokens, "9" * 400),
        (values.size, "80"),
        (values.size, "80Gi B"),
        (values.size, "80iB"),
        (values.size, "GB"),
        (values.size, "1e3G"),
        (values.count, "1.5"),
        (values.count, "8k"),
        (values.release, "0.5"),
        (values.release, "newest"),
        (values.which_boot, "first"),
        (values.which_boot, "0"),
        (values.fraction, "85"),
        (values.fraction, "nan"),
        (values.ratio, "inf"),
        (values.ratio, "0"),
        (values.ratio, "5e-324"),
        (values.ratio, "2000000"),
    ],
)
def test_no_value(read: Callable[[Any], Any], text: str) -> None:
    """The message quotes what was given, and is one line."""
    with pytest.raises(click.BadParameter) as caught:
        read(text)

    assert repr(text) in caught.value.message
    assert "\n" not in caught.value.message


def test_lengths_add_up() -> None:
    """L is the sum of input and output: 8192 + 1024."""
    options = gather(parsed("--input-len", "8k", "--output-len", "1k", "-c", "16"))

    assert Workload(9216, "option", 16) == options.workload


def test_nothing_given() -> None:
    """Without options everything is left to the log."""
    options = gather(parsed())

    assert Workload() == options.workload
    assert not options.overrides
    assert ("table", "last", "auto") == (options.format, options.boot, options.color)


def test_overrides() -> None:
    """Options reach the overrides under their own names, switches in both ways."""
    given = gather(
        parsed(
            *("--strategy", "extra_buffer", "--no-overlap", "--radix-cache"),
            *("--max-mamba-cache-size", "45", "--gpu-memory", "80G", "--tp-size", "8"),
            *("--sglang-version", "0.5.17", "--draft-tokens", "0"),
        )
    ).overrides

    assert {
        "mamba_radix_cache_strategy": "extra_buffer",
        "disable_overlap_schedule": True,
        "disable_radix_cache": False,
        "max_mamba_cache_size": 45,
        "tp_size": 8,
        "speculative_num_draft_tokens": 0,
    } == dict(given.settings())
    assert (80 * GIB, "0.5.17") == (given.gpu_memory, given.sglang_version)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["-L", "8k", "--input-len", "1", "--output-len", "1"], "one or the other"),
        (["--input-len", "1k"], "go together"),
        (["--mamba-full-memory-ratio", "1", "--max-mamba-cache-size", "9"], "one of"),
        (["--plot-format", "svg"], "needs --plot"),
        (["--plot", "out.gif"], "none of .svg"),
        (["--plot", "out"], "none of .svg"),
    ],
)
def test_contradiction(arguments: list[str], reason: str) -> None:
    """Options that exclude each other are refused in a line."""
    with pytest.raises(click.UsageError, match=reason):
        gather(parsed(*arguments))


@pytest.mark.parametrize(
    ("arguments", "form"),
    [
        (["--plot", "out.html"], "html"),
        (["--plot", "out.PNG"], "png"),
        (["--plot", "-"], "svg"),
        (["--plot", "-", "--plot-format", "html"], "html"),
        (["--plot", "/dev/fd/3", "--plot-format", "png"], "png"),
    ],
)
def test_plot_format(arguments: list[str], form: str) -> None:
    """The ending tells the format, unless it was named."""
    assert form == gather(parsed(*arguments)).plot_format
