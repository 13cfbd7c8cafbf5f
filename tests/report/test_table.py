"""The screen: the answer first, at any width, in any encoding, in any colour."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import pytest
from rich.cells import cell_len

from mamba_advisor.advice.model import Advice
from mamba_advisor.report import render

ANSI = re.compile(r"\x1b\[[0-9;]*m")
WIDTHS = (20, 40, 60, 80, 120)


def squeezed(text: str) -> str:
    """Return *text* without blanks and line ends, as folding leaves it."""
    return "".join(text.split())


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("unicode", [True, False])
def test_nothing_sticks_out_and_nothing_is_cut(
    advice: Advice, width: int, unicode: bool
) -> None:
    """Lines keep to the width; flags and messages fold and stay whole."""
    text = render([advice], width=width, unicode=unicode, explain=True)

    lines = text.splitlines()
    assert max(map(cell_len, lines)) <= width
    assert "…" not in text
    assert lines == [line.rstrip() for line in lines]
    assert unicode or text.isascii()
    assert text.replace("\n", "").isprintable()
    flags = [advice.recommendation.flags] if advice.recommendation else []
    flags += [lever.flags for lever in advice.levers]
    messages = [finding.message for finding in advice.findings if unicode]
    for whole in (*map(" ".join, flags), *messages):
        assert squeezed(whole) in squeezed(text)


@pytest.mark.parametrize("width", WIDTHS)
def test_colour_changes_nothing_but_colour(advice: Advice, width: int) -> None:
    """Without its escapes a coloured screen is the plain one."""
    plain = render([advice], width=width)
    coloured = render([advice], width=width, color=True)

    assert "\x1b" not in plain
    assert "\x1b[" in coloured
    bare = [line.rstrip() for line in ANSI.sub("", coloured).splitlines()]
    assert plain.splitlines() == bare


def test_first_ten_lines_answer(advices: dict[str, Advice]) -> None:
    """Requested → effective → sustained, the limit, the flag, what it gives."""
    first = "\n".join(render([advices["state-bound"]]).splitlines()[:10])

    assert "62 requested → 26 effective → 26 sustained at 4,096 tokens" in first
    assert "is the state pool (131 slots, 5 slots per request)" in first
    assert "Do this   --mamba-full-memory-ratio 2.84\n" in first
    assert "41 requests (+15), 206 slots, 168,960 tokens; costs 175,104" in first
    assert "--max-mamba-cache-size 206" in first


@pytest.mark.parametrize("kind", ["state-bound", "no-context", "kv-bound"])
def test_main_part_fits_a_screen(kind: str, advices: dict[str, Advice]) -> None:
    """Verdict, flag, pools, and levers or table take 24 lines of 80 columns."""
    advice = advices[kind]
    if advice.sweep:
        advice = replace(advice, levers=())
    lines = render([replace(advice, findings=())]).splitlines()

    main_part = lines[: lines.index("Basis") - 1]
    assert len(main_part) <= 24


def test_what_must_be_true_comes_before_the_flag(advices: dict[str, Advice]) -> None:
    """A condition stands above the flag that needs it."""
    text = render([advices["kv-bound"]])

    assert 0 < text.index("first raise --mem-fraction") < text.index("Do this")


def test_severity_is_a_word_and_worst_comes_first(advices: dict[str, Advice]) -> None:
    """Findings are ordered by severity, which is spelled out."""
    text = render([advices["state-bound"]])

    found = re.findall(r"^(problem|warning|info|ok) +", text, re.MULTILINE)
    assert ["warning", "info", "ok"] == found


def test_bars_show_which_pool_binds(advices: dict[str, Advice]) -> None:
    """26 of 26 fills the bar of 15; 26 of 84 fills 26 ÷ 84 × 15 = 4.6, that is 5."""
    text = render([advices["state-bound"]], width=80)

    assert f"{'█' * 15} 26 of 26  {'█' * 5}{'░' * 10} 26 of 84" in text
    assert "State, binds" in text


def test_a_pool_that_carries_nothing_has_an_empty_bar(
    advices: dict[str, Advice],
) -> None:
    """0 requests of 0 is no division."""
    base = advices["state-bound"]
    none = replace(base.concurrency.limits, state=0)
    starved = replace(base.concurrency, effective=0, sustained=0, limits=none)

    text = render([replace(base, concurrency=starved)])

    assert f"{'░' * 15} 0 of 0" in text


def test_inferred_figures_are_marked(advices: dict[str, Advice]) -> None:
    """What no log line states carries the mark, and the mark is explained, once."""
    read, planned = render([advices["state-bound"]]), render([advices["plan"]])

    assert "extra_buffer~" in read
    assert "ratio 0.9 ·" in read
    assert "73.41 MiB~ a slot" in planned
    for text in (read, planned):
        assert 1 == text.count("~ inferred or given, not read from a log")


def test_intervals_show_where_they_are_wide(advices: dict[str, Advice]) -> None:
    """± 0.005 of 9.46 GiB is left out; 9 to 11 GiB is said."""
    read, planned = render([advices["state-bound"]]), render([advices["plan"]])

    assert "9.46 GiB   " in read
    assert "10.00 GiB (9.00 to 11.00 GiB)~" in planned
    assert "206 (198 to 213) slots" in planned
    assert "168,960 tokens" in planned


def test_without_a_context_there_is_a_table(advices: dict[str, Advice]) -> None:
    """No flag is advised; today's split has its row at the context it is right for."""
    text = render([advices["no-context"]])

    assert "Do this" not in text
    contexts = re.findall(r"^ +([0-9,]+) ", text, re.MULTILINE)
    assert ["2,048", "8,192", "13,233", "32,768", "131,072"] == contexts
    assert "This split suits requests of about 13,233 tokens" in text


