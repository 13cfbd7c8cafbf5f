"""What is said about an input that cannot be advised on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import pytest

from mamba_advisor.boot.demands import Glimpse, require_boot, require_pools
from mamba_advisor.boot.model import Boot
from mamba_advisor.errors import NotHybridError, TooLittleError
from mamba_advisor.facts import Reading

Say = Callable[..., Reading]
BootsOf = Callable[[Iterable[Reading]], list[Boot]]


@pytest.mark.parametrize(
    ("head", "looks", "words"),
    [
        ("", "", "the input is empty"),
        ("\n\n  \n", "", "only blank lines"),
        ("\x7fELF\x02\x01", "binary", "a binary file"),
        ("<!DOCTYPE html>\n<html>", "html", "a web page"),
        ("INFO 10-01 Initializing a V1 LLM engine (vLLM)", "", "a log of vLLM"),
        ("[TensorRT-LLM] TensorRT-LLM version: 1.0.0", "", "a log of TensorRT-LLM"),
        ("llama_model_loader: loaded meta data", "", "a log of llama.cpp"),
        ("[10:00:00] Ignore import error: sglang.srt", "", "pool lines"),
        ("the quick brown fox", "", "no line of an SGLang server"),
    ],
)
def test_no_boot(head: str, looks: str, words: str) -> None:
    """One sentence each, exit status 3, and the name of the input."""
    glimpse = Glimpse("server.log", head.count("\n") + 1, head, looks)

    with pytest.raises(TooLittleError) as caught:
        require_boot([], glimpse)

    assert str(caught.value).startswith("server.log: ")
    assert words in str(caught.value)
    assert 3 == caught.value.exit_code


def test_unknown_wording_is_named() -> None:
    """A line with SGLang's key words that no dialect reads: how to add one."""
    glimpse = Glimpse("-", 900, "sglang", unread=((812, "state-pool"),))

    with pytest.raises(TooLittleError) as caught:
        require_boot([], glimpse)

    assert "standard input: line 812 looks like a state-pool line" in str(caught.value)
    assert "--parser" in str(caught.value)


def test_not_hybrid(say: Say, boots_of: BootsOf) -> None:
    """Exit status 4, with the reason."""
    (boot,) = boots_of(
        [
            say("weights-end", model_type="LlamaForCausalLM"),
            say("kv-pool", kv_tokens=38141),
        ]
    )

    with pytest.raises(NotHybridError) as caught:
        require_pools(boot)

    assert 4 == caught.value.exit_code
    assert "LlamaForCausalLM: not a hybrid model (line 2" in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([("server-args", {})], ["pool lines", "(found: server_args)", "Without them"]),
        ([("decode", {"state_usage": 0.5})], ["pool lines", "--log-level info"]),
        ([("state-pool", {"state_slots": 9})], ["KV pool's line"]),
        (
            [("kv-pool", {"kv_tokens": 9}), ("hybrid-backend", {})],
            ["state pool's line"],
        ),
        (
            [("capped", {"granted": 2, "state_slots": 10})],
            ["pool lines", "the limit set by the state pool", "-c N", "plan"],
        ),
    ],
)
def test_too_little(
    say: Say,
    boots_of: BootsOf,
    lines: list[tuple[str, dict[str, object]]],
    words: list[str],
) -> None:
    """Two sentences name the missing lines, what there is, and what does without."""
    arguments = {"tp_size": 1, "dp_size": 1, "pp_size": 1, "page_size": 1}
    facts = {"server-args": {"form": "repr", "arguments": arguments}}
    (boot,) = boots_of([say(name, **facts.get(name, {}), **x) for name, x in lines])

    with pytest.raises(TooLittleError) as caught:
        require_pools(boot)

    message = str(caught.value)
    assert [] == [word for word in words if word not in message]
    assert 1 == len(re.findall(r"\. (?=[A-Z])", message))
    assert len(message) < 400


@pytest.mark.parametrize("arguments", [{}, {"model_path": "acme/model"}])
def test_a_quoted_argument_is_no_server_args_line(
    say: Say, boots_of: BootsOf, arguments: dict[str, object]
) -> None:
    """What other lines imply, or a command quotes, is not said to be found."""
    readings = [say("capped", granted=2, state_slots=10, slots_per_request=5)]
    if arguments:
        readings.insert(0, say("server-args", form="pair", arguments=arguments))
    (boot,) = boots_of(readings)

    with pytest.raises(TooLittleError) as caught:
        require_pools(boot)

    assert "(found: the limit set by the state pool)" in str(caught.value)


def test_log_level_that_hides_the_pools(say: Say, boots_of: BootsOf) -> None:
    """The arguments show why: the pool lines are info lines."""
    arguments = {"log_level": "warning", "tp_size": 1}
    (boot,) = boots_of([say("server-args", form="dict", arguments=arguments)])

    with pytest.raises(TooLittleError, match="--log-level warning hides them"):
        require_pools(boot)


def test_both_pools_or_a_failure_are_enough(say: Say, boots_of: BootsOf) -> None:
    """Whatever else is missing, advice can be given."""
    pools = [say("state-pool", state_slots=9), say("kv-pool", kv_tokens=9)]

    for readings in (pools, [say("failure-oom")]):
        (boot,) = boots_of(readings)
        require_pools(boot)
