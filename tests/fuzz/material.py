"""What the fuzzer throws: recorded files, and ways to break them."""

from __future__ import annotations

import bz2
import copy
import gzip
import json
import lzma
import math
import random
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from mamba_advisor.modelconfig.published import all_published

ROOT = Path(__file__).resolve().parent.parent.parent
DEMO = ROOT / "fixtures" / "demo"

SPICE = (
    b"server_args=ServerArgs(tp_size=2, ",
    b"server_args={'tp_size': 2, ",
    b"[2026-02-27 17:10:28 TP0] ",
    b"[2026-02-27 17:10:28.417 DP3 PP1 TP99 EP1] ",
    b"Mamba Cache is allocated. max_mamba_cache_size: ",
    b"KV Cache is allocated. #tokens: ",
    b"max_total_num_tokens=",
    b"Decode batch, #running-req: ",
    b"Traceback (most recent call last):\n",
    b"The server is fired up and ready to roll!\n",
    b"[unified-memory-pool] ",
    b" GB",
    b"nan",
    b"inf",
    b"-",
    b"\r",
    b"\n",
    b"\x00",
    b"\xff\xfe",
    b"\x1b[31m",
    b"\x1b]0;title\x07",
    "\u202e\u2066".encode(),
    b"[bold red]",
    b"{",
    b"(",
    b"'",
    b"|",
    b"%s",
)
"""Pieces that mean something to one part of the program or another."""

NUMBERS = (
    b"0",
    b"-1",
    b"1",
    b"0.00",
    b"0.005",
    b"1e308",
    b"9" * 18,
    b"9" * 40,
    b"4294967296",
    b"None",
    b"True",
    b"nan",
    b"1,234",
    b"1" + b"0" * 400,
    b"1e-320",
    b"inf",
)
"""What a number may be replaced with."""

JUNK: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 3, 10**30, 10**400, 1e308, 5e-324, 0.5, math.nan, math.inf),
    *("", "x", "8", "nan", "9" * 5000, "\x1b[31m", "\udcff", [], {}, [0], [[[[]]]]),
    *(["full_attention"], [None] * 50, {"a": {}}, ["linear_attention"] * 4000, -0.0),
)
"""Values that a key of a JSON object may have."""


@cache
def corpus(suffix: str) -> tuple[bytes, ...]:
    """Return the recorded files that end with *suffix*."""
    files = sorted((ROOT / "fixtures").rglob(f"*{suffix}"))
    return tuple(path.read_bytes() for path in files)


@cache
def configs() -> tuple[dict[str, Any], ...]:
    """Return the configs of published models, and the bundled one."""
    bundled = json.loads(corpus("config.json")[0])
    return (bundled, *(dict(model.config) for model in all_published()))


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Return *data* with a few things changed."""
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(10):
            case 0:  # a byte
                data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
            case 1:  # a stretch lost
                data = data[:at] + data[at + rng.choice((1, 10, 500)) :]
            case 2:  # something that means something
                data = data[:at] + rng.choice(SPICE) + data[at:]
            case 3:  # a number
                numbers = list(re.finditer(rb"-?\d+(?:\.\d+)?", data))
                if numbers:
                    old = rng.choice(numbers)
                    data = data[: old.start()] + rng.choice(NUMBERS) + data[old.end() :]
            case 4:  # the end
                data = data[:at]
            case 5:  # lines in another order
                lines = data.split(b"\n")
                one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
                lines[one], lines[other] = lines[other], lines[one]
                data = b"\n".join(lines)
            case 6:  # a line lost or doubled
                lines = data.split(b"\n")
                one = rng.randrange(len(lines))
                lines[one : one + 1] = lines[one : one + 1] * rng.choice((0, 2, 3))
                data = b"\n".join(lines)
            case 7:  # all numbers of a line
                lines = data.split(b"\n")
                one = rng.randrange(len(lines))
                lines[one] = re.sub(
                    rb"(?<=[=:] )\d+(?:\.\d+)?|(?<==)\d+(?:\.\d+)?",
                    lambda _: rng.choice(NUMBERS),
                    lines[one],
                )
                data = b"\n".join(lines)
            case 8:  # a line broken in two
                data = data[:at] + b"\n" + data[at:]
            case _:  # another log's lines
                other_log = rng.choice(corpus(".log"))
                start = rng.randrange(len(other_log) + 1)
                data = data[:at] + other_log[start : start + 2000] + data[at:]
    return data


def with_junk(value: Any, rng: random.Random, most: int = 4) -> Any:
    """Return a copy of a JSON *value* with a few of its parts replaced."""
    value = copy.deepcopy(value)
    for _ in range(rng.randrange(most)):
        inner = value
        while isinstance(inner, dict | list) and inner:
            key: Any = (
                rng.choice(sorted(inner))
                if isinstance(inner, dict)
                else rng.randrange(len(inner))
            )
            if not isinstance(inner[key], dict | list) or rng.random() < 0.3:
                if rng.random() < 0.2:
                    del inner[key]
                else:
                    # Of a list among them the next turn may change a part.
                    inner[key] = copy.deepcopy(rng.choice(JUNK))
                break
            inner = inner[key]
    return value


def broken_json(value: Any, rng: random.Random) -> bytes:
    """Return *value* as JSON, with junk inside or broken as text, or both."""
    data = json.dumps(with_junk(value, rng)).encode()
    match rng.randrange(8):
        case 0:
            return mutate(data, rng)
        case 1:
            depth = rng.choice((10, 900, 100_000))
            return b'{"tp_size": ' + b"[" * depth + b"]" * depth + b"}"
        case _:
            return data


def _zstd(data: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    packed: bytes = zstd.compress(data)
    return packed


PACKERS: tuple[Callable[[bytes], bytes], ...] = (
    *(gzip.compress, lzma.compress, bz2.compress, _zstd),
)


def packed(data: bytes, rng: random.Random) -> bytes:
    """Return *data* compressed, as one stream or several, perhaps damaged."""
    pack = rng.choice(PACKERS)
    at = rng.randrange(len(data) + 1)
    parts = rng.choice(((data,), (data[:at], data[at:]), (b"",) * 50 + (data,)))
    whole = b"".join(pack(part) for part in parts)
    match rng.randrange(4):
        case 0:
            return whole
        case 1:
            return whole[: rng.randrange(len(whole) + 1)]
        case 2:
            return whole + rng.choice((b"\0" * 100, b"junk", whole[:7], data[:50]))
        case _:
            return mutate(whole, rng)
