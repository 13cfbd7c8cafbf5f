"""How numbers, units and names read in every form of the report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from mamba_advisor.advice.model import Advice, Binding, Concurrency, Interval
from mamba_advisor.facts import Scalar
from mamba_advisor.measured import Measured, format_bytes, format_range
from mamba_advisor.report.section import Role
from mamba_advisor.sizing.inverse import MAX_RATIO

UNKNOWN = "unknown"

INFERRED = "~"
"""Mark of a figure that was inferred, not read."""

WIDE_INTERVAL = 0.02
"""Interval ÷ value above which a figure is shown with its range: two decimals of a GiB
leave less than that on all but tiny pools."""

WHOLE = 1000
"""Number from which on decimals say nothing more."""

MOST_QUOTED = 200
"""Characters of a failure's message that are shown: two or three sentences."""

SHOWN_LINES = 6
"""Runs of line numbers that are listed before the rest is only counted."""

BINDINGS: dict[Binding, str] = {
    "state": "the state pool",
    "kv": "the KV pool",
    "kv_floor": "SGLang's rule of 2 KV tokens per request",
    "request": "--max-running-requests",
    "heuristic": "SGLang's own ceiling",
}
"""Limit -> what it is called."""

KINDS: dict[str, tuple[str, Role]] = {
    "good": ("good", "ok"),
    "improve": ("can be better", "warning"),
    "no-help": ("no split helps", "info"),
    "failed": ("boot failed", "problem"),
    "unknown": ("cannot tell", "plain"),
}
"""Kind of verdict -> its word and role."""

NOT_HYBRID: tuple[str, Role] = ("not a hybrid", "plain")
UNDECIDED: tuple[str, Role] = ("give -L", "plain")
"""Where all is known but the requests; also a word and its role."""


def count(value: int | None) -> str:
    """Return *value* with thousands separators, a word for None."""
    return UNKNOWN if value is None else f"{value:,}"


def counted(value: int | None, noun: str) -> str:
    """Return *value* with its *noun*, in the plural but for 1."""
    return f"{count(value)} {plural(value, noun)}"


def plural(value: float | None, noun: str) -> str:
    """Return *noun* as it is said of *value*."""
    return noun if value == 1 else f"{noun}s"


def signed(value: int) -> str:
    """Return *value* with its sign: ``+36``."""
    return f"{value:+,}"


def spread(value: int | None, low: int | None, high: int | None) -> str:
    """Return *value*, with its interval where there is one that is wide."""
    if value is None or low is None or high is None:
        return count(value)
    if high - low <= WIDE_INTERVAL * value:
        return count(value)
    return f"{count(value)} ({low:,} to {high:,})"


def interval(quantity: Interval) -> str:
    """Return a whole number, or its range where that is wide."""
    low, high = math.floor(quantity.low), math.ceil(quantity.high)
    if quantity.high - quantity.low <= WIDE_INTERVAL * quantity.value:
        return f"{quantity.value:,.0f}"
    return f"{low:,} to {high:,}"


def ratios(low: float, high: float) -> str:
    """Return a range of ratios; from `MAX_RATIO` on nothing changes."""
    if high >= MAX_RATIO:
        return f"ratios of {decimal(low)} or more"
    return f"ratios from {decimal(low)} to {decimal(high)}"


def shortened(text: str, most: int = MOST_QUOTED) -> str:
    """Return *text*, a longer one up to the end of a sentence, else of a word."""
    if len(text) <= most:
        return text
    head = text[: most + 1]
    end = head.rfind(". ") + 1
    if end > most // 2:
        return head[:end]
    stem, blank, _ = head.rpartition(" ")
    return (stem if blank else text[:most]) + " …"


def size(quantity: Measured | None, *, mark: bool = True) -> str:
    """Return a size for people.

    The range follows where it is wide; the mark `INFERRED` where no log line stands
    behind the figure.
    """
    if quantity is None:
        return UNKNOWN
    text = format_bytes(quantity.value)
    if quantity.high - quantity.low > WIDE_INTERVAL * abs(quantity.value):
        text += f" ({format_range(quantity)})"
    return text + (INFERRED if mark and not quantity.lines else "")


def share(part: float | None) -> str:
    """Return a share of 0 to 1 in percent."""
    return UNKNOWN if part is None else f"{part * 100:.0f} %"


def decimal(value: float | None) -> str:
    """Return a number with up to four significant digits, never with an exponent."""
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if abs(value) >= WHOLE else f"{value:.4g}"


def scalar(value: Scalar) -> str:
    """Return a setting's value as SGLang's command line would spell it."""
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def binding(limit: Binding | None, concurrency: Concurrency) -> str:
    """Return the name of a limit; one that speculation set is not the user's."""
    if limit is None:
        return UNKNOWN
    if limit == "request" and concurrency.requested_by == "speculation":
        return "speculation's default limit"
    return BINDINGS[limit]


def origin(text: str | None) -> str:
    """Return where a setting's value comes from, in words."""
    if text is None:
        return UNKNOWN
    return text.replace("log:", "line ", 1)


def lines(numbers: Sequence[int], *, most: int | None = SHOWN_LINES) -> str:
    """Return line numbers in words, runs joined: ``lines 12, 45 to 52``.

    Args:
        numbers: Line numbers, ascending.
        most: Runs to list; None lists all.

    Returns:
        Empty for no lines.
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    shown = runs if most is None or len(runs) <= most else runs[:most]
    text = ", ".join(" to ".join(map(str, run)) for run in shown)
    if rest := len(numbers) - sum(run[-1] - run[0] + 1 for run in shown):
        text += f" and {rest:,} more"
    if not text:
        return ""
    return ("line " if len(numbers) == 1 else "lines ") + text


def sentence(parts: Iterable[str], joint: str = ", ") -> str:
    """Join the parts that are not empty."""
    return joint.join(part for part in parts if part)


def kind(advice: Advice) -> tuple[str, Role]:
    """Return the verdict in a word or two, and its role."""
    if advice.hybrid is False:
        return NOT_HYBRID
    if advice.verdict.kind == "unknown" and advice.sweep:
        return UNDECIDED
    return KINDS[advice.verdict.kind]


def released(advice: Advice) -> str:
    """Return the SGLang releases that fit."""
    releases = advice.boot.releases
    if not releases.low and not releases.high:
        return "SGLang of an unknown release"
    if releases.low == releases.high:
        return f"SGLang {releases.low}"
    if not releases.high:
        return f"SGLang {releases.low} or later"
    if not releases.low:
        return f"SGLang up to {releases.high}"
    return f"SGLang {releases.low} to {releases.high}"


def name(advice: Advice) -> str:
    """Return what to call the boot: its log, and which start where there are more."""
    source = advice.boot.source
    title = "standard input" if source.name == "-" else source.name
    if source.boots > 1:
        title += f", start {advice.boot.number} of {source.boots}"
    return title
