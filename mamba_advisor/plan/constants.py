"""Byte constants that the user gives by hand, for a model that nobody knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mamba_advisor.errors import InputError
from mamba_advisor.modelconfig import Launch, ModelBytes, StageBytes, measure
from mamba_advisor.modelconfig.constants import architecture_of
from mamba_advisor.plan.options import PlanOptions


def constants_of(
    config: Mapping[str, Any] | None, options: PlanOptions, launch: Launch
) -> ModelBytes:
    """Return the model's byte constants, those by hand first.

    Args:
        config: The model's config; None where there is none.
        options: For ``--state-bytes`` and ``--kv-bytes``.
        launch: The layout.

    Raises:
        ConfigError: The config cannot be read, and a constant is missing.
        InputError: There is neither a config nor both constants.
        NotHybridError: SGLang keeps no state pool for the model.
    """
    state, token = options.state_bytes, options.kv_bytes
    if state is None or token is None:
        if config is None:
            raise InputError("without a config both --state-bytes and --kv-bytes count")
        if state is None and token is None:
            return measure(config, launch)
    return _by_hand(config or {}, launch, state, token)


def _by_hand(
    config: Mapping[str, Any], launch: Launch, state: int | None, token: int | None
) -> ModelBytes:
    """Return constants of which at least one is given; the other is the config's."""
    known = measure(config, launch) if state is None or token is None else None
    if state is None:
        assert known is not None
        state = known.model_state_bytes
    if token is None:
        assert known is not None
        token = known.largest_kv_bytes
    return ModelBytes(
        family=known.family if known else "by hand",
        architecture=architecture_of(config),
        state_kind="given",
        attention_kind="given" if token else "none",
        linear_layers=1,
        attention_layers=1,
        conv_bytes_per_slot=0,
        ssm_bytes_per_slot=state,
        state_bytes_per_slot=state,
        kv_bytes_per_token=token,
        conv_shapes_per_layer=(),
        ssm_shape_per_layer=(0, 0, 0),
        conv_dtype="unknown",
        ssm_dtype="unknown",
        kv_dtype="unknown",
        pp_rank=0,
        pp_layer_range=(0, 1),
        stages=(StageBytes(0, 1, 1, 1, token),),
        all_state_layers=1,
        model_state_bytes=state,
        budget_state_bytes_per_slot=state,
        printed_page_bytes=token,
        notes=("bytes per slot and per token as given by hand",),
    )
