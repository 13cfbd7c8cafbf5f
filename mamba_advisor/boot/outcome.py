"""Did the boot get through?  The failure that counts, and where it struck."""

from __future__ import annotations

from mamba_advisor.boot import pick
from mamba_advisor.boot.model import Failure, Note
from mamba_advisor.boot.phase import Phase
from mamba_advisor.boot.rank import RankDraft
from mamba_advisor.facts import Reading
from mamba_advisor.record import replace

KINDS = {
    "failure-state-cache": "state-cache-not-positive",
    "failure-no-request": "no-request-fits-state-cache",
    "failure-no-kv-memory": "no-memory-for-kv",
    "failure-not-enough-memory": "kv-tokens-not-positive",
    "failure-pool-too-small": "kv-tokens-not-positive",
    "failure-limit-zero": "max-running-requests-zero",
    "failure-capture-zero": "max-running-requests-zero",
    "failure-oom": "cuda-out-of-memory",
    "failure-graph-capture": "graph-capture-failed",
    "failure-strategy": "strategy-refused",
    "failure-unified-budget": "unified-budget-too-small",
    "failure-swa": "swa-pool",
    "failure-checkpoint-pool": "checkpoint-pool",
    "failure-mlx": "no-request-fits-state-cache",
    "failure-exception": "scheduler-exception",
    "failure-child": "child-died",
}
"""Event -> kind of failure."""

WRAPPERS = {"failure-child": 0, "failure-exception": 1}
"""Events that only say that something failed -> how much they say; a line that
names the cause says more than either.
"""

CAUSE = 2
"""How much a line says that names the cause."""

FIGURES = (
    "state_slots",
    "rest_bytes",
    "slot_bytes",
    "slots_per_request",
    "granted",
    "mem_fraction_static",
    "minimum_fraction",
    "tried_bytes",
    "free_bytes",
)
"""Facts of failure lines that `Failure.figures` keeps."""

PLACES = {
    "state-cache-not-positive": "pools",
    "no-request-fits-state-cache": "pools",
    "no-memory-for-kv": "pools",
    "kv-tokens-not-positive": "pools",
    "unified-budget-too-small": "pools",
    "swa-pool": "pools",
    "checkpoint-pool": "pools",
    "graph-capture-failed": "graphs",
}
"""Kind of failure -> where alone it can strike, see `Failure.phase`."""

PHASE_WORDS = {
    Phase.NONE: "arguments",
    Phase.INIT: "weights",
    Phase.WEIGHTS: "pools",
    Phase.SIZING: "pools",
    Phase.POOLS: "pools",
    Phase.GRAPHS: "graphs",
    Phase.SERVING: "warm-up",
    Phase.RUNNING: "warm-up",
}
"""Phase that the failing rank had come to -> where the boot stood."""


class FailureWatch:
    """Follows the failure lines of one server start."""

    def __init__(self) -> None:
        self.failure: Failure | None = None
        self.dead = False
        """The main process said that a child died: nothing of this start follows."""

        self._weight = -1
        self._named = False
        self._late: list[Reading] = []

    @property
    def settled(self) -> bool:
        """Whether the start has failed and no better reason is to be expected."""
        return self.failure is not None and (self.dead or self._weight == CAUSE)

    def feed(self, reading: Reading, ready: bool, phase: str) -> None:
        """Take a failure line.

        The first line that names a cause counts, whatever wraps it.

        Args:
            reading: The line.
            ready: Whether the ready line had come: then the boot got through.
            phase: Where the boot stood, see `Failure.phase`.
        """
        if ready:
            if reading.event != "failure-cause" and len(self._late) < MAX_LATE:
                self._late.append(reading)
            return
        if reading.event == "failure-cause":
            self._name_cause(reading)
            return
        if reading.event == "failure-child":
            self.dead = True
        weight = WRAPPERS.get(reading.event, CAUSE)
        if weight <= self._weight:
            return
        known = self.failure
        self._weight = weight
        plain = pick.figures(reading)
        kind = KINDS.get(reading.event, reading.event.removeprefix("failure-"))
        self.failure = Failure(
            kind,
            reading.text,
            reading.line,
            {
                name: value
                for name in FIGURES
                if isinstance(value := plain.get(name), int | float)
            },
            pick.size(reading, "rest_bytes"),
            pick.size(reading, "slot_bytes"),
            PLACES.get(kind) or (known.phase if known is not None else phase),
        )

    def _name_cause(self, reading: Reading) -> None:
        """Say with the first error below a traceback what the exception was."""
        if self.failure is None or self._weight != WRAPPERS["failure-exception"]:
            return
        if not self.dead and not self._named:
            self._named = True
            message = reading.text
            self.failure = replace(self.failure, message=message, line=reading.line)

    def notes(self) -> tuple[Note, ...]:
        """Return a note on what went wrong after the server was ready."""
        if not self._late:
            return ()
        first = next((x for x in self._late if x.event not in WRAPPERS), self._late[0])
        message = f"the server failed after it was ready: {first.text.strip()}"
        lines = tuple(reading.line for reading in self._late)
        return (Note("problem", "failed-after-ready", message, lines),)


MAX_LATE = 8
"""Failure lines after the ready line that are kept."""


def phase_word(rank: RankDraft | None, begun: bool) -> str:
    """Return where a boot stood when a line of failure came.

    Args:
        rank: The rank that failed, else the one that got furthest; None: no rank
            printed anything yet.
        begun: Whether ``server_args`` had been printed.
    """
    if rank is None:
        return "weights" if begun else "arguments"
    if rank.last_event == "weights-begin":
        return "weights"
    if rank.last_event == "pool-end" and not rank.awaits_draft_pool:
        return "graphs"
    if rank.last_event == "weights-end":
        return "pools"
    return PHASE_WORDS[rank.phase]
