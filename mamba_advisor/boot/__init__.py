"""One server start: from readings to a `Boot`."""

from mamba_advisor.boot.shape import binding_rank, spread, stages, workers

__all__ = ["binding_rank", "spread", "stages", "workers"]
