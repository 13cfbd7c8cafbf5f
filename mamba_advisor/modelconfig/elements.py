"""Element types: what a flag, the environment or the config makes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mamba_advisor.errors import InputError
from mamba_advisor.modelconfig.fields import Fields
from mamba_advisor.modelconfig.layout import Launch
from mamba_advisor.record import Record

STATE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
"""State element type -> bytes."""

KV_BYTES = {
    "bfloat16": 2,
    "float16": 2,
    "fp8_e4m3": 1,
    "fp8_e5m2": 1,
    "mxfp8": 1,
    "fp4_mx_block16": 1,
    "nvfp4": 1,
}
"""KV element type -> bytes of one stored unit (FP4: two elements in a byte)."""

KV_ALIASES = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "half": "float16",
    "float8_e4m3fn": "fp8_e4m3",
    "float8_e5m2": "fp8_e5m2",
    "fp4_e2m1": "fp4_mx_block16",
}
"""Other spellings -> the name in `KV_BYTES`; up to 0.5.15 FP4 had one name only."""

FP4 = ("fp4_mx_block16", "nvfp4")

DSA_FP8_SM = 100
"""Compute capability from which ``auto`` is FP8 for sparse MLA (B200 and newer)."""


class Elements(Record):
    """Resolved element types."""

    conv: str
    ssm: str
    kv: str

    @property
    def conv_bytes(self) -> int:
        """Bytes of a convolution state's element."""
        return STATE_BYTES[self.conv]

    @property
    def ssm_bytes(self) -> int:
        """Bytes of a recurrent state's element."""
        return STATE_BYTES[self.ssm]

    @property
    def kv_bytes(self) -> int:
        """Bytes of a KV element; FP4: of one packed byte."""
        return KV_BYTES[self.kv]


def _checked(name: str, value: object) -> str:
    if not isinstance(value, str) or value not in STATE_BYTES:
        raise InputError(f"{name} is {value!r}, not one of {', '.join(STATE_BYTES)}")
    return value


def conv_dtype(launch: Launch) -> str:
    """Return the convolution states' type: bfloat16, but for the environment.

    Raises:
        InputError: The given type is unknown.
    """
    return _checked("conv_dtype", launch.conv_dtype or "bfloat16")


def ssm_dtype(launch: Launch, tower: Fields, reads_config: bool) -> str:
    """Return the recurrent states' type.

    The flag wins; ReplaySSM for speculation sets it when it is unset; then the
    config's ``mamba_ssm_dtype`` counts, in the families that read it and from
    0.5.9; else it is float32.

    Args:
        launch: The arguments.
        tower: The text model's fields.
        reads_config: The family's class passes its config to SGLang's resolver.

    Raises:
        ConfigError: The config's field is no string.
        InputError: The flag is unknown.

    Source:
        SGLang ``srt/configs/mamba_utils.py``, ``mamba2_state_dtype``.
    """
    if launch.mamba_ssm_dtype is not None:
        return _checked("mamba_ssm_dtype", launch.mamba_ssm_dtype)
    if launch.enable_linear_replayssm_spec or not reads_config:
        return "float32"
    if not launch.since("0.5.9") or "mamba_ssm_dtype" not in tower:
        return "float32"
    wanted = tower.word("mamba_ssm_dtype")
    if wanted in STATE_BYTES:
        return wanted
    tower.notes.append(
        f"mamba_ssm_dtype {wanted!r} in the config is none that SGLang knows: "
        "float32 is taken"
    )
    return "float32"


def kv_dtype(launch: Launch, config: Mapping[str, Any], *, is_dsa: bool) -> str:
    """Return the KV pool's type.

    Args:
        launch: The arguments.
        config: The whole config, for its quantisation hint.
        is_dsa: The model has sparse MLA, where ``auto`` depends on the GPU.

    Raises:
        InputError: The type is unknown.

    Source:
        SGLang ``srt/mem_cache/kv_cache_dtype.py`` (0.5.23); up to 0.5.16 in the
        model runner.
    """
    given = launch.kv_cache_dtype
    name = KV_ALIASES.get(given, given)
    if name in KV_BYTES:
        return name
    if name != "auto":
        known = ", ".join(["auto", *KV_BYTES])
        raise InputError(f"kv_cache_dtype is {given!r}, not one of {known}")
    if declares_fp8_kv(config):
        return "fp8_e4m3"
    if is_dsa and launch.sm is not None and launch.sm >= DSA_FP8_SM:
        return "fp8_e4m3"
    return "bfloat16"


def declares_fp8_kv(config: Mapping[str, Any]) -> bool:
    """Return whether the weights' quantisation asks for FP8 KV.

    SGLang looks at ``kv_cache_quant_algo``, and for ModelOpt checkpoints at
    ``kv_cache_scheme``.  What cannot be read is no hint.
    """
    quant = config.get("quantization_config")
    if not isinstance(quant, Mapping):
        return False
    nested = quant.get("quantization")
    for section in (quant, nested):
        if isinstance(section, Mapping):
            algo = section.get("kv_cache_quant_algo")
            if isinstance(algo, str) and algo.upper() == "FP8":
                return True
    scheme, method = quant.get("kv_cache_scheme"), quant.get("quant_method")
    return (
        isinstance(method, str)
        and method.startswith("modelopt")
        and isinstance(scheme, Mapping)
        and scheme.get("type") == "float"
        and scheme.get("num_bits") == 8  # noqa: PLR2004
    )
