"""Targets of the fuzzer from outside: calls of the program with any words and files."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from xml.etree import ElementTree

from click.testing import CliRunner
from entrances import check_document, check_text, folder
from material import DEMO, ROOT, broken_json, configs, corpus, mutate, packed

from mamba_advisor.catalog import builtin_files
from mamba_advisor.cli import main as program

PNG = b"\x89PNG\r\n"
"""Beginning of a picture that is no text."""

STATUSES = frozenset({0, 2, 3, 4, 5, 6})
"""Exit statuses that a call may end with."""

WORDS = ("analyze", "plan", "compare", "parsers", "list", "check", "-", "nowhere.log")
OPTIONS = (
    *("-L", "--input-len", "--output-len", "-c", "--sessions", "--strategy"),
    *("--draft-tokens", "--tp-size", "--dp-size", "--pp-size", "--dcp-size"),
    *("--kv-cache-dtype", "--mamba-ssm-dtype", "--mem-fraction-static", "--gpu-memory"),
    *("--sglang-version", "--format", "--boot", "--require-concurrency", "--color"),
    *("--max-running-requests", "--mamba-full-memory-ratio", "--max-mamba-cache-size"),
)
PLANNED = (
    *("--gpus", "--weights", "--budget", "--state-bytes", "--kv-bytes", "--page-size"),
    *("--context-length", "--max-total-tokens", "--ep-size", "--speculative-algorithm"),
    *("--speculative-num-steps", "--speculative-eagle-topk"),
    *("--swa-full-tokens-ratio", "--speculative-draft-model-path"),
)
FLAGS = (
    *("--radix-cache", "--no-radix-cache", "--overlap", "--no-overlap", "--replayssm"),
    *("--skip-decode-lock", "--explain", "--sweep", "-q", "--enable-dp-attention"),
)
NAMES = (b"a", b"b\x1b[31m", b"c\n", b"d\xff", b"[bold]", b"-L", b"<script>", b"e")
"""Beginnings of file names, which an attacker may choose."""

VALUES = (
    *("8k", "128K", "1M", "0", "-1", "1e9", "", "nan", "80G", "80GiB", "inf", "auto"),
    *("json", "table", "markdown", "flags", "all", "last", "99", "extra_buffer", "fp8"),
    *("0.5.17", "9.9.9", "0.0.1", "bfloat16", "x" * 300, "\x1b[31m", "½", "9" * 40),
    *("1", "2", "3", "0.5", "1e-300", "0.9999999999999999", "1125899906842624", "1k"),
    *("h100", "EAGLE", "NEXTN", "no_buffer", "always", "\udcff", "17.5G", "0.01G"),
)


def check_said(text: str) -> None:
    """Fail on a message that is none for users."""
    assert not re.search(r"(?m)^Traceback \(most", text), text
    assert "should not happen" not in text, text
    check_text(text)


def check_call(
    words: Sequence[str], data: bytes = b"", *, statuses: frozenset[int] = STATUSES
) -> str:
    """Call the program; fail on a traceback, a wrong status or odd output."""
    result = CliRunner().invoke(program, list(words), input=data)
    failed = result.exception
    if failed is not None and not isinstance(failed, SystemExit):
        raise failed
    assert result.exit_code in statuses, f"{words}: exit {result.exit_code}: {result}"
    check_said(result.stderr)
    if "always" not in words and not result.stdout_bytes.startswith(PNG):
        check_text(result.stdout)
    return result.stdout


def options(rng: random.Random, *more: str) -> list[str]:
    """Return a few options, sensible or not."""
    words: list[str] = []
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        if rng.random() < 0.3:
            words.append(rng.choice(FLAGS))
        else:
            words += [rng.choice((*OPTIONS, *more)), rng.choice(VALUES)]
    return words


def broken_logs(rng: random.Random, place: Path) -> list[str]:
    """Write a few logs, and return their paths."""
    paths = []
    for number in range(rng.choice((1, 1, 2, 3))):
        data = rng.choice(corpus(".log"))
        data = b"".join(mutate(data, rng) for _ in range(rng.choice((1, 1, 1, 3))))
        if rng.random() < 0.2:
            data = packed(data, rng)
        name = rng.choice(NAMES)
        path = os.path.join(os.fsencode(place), name + b"%d.log" % number)
        Path(os.fsdecode(path)).write_bytes(data)
        scheme = rng.choice(("", "", "", "", "", "", "file://", "local://", "x://"))
        paths.append(scheme + os.fsdecode(path))
    return paths


def fuzz_call(rng: random.Random) -> None:
    """Call the program with any words and options."""
    words = [rng.choice(WORDS)]
    paths = [str(DEMO / "boot.log"), str(DEMO / "config.json"), str(DEMO), os.devnull]
    for _ in range(rng.randrange(6)):
        match rng.randrange(4):
            case 0:
                words.append(rng.choice(paths))
            case 1:
                words.append(rng.choice((*FLAGS, "--version", "-h")))
            case _:
                words += [rng.choice((*OPTIONS, *PLANNED)), rng.choice(VALUES)]
    check_call(words, mutate(rng.choice(corpus(".log")), rng))


def fuzz_analyze(rng: random.Random) -> None:
    """Analyze broken logs with broken evidence."""
    with folder() as place:
        words = ["analyze", *options(rng)]
        if rng.random() < 0.3:
            path = place / "metrics.prom"
            path.write_bytes(mutate(rng.choice(corpus(".prom")), rng))
            words += ["--metrics", str(path)]
        if rng.random() < 0.3:
            words += ["--server", _address(rng)]
        if rng.random() < 0.2:
            path = place / "config.json"
            path.write_bytes(broken_json(rng.choice(configs()), rng))
            words += ["--config", str(path)]
        if rng.random() < 0.1:
            words += ["--parser", _dialect(rng, place)]
        words += ["--", *broken_logs(rng, place)]
        check_call(words)


def fuzz_plot(rng: random.Random) -> None:
    """Draw broken logs; every picture is well-formed and holds no foreign script."""
    form = rng.choice(("svg", "svg", "svg", "html", "html", "html", "png"))
    with folder() as place:
        logs = broken_logs(rng, place)
        which = rng.choice(("all", "1"))
        words = ["--plot", "-", "--plot-format", form, "--boot", which]
        if len(logs) > 1 and rng.random() < 0.3:
            logs, words[-1] = logs[:2], "last"
            drawn = check_call(["compare", *words, "-L", "8k", "--", *logs])
        else:
            drawn = check_call(["analyze", *words, *options(rng), "--", *logs])
    if form == "svg" and drawn.startswith("<"):
        ElementTree.fromstring(drawn)


def fuzz_json(rng: random.Random) -> None:
    """Ask for JSON about broken logs: it is strict, and its numbers can be."""
    with folder() as place:
        logs = broken_logs(rng, place)
        words = ["--format", "json", *options(rng)]
        if "--color" in words or words.count("--format") > 1:
            return
        if len(logs) == 2 and "all" not in words:
            document = check_call(["compare", *words, "--", *logs])
        else:
            document = check_call(["analyze", *words, "--", *logs])
    if document and not document.startswith(("Usage", "mamba-advisor")):
        check_document(document)


def fuzz_plan(rng: random.Random) -> None:
    """Plan a server by a broken config."""
    with folder() as place:
        path = place / "config.json"
        path.write_bytes(broken_json(rng.choice(configs()), rng))
        words = ["plan", str(path), *options(rng, *PLANNED)]
        if rng.random() < 0.7:
            words += ["--gpus", rng.choice(("h100", "h200", "rtx4090"))]
        if rng.random() < 0.3:
            words += ["--speculative-draft-model-path", str(path)]
        if rng.random() < 0.3:
            words += ["--plot", "-", "--plot-format", rng.choice(("svg", "html"))]
        if rng.random() < 0.4:
            words += ["-L", "16k", "-c", rng.choice(("1", "64", "100000"))]
        check_call(words)


def _dialect(rng: random.Random, place: Path) -> str:
    text = mutate(rng.choice(list(builtin_files()))[1].encode(), rng)
    path = place / "fuzz.toml"
    path.write_bytes(text)
    return str(path)


def fuzz_parsers(rng: random.Random) -> None:
    """Check, list and show a broken dialect."""
    with folder() as place:
        path = _dialect(rng, place)
        words = rng.choice((["check", path], ["list", "--parser", path]))
        check_call(["parsers", *words])


class _Handler(BaseHTTPRequestHandler):
    """Answers with what was put into `answers`, whatever the page."""

    def do_GET(self) -> None:
        self.wfile.write(answers.get(self.path.split("/")[1], b""))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay silent."""


