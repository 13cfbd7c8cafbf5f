"""Evidence from Prometheus text, as servers print it and as it should not be."""

from __future__ import annotations

from pathlib import Path

import pytest

from mamba_advisor.errors import InputError
from mamba_advisor.runtime.metrics import evidence_of, parse_metrics, read_metrics

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "runtime"
PIN20 = FIXTURES / "qwen3next-pin20-0.5.23.prom"
DP2 = FIXTURES / "qwen3next-dp2-0.5.18.prom"


def page(**values: float) -> str:
    """Return Prometheus text with one series per name, of one worker."""
    return "".join(
        f'sglang:{name}{{model_name="m",tp_rank="0",pp_rank="0"}} {value}\n'
        for name, value in values.items()
    )


def test_pinned_server() -> None:
    """5079 tokens of 4 requests with 4 slots each; 16 + 4 + 0 slots are K = 20."""
    evidence = read_metrics(str(PIN20), limit=4, slots_per_request=5)

    assert "metrics" == evidence.origin
    assert (20, 69_102_184) == (evidence.state_slots, evidence.kv_tokens)
    assert (1270, 4.0) == (evidence.total.avg_context, evidence.total.slots_per_request)
    assert 0.8 == evidence.total.state_usage.mean if evidence.total.state_usage else 0
    assert "state" == evidence.total.hot_pool
    assert (
        "in 100 % of samples requests queued while KV stood at 0 %: the limit of 4 "
        "running requests was reached, which the state pool sets"
    ) == evidence.total.hot_why


def test_two_workers() -> None:
    """Each worker is one sample: 4670 and 3499 tokens of 4 requests each."""
    evidence = read_metrics(str(DP2), limit=6)

    assert [("DP0", 1168), ("DP1", 875)] == [
        (worker.worker, worker.avg_context) for worker in evidence.workers
    ]
    assert (2, 1021) == (evidence.total.samples, evidence.total.avg_context)
    assert evidence.total.hot_pool is None
    assert 40_721 == evidence.state_slots


def test_former_names() -> None:
    """Up to 0.5.9 ``token_usage`` is KV's and ``num_used_tokens`` its tokens."""
    text = page(num_running_reqs=2, token_usage=0.3, num_used_tokens=600)
    evidence = evidence_of(parse_metrics(text))

    assert 300 == evidence.total.avg_context
    assert 0.3 == evidence.total.kv_usage.mean if evidence.total.kv_usage else 0
    assert evidence.total.state_usage is None


def test_newer_names_win() -> None:
    """From 0.5.10 ``token_usage`` is the largest of all pools, so it is not KV's."""
    text = page(
        num_running_reqs=2, full_token_usage=0.1, token_usage=0.8, mamba_usage=0.8
    )
    evidence = evidence_of(parse_metrics(text))

    assert 0.1 == evidence.total.kv_usage.mean if evidence.total.kv_usage else 0


def test_several_scrapes_in_a_file() -> None:
    """A series that comes again is the next sample: 100 and 300 tokens are 200."""
    text = page(num_running_reqs=1, kv_used_tokens=100) + page(
        num_running_reqs=1, kv_used_tokens=300
    )
    evidence = evidence_of(parse_metrics(text))

    assert (2, 200) == (evidence.total.samples, evidence.total.avg_context)


def test_tp_ranks_repeat_each_other() -> None:
    """The lowest TP rank counts, whoever stands first."""
    text = "".join(
        f'sglang:num_running_reqs{{tp_rank="{rank}"}} {rank + 1}\n' for rank in (1, 0)
    )

    assert 1.0 == evidence_of(parse_metrics(text)).total.running.mean


def test_priorities_are_parts_of_the_total() -> None:
    """Series with a priority are left out."""
    text = (
        'sglang:num_running_reqs{tp_rank="0",priority=""} 5\n'
        'sglang:num_running_reqs{tp_rank="0",priority="1"} 2\n'
    )

    assert 5.0 == evidence_of(parse_metrics(text)).total.running.mean


