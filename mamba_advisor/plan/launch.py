"""The layout that a boot states, in the terms of a model's config."""

from __future__ import annotations

from mamba_advisor.boot.model import Boot, RankBoot
from mamba_advisor.modelconfig.elements import STATE_BYTES
from mamba_advisor.modelconfig.layout import Launch

WIDTHS = (1, 2, 4, 8, 16, 32)
"""Tensor-parallel widths that are tried where the stated one does not fit."""

TORCH_KV = {
    "float8_e4m3fn": "fp8_e4m3",
    "float8_e4m3fnuz": "fp8_e4m3",
    "float8_e5m2": "fp8_e5m2",
    "float8_e5m2fnuz": "fp8_e5m2",
    "bfloat16": "bfloat16",
    "float16": "float16",
}
"""Element type as a pool line prints it -> as the flag has it."""


def launch_of(boot: Boot, rank: RankBoot | None) -> Launch:
    """Return the layout that a boot states, SGLang's defaults where it is silent."""
    tp = width_of(boot, "tp_size")
    attn_dp = width_of(boot, "attn_dp_size")
    dcp = width_of(boot, "dcp_size")
    if tp % attn_dp or tp // attn_dp % dcp:
        attn_dp = dcp = 1
    pp = width_of(boot, "pp_size")
    stage = rank.rank.pp if rank is not None else -1
    ssm = boot.setting("mamba_ssm_dtype").value
    ratio = boot.setting("swa_full_tokens_ratio").value
    return Launch(
        tp_size=tp,
        pp_size=pp,
        pp_rank=stage if 0 <= stage < pp else None,
        dcp_size=dcp,
        attn_dp_size=attn_dp,
        mamba_ssm_dtype=ssm if isinstance(ssm, str) and ssm in STATE_BYTES else None,
        kv_cache_dtype=_kv_dtype(boot, rank),
        swa_full_tokens_ratio=ratio if isinstance(ratio, float) else None,
        sglang_version=boot.releases.high,
    )


def width_of(boot: Boot, name: str) -> int:
    """Return a parallel width, 1 where none is stated."""
    value = boot.setting(name).value
    usable = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return value if usable and isinstance(value, int) else 1


def _kv_dtype(boot: Boot, rank: RankBoot | None) -> str:
    """Return the KV type: by the pool's line, else by the flag."""
    printed = rank.kv_pool.dtype if rank and rank.kv_pool else None
    flag = boot.setting("kv_cache_dtype").value
    by_flag = flag if isinstance(flag, str) else "auto"
    if printed in TORCH_KV and by_flag != "mxfp8":
        return TORCH_KV[printed]
    return by_flag
