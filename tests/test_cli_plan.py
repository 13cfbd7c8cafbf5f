"""``mamba-advisor plan``: advice before any boot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mamba_advisor.cli import main
from mamba_advisor.errors import FAILED_BOOT
from mamba_advisor.modelconfig.published import all_published

PUBLISHED = {model.name: dict(model.config) for model in all_published()}
H100 = ("--gpus", "h100", "--weights", "50.05G")
BY_HAND = ("--state-bytes", "150M", "--kv-bytes", "64K")


def plan(*arguments: object) -> Result:
    """Run ``mamba-advisor plan`` in this process."""
    return CliRunner().invoke(main, ["plan", *map(str, arguments)])


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Return the config of Qwen3.5-27B."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(PUBLISHED["Qwen/Qwen3.5-27B"]))
    return path


@pytest.fixture
def dense(tmp_path: Path) -> Path:
    """Return the config of a model that keeps no states."""
    path = tmp_path / "dense.json"
    path.write_text(
        json.dumps(
            {
                "architectures": ["Qwen3ForCausalLM"],
                "model_type": "qwen3",
                "hidden_size": 64,
                "num_hidden_layers": 2,
                "num_attention_heads": 4,
                "num_key_value_heads": 2,
            }
        )
    )
    return path


def test_answer(config: Path) -> None:
    """Config, GPU, weights and context give a flag; what is inferred is marked."""
    shown = plan(config, *H100, "-L", "64k")

    first = "\n".join(shown.stdout.splitlines()[:10])
    assert (0, "") == (shown.exit_code, shown.stderr)
    assert "--mamba-full-memory-ratio" in first
    assert "~ inferred or given" in shown.stdout


def test_json_is_the_object_of_analyze(config: Path) -> None:
    """The same keys; no boot, no ranks, no check; the origin of an option is said."""
    shown = plan(config, *H100, "-L", "9216", "--tp-size", "2", "--format", "json")

    document = json.loads(shown.stdout)
    assert str(config) == document["source"]["name"]
    assert [] == document["ranks"]
    assert [None] * 4 == [
        document[key] for key in ("outcome", "failure", "runtime", "self_check")
    ]
    assert {"value": 2, "origin": "option"} == document["settings"]["tp_size"]
    assert 9216 == document["workload"]["avg_context"]


def test_folder_is_a_model(config: Path) -> None:
    """A model's folder stands for the config in it."""
    call = (*H100, "-L", "8k", "--format", "flags")

    assert plan(config, *call).stdout == plan(config.parent, *call).stdout


def test_weights_are_taken_at_their_digits(config: Path) -> None:
    """``50.05G`` is good to half a hundredth of a GiB, ``50G`` is exact."""
    wide, exact = (
        json.loads(
            plan(config, "--gpus", "h100", "--weights", size, "--format", "json").stdout
        )["budget_bytes"]
        for size in ("50.0G", "50G")
    )

    assert wide["high"] - wide["low"] > exact["high"] - exact["low"]


def test_constants_by_hand() -> None:
    """Two numbers and a budget are enough: 150 MiB ÷ 64 KiB = 2400 tokens a slot."""
    shown = plan(*BY_HAND, "--budget", "16G", "-L", "16k", "--format", "json")

    document = json.loads(shown.stdout)
    assert 0 == shown.exit_code
    assert 2400 == document["token_equivalent"]["value"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "Missing argument 'CONFIG.json'."),
        (["--state-bytes", "1M"], "Missing argument 'CONFIG.json'."),
        (["none.json", "--gpus", "h100"], "'none.json' is no file"),
        ([*BY_HAND, "--gpus", "h1000"], "unknown GPU 'h1000'"),
        ([*BY_HAND, "--budget", "16"], "'16' is no size"),
        ([*BY_HAND, "--budget", "1G", "--sglang-version", "0.5.2"], "0.5.2"),
    ],
)
def test_wrong_call(arguments: list[str], reason: str) -> None:
    """What cannot be planned is said in the last line on stderr."""
    failed = plan(*arguments)

    assert failed.exit_code in {2, 3}
    assert reason in failed.stderr.splitlines()[-1]
    assert "" == failed.stdout


def test_not_a_hybrid(dense: Path) -> None:
    """A config without a state layer is exit 4, and the reason is given."""
    failed = plan(dense, "--gpus", "h100")

    assert 4 == failed.exit_code
    assert 1 == failed.stderr.count("\n")
    assert "qwen3" in failed.stderr


def test_no_budget(config: Path) -> None:
    """Without a GPU the options that are missing are named, with exit 3."""
    shown = plan(config, "-L", "8k")

    assert 3 == shown.exit_code
    assert "--gpu-memory SIZE or --gpus NAME" in shown.stderr


def test_gate(config: Path) -> None:
    """``--require-concurrency`` gates a plan as it does a boot."""
    call = (config, *H100, "-L", "8k", "--require-concurrency")

    assert (0, 6) == (plan(*call, 1).exit_code, plan(*call, 9999).exit_code)


def test_plot(config: Path) -> None:
    """A plan can be drawn to stdout."""
    shown = plan(config, "--gpus", "h100", "-L", "8k", "--plot", "-")

    assert shown.stdout.startswith("<svg")


@pytest.mark.parametrize(
    ("options", "headline"),
    [
        (("--gpu-memory", "24G"), "This launch does not boot."),
        (("--gpu-memory", "66G"), "This launch probably does not boot."),
        (
            ("--gpu-memory", "80G", "--max-mamba-cache-size", "5000"),
            "This launch does not boot.",
        ),
    ],
)
def test_launch_that_cannot_boot(
    config: Path, options: tuple[str, ...], headline: str
) -> None:
    """Weights that do not fit, or a pin that takes all, give no pool below zero."""
    shown = plan(config, "--weights", "50.05G", *options)

    assert (FAILED_BOOT, "") == (shown.exit_code, shown.stderr)
    assert headline in shown.stdout
    assert "slots," not in shown.stdout


def test_launch_that_cannot_boot_gets_what_boots(config: Path) -> None:
    """With a load the least change is advised, and counts as advice."""
    load = ("-L", "4k", "--concurrency", "8")
    shown = plan(config, "--gpu-memory", "24G", "--weights", "50.05G", *load)

    assert 0 == shown.exit_code
    assert "This launch does not boot." in shown.stdout
    assert "--tp-size 4" in shown.stdout
