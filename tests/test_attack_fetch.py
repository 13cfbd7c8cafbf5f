"""Servers and files that are asked for little, and have no end to give."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from mamba_advisor.errors import InputError
from mamba_advisor.runtime.fetch import fetch
from mamba_advisor.runtime.server import parse_server_info

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_S = 12.0
"""Seconds that an answer without end goes on."""

Answer = Callable[[BaseHTTPRequestHandler], None]
Server = Callable[[dict[str, Answer]], AbstractContextManager[str]]


def without_end(part: bytes, pause_s: float = 0) -> Answer:
    """Answer with *part* again and again, while anybody may wait for it."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            handler.wfile.write(part)
            time.sleep(pause_s)

    return answer


def test_answer_without_end_is_left(server: Server) -> None:
    """Of an answer that goes on, no more is taken than is wanted."""
    with (
        server({"/": without_end(bytes(1 << 20))}) as address,
        pytest.raises(InputError, match="larger than 16 MiB"),
    ):
        fetch(f"{address}/", timeout_s=10)


def test_own_server_is_asked_past_the_proxy(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy of the environment neither answers for this machine nor hears of it."""
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(b"here")

    with server({"/": answer}) as address:
        assert b"here" == fetch(f"{address}/", timeout_s=5)


def test_file_without_end_takes_bounded_memory(tmp_path: Path) -> None:
    """Of a file of 300 MiB no more is read than a server may print."""
    file = tmp_path / "metrics.prom"
    with file.open("wb") as stream:
        stream.truncate(300 << 20)
    tracemalloc.start()
    with pytest.raises(InputError, match="larger than 16 MiB"):
        fetch(str(file), timeout_s=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 40 << 20


@pytest.mark.parametrize(
    "name",
    [
        "api_key",
        "admin_api_key",
        "ssl_keyfile_password",
        "db_password",
        "hf_secret",
        "token_file",
    ],
)
def test_each_secret_is_left_out(name: str) -> None:
    """What opens a door is not kept, by whichever name the server has it."""
    answer = {"tp_size": 1, name: "s3same", "served_model_name": "qwen"}
    info = parse_server_info(json.dumps(answer).encode(), "-")

    assert {"tp_size": 1, "served_model_name": "qwen"} == info.arguments


def test_nothing_nested_is_kept() -> None:
    """Inside a nested value a secret may have any name."""
    answer = {"tp_size": 1, "model_loader_extra_config": {"token": "s3same"}}
    info = parse_server_info(json.dumps(answer).encode(), "-")

    assert {"tp_size": 1} == info.arguments
