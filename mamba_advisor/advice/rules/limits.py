"""Rules on the limit in force: who set it, and what the log says about that."""

from __future__ import annotations

from mamba_advisor.advice.model import Finding, Severity
from mamba_advisor.advice.situation import Situation
from mamba_advisor.sizing.problem import SPECULATION_LIMIT
from mamba_advisor.sizing.releases import parse_release
from mamba_advisor.sizing.terms import decided_by

TIGHT_SLOTS = 64
"""Below this many slots an exact multiple of S has been reported to crash."""


def state_pool_binds(situation: Situation) -> Finding | None:
    """Say that the state pool holds back requests that were asked for."""
    concurrency, printout = situation.concurrency, situation.calibration.printout
    effective, reserved = concurrency.effective, concurrency.slots_per_request
    if effective is None or reserved is None or printout.slots is None:
        return None
    if printout.slots // reserved != effective:
        return None
    requested = concurrency.requested
    if requested is not None and requested <= effective:
        return None
    asked = f"{requested:,} requests were asked for, " if requested else ""
    severity = Severity.PROBLEM if requested else Severity.WARNING
    return Finding(
        "state-pool-binds",
        severity,
        f"{asked}{effective:,} run at a time: {printout.slots:,} slots ÷ {reserved} "
        "per request, rounded down; more wait in the queue",
        limit_lines(situation),
    )


def silent_or_blaming(situation: Situation) -> Finding | None:
    """Say where SGLang clamps without a word, or blames the wrong pool."""
    if state_pool_binds(situation) is None:
        return None
    boot = situation.boot
    if boot.reduced is not None and boot.capped is None:
        return Finding(
            "blamed-wrong-pool",
            Severity.WARNING,
            "the log blames the KV cache capacity; the state pool is the cause "
            "(0.5.14 to 0.5.16 print this text for both pools)",
            (boot.reduced.line,),
        )
    if boot.capped is None and parse_release(boot.releases.high) < (0, 5, 17):
        return Finding(
            "silent-clamp",
            Severity.INFO,
            "this release prints no warning when the state pool lowers the limit; "
            "only max_running_requests= of the summary line shows it",
            limit_lines(situation),
        )
    return None


def request_limit_binds(situation: Situation) -> Finding | None:
    """Say that the limit is the user's own, or speculation's default of 48."""
    concurrency = situation.concurrency
    if concurrency.binding != "request" or concurrency.requested is None:
        return None
    if concurrency.requested_by == "speculation":
        return Finding(
            "speculation-limit-binds",
            Severity.WARNING,
            f"speculative decoding sets --max-running-requests to {SPECULATION_LIMIT} "
            "when none is given, and that is the limit here: no split changes it",
            limit_lines(situation),
        )
    return Finding(
        "request-limit-binds",
        Severity.INFO,
        f"the limit is your own --max-running-requests ({concurrency.requested:,} per "
        "worker); both pools would carry more",
        limit_lines(situation),
    )


def kv_pool_binds(situation: Situation) -> Finding | None:
    """Say that the KV pool carries fewer requests than are admitted."""
    concurrency, context = situation.concurrency, situation.context
    kv, effective = concurrency.limits.kv, concurrency.effective
    if context is None or kv is None or effective is None or kv >= effective:
        return None
    rank = situation.calibration.rank
    lines = rank.kv_pool.lines if rank and rank.kv_pool else ()
    return Finding(
        "kv-pool-binds",
        Severity.PROBLEM if kv == 0 else Severity.WARNING,
        f"at {context:,} tokens per request the KV pool carries {kv:,}, while "
        f"{effective:,} are admitted: the rest is retracted or waits",
        lines,
    )


def heuristic_binds(situation: Situation) -> Finding | None:
    """Say that SGLang's own ceiling is the limit."""
    concurrency = situation.concurrency
    if concurrency.binding not in ("heuristic", "kv_floor"):
        return None
    if concurrency.binding == "kv_floor":
        return Finding(
            "kv-floor-binds",
            Severity.PROBLEM,
            "the limit is half the KV pool's tokens: the KV pool is all but empty",
            limit_lines(situation),
        )
    return Finding(
        "heuristic-binds",
        Severity.INFO,
        "without --max-running-requests SGLang admits 2048 to 4096 requests by context "
        "length, and that is the limit here",
        limit_lines(situation),
    )


def ratio_without_effect(situation: Situation) -> Finding | None:
    """Say that the ratio decides nothing in this boot."""
    booted = situation.calibration.booted
    if booted is None or not situation.calibration.split_known:
        return None
    decider = decided_by(situation.version, booted)
    if decider == "ratio":
        if booted.pin is not None:
            return Finding(
                "pin-ignored",
                Severity.WARNING,
                "--max-mamba-cache-size is ignored while the radix cache is on (up to "
                "0.5.6): the ratio decides",
                setting_lines(situation, "max_mamba_cache_size"),
            )
        return None
    why = {
        "pin": "--max-mamba-cache-size sets the number of slots",
        "requests": "the radix cache is off, so --max-running-requests sets the slots",
        "default": "the radix cache is off, so the slots are a fixed 512",
    }[decider]
    return Finding(
        "ratio-ignored",
        Severity.INFO,
        f"--mamba-full-memory-ratio has no effect in this boot: {why}",
        setting_lines(situation, "max_mamba_cache_size", "disable_radix_cache"),
    )


def no_spare_slot(situation: Situation) -> Finding | None:
    """Say that K is an exact multiple of S, which leaves no slot to spare."""
    slots = situation.calibration.printout.slots
    reserved = situation.concurrency.slots_per_request
    effective = situation.concurrency.effective
    if not slots or not reserved or effective is None or reserved == 1:
        return None
    if slots > TIGHT_SLOTS or slots != reserved * effective:
        return None
    return Finding(
        "no-spare-slot",
        Severity.INFO,
        f"{slots} slots are exactly {effective} × {reserved}: crashes at chunk "
        "boundaries are reported for pools without a spare slot; pin one more",
        limit_lines(situation),
    )


def several_reserves(situation: Situation) -> Finding | None:
    """Answer for each S where the log leaves several possible."""
    candidates = situation.concurrency.slots_per_request_candidates
    slots = situation.calibration.printout.slots
    if len(candidates) < 2 or slots is None:  # noqa: PLR2004
        return None
    answers = ", ".join(f"{slots // s:,} at S = {s}" for s in candidates)
    return Finding(
        "slots-per-request-open",
        Severity.WARNING,
        f"the log does not show how many slots a request reserves; the state pool "
        f"carries {answers} (give --strategy, --no-overlap or --no-radix-cache)",
        _state_lines(situation),
    )


def limit_lines(situation: Situation) -> tuple[int, ...]:
    """Return the lines that show the limit in force."""
    boot = situation.boot
    lines = [s.line for s in boot.summaries[:1]]
    lines += [n.line for n in (boot.capped, boot.reduced) if n is not None]
    return tuple(sorted(lines))


def setting_lines(situation: Situation, *names: str) -> tuple[int, ...]:
    """Return the lines that state the settings *names*."""
    lines = set()
    for name in names:
        origin = situation.boot.setting(name).origin or ""
        if origin.startswith("log:"):
            lines.add(int(origin[4:]))
    return tuple(sorted(lines))


def _state_lines(situation: Situation) -> tuple[int, ...]:
    rank = situation.calibration.rank
    return rank.state_pool.lines if rank and rank.state_pool else ()
