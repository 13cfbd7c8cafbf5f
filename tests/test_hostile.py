"""Input that means harm, through the whole program: memory, time, text."""

from __future__ import annotations

import gzip
import itertools
import os
import re
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from mamba_advisor.catalog import load_catalog
from mamba_advisor.intake import Gatherer
from mamba_advisor.scan.scanner import Scanner

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "fixtures" / "demo" / "boot.log"
ADVISOR = [sys.executable, "-m", "mamba_advisor"]
DECODE = (
    "Decode batch, #running-req: 8, #full token: 4096, full token usage: 0.30, mamba"
    " num: 40, mamba usage: 0.50, cuda graph: True, gen throughput (token/s): 812.00,"
    " #queue-req: 0\n"
)


def peak_kib(process: subprocess.Popen[bytes]) -> int:
    """Return the most memory that a process has held, in KiB."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+)", status)[0])


def feed(process: subprocess.Popen[bytes], parts: Iterator[bytes]) -> int:
    """Write *parts* to a process; return its peak memory before its input ends."""
    assert process.stdin is not None
    for part in parts:
        process.stdin.write(part)
    process.stdin.flush()
    time.sleep(0.2)
    return peak_kib(process)


@pytest.mark.parametrize("command", [[], ["analyze", "-"]], ids=["filter", "analyze"])
@pytest.mark.parametrize("kind", ["endless line", "new lines", "nothing but bars"])
def test_endless_input_takes_bounded_memory(command: list[str], kind: str) -> None:
    """48 MB of one line, of empty lines, or of progress bars: less than 40 MiB."""
    part = {
        "endless line": b"x" * (1 << 20),
        "new lines": b"\n" * (1 << 20),
        "nothing but bars": b"Loading:  50%|##   | 1/2 [00:01<00:01]\r" * 26_000,
    }[kind]
    process = subprocess.Popen(
        [*ADVISOR, *command],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    peak = feed(process, (part for _ in range(64)))
    assert process.stdin is not None
    process.stdin.close()

    assert 3 == process.wait(60)
    assert peak < 40 << 10


def test_bomb_takes_bounded_memory(tmp_path: Path) -> None:
    """A gzip bomb of 300 KB, which unpacks to 256 MB, is read to its end."""
    bomb = tmp_path / "bomb.log.gz"
    with gzip.open(bomb, "wb", 9) as sink:
        sink.write(DEMO.read_bytes())
        for _ in range(256):
            sink.write(b"\0" * (1 << 20))
    process = subprocess.Popen(
        [*ADVISOR, "analyze", str(bomb), "--format", "json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    peak = 0
    while not process.stdout.peek(1) and process.poll() is None:  # type: ignore[attr-defined]
        peak = max(peak, peak_kib(process))
    document = process.stdout.read()
    process.stdout.close()

    assert b'"outcome": "ready"' in document
    assert 0 == process.wait(60)
    assert peak < 60 << 10


def grown(parts: Iterator[bytes], warm_up: int) -> int:
    """Return the bytes that reading adds after the first *warm_up* parts."""
    scanner = Scanner(load_catalog(plugins=False), Gatherer())
    tracemalloc.start()
    for _ in range(warm_up):
        scanner.push(next(parts))
    before, _ = tracemalloc.get_traced_memory()
    for part in parts:
        scanner.push(part)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return after - before


def test_distinct_tags_take_bounded_memory() -> None:
    """After 1300 lines of as many ranks, 600 further ranks take less than 512 KiB.

    A worker's sums take 3 KiB.
    """
    lines = (
        f"[2026-03-07 04:31:24 DP{rank} TP{rank}] {DECODE}".encode()
        for rank in range(1900)
    )

    assert grown(lines, 1300) < 512 << 10


def test_many_boots_take_bounded_memory() -> None:
    """After 66 server starts in one log, 12 more take less than 64 KiB."""
    boot = DEMO.read_bytes()

    assert grown((boot for _ in range(78)), 66) < 64 << 10


def test_distinct_noise_takes_bounded_memory() -> None:
    """After 2000 kinds of lines that say nothing, 2000 more take less than 64 KiB."""
    words = map("".join, itertools.product("abcdefghijklmnop", repeat=3))
    lines = (
        f"[2026-03-07 04:31:24] {word} is a word of its own\n".encode()
        for word in itertools.islice(words, 4000)
    )

    assert grown(lines, 2000) < 64 << 10


def seconds(data: bytes) -> float:
    """Return the CPU time of reading *data*."""
    began = time.process_time()
    scanner = Scanner(load_catalog(plugins=False), Gatherer())
    scanner.push(data)
    scanner.finish()
    return time.process_time() - began


@pytest.mark.parametrize(
    "word",
    [
        "Decode batch, #running-req: 1, #full token: 1, full token usage: 0.5, ",
        "Prefill batch, #new-seq: 1, #new-token: 1, #cached-token: 1, ",
        "Mamba Cache is allocated. max_mamba_cache_size: 1, conv_state size: ",
        "server_args=ServerArgs(tp_size=1, ",
        "KV Cache is allocated. #tokens: 1, ",
        "[2026-03-07 04:31:24 TP0] ",
        "Loading:  50%|##   | 1/2 [00:01<00:01, 1.0it/s]",
        "a='(", "{" * 20, "\\'",
    ],
)  # fmt: skip
def test_repeated_words_take_linear_time(word: str) -> None:
    """A prompt of 60 KB that repeats half a wording costs no more than its length.

    An unbounded gap between two groups takes time that grows with the fourth power:
    seconds for a tenth of this.  A prompt of 15 times the length may take 45 times
    as long on a busy machine, not 225 times.
    """

    def cost(size: int) -> float:
        prompt = word * (size // len(word))
        lines = (
            f"[2026-03-07 04:31:24] Receive: obj=GenerateReqInput(text={prompt!r})\n",
            f"[2026-03-07 04:31:24 TP0] {prompt}\n",
            f"{prompt}\n",
        )
        return min(seconds("".join(lines).encode()) for _ in range(2))

    assert cost(60_000) < 45 * cost(4_000) + 0.05


@pytest.mark.parametrize("kind", ["workers", "ranks", "starts"])
def test_time_is_linear_in_what_a_log_names(kind: str) -> None:
    """A new worker, rank or start costs no more for all that came before it."""

    def cost(count: int) -> float:
        if kind == "starts":
            return seconds(DEMO.read_bytes() * (count // 20))
        tag = "DP{0} TP{0}" if kind == "workers" else "TP{0}"
        lines = (
            f"[2026-03-07 04:31:24 {tag.format(rank)}] {DECODE}"
            for rank in range(count)
        )
        return seconds("".join(lines).encode())

    cost(50)
    assert cost(1000) < 30 * cost(100) + 0.1


HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x9b31m",
    "\u202egnp.exe",
    "\u2066isolated",
    "[bold red]markup[/bold red]",
    "[link=file:///etc/passwd]here[/link]",
    "\x00\x08\x7f",
)


@pytest.mark.parametrize("form", ["table", "markdown", "json"])
def test_text_of_a_log_is_only_text(form: str) -> None:
    """Nothing that a log holds moves the cursor, turns text round or becomes markup."""
    text = "".join(HOSTILE)
    log = DEMO.read_text().replace("type=", f"type={text}", 1)
    log = re.sub(r"model_path'?[:=] ?'[^']*", lambda m: f"{m.group()}{text}", log)
    log += f"RuntimeError: Not enough memory. {text}\n"
    done = subprocess.run(
        [*ADVISOR, "analyze", "-", "--format", form, "--explain", "--color", "never"],
        cwd=ROOT,
        input=log.encode(),
        capture_output=True,
        check=False,
    )
    shown = (done.stdout + done.stderr).decode()

    assert not re.search(
        r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown
    )
    assert "Traceback" not in shown
    assert 0 == done.returncode


def test_no_path_of_a_log_is_opened(tmp_path: Path) -> None:
    """A log names files; none of them is looked at."""
    secret = tmp_path / "config.json"
    secret.write_text("{}")
    log = DEMO.read_text()
    log = re.sub(r"model_path(['=: ]+)[^']*", rf"model_path\1{tmp_path}", log, count=1)
    program = (
        "import sys\n"
        f"sys.addaudithook(lambda event, found: event == 'open' and {str(tmp_path)!r}"
        " in str(found[0]) and sys.exit('opened'))\n"
        "sys.argv[1:] = ['analyze', '-', '--format', 'json']\n"
        "from mamba_advisor.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        input=log.encode(),
        capture_output=True,
        check=False,
    )

    assert str(tmp_path).encode() in done.stdout
    assert (0, b"") == (done.returncode, done.stderr)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\0" * 5000,
        bytes(range(256)) * 40,
        b"\xff\xfe" + "[2026-03-07 04:31:24] hello\n".encode("utf-16-le"),
        b"{" * 50_000,
        b"[" * 50_000,
        b"server_args=" + b"(" * 50_000,
        b"[2026-03-07 04:31:24] server_args={" + b"'a': {" * 9000 + b"\n",
        DEMO.read_bytes()[:700],
        DEMO.read_bytes()[700:1400] * 30,
    ],
    ids=range(11),
)
def test_junk_ends_in_one_clear_line(data: bytes) -> None:
    """What holds no boot ends with a sentence and a status, never in a traceback."""
    done = subprocess.run(
        [*ADVISOR, "analyze", "-"],
        cwd=ROOT,
        input=data,
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert done.returncode in {2, 3, 4}
    assert 1 == done.stderr.count(b"\n")
    assert done.stderr.startswith(b"Error: ")


@pytest.mark.parametrize(
    "environment",
    [
        {"HOME": "", "LANG": "C", "LC_ALL": "C", "TERM": "dumb"},
        {"PYTHONIOENCODING": "ascii", "COLUMNS": "20"},
        {"PYTHONIOENCODING": "latin-1:strict", "TERM": "", "COLUMNS": "0"},
        {"HOME": "/proc/nowhere", "PYTHONUTF8": "0", "LC_ALL": "POSIX"},
        {"NO_COLOR": "1", "FORCE_COLOR": "1", "COLUMNS": "junk"},
    ],
    ids=range(5),
)
def test_poor_environment(environment: dict[str, str]) -> None:
    """No home, no terminal, no UTF-8, 20 columns: the advice comes all the same."""
    kept = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
    done = subprocess.run(
        [*ADVISOR, "analyze", str(DEMO)],
        cwd=ROOT,
        env=kept | environment,
        capture_output=True,
        check=False,
    )

    assert (0, b"") == (done.returncode, done.stderr)
    assert b"Verdict" in done.stdout


@pytest.mark.parametrize("arguments", [["analyze", str(DEMO)], []])
def test_deleted_working_directory(arguments: list[str], tmp_path: Path) -> None:
    """A folder that somebody has removed under us is no reason to fail."""
    gone = tmp_path / "gone"
    gone.mkdir()
    shell = f'cd {gone} && rmdir {gone} && exec "$@"'
    done = subprocess.run(
        ["sh", "-c", shell, "sh", *ADVISOR, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        input=DEMO.read_bytes(),
        capture_output=True,
        check=False,
    )

    assert 0 == done.returncode
    assert b"Verdict" in done.stdout + done.stderr


@pytest.mark.parametrize("form", ["table", "json", "flags"])
def test_full_disk_is_an_error_not_a_crash(form: str) -> None:
    """A report that cannot be written is said in one line, with a status."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*ADVISOR, "analyze", str(DEMO), "-L", "8k", "--format", form],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )

    assert b"Traceback" not in done.stderr
    assert b"No space left" in done.stderr
    assert 2 == done.returncode


def test_closed_descriptors() -> None:
    """Without stdin, stdout and stderr the program still ends with its status."""
    shell = f"exec {sys.executable} -m mamba_advisor analyze {DEMO} <&- >&- 2>&-"
    done = subprocess.run(["sh", "-c", shell], cwd=ROOT, check=False)

    assert 0 == done.returncode
