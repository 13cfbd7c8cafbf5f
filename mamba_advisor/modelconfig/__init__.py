"""A model's ``config.json``: bytes of a state slot and of a KV token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mamba_advisor.lazy import lazily

if TYPE_CHECKING:
    from mamba_advisor.modelconfig.constants import measure, model_bytes
    from mamba_advisor.modelconfig.geometry import Unbudgeted
    from mamba_advisor.modelconfig.layout import Launch
    from mamba_advisor.modelconfig.model import ModelBytes, StageBytes
    from mamba_advisor.modelconfig.source import ConfigFile, read_config

__all__ = [
    "ConfigFile",
    "Launch",
    "ModelBytes",
    "StageBytes",
    "Unbudgeted",
    "measure",
    "model_bytes",
    "read_config",
]

__getattr__ = lazily(
    __name__,
    {
        "ConfigFile": "source",
        "Launch": "layout",
        "ModelBytes": "model",
        "StageBytes": "model",
        "Unbudgeted": "geometry",
        "measure": "constants",
        "model_bytes": "constants",
        "read_config": "source",
    },
)
