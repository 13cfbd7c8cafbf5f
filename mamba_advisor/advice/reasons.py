"""What a setting gives and what it costs, in words."""

from __future__ import annotations

from mamba_advisor.advice.model import Cost, Prediction
from mamba_advisor.advice.situation import Situation, binding_words
from mamba_advisor.measured import count


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
        spare = f"room for the checkpoints of {count(cost.slots, 'conversation')}"
        price.append(f"{count(cost.slots, 'state slot')}, {spare}")
    sign = ("+" if gain > 0 else "") + count(gain, "request")
    sign = sign if gain else "no further requests"
    return f"{text}: {sign}" + (f" for {' and '.join(price)}" if price else "")


def _made_to_measure(situation: Situation, predicted: Prediction, cost: Cost) -> str:
    """Return what a state pool no larger than the target needs is good for."""
    today = situation.today
    freed = (predicted.kv_tokens or 0) - ((today.kv_tokens or 0) if today else 0)
    text = (
        f"today's split carries {count(situation.target or 0, 'request')} as well; "
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
        f"it carries {count(predicted.concurrency or 0, 'request')}{each}{at}, then "
        f"{binding_words(predicted.binding)} binds"
    )


def limit_raised(
    situation: Situation, predicted: Prediction, limit: str, *, with_split: bool
) -> str:
    """Return what a higher request limit gives."""
    context = situation.context
    at = f" at {context:,} tokens each" if context else ""
    moved = " and the split moved with it" if with_split else ""
    today = situation.today
    binds = today is not None and today.binding == "request"
    first = "no split helps while the request limit binds; " if binds else ""
    return (
        f"{first}with the limit at {limit}{moved}, both pools carry "
        f"{count(predicted.concurrency or 0, 'request')}{at}"
    )


def slots_alone(
    situation: Situation, predicted: Prediction, reserved: int, *, held_back: bool
) -> str:
    """Return what slots admit where nothing is known of KV."""
    slots = predicted.slots or 0
    admitted = count(slots // reserved, "request")
    text = f"{slots:,} slots admit {admitted} at {reserved} slots each"
    if held_back:
        now = situation.concurrency.effective or 0
        text = f"{text}, so the {now:,} of today are a request limit"
    return f"{text}; without the pool lines what is left for KV is unknown"


def unreachable(target: int, most: int) -> str:
    """Return that no split carries the target, and what is the most."""
    return (
        f"{count(target, 'request')} per worker cannot be carried by any split; "
        f"{most:,} is the most (see the levers)"
    )


def enough(situation: Situation, flags: tuple[str, ...], freed: int) -> str:
    """Return that today's split carries the target, and what a smaller pool frees."""
    target = situation.target or 0
    text = f"keep it: today's split carries the {count(target, 'request')} wanted"
    if freed <= 0 or not flags:
        return text
    return f"{text}; {' '.join(flags)} would leave {freed:,} tokens more to KV"


def cost_of(situation: Situation, predicted: Prediction) -> Cost:
    """Return what a setting gives up against today's pools."""
    today = situation.today
    if today is None:
        return Cost()
    return Cost(
        kv_tokens=max(0, (today.kv_tokens or 0) - (predicted.kv_tokens or 0)),
        slots=max(0, (today.slots or 0) - (predicted.slots or 0)),
    )
