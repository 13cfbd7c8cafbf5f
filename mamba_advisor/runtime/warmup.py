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

    def evidence(self, **limits: int | None) -> Evidence | None:
        """Return what a collector of the same lines would, asked with *limits*."""
        is_warm_up = not self._held or self._held[-1].event == "ready"
        if self._collector is None and is_warm_up:
            return None
        return self._begun().evidence(**limits)

    def _begun(self) -> EvidenceCollector:
        """Return the collector; a new one has taken what was held back."""
        if self._collector is None:
            from mamba_advisor.runtime.collector import EvidenceCollector

            self._collector = EvidenceCollector()
            for reading in self._held:
                self._collector.feed(reading)
        return self._collector
