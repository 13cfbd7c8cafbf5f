"""Public memory sizes of GPUs, and what the driver leaves of them."""

from __future__ import annotations

from collections.abc import Mapping

from mamba_advisor.errors import InputError
from mamba_advisor.measured import UNITS, Measured
from mamba_advisor.record import Record

MIB, GIB = UNITS["MiB"], UNITS["GiB"]

SMALLEST, LARGEST = 1 * GIB, 4096 * GIB
"""Memory that a single GPU may have."""


class Gpu(Record):
    """A GPU's memory."""

    title: str
    """Its name for people."""

    memory: int
    """What the management tool reports, in bytes; SGLang's defaults go by it."""

    free: Measured
    """Free before the first weights are loaded, in bytes: less than `memory` by the
    driver, the context, and what a communication library takes.
    """

    sm: int | None = None
    """Compute capability × 10, None where there is none or it is unknown."""

    @property
    def is_sm100(self) -> bool:
        """Whether it is a data-centre Blackwell, with defaults of its own."""
        return self.sm in (100, 103)


def _gpu(
    title: str, memory_mib: int, free: tuple[float, float, float], sm: int | None
) -> Gpu:
    """Return a row of the table; *free* in GiB: low, usual, high."""
    low, usual, high = (round(value * GIB) for value in free)
    return Gpu(title, memory_mib * MIB, Measured(usual, low, high), sm)


GPUS: Mapping[str, Gpu] = {
    "rtx3090": _gpu("RTX 3090 24GB", 24_576, (22.3, 23.0, 23.4), 86),
    "rtx4090": _gpu("RTX 4090 24GB", 24_564, (22.3, 22.95, 23.3), 89),
    "rtx5090": _gpu("RTX 5090 32GB", 32_607, (29.9, 30.7, 31.1), 120),
    "l40s": _gpu("L40S 48GB", 46_068, (43.2, 43.9, 44.3), 89),
    "rtxpro6000": _gpu("RTX PRO 6000 96GB", 97_887, (92.9, 94.0, 94.7), 120),
    "a10040gb": _gpu("A100 40GB", 40_960, (38.3, 38.9, 39.2), 80),
    "a10080gb": _gpu("A100 80GB", 81_920, (77.7, 78.5, 78.9), 80),
    "h100": _gpu("H100 80GB", 81_559, (77.6, 78.5, 78.9), 90),
    "h100nvl": _gpu("H100 NVL 94GB", 95_830, (91.6, 92.6, 93.1), 90),
    "h20": _gpu("H20 96GB", 97_871, (93.4, 94.4, 95.0), 90),
    "h200": _gpu("H200 141GB", 143_771, (137.8, 139.1, 139.5), 90),
    "b200": _gpu("B200 180GB", 183_359, (175.8, 177.4, 178.1), 100),
    "gb200": _gpu("GB200 186GB", 189_471, (181.3, 183.0, 184.3), 100),
    "b300": _gpu("B300 288GB", 275_040, (264.0, 266.5, 267.6), 103),
    "mi300x": _gpu("MI300X 192GB", 196_592, (188.5, 190.9, 191.6), None),
    "mi325x": _gpu("MI325X 256GB", 262_128, (252.0, 254.7, 255.6), None),
    "mi355x": _gpu("MI355X 288GB", 294_896, (284.0, 286.8, 287.6), None),
    "dgxspark": _gpu("DGX Spark (GB10) 128GB", 124_500, (100.0, 111.0, 117.0), 121),
}
"""Name, lower case without blanks and dashes -> GPU."""

ALIASES: Mapping[str, str] = {
    "3090": "rtx3090",
    "4090": "rtx4090",
    "5090": "rtx5090",
    "pro6000": "rtxpro6000",
    "rtx6000pro": "rtxpro6000",
    "a100": "a10080gb",
    "a10080": "a10080gb",
    "a10040": "a10040gb",
    "h10080gb": "h100",
    "h800": "h100",
    "h100sxm": "h100",
    "h200141gb": "h200",
    "mi300": "mi300x",
    "mi325": "mi325x",
    "mi350x": "mi355x",
    "mi355": "mi355x",
    "spark": "dgxspark",
    "gb10": "dgxspark",
    "dgxsparkgb10": "dgxspark",
}
"""Other names -> the one in `GPUS`."""

VENDORS = ("nvidia", "amd", "geforce", "instinct", "tesla")

NOMINAL_FREE = (0.975, 0.99, 1.0)
"""Part of the memory as it is sold that the driver shows: low, usual, high."""

CONTEXT = (1.2, 0.55, 0.3)
"""GiB that context and communication take of that: where the above is low, usual,
high.
"""


def find_gpu(name: str) -> Gpu:
    """Return the GPU that *name* stands for, in any usual spelling.

    Args:
        name: For example ``"h200"``, ``"RTX PRO 6000"`` or ``"8x H100-80GB"``.

    Raises:
        InputError: It is not in the table.
    """
    key = "".join(char for char in name.lower() if char.isalnum())
    count, x, rest = key.partition("x")
    if x and count.isdigit() and rest:
        key = rest
    for vendor in VENDORS:
        key = key.replace(vendor, "")
    key = ALIASES.get(key, key)
    if key in GPUS:
        return GPUS[key]
    known = ", ".join(gpu.title for gpu in GPUS.values())
    raise InputError(
        f"unknown GPU {name!r:.60} (give --gpu-memory SIZE, or one of: {known})"
    )


def gpu_of_size(memory: int, sm: int | None = None) -> Gpu:
    """Return a GPU of which only the memory is known, as it is sold.

    Args:
        memory: For example 141 GiB for an H200; what the management tool reports
            does as well.
        sm: Compute capability × 10, where it is known.

    Raises:
        InputError: No GPU has that much or that little.
    """
    if not SMALLEST <= memory <= LARGEST:
        raise InputError(
            f"{memory} bytes are no GPU's memory (write it as 141GB, for one GPU)"
        )
    low, usual, high = (
        max(0, round(memory * part - taken * GIB))
        for part, taken in zip(NOMINAL_FREE, CONTEXT, strict=True)
    )
    return Gpu(f"a GPU of {memory / GIB:.4g}GB", memory, Measured(usual, low, high), sm)