def test_wanted_concurrency_that_is_not_reached_is_said(
    advices: dict[str, Advice],
) -> None:
    """44 at best carry 32 wanted, not 64; a context stands once for its rows."""
    text = render([advices["wanted"]])

    rows = [line.split() for line in text.splitlines() if "224" in line]
    assert ["2,048", "most", "26", "44", "4.73", "224", "state", "pool"] == rows[0]
    assert ["32", "26", "44", "4.73", "224", "state", "pool"] == rows[1]
    assert ["64", "26", "44", "4.73", "224", "too", "few"] == rows[2]


def test_a_check_that_differs_stands_by_the_answer(
    advices: dict[str, Advice],
) -> None:
    """A model that does not return the boot takes trust away, at the top."""
    base = advices["state-bound"]
    check = replace(base.self_check, outcome="differs", message="the model differs")

    text = render([replace(base, self_check=check)])

    assert text.index("Caution   the model differs") < text.index("Do this")


def test_a_failed_boot_shows_where(advices: dict[str, Advice]) -> None:
    """The failing line and the way out are there, pools are not."""
    text = render([advices["failed"]])

    failed = text.index("Failed    line 88: RuntimeError: Not enough GPU memory")
    assert text.index("Do this   --mem-fraction-static 0.9\n") < failed
    assert "Gives     a limit of 4 requests" in text
    assert "Pools" not in text


def test_the_run_is_told(advices: dict[str, Advice]) -> None:
    """Samples, what was left out, context, queue, usages and the hot pool are there."""
    text = " ".join(render([advices["kv-bound"]]).split())

    for part in (
        "3,204 samples over 2 h 5 min, 2026-09-14 12:00:01 to 14:05:11",
        "120 lines left out: no request was running",
        "32,768 tokens per running request, 20,480 to 47,104 in 8 of 10 samples",
        "9.6 running (at most 11), 4.2 queued (at most 30)",
        "4.0 slots held per request, 5 reserved",
        "97 % used (at most 100 %)",
        "the KV pool is short: in 39 % of the samples requests queued",
        "61 % of the prompt tokens were cached",
        "DP1 32,768 9.6 4.2 32 % 97 % none",
        "enough for the 40 wanted",
    ):
        assert part in text


@pytest.mark.parametrize(("samples", "shown"), [(9, False), (10, True)])
def test_a_spread_takes_ten_samples(
    samples: int, shown: bool, advices: dict[str, Advice]
) -> None:
    """Of two samples nothing holds for 8 of 10."""
    base = advices["kv-bound"]
    assert base.boot.runtime is not None
    total = replace(base.boot.runtime.total, samples=samples)
    run = replace(base.boot.runtime, total=total)

    text = render([replace(base, boot=replace(base.boot, runtime=run))])

    assert shown is ("in 8 of 10 samples" in text)


