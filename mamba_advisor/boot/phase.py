"""How far a server start has come, by the kinds of line that it prints."""

from __future__ import annotations


class Phase:
    """The stretches of a server start; each rank passes them in this order.

    Only a draft worker's weights come once more after the target's graphs (up to
    0.5.13).  Numbers, as an enumeration takes longer to make than a line to read.
    """

    NONE = 0
    INIT = 1
    WEIGHTS = 2
    SIZING = 3
    POOLS = 4
    GRAPHS = 5
    SERVING = 6
    RUNNING = 7


PHASES = {
    "init-begin": Phase.INIT,
    "init-end": Phase.INIT,
    "memory-baseline": Phase.INIT,
    "weights-begin": Phase.WEIGHTS,
    "weights-end": Phase.WEIGHTS,
    "multimodal-reserve": Phase.SIZING,
    "capped": Phase.SIZING,
    "reduced": Phase.SIZING,
    "limit-finalized": Phase.SIZING,
    "tokens-capped": Phase.SIZING,
    "state-pool": Phase.POOLS,
    "replayssm-rings": Phase.POOLS,
    "checkpoint-pool": Phase.POOLS,
    "kv-pool": Phase.POOLS,
    "kv-noop": Phase.POOLS,
    "swa-pool": Phase.POOLS,
    "unified-buffer": Phase.POOLS,
    "unified-subpool": Phase.POOLS,
    "unified-banner": Phase.POOLS,
    "pool-end": Phase.POOLS,
    "mlx-pool": Phase.POOLS,
    "graph-begin": Phase.GRAPHS,
    "graph-end": Phase.GRAPHS,
    "post-capture-tokens": Phase.GRAPHS,
    "post-capture-limit": Phase.GRAPHS,
    "summary": Phase.SERVING,
    "decode": Phase.RUNNING,
    "prefill": Phase.RUNNING,
}
"""Event -> phase that a line of this kind belongs to."""

BATCHES = frozenset({"decode", "prefill"})
"""Events of a running server."""