answers: dict[str, bytes] = {}
"""First part of the path -> the whole answer, headers included."""


@cache
def _server() -> str:
    """Start a server that goes on until the process ends; return its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


def _address(rng: random.Random) -> str:
    """Return the address of a server that answers with nonsense."""
    recorded = json.loads(rng.choice(corpus("5.23.json") + corpus("5.18.json")))
    body = broken_json(recorded, rng)
    status = rng.choice((b"200 OK",) * 4 + (b"404 No", b"500 Error", b"999 x"))
    length = rng.choice((len(body), len(body), len(body), 0, 10**6, -1))
    answer = b"HTTP/1.0 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, length, body)
    number = str(rng.randrange(10**9))
    answers.clear()
    answers[number] = mutate(answer, rng) if rng.random() < 0.1 else answer
    return f"{_server()}/{number}"


def fuzz_pipe(rng: random.Random) -> None:
    """Send broken logs through the whole program: every byte comes out."""
    data = b"".join(
        mutate(rng.choice(corpus(".log")), rng) for _ in range(rng.randrange(5))
    )
    form = rng.choice(("json", "table", "markdown", "flags"))
    done = subprocess.run(
        [sys.executable, "-m", "mamba_advisor", "-L", "8k", "--format", form],
        input=data,
        capture_output=True,
        cwd=ROOT,
        check=False,
    )
    assert data == done.stdout, "not every byte was passed on"
    assert done.returncode in STATUSES, done.returncode
    said = done.stderr.decode()
    assert "cannot read on" not in said, said
    assert "could not be shown" not in said, said
    check_said(said)
