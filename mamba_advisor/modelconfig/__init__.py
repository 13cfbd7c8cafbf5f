"""A model's ``config.json``: bytes of a state slot and of a KV token."""

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
