"""What stands before a message."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mamba_advisor.facts import Rank
from mamba_advisor.prefix import Spoken, peel

OWN = "[2026-02-27 17:10:28 TP0] "


def only(line: str) -> Spoken:
    """Return the one message of *line*."""
    (spoken,) = peel(line)
    return spoken


@pytest.mark.parametrize(
    ("prefix", "stamp", "rank"),
    [
        ("[2026-02-27 17:10:28]", "2026-02-27 17:10:28", Rank()),
        ("[2026-02-27 17:10:28 TP0]", "2026-02-27 17:10:28", Rank(tp=0)),
        ("[2026-02-27 17:10:28.417 TP1]", "2026-02-27 17:10:28.417", Rank(tp=1)),
        ("[2026-02-27 17:10:28 DP1 TP3 EP3 PP2]", "2026-02-27 17:10:28", Rank(1, 2, 3)),
        ("[2026-02-27 17:10:28 DP1 PP2 TP3]", "2026-02-27 17:10:28", Rank(1, 2, 3)),
        (
            "[2026-02-27 17:10:28 DP1 PP0 ATTN_CP2 MOE_DP4 TP13 EP13]",
            "2026-02-27 17:10:28",
            Rank(1, 0, 13),
        ),
        ("[17:10:28]", "17:10:28", Rank()),
        ("[17:10:28 TP1]", "17:10:28", Rank(tp=1)),
        ("[TP1]", "", Rank(tp=1)),
        ("[DP1 TP1]", "", Rank(dp=1, tp=1)),
    ],
)
def test_own_prefix(prefix: str, stamp: str, rank: Rank) -> None:
    """Tags in any order, with milliseconds, time only, tags only."""
    spoken = only(f"{prefix} a message")

    assert "a message" == spoken.message
    assert stamp == spoken.stamp
    assert rank == spoken.rank
    assert spoken.is_stamped


def test_tags_are_kept_as_printed() -> None:
    """Their order dates the log."""
    assert (
        "DP1 TP3 EP3 PP2" == only("[2026-02-27 17:10:28 DP1 TP3 EP3 PP2] x").rank.text
    )


@pytest.mark.parametrize("tag", ["TP0..3", "TP0-3", "TP0-TP3", "TP0–3", "TP0…3"])
def test_rank_range(tag: str) -> None:
    """A collapsed rank names its first and last one."""
    spoken = only(f"[2026-02-27 17:10:28 {tag}] x")

    assert Rank(tp=0) == spoken.rank
    assert Rank(tp=3) == spoken.last_rank


@pytest.mark.parametrize(
    "line",
    [
        "[qwen3.6] iter=1",
        "[Gloo] Rank 0 is connected",
        "[unified-memory-pool]   total_bytes=1",
        "[TPX] x",
        "[2026-02-27] x",
        "[ TP0] x",
        "TP0] x",
    ],
)
def test_other_brackets_are_message(line: str) -> None:
    """Only a time or known tags make a prefix."""
    spoken = only(line)

    assert line.strip() == spoken.message
    assert not spoken.is_stamped


@pytest.mark.parametrize(
    ("head", "speaker"),
    [
        ("qwen-sglang  | ", "qwen-sglang"),
        ("sglang-1 | ", "sglang-1"),
        ("pod/sglang-0 server ", "pod/sglang-0 server"),
        ("sglang-7d9f-abcde server ", "sglang-7d9f-abcde server"),
        ("[pod/sglang-0/server] ", "pod/sglang-0/server"),
        ("Apr 14 16:08:44 node7 sglang[1234]: ", "sglang"),
        ("2026-04-14T16:08:44+0000 node7 sglang.service[1]: ", "sglang.service"),
        ("(SGLangActor pid=12) ", "SGLangActor"),
        ("(ServeReplica:app:SGLang pid=12, ip=10.0.0.1) ", "ServeReplica:app:SGLang"),
        ("(pid=12) ", ""),
        ("2026-04-18T23:02:13.123456789Z ", ""),
        ("2026-04-18T23:02:13.123456789+02:00 ", ""),
        ("3: ", ""),
        ("[rank3]: ", ""),
        ("[1,2]<stderr>:", ""),
        ("│ ", ""),
        ("> ", ""),
        ("> > - `", ""),
        ("12. ", ""),
        ("\ufeff", ""),
        ("\t", ""),
        ("\x1b[32m", ""),
        ("a-1  | 2026-04-18T23:02:13Z ", "a-1"),
    ],
)
def test_collectors_head(head: str, speaker: str) -> None:
    """Whatever a collector or a page puts before the line comes off."""
    spoken = only(f"{head}{OWN}Memory pool end.")

    assert "Memory pool end." == spoken.message.rstrip("`")
    assert Rank(tp=0) == spoken.rank
    assert speaker == spoken.speaker
    assert "2026-02-27 17:10:28" == spoken.stamp


@pytest.mark.parametrize(
    "record",
    [
        {"log": f"{OWN}x\n", "stream": "stderr", "time": "2026-02-27T17:10:28Z"},
        {"level": "info", "message": f"{OWN}x"},
        {"msg": f"{OWN}\x1b[1mx", "container_name": ""},
    ],
)
def test_json_record(record: dict[str, str]) -> None:
    """The field that holds the line is read as the line."""
    spoken = only(json.dumps(record))

    assert "x" == spoken.message
    assert spoken.is_stamped


def test_json_record_of_a_traceback() -> None:
    """A record of several lines is several lines; its pod is the speaker."""
    text = f"{OWN}Scheduler hit an exception\n  File x\nRuntimeError: y"
    first, frame, error = peel(
        json.dumps({"log": text, "kubernetes": {"pod_name": "sglang-0"}})
    )

    assert "Scheduler hit an exception" == first.message
    assert ("File x", True) == (frame.message, frame.is_indented)
    assert "RuntimeError: y" == error.message
    assert {"sglang-0"} == {first.speaker, frame.speaker, error.speaker}


@pytest.mark.parametrize(
    "line",
    [
        '{"event": "request.received", "text": "[2026-02-27 17:10:28 TP0] x"}',
        '{"log": "[2026-02-27 17:10:28 TP0] x"',
        '{"log": 5}',
        '["log"]',
        "{" * 5000 + "}",
    ],
)
def test_other_json_is_message(line: str) -> None:
    """A request's own record, broken JSON and other shapes stay as they are."""
    assert line == only(line).message


