"""Published cases and real boots: the screen answers what their authors got wrong."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mamba_advisor.cli import main

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
REAL = sorted(SHARED.glob("logs-real/*.log"))
FIRST_SCREEN = 24

ANSWERS = (
    # Took 186 slots for 186 requests; no release of that day warned of the clamp.
    ("001", "", 0, "62 effective; the limit is the state pool (186 slots, 3 slots"),
    ("001", "", 0, "This split suits requests of about 5,279 tokens"),
    # conv only: a state without ssm bytes; 4.88 GiB for 60 KiB a slot.
    ("002", "", 0, "85,292 slots 473,854 tokens each 60.00 KiB a slot"),
    ("002", "", 0, "the limit is SGLang's own ceiling of 2048 to 4096"),
    # The log shows 117 slots, not the 64 that the guide passes.
    ("003", "", 0, "117 state slots and 1,226,984 KV tokens"),
    ("004", "-L 128k", 0, "14 requests at 131,072 tokens"),
    # Balanced at a ratio of 1.8 for 9,216 tokens and S = 4; divides by 258 rows.
    ("006", "-L 9216 --strategy extra_buffer_lazy", 0, "--mamba-full-memory-ratio 1.8"),
    ("006", "-L 9216 --strategy extra_buffer", 0, "the limit is the state pool (257"),
    ("006", "-L 9216 --strategy extra_buffer", 0, "a slot costs 4,065 tokens"),
    ("006", "-L 9216 --strategy extra_buffer", 0, "51 requests at 5 slots"),
    # Lowering the fraction is no way out of a negative budget.
    ("008", "", 5, "the weights take 7.96 GiB more than --mem-fraction-static grants"),
    ("008", "", 5, "raise --mem-fraction-static, or free memory on the GPU"),
    ("009", "", 0, "6 effective; the limit is your own --max-running-requests"),
    # The exchange rate of 4,422 is 55.05 MiB by what is charged, not by 12 KiB.
    ("009", "-L 8k", 0, "12.00 KiB a token, 12.75 KiB charged"),
    ("011", "", 0, "97 state slots and 600,000 KV tokens"),
    # Runs alone: with the default ratio KV was full and the states idle.
    ("013", "--boot 1", 3, "the KV pool is short"),
    ("013", "--boot 2", 3, "32.0 running (at most 32), 0.0 queued"),
    # The draft states, 16 times the state pool, are what takes the memory.
    ("014", "", 5, "draft states take 48.75 GiB, 16 times the state pool"),
    ("014", "", 5, "lower --max-running-requests or --speculative-num-draft-tokens"),
    # Bought 72 requests, of 3,173 tokens each.
    ("017", "", 0, "This split suits requests of about 3,173 tokens"),
    ("017", "-L 8k", 0, "72 effective → 27 sustained at 8,192 tokens"),
    # Two decimals of a tiny size allow a range, and the divisor is slots + 1.
    ("018", "-L 4k", 0, "2.56 KiB (1.28 to 3.84 KiB) a token"),
    # 823,296 bytes ÷ 1,310 to 3,932: one figure for it would mislead by a factor.
    ("018", "-L 8k", 0, "a slot costs 209 to 629 tokens"),
    ("019", "-L 8k --boot 1", 0, "12.80 MiB (11.26 to 14.34 MiB) a slot"),
    ("019", "-L 8k --boot 2", 0, "12.28 MiB a slot"),
    ("020", "-L 2k", 0, "2 requests at 2,048 tokens"),
    ("021", "--boot 4", 3, "2 effective; the limit is the state pool (10 slots, 5"),
    # Published 2 of 8 as a limit of the hardware; 40 slots and a spare one mend it.
    ("022", "-c 8", 0, "2 effective; the limit is the state pool (10 slots, 5 slots"),
    ("022", "-c 8", 0, "--max-mamba-cache-size 41 Gives a limit of 8 requests (+6)"),
    (
        "023",
        "--max-running-requests 4 -L 32k --strategy extra_buffer",
        0,
        "change nothing",
    ),
    # With the radix cache off the request limit sets the slots, not the ratio.
    ("024", "--no-radix-cache --max-running-requests 48", 0, "it also sets the slots"),
    ("024", "-L 8256", 0, "317 requests at 8,256 tokens"),
    # 64 slots are four for each of 16, and extra_buffer reserves five.
    ("030", "-c 16", 0, "12 effective; the limit is the state pool (64 slots, 5 slots"),
    ("030", "-c 16", 0, "--max-mamba-cache-size 81 Gives a limit of 16 requests"),
    ("032", "-c 32", 0, "--max-mamba-cache-size 161 Gives a limit of 32 requests"),
    ("034", "", 3, "the state pool fills first: 60 % against 40 % of the KV pool"),
    ("036", "", 0, "37 state slots and 333,254 KV tokens"),
    ("050", "-c 4", 0, "3 effective; the limit is the state pool (16 slots, 5 slots"),
    ("037", "", 3, "25 requests at 5 slots (32 at 4, 42 at 3)"),
    ("037", "", 3, "Caution the log ends before the ready line"),
    ("048", "", 3, "too few samples to tell: 2 decode lines"),
    ("050", "-c 4", 0, "--max-mamba-cache-size 21"),
    ("050", "-c 4 -L 32k", 0, "Gives a limit of 4 requests"),
    ("051", "-c 8", 0, "4 effective; the limit is the state pool (24 slots, 5 slots"),
    ("051", "-c 8", 0, "--max-mamba-cache-size 41 Gives a limit of 8 requests (+4)"),
)
"""Case, options, exit code, and what the first screen must say."""

FIGURES = (
    # Read the requested 8 in server_args instead of the effective 6.
    ("026", "--max-running-requests 8", "concurrency.effective", 6),
    ("026", "--max-running-requests 8", "concurrency.requested", 8),
    ("032", "--max-running-requests 32", "concurrency.effective", 9),
    ("032", "", "concurrency.slots_per_request", 5),
    # Lines retyped by hand are not half understood: tokens yes, sizes no.
    ("010", "", "kv_pool.tokens", 1_049_344),
    ("010", "", "kv_pool.bytes_per_token", None),
    ("016", "--strategy no_buffer", "concurrency.limits", {"state": 72}),
    ("037", "", "state_pool.slots", 128),
    ("041", "--strategy extra_buffer", "concurrency.limits", {"state": 8}),
    # The state pool's line was cut away: unknown, not absent.
    ("043", "", "kv_pool.tokens", 159_552),
    ("043", "", "model.hybrid", True),
    ("005", "", "model.hybrid", True),
    ("044", "", "model.hybrid", False),
)
"""Case too short for advice, options, path, and a figure that its JSON still gives."""

REFUSED = (
    ("005", 3, "state pool's line"),
    ("012", 3, "(found: batch lines)"),
    ("040", 3, "the pool lines"),
    ("042", 3, "the pool lines"),
    ("044", 4, "LlamaForCausalLM: not a hybrid model"),
    ("045", 4, "GlmMoeDsaForCausalLM: not a hybrid model"),
    ("046", 4, "not a hybrid model"),
    ("047", 4, "a batch line without the use of a state pool"),
    ("048", 3, "(found: weights, batch lines)"),
    ("052", 3, "the pool lines"),
)
"""Case, exit code, and the reason given on stderr."""

COACHED = (
    # rest = -0.74 + (0.67 - 0.55) * 22.98 = 2.02 GiB; 0.9/1.9 of it, less one row,
    # holds 6 slots of 132.90 MiB: one request at 5. At 0.66 five would not fit.
    (
        "0.5.20-fail-nomem",
        ["--mem-fraction-static", "0.67"],
        "lowering --mem-fraction-static makes it worse",
    ),
    (
        "0.5.12-fail-nomem",
        ["--mem-fraction-static", "0.64"],
        "lowering --mem-fraction-static makes it worse",
    ),
    # 64 requests at S slots and a spare one: 3 * 64 + 1, 5 * 64 + 1.
    (
        "0.5.12-fail-qwen3next-tiny-ratio",
        ["--max-mamba-cache-size", "193"],
        "the state pool has 0 slots and one request reserves 3",
    ),
    (
        "0.5.18-fail-qwen3next-tiny-ratio",
        ["--max-mamba-cache-size", "321"],
        "the ratio gives the state pool too little of it",
    ),
    # The engine's own advice, to raise the fraction, would not help here.
    (
        "0.5.23-fail-qwen3next-pin-too-big",
        ["--mamba-full-memory-ratio", "0.9"],
        "--max-mamba-cache-size 200,000 takes the whole budget of 66.15 GiB",
    ),
    (
        "0.5.18-fail-qwen3next-mtp-oom",
        ["--mem-fraction-static", "0.67"],
        "the draft model's KV is not in their budget",
    ),
    ("0.5.23-fail-oom-weights", None, "the weights do not fit into the GPU's memory"),
    (
        "0.5.18-fail-qwen3next-no_buffer-overlap",
        ["--disable-overlap-schedule"],
        "Add --disable-overlap-schedule",
    ),
)
"""Failed boot, the flags that boot, and the cause as the first screen gives it."""


def analyze(log: Path, options: str = "") -> Result:
    """Run ``mamba-advisor analyze`` on *log* in this process."""
    return CliRunner().invoke(main, ["analyze", str(log), *options.split()])


def published(shared: Path, case: str) -> Path:
    """Return the log of a published *case*, by its number."""
    (log,) = (shared / "logs").glob(f"{case}-*.log")
    return log


def first_screen(shown: Result) -> str:
    """Return the first screen in one line: what wraps is no matter here."""
    return " ".join(" ".join(shown.stdout.splitlines()[:FIRST_SCREEN]).split())


def reported(log: Path, options: str = "") -> tuple[int, Any]:
    """Return the exit code, and the JSON of *log*'s last boot (None without one)."""
    shown = analyze(log, f"--format json {options}")
    return shown.exit_code, json.loads(shown.stdout) or None


