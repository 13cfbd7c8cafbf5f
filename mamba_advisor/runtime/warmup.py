"""What a boot prints of its own warm-up, held back until a run follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mamba_advisor.facts import Reading

if TYPE_CHECKING:
    from mamba_advisor.batch import Batch
    from mamba_advisor.runtime.collector import EvidenceCollector
    from mamba_advisor.runtime.model import Evidence

MOST = 16
"""Lines that are held back."""


class WarmUp:
    """A collector that begins to collect with the first line of a run.

    Most logs end with the boot, and the warm-up before the ready line counts for
    nothing: for them a collector need not be made, nor its modules loaded.
    """

    def __init__(self) -> None:
        self._held: list[Reading] = []
        self._collector: EvidenceCollector | None = None

    def feed(self, reading: Reading) -> None:
        """Take a batch, retraction or exhaustion line, or the ready line."""
        is_simple = reading.event in ("prefill", "ready")
        if self._collector is None and is_simple and len(self._held) < MOST:
            self._held.append(reading)
        else:
            self._begun().feed(reading)

    def feed_batch(self, batch: Batch) -> None:
        """Take many batch lines at once."""
        self._begun().feed_batch(batch)

    def evidence(
        self,
        *,
        limit: int | None = None,
        slots: int | None = None,
        slots_per_request: int | None = None,
    ) -> Evidence | None:
        """Return what a collector of the same lines would.

        Args:
            limit: Running requests that the boot allows, per DP worker.
            slots: Usable state slots, per DP worker.
            slots_per_request: Slots that the boot reserves for a request.
        """
        if self._collector is None and (self._is_over or not self._held):
            return None
        return self._begun().evidence(
            limit=limit, slots=slots, slots_per_request=slots_per_request
        )

    @property
    def _is_over(self) -> bool:
        """Whether the last line held back is the ready line."""
        return bool(self._held) and self._held[-1].event == "ready"

    def _begun(self) -> EvidenceCollector:
        """Return the collector; a new one has taken what was held back."""
        if self._collector is None:
            from mamba_advisor.runtime.collector import EvidenceCollector

            self._collector = EvidenceCollector()
            for reading in self._held:
                self._collector.feed(reading)
        return self._collector
