"""Rules on the release: known defects that cost this boot something."""

from __future__ import annotations

from mamba_advisor.advice.model import Finding, Severity
from mamba_advisor.advice.situation import Situation
from mamba_advisor.record import Record
from mamba_advisor.sizing.releases import LAST_RELEASE, parse_release, since


class Defect(Record):
    """A known defect of a release that a boot runs into."""

    code: str
    message: str
    mended_in: str
    """First release without it."""


def defect_of(situation: Situation) -> Defect | None:
    """Return the defect of the release that costs this boot something, if any."""
    booted = situation.calibration.booted
    if booted is None:
        return None
    version, speculative = situation.version, booted.speculative
    pp = situation.calibration.settled.value("pp_size")
    if isinstance(pp, int) and pp > 1 and not since(version, "0.5.17"):
        return Defect(
            "pp-charges-full-state",
            f"with {pp} pipeline stages this release charges every rank the state of "
            "all layers, about as many times too much",
            "0.5.17",
        )
    if version == "0.5.7" and booted.strategy == "no_buffer" and not speculative:
        return Defect(
            "no-buffer-reserves-five",
            "it reserves 5 slots per request even with no_buffer, where 3 do",
            "0.5.8",
        )
    workers = booted.attn_dp_size
    if workers > 1 and not since(version, "0.5.7") and booted.state_family == "gdn":
        return Defect(
            "slots-divided-twice",
            f"the slots are divided by {workers} once more than the memory is, so most "
            "of the state share goes to KV",
            "0.5.7",
        )
    if version == "0.5.7" and speculative and workers > 1:
        return Defect(
            "reserve-not-divided",
            "it reserves draft states for all DP workers on each of them",
            "0.5.8",
        )
    return None


def known_defects(situation: Situation) -> Finding | None:
    """Name the defect of the release that this boot runs into."""
    defect = defect_of(situation)
    if defect is None:
        return None
    return Finding(
        defect.code,
        Severity.WARNING,
        f"a defect of this release: {defect.message}; {defect.mended_in} mends it",
    )


def newer_than_known(situation: Situation) -> Finding | None:
    """Say that the release is newer than the arithmetic."""
    if parse_release(situation.version) <= parse_release(LAST_RELEASE):
        return None
    return Finding(
        "release-unknown",
        Severity.WARNING,
        f"SGLang {situation.version} is newer than the releases known here; computed "
        f"as {LAST_RELEASE}",
    )


def ratio_was_overridden(situation: Situation) -> Finding | None:
    """Say that a model overrides the default ratio."""
    name = situation.boot.architecture or ""
    if not name.startswith("Inkling"):
        return None
    return Finding(
        "ratio-overridden",
        Severity.INFO,
        "Inkling defaults to a ratio of 0.1; from 0.5.16 to 0.5.19 an explicit 0.9 is "
        "replaced by it, too",
    )
