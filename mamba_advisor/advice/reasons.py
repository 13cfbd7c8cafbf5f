"""What a setting gives and what it costs, in words."""

from __future__ import annotations

from mamba_advisor.advice.model import Cost, Prediction
from mamba_advisor.advice.situation import Situation, binding_words


def reason_of(
    situation: Situation, predicted: Prediction, gain: int, cost: Cost
) -> str:
    """Return what a setting gives and what it costs."""
    text = carries(situation, predicted)
    if situation.target is not None and gain <= 0:
        return _made_to_measure(situation, predicted, cost)
    price = []
    if cost.kv_tokens:
        price.append(f"{cost.kv_tokens:,} tokens of KV and prefix cache")
    if cost.slots:
        spare = f", room for the checkpoints of about {cost.slots:,} conversations"
        price.append(f"{cost.slots:,} state slots{spare}")
    sign = f"{gain:+,} requests" if gain else "no further requests"
    return f"{text}: {sign}" + (f" for {' and '.join(price)}" if price else "")


def _made_to_measure(situation: Situation, predicted: Prediction, cost: Cost) -> str:
    """Return what a state pool no larger than the target needs is good for."""
    today = situation.today
    freed = (predicted.kv_tokens or 0) - ((today.kv_tokens or 0) if today else 0)
    text = (
        f"today's split carries the {situation.target or 0:,} requests wanted as well; "
        f"this one leaves {freed:,} tokens more to KV"
    )
    if not cost.slots:
        return text
    return (
        f"{text}, for {cost.slots:,} state slots: room for more requests, or for the "
        "checkpoints of as many conversations"
    )


def carries(situation: Situation, predicted: Prediction) -> str:
    """Return how many requests a setting carries, and what then binds."""
    context, each = situation.context, ""
    if situation.concurrency.workers > 1:
        each = " per worker"
    at = f" at {context:,} tokens each" if context else ""
    return (
        f"it carries {predicted.concurrency or 0:,} requests{each}{at}, then "
        f"{binding_words(predicted.binding)} binds"
    )


def limit_raised(
    situation: Situation, predicted: Prediction, limit: str, *, with_split: bool
) -> str:
    """Return what a higher request limit gives."""
    context = situation.context
    at = f" at {context:,} tokens each" if context else ""
    moved = " and the split moved with it" if with_split else ""
    return (
        f"no split helps while the request limit binds; with the limit at {limit}"
        f"{moved}, both pools carry {predicted.concurrency or 0:,} requests{at}"
    )


def unreachable(situation: Situation, now: int, target: int) -> str:
    """Return that no split carries the target, and what today's carries."""
    return (
        f"{target:,} requests per worker cannot be carried; {now:,} is the most that "
        "any split gives, and today's gives it (see the levers)"
    )


def cost_of(situation: Situation, predicted: Prediction) -> Cost:
    """Return what a setting gives up against today's pools."""
    today = situation.today
    if today is None:
        return Cost()
    return Cost(
        kv_tokens=max(0, (today.kv_tokens or 0) - (predicted.kv_tokens or 0)),
        slots=max(0, (today.slots or 0) - (predicted.slots or 0)),
    )
