"""From any source to boots, through dialects, reader and boot model."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from mamba_advisor.errors import DialectError, InputError, TooLittleError
from mamba_advisor.intake import read_log, take_in

BOOT = """\
[2026-08-03 09:12:00 TP0] Load weight begin. avail mem=78.58 GB
[2026-08-03 09:12:41 TP0] Load weight end. elapsed=41.20 s, type=Qwen3NextForCausalLM, avail mem=40.62 GB, mem usage=37.96 GB.
[2026-08-03 09:12:42 TP0] Mamba Cache is allocated. max_mamba_cache_size: 758, conv_state size: 0.31GB, ssm_state size: 13.34GB 
[2026-08-03 09:12:42 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 1326317, K size: 7.59 GB, V size: 7.59 GB
[2026-08-03 09:12:42 TP0] Memory pool end. avail mem=11.78 GB
[2026-08-03 09:13:02 TP0] max_total_num_tokens=1326317, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=151, context_len=262144, available_gpu_mem=10.02 GB
[2026-08-03 09:13:05] The server is fired up and ready to roll!
"""  # noqa: E501, W291
DECODE = (
    "[2026-08-03 09:20:{second:02d} TP0] Decode batch, #running-req: 96, "
    "#full token: 786432, full token usage: 0.59, mamba num: 480, mamba usage: 0.63, "
    "cuda graph: True, gen throughput (token/s): 4210.55, #queue-req: 31\n"
)
FORGED = "max_total_num_tokens=7, max_running_requests=1, context_len=1"


def slots(source: Any) -> list[int]:
    """Return the slots of every boot in *source*."""
    return [
        rank.state_pool.slots
        for boot in read_log(source)
        for rank in boot.ranks
        if rank.state_pool
    ]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda path: path,
        str,
        lambda path: path.open("rb"),
        lambda path: path.open("r", encoding="utf-8"),
        lambda path: path.read_text("utf-8").splitlines(),
        lambda path: path.read_bytes().splitlines(keepends=True),
        lambda path: io.StringIO(path.read_text("utf-8")),
        lambda path: io.BytesIO(gzip.compress(path.read_bytes())),
    ],
    ids=["path", "str", "bytes", "text", "lines", "byte-lines", "string", "gzip"],
)
def test_any_source(tmp_path: Path, wrap: Callable[[Path], Any]) -> None:
    """A path, an open stream, an iterable of lines, compressed or not."""
    path = tmp_path / "server.log"
    path.write_text(BOOT, encoding="utf-8")

    source = wrap(path)
    found = slots(source)
    if hasattr(source, "close"):
        source.close()

    assert [758] == found


def test_source_is_named_and_counted(tmp_path: Path) -> None:
    """Name as given, lines read, starts found."""
    path = tmp_path / "server.log"
    path.write_text(BOOT + BOOT, encoding="utf-8")

    boots = read_log(path)

    assert [(str(path), 14, 2, 1), (str(path), 14, 2, 2)] == [
        (boot.source.name, boot.source.lines, boot.source.boots, boot.number)
        for boot in boots
    ]


def test_empty_input_holds_no_boot() -> None:
    """The library returns nothing; only choosing a boot is an error."""
    intake = take_in([])

    assert () == intake.boots
    with pytest.raises(TooLittleError, match="the input is empty"):
        intake.choose()


@pytest.mark.parametrize(
    ("which", "numbers"), [("last", [2]), ("all", [1, 2]), (1, [1]), (2, [2])]
)
def test_choose(which: str | int, numbers: list[int]) -> None:
    """``--boot last|all|N``."""
    intake = take_in((BOOT + BOOT).splitlines())

    assert numbers == [boot.number for boot in intake.choose(which)]


def test_choose_what_is_not_there() -> None:
    """The message says which starts there are."""
    intake = take_in((BOOT + BOOT).splitlines())

    with pytest.raises(
        TooLittleError, match="no server start 3; it holds starts 1 to 2"
    ):
        intake.choose(3)


def test_missing_file() -> None:
    """An input that cannot be read is the caller's mistake: exit status 2."""
    with pytest.raises(InputError) as caught:
        read_log("no-such-file.log")

    assert 2 == caught.value.exit_code


def test_unsound_dialect(tmp_path: Path) -> None:
    """A further dialect must be sound before a line is read."""
    path = tmp_path / "mine.toml"
    path.write_text("schema = 1\nname = 'mine'\n", encoding="utf-8")

    with pytest.raises(DialectError):
        read_log(BOOT.splitlines(), parsers=[path])


def test_runtime_evidence() -> None:
    """Batch lines go with the boot before them; 786432 tokens over 96 requests."""
    run = "".join(DECODE.format(second=second) for second in range(30))

    (boot,) = read_log((BOOT + run).splitlines())

    assert boot.runtime
    assert 8192 == boot.runtime.total.avg_context


def test_no_batch_line_no_evidence() -> None:
    """A boot log alone shows nothing of the run."""
    (boot,) = read_log(BOOT.splitlines())

    assert None is boot.runtime


@pytest.mark.parametrize(
    "line",
    [
        f"[2026-08-03 09:30:00] Receive: obj=GenerateReqInput(text='{FORGED}')",
        f"prompt: {FORGED}",
        f'INFO: 10.0.0.1 - "POST /generate?{FORGED} HTTP/1.1" 200 OK',
        FORGED,
    ],
)
def test_forged_lines_change_nothing(line: str) -> None:
    """A prompt or a query that quotes a summary line, while the server serves."""
    run = DECODE.format(second=1)

    (boot,) = read_log((BOOT + run + line + "\n").splitlines())

    assert [(1326317, 151)] == [
        (summary.tokens, summary.max_running_requests) for summary in boot.summaries
    ]


def test_numbers_that_must_not_join() -> None:
    """A line cut in its last number is not completed by the next line's number."""
    torn = BOOT.replace("#tokens: 1326317, K", "#tokens: 132\n6317, K", 1)

    (boot,) = read_log([*torn.splitlines()[:4], "41 requests"])

    tokens = {rank.kv_pool.tokens for rank in boot.ranks if rank.kv_pool}
    assert tokens <= {1326317}


def test_unknown_wording_is_said_once() -> None:
    """A pool line in new words is named, with what to do about it."""
    new = "[2026-08-03 09:12:42 TP0] Mamba Cache is allocated. slots=758 (13.65 GB)"
    lines: Iterable[str] = [BOOT.splitlines()[0], new, new]

    (boot,) = read_log(lines)

    notes = [note for note in boot.notes if note.code == "unknown-wording"]
    assert [(2,)] == [note.lines for note in notes]
    assert "--parser" in notes[0].message
