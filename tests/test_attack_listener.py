"""A log that breaks its own reader: what was read until then still counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mamba_advisor.cli.call import gather
from mamba_advisor.cli.listening import BootListener
from mamba_advisor.logfile import SAMPLE
from mamba_advisor.pipe.listener import Moment
from mamba_advisor.scan.scanner import Scanner

ROOT = Path(__file__).resolve().parent.parent
BOOT = (ROOT / "fixtures" / "demo" / "boot.log").read_bytes()


def listener() -> BootListener:
    """Return one that has heard nothing."""
    return BootListener("-", gather({}), descriptor=2)


def said(render: Callable[[], bytes] | None) -> str:
    """Return what is to be shown."""
    return "" if render is None else render().decode()


def break_reader(broken: BootListener, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let reading fail from now on, as it goes on and at its end."""

    def fail(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(Scanner, "push", fail)
    monkeypatch.setattr(Scanner, "finish", fail)
    with pytest.raises(RuntimeError):
        broken.feed(memoryview(b"more"))


def test_what_was_read_counts_when_reading_breaks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody asks a broken reader for its end; there is advice all the same."""
    broken = listener()
    broken.feed(memoryview(BOOT))
    break_reader(broken, monkeypatch)

    assert "32 requested → 17 effective" in said(broken.due(Moment.ENDED))
    assert 0 == broken.status


def test_nothing_is_missed_when_reading_breaks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That there is no boot is no finding: it may come in what was not read."""
    broken = listener()
    break_reader(broken, monkeypatch)

    assert "" == said(broken.due(Moment.ENDED))


@pytest.mark.parametrize("size", [1, 100, 5 * SAMPLE])
def test_start_of_the_log_is_kept_up_to_a_bound(size: int) -> None:
    """What the input looks like is told by its first bytes; no others are kept."""
    hears = listener()
    log = BOOT * (2 * SAMPLE // len(BOOT) + 1)
    for start in range(0, len(log), size):
        hears.feed(memoryview(log[start : start + size]))

    assert log[:SAMPLE] == hears._head
