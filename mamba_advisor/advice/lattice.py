"""From two printed decimals to the one integer behind them.

A state slot and a KV token cannot weigh just any number of bytes: both are whole
heads of whole layers.  Where the printed interval leaves one such value, it is the
exact one, under the family's standard head size, which the caller has to name as
an inference.
"""

from __future__ import annotations

from collections.abc import Iterator

from mamba_advisor.measured import Measured
from mamba_advisor.record import Record

GDN = (
    "Qwen3Next",
    "Qwen3_5",
    "Qwen4Exp",
    "InternS2",
    "MiniCPMV4_6",
    "MiniCPMV4_7",
    "GigaChat35",
)
"""Class name prefixes of gated-delta-net models with 128 × 128 heads, kernel 4."""

KDA = ("KimiLinear", "KimiK3", "Glm5Next", "BailingMoeV3")
"""Class name prefixes of Kimi-delta-attention models with 128 × 128 heads, kernel 4."""

PLAIN_MLA = ("KimiLinear", "KimiK3", "BailingMoe", "GigaChat35")
"""MLA models whose token is latent plus rope part and nothing else (no index)."""

HEAD_ELEMENTS = 128 * 128
"""Recurrent-state elements of one head of one layer in both families."""

STATE_ELEMENT_BYTES = (4, 2)
"""Bytes of a state element: float32, or bfloat16 and float16."""

GDN_CONV_BYTES = 128 * 3 * 2
"""Convolution bytes of one head-width of channels: 128 × (kernel − 1) × bf16."""

KDA_CONV_BYTES = 3 * GDN_CONV_BYTES
"""KDA convolves queries, keys and values: three head-widths for each head."""

VALUE_HEADS_PER_KEY_HEAD = (1, 2, 3, 4, 6, 8)
"""Published value-to-key head ratios of GDN models."""

KV_HEAD_STEP = 16
"""Head dimensions of published models are multiples of this."""

MLA_STEP = 64
"""Latent ranks and rope dimensions of published models are multiples of this."""

MAX_CANDIDATES = 64
"""More candidates than this decide nothing and are not enumerated."""

ELEMENT_BYTES = {
    "bfloat16": 2,
    "float16": 2,
    "bf16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float8_e4m3fnuz": 1,
    "fp8_e4m3": 1,
    "fp8_e5m2": 1,
}
"""KV element type as printed or as given by the flag -> bytes."""


class SlotBytes(Record):
    """Exact state bytes of one slot on one rank."""

    conv: int
    ssm: int
    element: int
    """Bytes of a recurrent-state element: 4 or 2."""

    @property
    def total(self) -> int:
        """Convolution and recurrent part together, in bytes."""
        return self.conv + self.ssm


def state_candidates(
    architecture: str | None, conv: Measured, ssm: Measured, rows: int
) -> tuple[SlotBytes, ...]:
    """Return the slots that print exactly these two figures.

    Args:
        architecture: The target's class name, which names the family.
        conv: Printed convolution states of all rows, in bytes.
        ssm: Printed recurrent states of all rows, in bytes.
        rows: Usable slots plus the padding row.

    Returns:
        Every lattice value inside both intervals; empty for other families, for a
        pool that prints no digits, and where more than `MAX_CANDIDATES` fit.

    Source:
        ssm = layers × heads × 128 × 128 × element bytes; GDN conv = layers ×
        (value heads + 2 × key heads) × 128 × 3 × 2; KDA conv = layers × 3 × heads ×
        128 × 3 × 2.
    """
    name = architecture or ""
    if rows < 1 or ssm.high < 1:
        return ()
    found: set[tuple[int, int, int]] = set()
    for element in STATE_ELEMENT_BYTES:
        unit = HEAD_ELEMENTS * element * rows
        first, last = -(-ssm.low // unit), ssm.high // unit
        if last - first > MAX_CANDIDATES:
            return ()
        for heads in range(max(1, first), last + 1):
            for conv_bytes in _conv_bytes(name, heads):
                if conv.holds(conv_bytes * rows):
                    found.add((conv_bytes, heads * HEAD_ELEMENTS * element, element))
    return tuple(SlotBytes(*values) for values in sorted(found))


def _conv_bytes(name: str, heads: int) -> Iterator[int]:
    """Yield the convolution bytes that *heads* (summed over layers) can have."""
    if name.startswith(GDN):
        for ratio in VALUE_HEADS_PER_KEY_HEAD:
            if heads % ratio == 0:
                yield GDN_CONV_BYTES * (heads + 2 * heads // ratio)
    elif name.startswith(KDA):
        yield KDA_CONV_BYTES * heads


def token_candidates(
    architecture: str | None,
    size: Measured,
    rows: int,
    dtype: str | None,
    *,
    is_mla: bool,
) -> tuple[int, ...]:
    """Return the bytes per token that print exactly this KV size.

    Args:
        architecture: The target's class name.
        size: Printed KV bytes of all rows, K and V together.
        rows: Tokens plus the padding page.
        dtype: Element type as printed, without ``torch.``; None: 16 bits assumed
            possible and 8 bits too, so that the coarser step is not taken.
        is_mla: One combined figure was printed.

    Returns:
        At most two values, which is enough to know that one alone fits; empty for
        layouts that are no whole multiple of anything (a sparse index, FP4).
    """
    name = architecture or ""
    if "float4" in (dtype or "") or dtype == "uint8":
        return ()
    if is_mla and not name.startswith(PLAIN_MLA):
        return ()
    if name.startswith(("Qwen4Exp", "Glm5Next", "Inkling")):
        return ()
    element = ELEMENT_BYTES.get(dtype or "", 1)
    # K and V weigh the same in every hybrid, so both sides move in one step.
    step = element * (MLA_STEP if is_mla else 2 * KV_HEAD_STEP)
    first = max(1, -(-size.low // (step * rows)))
    last = size.high // (step * rows)
    return tuple(step * n for n in range(first, min(last, first + 1) + 1))
