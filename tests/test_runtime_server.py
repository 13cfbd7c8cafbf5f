"""Asking running servers: the answers of real ones, and everything that goes wrong."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from mamba_advisor.errors import InputError
from mamba_advisor.runtime.fetch import MAX_BYTES, MissingPageError, fetch, page_of
from mamba_advisor.runtime.metrics import read_metrics
from mamba_advisor.runtime.server import (
    WorkerLimits,
    boot_from_server,
    parse_server_info,
    read_server_info,
)

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "runtime"
PIN20 = FIXTURES / "qwen3next-pin20-0.5.23.json"
DP2 = FIXTURES / "qwen3next-dp2-0.5.18.json"

Answer = Callable[[BaseHTTPRequestHandler], None]
Server = Callable[[dict[str, Answer]], AbstractContextManager[str]]


def content(body: bytes) -> Answer:
    """Answer with *body*."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def status(code: int) -> Answer:
    """Answer with an HTTP status."""
    return lambda handler: handler.send_error(code)


def trickle(handler: BaseHTTPRequestHandler) -> None:
    """Answer with a byte now and then, for ever."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b"x")
        time.sleep(0.05)


def drip(handler: BaseHTTPRequestHandler) -> None:
    """Begin to answer, for ever."""
    for _ in range(100):
        handler.wfile.write(b"H")
        time.sleep(0.05)


def break_off(handler: BaseHTTPRequestHandler) -> None:
    """Answer with less than was announced."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    handler.wfile.write(b"sglang:num_running_reqs 1\n")


def flood(handler: BaseHTTPRequestHandler) -> None:
    """Answer with more than anybody wants."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(MAX_BYTES // (1 << 20) + 1):
        handler.wfile.write(bytes(1 << 20))


def moved(target: str) -> Answer:
    """Answer with a redirection."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(302)
        handler.send_header("Location", target)
        handler.end_headers()

    return answer


@pytest.mark.parametrize("page", ["/server_info", "/get_server_info"])
def test_both_pages_are_tried(server: Server, page: str) -> None:
    """New releases answer on one page, old ones on the other."""
    with server({page: content(DP2.read_bytes())}) as address:
        info = read_server_info(address, timeout_s=5)

    assert "0.5.18" == info.version
    assert f"{address}{page}" == info.source
    assert [40_721, 40_721] == [worker.state_slots for worker in info.workers]


def test_metrics_page_is_found(server: Server) -> None:
    """The address of the server is enough."""
    body = (FIXTURES / "qwen3next-pin20-0.5.23.prom").read_bytes()
    with server({"/metrics": content(body)}) as address:
        evidence = read_metrics(address, timeout_s=5)

    assert 1270 == evidence.total.avg_context


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (status(404), "HTTP 404: it has no such page"),
        (status(401), "HTTP 401: the server wants its API key"),
        (status(500), "HTTP 500: it could not answer"),
        (trickle, "no complete answer within 0.3 s"),
        (drip, "no complete answer within 0.3 s"),
        (break_off, "the answer is cut off"),
        (lambda _: time.sleep(0.6), "no complete answer within 0.3 s"),
        (lambda handler: handler.wfile.write(b"SSH-2.0-x\r\n"), "SSH-2.0-x"),
        (flood, "larger than 16 MiB"),
        (moved("file:///etc/hostname"), "HTTP 302"),
        (moved("ftp://127.0.0.1/x"), "unknown url type: ftp"),
    ],
)
def test_bad_answers(server: Server, answer: Answer, words: str) -> None:
    """Every failure is one clear sentence that names the page."""
    with (
        server({"/metrics": answer}) as address,
        pytest.raises(InputError) as caught,
    ):
        read_metrics(address, timeout_s=5 if answer is flood else 0.3)

    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{address}/metrics: ")


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the library's own socket
@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("http://[::1/metrics", "Invalid IPv6 URL"),
        ("http://127.0.0.1:port/", "port"),
    ],
)
def test_redirection_to_nowhere(server: Server, target: str, words: str) -> None:
    """An address that is none is one clear sentence."""
    with (
        server({"/": moved(target)}) as address,
        pytest.raises(InputError, match=words) as caught,
    ):
        fetch(f"{address}/", timeout_s=5)

    assert str(caught.value).startswith(f"{address}/: ")
    del caught
    gc.collect()


def test_nobody_answers(server: Server) -> None:
    """A server that is gone refuses the connection."""
    with server({}) as address:
        pass

    with pytest.raises(InputError, match="Connection refused"):
        fetch(address, timeout_s=5)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("http://", "no host in the address"),
        ("http://host:port/", "could not be cast|[Pp]ort"),
        ("http://me:secret@host/", "without a user name"),
        ("http://[::1/", "Invalid IPv6"),
        ("/no/such/file", "No such file"),
    ],
)
def test_bad_sources(source: str, words: str) -> None:
    """A wrong address or path is told at once, and no secret with it."""
    with pytest.raises(InputError, match=words) as caught:
        fetch(source, timeout_s=1)

    assert "secret" not in str(caught.value)


