"""A log that is slow to read: the filter gives up reading, not passing on."""

from __future__ import annotations

import gzip
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mamba_advisor import read_log
from mamba_advisor.boot.start import MAX_EXPANDED, StartDraft
from mamba_advisor.boot.tags import MAX_RANKS
from mamba_advisor.catalog import load_catalog
from mamba_advisor.facts import Rank, Reading
from mamba_advisor.intake import Gatherer
from mamba_advisor.reader import MAX_SPOKEN, LineReader
from mamba_advisor.scan.scanner import Scanner

if TYPE_CHECKING:
    from tests.conftest import Talk

ROOT = Path(__file__).resolve().parent.parent
DEMO = (ROOT / "fixtures" / "demo" / "boot.log").read_bytes()
CATALOG = load_catalog(plugins=False)
TORN = b"KV Cache is allocated.\n"
"""Takes half a millisecond: what completes it may come."""


class Clock:
    """Processor time that passes when a line is read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, line_s: float) -> None:
        self.now = 1.0
        feed = LineReader.feed

        def slow(
            reader: LineReader, number: int, line: bytes | str, *, torn: bool = False
        ) -> list[Reading]:
            self.now += line_s
            return feed(reader, number, line, torn=torn)

        monkeypatch.setattr(LineReader, "feed", slow)
        monkeypatch.setattr(time, "thread_time", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return a clock by which each line takes a tenth of a second."""
    return Clock(monkeypatch, 0.1)


@pytest.mark.parametrize("line", [TORN, b"some other words\n"])
def test_lines_are_passed_over_in_time(line: bytes, clock: Clock) -> None:
    """A push takes its time and no more; all lines count, and the next is read."""
    gatherer = Gatherer()
    scanner = Scanner(CATALOG, gatherer, patience_s=1.0)
    scanner.push(line * 500)

    assert clock.now < 3
    assert 500 == scanner.lines
    assert 480 <= scanner.passed_over < 500

    for part in DEMO.splitlines(keepends=True):
        scanner.push(part)
    scanner.finish()
    (boot,) = gatherer.intake("-", scanner.lines, DEMO[:64]).boots

    (expected,) = read_log(DEMO.decode().split("\n"))
    assert 500 + DEMO.count(b"\n") == scanner.lines
    assert [one.rank for one in expected.ranks] == [one.rank for one in boot.ranks]
    assert [one.tokens for one in expected.summaries] == [
        one.tokens for one in boot.summaries
    ]


def test_any_time_may_be_taken(clock: Clock) -> None:
    """Where nobody waits, every line is read."""
    scanner = Scanner(CATALOG, Gatherer())
    scanner.push(TORN * 500)

    assert clock.now > 50
    assert 0 == scanner.passed_over


def test_open_line_does_not_go_on_behind_a_gap(clock: Clock) -> None:
    """Half a line in front of the gap is not completed by what comes after it."""
    torn = b"[2026-11-30 10:00:00 TP0] KV Cache is allocated. #tokens: 12"
    rest = b"34, K size: 1.00 GB, V size: 1.00 GB\n"
    for gap, is_joined in ((b"", True), (b"x\n" * 9, False)):
        gatherer = Gatherer()
        scanner = Scanner(CATALOG, gatherer, patience_s=0.05)
        scanner.push(DEMO[: DEMO.index(b"\n") + 1])
        scanner.push(torn + b"\n" + gap)
        scanner.push(rest)
        scanner.finish()
        (boot,) = gatherer.intake("-", scanner.lines, DEMO[:64]).boots
        tokens = [rank.kv_pool.tokens for rank in boot.ranks if rank.kv_pool]

        assert is_joined == (tokens == [1234])


DATA = DEMO[:600] + b"\n" + TORN * 120_000
"""Takes a minute to read."""


def test_server_is_not_held_up(started_filter: Talk) -> None:
    """Every byte comes out, and what was not read is said."""
    out, said = started_filter.communicate(DATA, timeout=50)

    assert DATA == out
    assert b"were passed on unread" in said


def test_signal_is_obeyed_meanwhile(started_filter: Talk) -> None:
    """SIGTERM ends the filter while it reads, as at any other time."""
    assert started_filter.stdout is not None
    assert started_filter.stdin is not None
    drain = threading.Thread(target=started_filter.stdout.read, daemon=True)
    drain.start()
    os.write(started_filter.stdin.fileno(), DATA[: 1 << 19])
    time.sleep(0.3)
    started_filter.send_signal(signal.SIGTERM)

    assert 143 == started_filter.wait(25)
    drain.join()


def test_messages_of_one_line() -> None:
    r"""Of a line that holds thousands, with ``\r`` between them, the first are read."""
    reader = LineReader(CATALOG)
    line = "[2026-11-30 10:00:00] The server is fired up and ready to roll!\r"

    assert MAX_SPOKEN == len([*reader.feed(1, line * 1000), *reader.finish()])


def test_ranges_of_tags() -> None:
    """A range stands for a thousand ranks, but not on every line of a log."""
    draft = StartDraft(None)
    first, last = Rank(0, -1, 0), Rank(99, -1, 99)
    facts = {"state_slots": 1}
    for line in range(200):
        draft.feed(Reading("state-pool", facts, line, "t/m", first, last_rank=last))

    assert draft.expanded < MAX_EXPANDED + MAX_RANKS
    assert MAX_RANKS == len(draft.ranks)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x1f\x8bgarbage", "damaged"),
        (b"BZh9garbage garbage", "damaged"),
        (gzip.compress(DEMO)[:12], "cut off"),
        (gzip.compress(DEMO)[:1500] + random.Random(1).randbytes(3000), "damaged"),
    ],
    ids=["gzip", "bzip2", "cut", "junk"],
)
def test_stream_that_cannot_be_unpacked_is_named(
    data: bytes, reason: str, tmp_path: Path
) -> None:
    """A log that cannot be unpacked is not called empty."""
    path = tmp_path / "server.log.gz"
    path.write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-m", "mamba_advisor", "analyze", str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode in (2, 3)
    assert reason in done.stderr
    assert "is empty" not in done.stderr
    assert 1 == done.stderr.count("\n")