def test_counters_are_summed() -> None:
    """300 of 1000 prompt tokens were cached, over two kinds of requests."""
    text = page(num_running_reqs=1) + (
        'sglang:prompt_tokens_total{is_streaming="true"} 600\n'
        'sglang:prompt_tokens_total{is_streaming="false"} 400\n'
        'sglang:cached_tokens_total{cache_source="device"} 200\n'
        'sglang:cached_tokens_total{cache_source="host"} 100\n'
    )

    assert 0.3 == evidence_of(parse_metrics(text)).total.prefix_hit_share


@pytest.mark.parametrize(("retracted", "hot"), [(10, None), (11, "kv")])
def test_retractions_per_answer(retracted: int, hot: str | None) -> None:
    """More than one retraction in a hundred answers says that KV is short."""
    text = page(
        num_running_reqs=1,
        num_requests_total=1000,
        num_retracted_requests_total=retracted,
    )
    evidence = evidence_of(parse_metrics(text))

    assert (retracted, hot) == (
        evidence.total.retracted_requests,
        evidence.total.hot_pool,
    )


def test_odd_lines_are_passed_over() -> None:
    """NaN, other exporters' names, escaped labels, timestamps, cut lines."""
    text = (
        "# TYPE sglang:num_running_reqs gauge\n"
        "vllm:num_requests_running 9\n"
        "sglang:token_usage NaN\n"
        "sglang:full_token_usage +Inf\n"
        'sglang:num_queue_reqs{model_name="a\\"b}{,=\\\\"} 3 1772212228000\n'
        "sglang_num_running_reqs 2.0\n"
        'sglang:mamba_usage{model_name="cut'
    )
    shown = evidence_of(parse_metrics(text)).total

    assert (2.0, 3.0) == (shown.running.mean, shown.queued.mean)
    assert shown.kv_usage is None
    assert shown.state_usage is None


def test_numbers_that_no_server_counts() -> None:
    """Values that overflow, values below zero, and a rank of 5000 digits."""
    digits = "9" * 5000
    text = (
        "sglang:num_running_reqs 2\n"
        "sglang:num_queue_reqs -3\n"
        "sglang:full_token_usage 1e308\n"
        "sglang:kv_available_tokens 1e308\n"
        "sglang:kv_used_tokens 1e308\n"
        "sglang:mamba_usage 1e400\n"
        f'sglang:num_running_reqs{{dp_rank="{digits}",tp_rank="1"}} 7\n'
    )
    shown = evidence_of(parse_metrics(text)).total

    assert 2.0 == shown.running.mean
    assert (None, None) == (shown.kv_usage, shown.state_usage)
    assert 0.0 == shown.queued.mean


def test_idle_server() -> None:
    """Without a running request there is no context, and gauges are stale."""
    shown = evidence_of(parse_metrics(page(num_running_reqs=0, token_usage=0.4))).total

    assert (0, 1) == (shown.samples, shown.left_out)
    assert shown.avg_context is None
    assert shown.kv_usage is None
    assert "1 without a running request" == shown.left_out_why


def test_several_servers_in_one_page() -> None:
    """Two servers behind one page cannot be told apart: that is said."""
    text = "".join(
        f'sglang:num_running_reqs{{pod="{pod}",tp_rank="0"}} 3\n' for pod in "ab"
    )

    with pytest.raises(InputError, match="the metrics of one server"):
        parse_metrics(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no metrics of an SGLang scheduler"),
        ("vllm:num_requests_running 3\n", "--enable-metrics"),
        ("sglang:token_usage 0.3\n", "do not say how many requests run"),
    ],
)
def test_no_metrics(tmp_path: Path, text: str, words: str) -> None:
    """What lacks the gauges is refused with what to do."""
    path = tmp_path / "metrics.txt"
    path.write_text(text)

    with pytest.raises(InputError, match=words):
        read_metrics(str(path))
