"""The first lines of the screen: requested → effective → sustained, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mamba_advisor.advice.idle import is_capped_now
from mamba_advisor.advice.model import Recommendation, Verdict
from mamba_advisor.advice.situation import Situation, binding_words

if TYPE_CHECKING:
    from mamba_advisor.advice.coaching import Coaching

NO_SPLIT = "no split"
"""How the reason begins where the limit is none of the pools."""


def verdict_of(
    situation: Situation,
    recommendation: Recommendation | None,
    coaching: Coaching | None,
) -> Verdict:
    """Return the verdict on a boot.

    Args:
        situation: The boot.
        recommendation: What is recommended, None while nothing can be.
        coaching: What a failed boot needs, None for one that did not fail.
    """
    if coaching is not None:
        return Verdict(
            f"The boot failed: {coaching.cause}.", _failed_detail(coaching), "failed"
        )
    headline = _headline(situation)
    if recommendation is None:
        return Verdict(headline, _open_detail(situation), "unknown")
    if recommendation.action != "keep":
        return Verdict(headline, "", "improve")
    if recommendation.reason.startswith(NO_SPLIT):
        return Verdict(headline, "", "no-help")
    return Verdict(headline, "", "good")


def _failed_detail(coaching: Coaching) -> str:
    if coaching.recommendation is not None:
        return _sentence(coaching.recommendation.reason)
    return _sentence(coaching.advice) if coaching.advice else ""


def _headline(situation: Situation) -> str:
    """Return requested → effective → sustained with the limit that set the last."""
    concurrency, context = situation.concurrency, situation.context
    steps = []
    if concurrency.requested is not None:
        by = " (speculation's default)" if _by_speculation(situation) else ""
        steps.append(f"{concurrency.requested:,} requested{by}")
    in_force = concurrency.effective
    if in_force is not None:
        steps.append(f"{in_force:,} effective")
    elif concurrency.predicted is not None:
        steps.append(f"{concurrency.predicted:,} effective (inferred)")
    if concurrency.sustained is not None and context:
        steps.append(f"{concurrency.sustained:,} sustained at {context:,} tokens")
    if not steps:
        return _without_limit(situation)
    each = " per DP worker" if concurrency.workers > 1 else ""
    text = " → ".join(steps) + each
    if concurrency.binding is None:
        return f"{text}."
    return f"{text}; the limit is {_limit_words(situation)}."


def _by_speculation(situation: Situation) -> bool:
    return situation.concurrency.requested_by == "speculation"


def _limit_words(situation: Situation) -> str:
    concurrency = situation.concurrency
    if concurrency.binding == "state":
        slots, reserved = (
            situation.calibration.printout.slots,
            concurrency.slots_per_request,
        )
        if slots is not None and reserved:
            each = "slot" if reserved == 1 else "slots"
            return f"the state pool ({slots:,} slots, {reserved} {each} per request)"
    if concurrency.binding == "kv" and concurrency.limits.kv is not None:
        tokens = situation.calibration.printout.tokens or 0
        held = ", held there by --max-total-tokens" if is_capped_now(situation) else ""
        return f"the KV pool ({tokens:,} tokens{held})"
    if concurrency.binding == "request":
        if _by_speculation(situation):
            return "speculation's default of 48 requests"
        if situation.calibration.settled.booted.disable_radix_cache:
            return (
                "your own --max-running-requests (it also sets the slots: the radix "
                "cache is off)"
            )
        return "your own --max-running-requests"
    return binding_words(concurrency.binding)


def _without_limit(situation: Situation) -> str:
    """Return what can be said where the log shows no limit at all."""
    printout = situation.calibration.printout
    parts = []
    if printout.slots is not None:
        parts.append(f"{printout.slots:,} state slots")
    if printout.tokens is not None:
        parts.append(f"{printout.tokens:,} KV tokens")
    if not parts:
        is_plan = situation.boot.outcome is None
        return f"The {'plan' if is_plan else 'log'} shows neither pool."
    return f"{' and '.join(parts)}; the log does not show the limit in force."


def _open_detail(situation: Situation) -> str:
    if situation.problem is None:
        printout = situation.calibration.printout
        if None not in (printout.slots, printout.tokens):
            return "The pools' sizes are missing, so nothing can be predicted."
        return "A pool line is missing, so nothing can be predicted."
    return (
        "Give --avg-context (mean tokens per request) or --concurrency for a setting; "
        "the table below shows the best split over contexts."
    )


def _sentence(text: str) -> str:
    """Return *text* with a capital and a full stop."""
    if not text:
        return ""
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")