@pytest.mark.parametrize(
    ("samples", "why", "shown"),
    [
        (2, "too few samples to tell: 2 decode lines", "too few samples to tell: 2"),
        (90, "hardly a request queued", "neither pool is short: hardly a request"),
        (0, "", "cannot tell before the first decode line"),
    ],
)
def test_what_is_not_known_is_not_called_idle(
    samples: int, why: str, shown: str, advices: dict[str, Advice]
) -> None:
    """That neither pool is short takes samples."""
    base = advices["kv-bound"]
    assert base.boot.runtime is not None
    total = replace(
        base.boot.runtime.total, samples=samples, hot_pool=None, hot_why=why
    )
    run = replace(base.boot.runtime, total=total)

    text = render([replace(base, boot=replace(base.boot, runtime=run))])

    assert f"Hot pool  {shown}" in text


def test_a_warm_up_is_no_run(advices: dict[str, Advice]) -> None:
    """Without a sample, a retraction or an exhausted pool there is nothing to tell."""
    base = advices["kv-bound"]
    assert base.boot.runtime is not None
    nothing = replace(
        base.boot.runtime,
        total=replace(base.boot.runtime.total, samples=0, retractions=0),
        workers=(),
        exhausted=(),
    )

    text = render([replace(base, boot=replace(base.boot, runtime=nothing))])

    assert "The run" not in text


def test_nothing_is_said_twice(advices: dict[str, Advice]) -> None:
    """The reason is left out where the verdict gives it, the check where a finding."""
    base = advices["state-bound"]
    check = replace(base.self_check, message=base.findings[0].message)

    text = render([replace(base, self_check=check)])

    assert "Why " not in text
    assert 1 == text.count("The model returns this boot.")
    assert "Why " in render([advices["kv-bound"]])


def test_explain_shows_formulas_with_lines(advices: dict[str, Advice]) -> None:
    """Formula, numbers, result and log lines of each figure; the lines themselves."""
    short = render([advices["state-bound"]])
    text = render([advices["state-bound"]], explain=True)

    assert "= (0.18 GiB + 9.28 GiB) ÷ (131 + 1)\n" in text
    assert "lines 31, 40, some of it inferred" in text
    assert re.search(r"^31 +Mamba Cache is allocated", text, re.MULTILINE)
    assert re.search(r"^TP0, TP1 +14.11 GiB +47.03 GiB", text, re.MULTILINE)
    assert re.search(r"^mem_fraction_static +0.82 +line 12$", text, re.MULTILINE)
    assert "1 more with --explain" in short
    assert "--disable-overlap-schedule" not in short
    assert "--disable-overlap-schedule" in text


@pytest.mark.parametrize("color", [True, False])
def test_text_from_a_log_is_shown_not_obeyed(
    color: bool, advices: dict[str, Advice]
) -> None:
    """Markup, escapes and overrides in a name come out as text."""
    base = advices["failed"]
    assert base.boot.failure is not None
    boot = replace(
        base.boot,
        architecture="[red]x[/red]\x1b[2J",
        source=replace(base.boot.source, name="log\u202e.txt"),
        failure=replace(base.boot.failure, message="[TP0] \x1b]0;title\x07 :smile:"),
    )

    text = render([replace(base, boot=boot)], color=color)

    bare = " ".join(ANSI.sub("", text).split())
    assert r"[red]x[/red]\x1b[2J" in bare
    assert r"[TP0] \x1b]0;title\x07 :smile:" in bare
    assert r"log\u202e.txt" in bare
    assert bare.isprintable()


def test_only_tables_need_rich() -> None:
    """JSON, flags and Markdown leave rich alone, and so does the package."""
    code = (
        "import sys; from mamba_advisor.report import render;"
        "render([], 'json'); render([], 'flags'); render([], 'markdown');"
        "sys.exit('rich' in sys.modules)"
    )

    assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode
