"""Lines longer than any that a server prints, wherever they stand in the log."""

from __future__ import annotations

import pytest

from mamba_advisor.catalog import load_catalog
from mamba_advisor.intake import Gatherer
from mamba_advisor.logfile import MAX_LINE
from mamba_advisor.reader import LineReader
from mamba_advisor.scan.scanner import BLOCK, Scanner

Heard = dict[int, tuple[bytes, bool]]

SHORT = b"[2026-03-07 04:31:24] a line without facts"
OPEN = b"[2026-03-07 04:31:24] server_args=ServerArgs(model_path='m', tp_size=1,"
"""A line that the next one may complete: the scan reads that one by itself."""


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    """Return what the readers are given: number -> line, and whether it is torn."""
    lines: Heard = {}
    feed = LineReader.feed

    def hear(
        self: LineReader, number: int, line: bytes, *, torn: bool = False
    ) -> object:
        lines[number] = line, torn
        return feed(self, number, line, torn=torn)

    monkeypatch.setattr(LineReader, "feed", hear)
    return lines


def scan(data: bytes) -> Scanner:
    """Read *data* as one block."""
    scanner = Scanner(load_catalog(plugins=False), Gatherer())
    scanner.push(data)
    scanner.finish()
    return scanner


@pytest.mark.parametrize("before", [SHORT, OPEN], ids=["alone", "continued"])
@pytest.mark.parametrize("end", [b"\n", b""], ids=["whole", "last"])
@pytest.mark.parametrize("size", [MAX_LINE + 1, 10 * MAX_LINE, BLOCK + MAX_LINE])
def test_rest_of_a_long_line_is_dropped(
    before: bytes, end: bytes, size: int, heard: Heard
) -> None:
    """No reader gets more of a line than 64 KiB, and what it gets is marked."""
    scan(b"\n".join((before, b"x" * size + end)))

    assert (b"x" * MAX_LINE, True) == heard[2]


@pytest.mark.parametrize("before", [SHORT, OPEN], ids=["alone", "continued"])
@pytest.mark.parametrize("end", [b"\n", b""], ids=["whole", "last"])
def test_line_behind_bars_is_what_counts(
    before: bytes, end: bytes, heard: Heard
) -> None:
    r"""Of a long run of bars that end with \r the reader gets the line behind them."""
    bars = b" 50%|###   | 1/2 [00:00<00:01,  1.00it/s]\r" * 5000
    scan(b"\n".join((before, bars + SHORT + end)))

    assert (b"\r" + SHORT, not end) == heard[2]


@pytest.mark.parametrize("size", [MAX_LINE, MAX_LINE + 1, 2 * BLOCK + 7])
def test_lines_behind_a_long_one_keep_their_numbers(size: int, heard: Heard) -> None:
    """A line of any length counts as one."""
    scanner = scan(b"\n".join((SHORT, b"x" * size, OPEN, SHORT)))

    assert (OPEN, False) == heard[3]
    assert 4 == scanner.lines
