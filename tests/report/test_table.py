"""The screen: the answer first, at any width, in any encoding, in any colour."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.style import Style

from mamba_advisor.advice.model import Advice, Cost, Severity
from mamba_advisor.report import render
from mamba_advisor.report.plot.palette import contrast
from mamba_advisor.report.section import Role
from mamba_advisor.report.table import STYLES

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


@pytest.mark.parametrize("role", STYLES)
@pytest.mark.parametrize(
    ("background", "least"),
    [
        ("#000000", 3.8),
        ("#ffffff", 3.8),
        ("#fdf6e3", 3),
        ("#002b36", 3),
        ("#1e1e1e", 3),
    ],
)
def test_colours_are_read_on_dark_and_on_light(
    role: Role, background: str, least: float
) -> None:
    """On black, on white, and on what themes have in their place; no faint text."""
    style = Style.parse(STYLES[role])

    assert not style.dim
    if style.color is not None:
        shown = style.color.get_truecolor().hex
        assert (style.color.number or 0) >= 16
        assert contrast(shown, background) >= least


def test_first_ten_lines_answer(advices: dict[str, Advice]) -> None:
    """Requested → effective → sustained, the limit, the flag, what it gives."""
    first = "\n".join(render([advices["state-bound"]]).splitlines()[:10])

    assert "62 requested → 26 effective → 26 sustained at 4,096 tokens" in first
    assert "is the state pool (131 slots, 5 slots per request)" in first
    assert "Do this   --mamba-full-memory-ratio 2.84\n" in first
    assert (
        "41 requests (+15), 206 slots, 168,960 tokens; then the KV pool binds" in first
    )
    assert "--max-mamba-cache-size 206" in first


@pytest.mark.parametrize("kind", ["state-bound", "no-context", "kv-bound"])
def test_main_part_fits_a_screen(kind: str, advices: dict[str, Advice]) -> None:
    """Verdict, flag, pools, and levers or table take 24 lines of 80 columns."""
    advice = advices[kind]
    if advice.sweep:
        advice = replace(advice, levers=())
    lines = render([replace(advice, findings=())]).splitlines()

    end = next(at for at, line in enumerate(lines) if line.startswith("Basis"))
    assert end - 1 <= 24


@pytest.mark.parametrize("kind", ["state-bound", "no-context", "speculation"])
def test_all_of_it_fits_a_tall_terminal(kind: str, advices: dict[str, Advice]) -> None:
    """Without a run 80 columns take at most 40 lines."""
    assert len(render([advices[kind]]).splitlines()) <= 40


def test_what_must_be_true_comes_before_the_flag(advices: dict[str, Advice]) -> None:
    """A condition stands above the flag that needs it."""
    text = render([advices["kv-bound"]])

    assert 0 < text.index("first raise --mem-fraction") < text.index("Do this")


def test_severity_is_a_word_and_worst_comes_first(advices: dict[str, Advice]) -> None:
    """Findings are ordered by severity, which is spelled out."""
    text = render([advices["state-bound"]], explain=True)

    found = re.findall(r"^(problem|warning|info|ok) +", text, re.MULTILINE)
    assert ["warning", "info", "ok"] == found


def test_what_needs_no_hand_is_counted(advices: dict[str, Advice]) -> None:
    """Without --explain: problems, warnings, and whether the model agrees."""
    base = advices["state-bound"]
    quiet = [one for one in base.findings if one.severity < Severity.WARNING]

    text = render([base])
    calm = render([replace(base, findings=tuple(quiet))])
    idle = render([replace(base, findings=tuple(quiet[1:]))])

    found = re.findall(r"^(problem|warning|info|ok) +", text, re.MULTILINE)
    assert ["warning", "ok"] == found
    assert "\n1 more finding with --explain\n" in text
    assert "ok        The model returns this boot. (line 31)\n1 more" in calm
    assert "\n\n1 finding with --explain\n\n" in idle


def test_settings_take_a_line(advices: dict[str, Advice]) -> None:
    """What does not fit is left to --explain; so is the load."""
    base = advices["state-bound"]
    settings = {**base.settings, "speculative_algorithm": ("EAGLE3" * 5, "log:12")}

    text = render([replace(base, settings=settings)])

    (line,) = re.findall(r"^Basis +(.*)$", text, re.MULTILINE)
    assert "ratio 0.9 · mem-fraction 0.82 · extra_buffer~" == line
    assert "Load" not in text
    assert "Load " in render([base], explain=True)


def test_prefixes_are_told_of_where_they_matter(advices: dict[str, Advice]) -> None:
    """Where sessions are asked for, or the advice takes slots away."""
    base = advices["kv-bound"]
    assert base.recommendation is not None
    free = replace(base.recommendation, cost=Cost())
    unasked = replace(base.workload, sessions=None)

    asked = render([replace(base, recommendation=free)])
    lowered = render([replace(base, workload=unasked)])
    neither = render([replace(base, workload=unasked, recommendation=free)])

    assert "Sessions  room for the checkpoints of about 81 idle" in asked
    assert "as advised, 50 slots fewer" in " ".join(lowered.split())
    assert "slots fewer" not in asked
    assert "Sessions" not in neither


def test_slots_that_are_not_there_are_called_needed(
    advices: dict[str, Advice],
) -> None:
    """400 requests of 5 slots need 2000; the pool has 131."""
    base = advices["kv-bound"]
    assert base.residency is not None
    room = replace(base.residency, live_slots=2000, spare_slots=0)

    text = render([replace(base, residency=room)], explain=True)

    assert "Slots     2,000 needed for running requests, 131 there" in text


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


def test_one_is_no_plural(advices: dict[str, Advice]) -> None:
    """1 request, 1 slot, 1 token."""
    base = advices["state-bound"]
    assert base.recommendation is not None
    least = replace(
        base.recommendation.predicted,
        concurrency=1,
        slots=1,
        kv_tokens=1,
        tokens_high=1,
        tokens_low=1,
    )

    text = render(
        [replace(base, recommendation=replace(base.recommendation, predicted=least))]
    )

    assert "1 request (+15), 1 slot, 1 token;" in text


def test_a_setting_whose_kv_is_not_known_gives_a_limit(
    advices: dict[str, Advice],
) -> None:
    """Nobody can say that 41 requests of 4096 tokens fit."""
    base = advices["state-bound"]
    assert base.recommendation is not None
    vague = replace(base.recommendation.predicted, kv_tokens=None)

    text = render(
        [replace(base, recommendation=replace(base.recommendation, predicted=vague))]
    )

    assert "Gives     a limit of 41 requests (+15), 206 slots" in text


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


def test_the_end_of_a_boot_that_is_not_seen_is_said(
    advices: dict[str, Advice],
) -> None:
    """A log that ends before the ready line may be that of a server that hangs."""
    ready = advices["kv-bound"]
    cut = replace(ready, boot=replace(ready.boot, outcome="incomplete"))
    bare = replace(cut, boot=replace(cut.boot, runtime=None))

    assert "Caution" not in render([ready])
    assert "Caution   the log has no ready line" in render([cut])
    assert "Caution   the log ends before the ready line" in render([bare])


def test_nothing_is_said_twice(advices: dict[str, Advice]) -> None:
    """A reason that the figures or the verdict give, a check that a finding gives."""
    base, other = advices["state-bound"], advices["kv-bound"]
    assert other.recommendation is not None
    told = replace(other.verdict, detail="A pin holds when the memory changes.")
    check = replace(base.self_check, message=base.findings[0].message)

    text = render([replace(base, self_check=check)])
    explained = render([replace(base, self_check=check)], explain=True)

    assert "Why " not in text
    assert "; then the KV pool binds" in text
    assert "Why       it carries 41 requests" in explained
    assert 1 == text.count("The model returns this boot.")
    assert 1 == explained.count("The model returns this boot.")
    assert "Why       a pin holds" in render([other])
    assert "Why " not in render([replace(other, verdict=told)])


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
