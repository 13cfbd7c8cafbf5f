"""Lines of 64 KiB made to be slow: one holds the filter up, and with it the server."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest

from mamba_advisor.catalog import builtin_files, load_catalog
from mamba_advisor.intake import take_in
from mamba_advisor.pattern import MATCH_TIMEOUT_S, Entry
from mamba_advisor.selftest import load

ROOT = Path(__file__).resolve().parent.parent
DEMO = (ROOT / "fixtures" / "demo" / "boot.log").read_bytes()
CATALOG = load_catalog(plugins=False)
ENTRIES = [
    entry
    for table in (CATALOG.exact, CATALOG.edited)
    for entries in table.values()
    for entry in entries
]
LENGTH = 65536
STAMP = b"[2026-11-30 10:00:00 TP0] "


def samples() -> dict[tuple[str, str], list[str]]:
    """Return the messages that prove each pattern, by dialect and name."""
    dialects = [load(text, name) for name, text in builtin_files()]
    return {
        (dialect.name, pattern.name): [
            sample.line.rpartition("] ")[2] if sample.line[:1] == "[" else sample.line
            for sample in pattern.samples
        ]
        for dialect in dialects
        for pattern in dialect.patterns
    }


SAMPLES = samples()


@pytest.mark.parametrize(
    "entry", ENTRIES, ids=lambda entry: f"{entry.dialect}-{entry.pattern.name}"
)
def test_shipped_pattern_would_hold_the_fuse(entry: Entry) -> None:
    """No pattern of ours takes longer for a line than one from outside may.

    The line begins like one that it reads, and begins so again and again.
    """
    for message in SAMPLES[entry.dialect, entry.pattern.name][:2]:
        for eighths in range(1, 9):
            beginning = message[: 1 + len(message) * eighths // 8]
            text = (beginning * LENGTH)[:LENGTH]
            start = time.process_time()
            entry.read(text)

            assert time.process_time() - start < MATCH_TIMEOUT_S, beginning


@pytest.mark.parametrize(
    ("head", "again"),
    [
        (b"", b"Decode batch, #running-req: 1, #full token: 7, full token usage: 0.5 "),
        (b"server_args=ServerArgs(model_path=", b"'\\\""),
        (b"server_args={'model_path': ", b'a\\"'),
        (b"server_args=ServerArgs(a=(\n", b'a=(2), b="\'", c=(3)\n'),
    ],
)
@pytest.mark.parametrize("place", ["before", "behind"])
def test_line_is_read_in_time(head: bytes, again: bytes, place: str) -> None:
    """What repeats itself is read as fast as anything else."""
    line = STAMP + (head + again * LENGTH)[:LENGTH] + b"\n"
    data = line + DEMO if place == "before" else DEMO + line
    start = time.process_time()
    take_in(io.BytesIO(data), catalog=CATALOG)

    assert time.process_time() - start < 2 * MATCH_TIMEOUT_S


@pytest.mark.parametrize("blank", [b" ", b"\t", b"|", b"| ", "│ ".encode()])
def test_frame_is_taken_off_in_time(blank: bytes) -> None:
    """The right side of a frame is looked for once."""
    data = b"`a" + (blank * LENGTH)[: LENGTH - 10] + b"b\n" + DEMO
    start = time.process_time()
    take_in(io.BytesIO(data), catalog=CATALOG)

    assert time.process_time() - start < 2 * MATCH_TIMEOUT_S