@pytest.mark.parametrize(
    ("case", "options", "code", "answer"),
    ANSWERS,
    ids=[f"{case}-{number}" for number, (case, *_) in enumerate(ANSWERS)],
)
def test_published_answers(
    shared: Path, case: str, options: str, code: int, answer: str
) -> None:
    """The first screen says the right thing about what the author missed."""
    shown = analyze(published(shared, case), options)

    assert answer in first_screen(shown)
    assert code == shown.exit_code


@pytest.mark.parametrize(
    ("case", "options", "path", "figure"),
    FIGURES,
    ids=[f"{case}-{number}" for number, (case, *_) in enumerate(FIGURES)],
)
def test_published_figures(
    shared: Path, case: str, options: str, path: str, figure: object
) -> None:
    """What a log too short for advice does say is in the JSON all the same."""
    _, report = reported(published(shared, case), options)

    part, name = path.split(".")
    found = report[part][name]
    if isinstance(figure, dict):
        found = {key: found[key] for key in figure}
    assert figure == found


@pytest.mark.parametrize(("case", "code", "reason"), REFUSED)
def test_published_refusals(shared: Path, case: str, code: int, reason: str) -> None:
    """Where there is nothing to advise on, the exit code and the reason say so."""
    shown = analyze(published(shared, case))

    assert reason in " ".join(shown.stderr.split())
    assert code == shown.exit_code