def test_glued_line_is_found_behind_a_bar() -> None:
    """Rule 16: a prefix counts in mid-line directly after it/s] or s/it]."""
    bar = "Capturing (bs=8 avail_mem=1.00 GB):   0%|     | 0/4 [00:00<?, ?it/s]"
    spoken = only(f"{bar}{OWN}Memory pool end.")

    assert "Memory pool end." == spoken.message
    assert spoken.is_glued


@pytest.mark.parametrize(
    "line",
    [
        f"user text ?it/s]{OWN}Memory pool end.",
        f'text="50%| 1/2 [00:00<?, ?it/s]{OWN}Memory pool end."',
        f"{OWN}50%| 1/2 [00:00<?, ?it/s]{OWN}Memory pool end.",
    ],
)
def test_glue_needs_a_bar_at_the_start(line: str) -> None:
    """A prompt that quotes the end of a bar gains nothing."""
    assert not any(
        spoken.message == "Memory pool end." or spoken.is_glued for spoken in peel(line)
    )


def test_bars_say_nothing() -> None:
    """Segments of a progress bar are left out, the last one included."""
    bars = "\r  0%|   | 0/4 [00:00<?, ?it/s]\r 25%|#  | 1/4 [00:01<00:03, 1.07s/it]\r"

    assert [] == list(peel(bars))


def test_carriage_return_separates() -> None:
    r"""What follows a \r starts anew."""
    assert ["a", "b"] == [spoken.message for spoken in peel("a\rb")]
    stamped = "[2026-03-01 10:00:00] "
    found = [spoken.message for spoken in peel(f"{stamped}a\r{stamped}b")]
    assert ["a", "b"] == found


@given(st.text(max_size=200))
def test_any_text_is_survived(text: str) -> None:
    """No text breaks the peeling, and nothing is invented."""
    for spoken in peel(text):
        assert len(spoken.message) <= len(text)


@pytest.mark.parametrize(
    "piece",
    ["> ", "1. ", "a ", "| ", "[a/b] ", "x: ", "\x1b[", "\r", "50%|", "INFO:a:"],
)
def test_time_is_linear(piece: str) -> None:
    """A quarter of a megabyte of heads takes no second."""
    start = time.process_time()
    list(peel(piece * (250_000 // len(piece)) + OWN))

    assert time.process_time() - start < 1