def test_page_is_added_to_a_bare_address() -> None:
    """A page in the address stays, a bare server gets the one that is wanted."""
    assert "http://host:30000/metrics" == page_of("http://host:30000/", "/metrics")
    assert "http://host/x/y?z=1" == page_of("http://host/x/y?z=1", "/metrics")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<html>", "no JSON"),
        (b"\xff\xfe\x00", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[]", "no information of an SGLang server"),
        (b'{"object": "list", "data": []}', "no information of an SGLang server"),
    ],
)
def test_wrong_content(body: bytes, words: str) -> None:
    """A page of something else is refused."""
    with pytest.raises(InputError, match=words):
        parse_server_info(body, "http://host/server_info")


def test_missing_everywhere(server: Server) -> None:
    """When neither page exists, the older one is named."""
    with server({}) as address, pytest.raises(MissingPageError, match="get_server"):
        read_server_info(address, timeout_s=5)


def test_secrets_are_not_kept() -> None:
    """An API key in the arguments stays out."""
    answer = {"tp_size": 1, "api_key": "s3cret", "admin_api_key": "s3cret"}
    info = parse_server_info(json.dumps(answer).encode(), "-")

    assert "s3cret" not in repr(info)


@pytest.mark.parametrize(
    "state",
    [None, "x", {"memory_usage": "x"}, {"memory_usage": {"token_capacity": -1}}, 7],
)
def test_odd_states(state: object) -> None:
    """What a release does not state is unknown, whatever stands in its place."""
    answer = {"tp_size": 1, "internal_states": [state]}
    info = parse_server_info(json.dumps(answer).encode(), "-")

    assert 1 == len(info.workers)
    assert info.workers[0].kv_tokens is None
    assert () == boot_from_server(info).ranks


@pytest.mark.parametrize("odd", ["NaN", "Infinity", "-Infinity", "1e400", "9" * 400])
def test_number_that_no_server_means(odd: str) -> None:
    """JSON from Python may hold NaN, and anybody's may hold numbers without end."""
    memory = f'{{"token_capacity": {odd}, "kvcache": {odd}, "weight": {odd}}}'
    state = f'{{"memory_usage": {memory}, "max_mamba_cache_size": {odd}}}'
    answer = f'{{"tp_size": {odd}, "page_size": 1, "max_mamba_cache_size": null,'
    answer += f' "max_total_num_tokens": {odd}, "internal_states": [{state}]}}'
    info = parse_server_info(answer.encode(), "-")

    assert {"page_size": 1, "max_mamba_cache_size": None} == info.arguments
    assert (WorkerLimits(None, None, None, None, None, None),) == info.workers


def test_version_that_is_none() -> None:
    """A release of 5000 digits is no release."""
    answer = {"tp_size": 1, "version": "9" * 5000}
    info = parse_server_info(json.dumps(answer).encode(), "-")

    assert "" == info.version
    assert "ready" == boot_from_server(info).outcome


def test_boot_of_a_pinned_server() -> None:
    """The limit of 4 and 69,102,184 tokens; K is not stated and comes from metrics.

    65.901 GiB ± 0.0005 hold the pool's 70,760,637,440 bytes: 69,102,185 rows of
    2 layers × 2 tensors × 2 heads × 64 × 2 bytes.
    """
    info = read_server_info(str(PIN20))
    boot = boot_from_server(info)
    (rank,) = boot.ranks

    assert ("ready", True) == (boot.outcome, boot.hybrid)
    assert ("0.5.23", "0.5.23") == (boot.releases.low, boot.releases.high)
    assert ("extra_buffer", "option") == (
        boot.setting("mamba_radix_cache_strategy").value,
        boot.setting("mamba_radix_cache_strategy").origin,
    )
    assert 20 == boot.setting("max_mamba_cache_size").value
    assert rank.state_pool is None
    assert rank.kv_pool is not None
    assert rank.kv_pool.size is not None
    assert 69_102_184 == rank.kv_pool.tokens
    assert rank.kv_pool.size.holds(69_102_185 * 2 * 2 * 2 * 64 * 2)
    assert 4 == boot.summaries[0].max_running_requests

    (rank,) = boot_from_server(info, state_slots=20).ranks
    assert rank.state_pool is not None
    assert 20 == rank.state_pool.slots


def test_boot_of_two_workers() -> None:
    """Plain replicas: two workers with pools of their own, K as the server wrote it."""
    boot = boot_from_server(read_server_info(str(DP2)))

    assert ["DP0", "DP1"] == [rank.rank.text for rank in boot.ranks]
    assert [40_721, 40_721] == [
        rank.state_pool.slots for rank in boot.ranks if rank.state_pool
    ]
    assert [6, 6] == [summary.max_running_requests for summary in boot.summaries]
    assert 1 == boot.setting("attn_dp_size").value
    assert boot.setting("max_mamba_cache_size").value is None


def test_two_decimals_are_taken_for_what_they_are() -> None:
    """65.9 may be 65.900 or 65.90: the wider interval is true in both cases."""
    answer = {
        "tp_size": 1,
        "internal_states": [{"memory_usage": {"kvcache": 65.9, "weight": 8.125}}],
    }
    (worker,) = parse_server_info(json.dumps(answer).encode(), "-").workers

    assert worker.kv is not None
    assert worker.weights is not None
    assert (65.895, 65.905) == pytest.approx(
        (worker.kv.low / 2**30, worker.kv.high / 2**30)
    )
    assert 8.1245 == pytest.approx(worker.weights.low / 2**30)