@pytest.mark.parametrize(("name", "flags", "cause"), COACHED)
def test_failed_boots(
    shared: Path, name: str, flags: list[str] | None, cause: str
) -> None:
    """A failed boot gets its cause, and where figures allow it flags that boot."""
    log = shared / "logs-real" / f"{name}.log"

    code, report = reported(log)

    advised = report["recommendation"]
    assert 5 == code
    assert flags == (advised and advised["flags"])
    assert cause in first_screen(analyze(log))


@pytest.mark.parametrize("log", REAL, ids=lambda log: log.stem)
def test_real_boots(shared: Path, log: Path) -> None:
    """The model returns what the server held, and the exit code fits the outcome."""
    about = tomllib.loads(log.with_suffix(".toml").read_text(encoding="utf-8"))
    assert shared.is_dir()

    code, report = reported(log)

    assert expected_code(about) == code
    if code == 0 and about.get("rank"):
        held, check = about["rank"][0], report["self_check"]
        assert held["max_mamba_cache_size"] == check["slots"]
        assert held["kv_tokens"] == check["kv_tokens"]
        assert held["max_running_requests"] == check["concurrency"]
        assert check["outcome"] in ("exact", "consistent")


def expected_code(about: dict[str, Any]) -> int:
    """Return the exit code that a real boot deserves, from what is known of it."""
    name = about["name"]
    if "dense" in name:
        return 4
    if "loglevel-warning" in name:
        return 3
    both_pools_and_no_end = "dims-qwen3next80b-tp4-mtp" in name
    return 0 if about["fired_up"] or both_pools_and_no_end else 5


@pytest.mark.parametrize(
    ("name", "options", "flags", "binding"),
    [
        # 19 of 24: 96 slots at 5; 24 * 5 + 1 slots, and nothing else, mend it.
        (
            "0.5.23-qwen3next-pin96-mrr24",
            "",
            ["--max-mamba-cache-size", "121"],
            "state",
        ),
        # No split helps: the user's own limit binds.
        ("0.5.23-qwen3next-default", "-L 8k", [], "request"),
        ("0.5.18-qwen3next-h200", "-L 8k", [], "heuristic"),
        # The other way round: the state pool is too large at 32k.
        (
            "0.5.18-dims-qwen3next80b-tp4",
            "-L 32k",
            ["--mamba-full-memory-ratio", "0.253"],
            "kv",
        ),
    ],
)
def test_real_recommendations(
    shared: Path, name: str, options: str, flags: list[str], binding: str
) -> None:
    """The limit that binds has its name, and only a split that helps is advised."""
    code, report = reported(shared / "logs-real" / f"{name}.log", options)

    assert 0 == code
    assert flags == report["recommendation"]["flags"]
    assert binding == report["concurrency"]["binding"]
