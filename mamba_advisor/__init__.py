"""Read an SGLang boot log, and say how to split memory between its two pools."""

from __future__ import annotations

from mamba_advisor.lazy import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from mamba_advisor.advice.engine import advise
    from mamba_advisor.advice.model import Advice, Workload
    from mamba_advisor.advice.options import Overrides
    from mamba_advisor.boot.model import Boot
    from mamba_advisor.errors import MambaAdvisorError
    from mamba_advisor.intake import read_log
    from mamba_advisor.modelconfig import ModelBytes, model_bytes
    from mamba_advisor.sizing import PoolSizes, SizingInputs, size_pools

__version__ = "0.1.0"

__all__ = [
    "Advice",
    "Boot",
    "MambaAdvisorError",
    "ModelBytes",
    "Overrides",
    "PoolSizes",
    "SizingInputs",
    "Workload",
    "advise",
    "model_bytes",
    "read_log",
    "size_pools",
]

__getattr__ = lazily(
    __name__,
    {
        "Advice": "advice.model",
        "Boot": "boot.model",
        "MambaAdvisorError": "errors",
        "ModelBytes": "modelconfig",
        "Overrides": "advice.options",
        "PoolSizes": "sizing",
        "SizingInputs": "sizing",
        "Workload": "advice.model",
        "advise": "advice.engine",
        "model_bytes": "modelconfig",
        "read_log": "intake",
        "size_pools": "sizing",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
