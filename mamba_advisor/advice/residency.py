"""Room for the prefix checkpoints of idle conversations."""

from __future__ import annotations

from mamba_advisor.advice.model import Residency
from mamba_advisor.advice.situation import Situation
from mamba_advisor.measured import count


def residency_of(situation: Situation, slots: int | None = None) -> Residency | None:
    """Return how many idle conversations a pool keeps resumable.

    Args:
        situation: The boot and its workload.
        slots: K per DP worker; None: as printed.

    Returns:
        None without a state pool.  A conversation keeps one checkpoint, so every
        slot beyond live need holds one; without a radix cache there is none.

    Source:
        Live need is S slots for each running request.  Checkpoints run out before
        KV does where a pool full of tokens has more prefill chunks than slots.
    """
    pool_slots = slots if slots is not None else situation.calibration.printout.slots
    if pool_slots is None:
        return None
    concurrency = situation.concurrency
    running = situation.target
    for known in (concurrency.sustained, concurrency.effective):
        running = running if running is not None else known
    reserved = concurrency.slots_per_request
    if running is None or reserved is None:
        return Residency(None, None, None, _saturates(situation, pool_slots))
    live = reserved * running
    spare = max(0, pool_slots - live)
    planned = situation.problem or situation.calibration.settled.planned
    if planned.disable_radix_cache:
        message = "the radix cache is off: no conversation keeps a checkpoint"
        return Residency(live, spare, 0, None, message)
    sessions = spare * concurrency.workers
    saturates = _saturates(situation, pool_slots)
    return Residency(
        live, spare, sessions, saturates, _message(situation, sessions, saturates)
    )


def _saturates(situation: Situation, slots: int) -> bool | None:
    """Return whether checkpoints run out before KV does; None: not known."""
    boot, rows = situation.boot, situation.calibration.printout.tokens
    chunk = boot.summaries[0].chunked_prefill_size if boot.summaries else None
    if chunk is None:
        value = boot.setting("chunked_prefill_size").value
        chunk = value if isinstance(value, int) else None
    if rows is None or chunk is None or chunk < 1:
        return None
    logical = rows * situation.calibration.settled.planned.dcp_size
    return -(-logical // chunk) > slots


def _message(situation: Situation, sessions: int, saturates: bool | None) -> str:
    wanted = situation.workload.sessions
    idle = count(sessions, "idle conversation")
    message = f"room for the checkpoints of about {idle}"
    if wanted is not None:
        verdict = "enough" if sessions >= wanted else "too few"
        message += f", {verdict} for the {wanted:,} wanted"
    if saturates:
        message += "; checkpoints run out before KV tokens do"
    return message
