"""Rules on the reading itself: what was assumed, and whether the model agrees."""

from __future__ import annotations

from mamba_advisor.advice.model import Finding, Severity
from mamba_advisor.advice.situation import Situation

NOTE_SEVERITIES = {
    "problem": Severity.PROBLEM,
    "warning": Severity.WARNING,
    "info": Severity.INFO,
}
"""Severity of a reading note -> of a finding."""


def model_agrees(situation: Situation) -> Finding | None:
    """State the outcome of the self-check."""
    calibration = situation.calibration
    outcome, trial = calibration.outcome, calibration.trial
    if trial is None:
        return None
    printed, model = calibration.printout, trial.predicted
    shown = f"{_n(printed.slots)} slots, {_n(printed.tokens)} tokens"
    if printed.limit is not None:
        shown += f", {printed.limit:,} requests"
    if outcome == "exact":
        message = f"the sizing model reproduces this boot: {shown}"
        return Finding("self-check-exact", Severity.OK, message, _lines(situation))
    if outcome == "consistent":
        return Finding(
            "self-check-consistent",
            Severity.OK,
            "the sizing model agrees with this boot within the log's rounding: "
            + shown,
            _lines(situation),
        )
    if outcome == "differs":
        return Finding(
            "self-check-differs",
            Severity.WARNING,
            f"the log shows {shown}, the sizing model gets {_n(model.slots)} slots, "
            f"{_n(model.tokens)} tokens, {_n(model.limit)} requests from the same "
            "settings: predictions are less certain; trust the printed pools",
            _lines(situation),
        )
    return Finding(
        "self-check-not-possible",
        Severity.INFO,
        f"the model could not be checked on this boot: {calibration.why_unchecked}",
        _lines(situation),
    )


def _n(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def _lines(situation: Situation) -> tuple[int, ...]:
    rank = situation.calibration.rank
    lines = {s.line for s in situation.boot.summaries[:1]}
    if rank and rank.state_pool:
        lines.update(rank.state_pool.lines)
    if rank and rank.kv_pool:
        lines.update(rank.kv_pool.lines)
    return tuple(sorted(lines))


SHOWN_ASSUMPTIONS = {
    "mamba_full_memory_ratio": "--mamba-full-memory-ratio 0.9",
    "mamba_radix_cache_strategy": "the strategy",
    "disable_radix_cache": "the radix cache",
    "disable_overlap_schedule": "the overlap schedule",
    "page_size": "page size 1",
}
"""Argument -> how an assumption on it reads."""


def assumptions(situation: Situation) -> Finding | None:
    """Name every argument that neither the log nor an option states."""
    if situation.calibration.trial is None:
        return None
    assumed = situation.calibration.settled.assumed
    named = [
        f"{words} ({assumed[name]})"
        for name, words in SHOWN_ASSUMPTIONS.items()
        if name in assumed
        and (situation.calibration.split_known or name != "mamba_full_memory_ratio")
    ]
    if not named:
        return None
    return Finding(
        "settings-assumed",
        Severity.INFO,
        f"the log does not state these, so they are assumed: {', '.join(named)}",
    )


def bytes_were_inferred(situation: Situation) -> Finding | None:
    """Say where exact bytes come from when the log does not print them."""
    trial = situation.calibration.trial
    if trial is None or trial.hypothesis is None or not situation.calibration.exact:
        return None
    slot, token = situation.calibration.slot, situation.calibration.token
    assert slot
    assert token
    return Finding(
        "bytes-exact",
        Severity.OK,
        f"{slot.value:,} bytes per slot and {token.value:,} per token are exact: "
        f"{trial.hypothesis.source}",
        tuple(sorted({*slot.lines, *token.lines})),
    )


def notes(situation: Situation) -> list[Finding]:
    """Return what the reader noted, as findings."""
    return [
        Finding(note.code, NOTE_SEVERITIES[note.severity], note.message, note.lines)
        for note in situation.boot.notes
    ]


def options_win(situation: Situation) -> Finding | None:
    """Say which options go against the log."""
    settled = situation.calibration.settled
    against = [
        name
        for name, setting in settled.settings.items()
        if setting.origin == "option"
        and (read := situation.boot.settings.get(name)) is not None
        and read.known
        and read.value != setting.value
    ]
    if not against:
        return None
    return Finding(
        "options-win",
        Severity.INFO,
        "options win over the log for "
        + ", ".join(sorted(against))
        + ": pools are as printed, predictions as given",
    )
