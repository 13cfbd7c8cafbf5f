"""Exact bytes from a geometry: the model's own config, or a published model's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mamba_advisor.advice.constants import Hypothesis
from mamba_advisor.advice.options import Overrides
from mamba_advisor.advice.whatif import STATE_ELEMENT_BYTES
from mamba_advisor.boot import binding_rank
from mamba_advisor.boot.model import Boot
from mamba_advisor.errors import MambaAdvisorError
from mamba_advisor.modelconfig import Launch, measure
from mamba_advisor.modelconfig.model import ModelBytes
from mamba_advisor.modelconfig.published import published_models

WIDTHS = (1, 2, 4, 8, 16)
"""Tensor-parallel widths tried where the log does not show it."""

STATE_DTYPES = (None, "bfloat16")
"""State element types tried where the log does not show it: as the config has it,
and the one that people set.
"""


def published(boot: Boot, overrides: Overrides | None) -> tuple[Hypothesis, ...]:
    """Return the bytes of the published models that load as this boot's class.

    Args:
        boot: The boot; without an architecture nothing is tried.
        overrides: Options on parallelism and element types.
    """
    if boot.architecture is None:
        return ()
    found: dict[tuple[int | None, int | None], Hypothesis] = {}
    for model in published_models(boot.architecture):
        for sized in _sizes(model.config, boot, overrides or Overrides()):
            key = (sized.state_bytes_per_slot, sized.kv_bytes_per_token)
            why = f"the published geometry of {model.name} prints these digits"
            found.setdefault(key, _hypothesis(sized, why))
    return tuple(found.values())


def of_config(
    config: Mapping[str, Any], boot: Boot, overrides: Overrides | None
) -> tuple[Hypothesis, ...]:
    """Return the bytes that the model's own *config* gives under this boot's settings.

    Raises:
        ConfigError: A field is missing or unusable.
        NotHybridError: The config is not one of a hybrid.
    """
    launch = next(_launches(boot, overrides or Overrides()))
    sized = measure(config, launch)
    return (_hypothesis(sized, "the model's own config", read=True),)


def _hypothesis(sized: ModelBytes, why: str, *, read: bool = False) -> Hypothesis:
    token = sized.printed_kv_bytes_per_token
    return Hypothesis(
        slot=sized.state_bytes_per_slot,
        conv=sized.conv_bytes_per_slot,
        element=STATE_ELEMENT_BYTES.get(sized.ssm_dtype),
        token=token,
        draft_token=None,
        source=why,
        read=read,
        beside=sized.kv_bytes_per_token - token,
    )


def _sizes(
    config: Mapping[str, Any], boot: Boot, overrides: Overrides
) -> Iterator[ModelBytes]:
    """Yield the model in every layout that the log leaves open."""
    for launch in _launches(boot, overrides):
        try:
            sized = measure(config, launch)
        except MambaAdvisorError:
            continue
        if sized.loadable:
            yield sized


def _launches(boot: Boot, overrides: Overrides) -> Iterator[Launch]:
    """Yield the layouts that the log allows, the stated ones first."""
    option = dict(overrides.settings())

    def stated(name: str) -> object:
        read = boot.setting(name).value
        return read if read is not None else option.get(name)

    def width(name: str, default: int = 1) -> int:
        value = stated(name)
        usable = isinstance(value, int) and not isinstance(value, bool) and value > 0
        return int(value) if usable and isinstance(value, int) else default

    rank = binding_rank(boot)
    stage = rank.rank.pp if rank and rank.rank.pp >= 0 else None
    widths = (width("tp_size"),) if stated("tp_size") is not None else WIDTHS
    dtype = stated("mamba_ssm_dtype")
    dtypes = (dtype,) if isinstance(dtype, str) else STATE_DTYPES
    for tp in widths:
        for ssm in dtypes:
            if tp % width("attn_dp_size"):
                continue
            try:
                yield Launch(
                    tp_size=tp,
                    pp_size=width("pp_size"),
                    pp_rank=stage,
                    dcp_size=width("dcp_size"),
                    attn_dp_size=width("attn_dp_size"),
                    mamba_ssm_dtype=ssm if isinstance(ssm, str) else None,
                    kv_cache_dtype=_kv_flag(boot, stated("kv_cache_dtype")),
                    sglang_version=overrides.sglang_version or boot.releases.high,
                )
            except MambaAdvisorError:
                continue


def _kv_flag(boot: Boot, stated: object) -> str:
    """Return the KV type as the flag has it: by the pool's line, else as stated."""
    rank = binding_rank(boot)
    printed = rank.kv_pool.dtype if rank and rank.kv_pool else None
    if printed and printed.startswith("float8_e4m3"):
        return "fp8_e4m3"
    if printed and printed.startswith("float8_e5m2"):
        return "fp8_e5m2"
    if printed in ("bfloat16", "float16"):
        return "bfloat16"
    return stated if isinstance(stated, str) else "auto"
