"""What a running server says about itself, for a boot whose log is lost."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeGuard

from mamba_advisor.boot.model import (
    Boot,
    KvPool,
    RankBoot,
    Releases,
    Setting,
    Source,
    StatePool,
    Summary,
)
from mamba_advisor.boot.settings import settle
from mamba_advisor.errors import InputError
from mamba_advisor.facts import Rank, Scalar
from mamba_advisor.measured import Measured
from mamba_advisor.record import Record
from mamba_advisor.runtime.fetch import MissingPageError, fetch, is_url, page_of
from mamba_advisor.server_args import LARGEST

TIMEOUT_S = 10.0
"""Default time that a server has to answer."""

PAGES = ("/server_info", "/get_server_info")
"""Where servers answer: newer releases, then older ones."""

SECRET = ("key", "password", "secret", "token_file")
"""Parts of argument names whose values are not kept."""

LONGEST_VERSION = 64
"""Characters of the longest release, with all that a build adds."""

FIRST, LAST = "0.5.2", "0.5.23"
"""Releases that it may be when the server does not say."""


class WorkerLimits(Record):
    """What one DP worker holds; None: this release does not state it."""

    max_running_requests: int | None
    """The limit in force."""

    kv_tokens: int | None
    """T, usable KV tokens."""

    state_slots: int | None
    """K, usable state slots."""

    kv: Measured | None
    """KV pool in bytes."""

    weights: Measured | None
    """Weights in bytes."""

    idle: Measured | None
    """Free memory after the boot, in bytes."""


class ServerInfo(Record):
    """A running server's resolved arguments and the limits of its workers."""

    source: str
    """The address or file that it was read from."""

    version: str
    """SGLang's release, empty when not stated."""

    arguments: Mapping[str, Scalar]
    """Resolved arguments by SGLang's names, without secrets and nested values."""

    workers: tuple[WorkerLimits, ...]
    """One per DP worker; at least one."""


def read_server_info(url: str, timeout_s: float = TIMEOUT_S) -> ServerInfo:
    """Ask a running server for its arguments and limits.

    Args:
        url: The server, ``http://host:30000``, a page of it, or a file with the
            saved answer.
        timeout_s: Seconds that the server has for each answer.

    Raises:
        InputError: It cannot be reached, or the answer is not SGLang's.
    """
    if not is_url(url):
        return parse_server_info(fetch(url, timeout_s), url)
    first, second = (page_of(url, page) for page in PAGES)
    try:
        return parse_server_info(fetch(first, timeout_s), first)
    except MissingPageError:
        if first == second:
            raise
        return parse_server_info(fetch(second, timeout_s), second)


def parse_server_info(content: bytes, source: str) -> ServerInfo:
    """Read the answer of a server's information page.

    Args:
        content: JSON: the arguments at the top level, ``internal_states`` with one
            object per DP worker.
        source: Where it comes from, for messages.

    Raises:
        InputError: It is no such JSON.
    """
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source}: no JSON: {error}") from error
    if not isinstance(answer, dict) or "tp_size" not in answer:
        raise InputError(f"{source}: no information of an SGLang server")
    states = answer.get("internal_states")
    if isinstance(states, dict):
        states = [states]
    if not isinstance(states, list) or not states:
        states = [{}]
    workers = [state if isinstance(state, dict) else {} for state in states]
    version = answer.get("version", "")
    return ServerInfo(
        source=source,
        version=version if _is_short(version) else "",
        arguments={
            name: value
            for name, value in answer.items()
            if (value is None or isinstance(value, bool | str) or _is_sane(value))
            and not any(part in name for part in SECRET)
        },
        workers=tuple(_limits(answer, state) for state in workers),
    )


def _is_short(text: object) -> TypeGuard[str]:
    """Return whether *text* may name a release."""
    return isinstance(text, str) and len(text) <= LONGEST_VERSION


def _limits(answer: Mapping[str, Any], state: Mapping[str, Any]) -> WorkerLimits:
    """Return what one worker's state says, on top of the server's answer."""
    memory = state.get("memory_usage")
    sizes: Mapping[str, Any] = memory if isinstance(memory, dict) else {}
    tokens = _count(sizes, "token_capacity")
    # Some releases (0.5.18) write K over the worker's copy of an open argument.
    slots = _count(state, "max_mamba_cache_size")
    is_open = answer.get("max_mamba_cache_size", 0) is None
    return WorkerLimits(
        max_running_requests=_count(state, "effective_max_running_requests_per_dp"),
        kv_tokens=tokens if tokens else _count(answer, "max_total_num_tokens"),
        state_slots=slots if is_open else None,
        kv=_gib(sizes, "kvcache"),
        weights=_gib(sizes, "weight"),
        idle=_gib(sizes, "startup_available"),
    )


def _count(facts: Mapping[str, Any], name: str) -> int | None:
    value = facts.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < LARGEST else None


def _is_sane(value: object) -> bool:
    """Return whether *value* is a number that a server can mean; NaN is none."""
    return isinstance(value, int | float) and -LARGEST < value < LARGEST


def _gib(sizes: Mapping[str, Any], name: str) -> Measured | None:
    """Return a size that SGLang rounded to three decimals of a GiB, formerly two.

    JSON drops trailing zeros, so that fewer than three decimals are taken for two.
    """
    value = sizes.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 < value < LARGEST:
        return None
    three = f"{Decimal(str(value)):.3f}"
    return Measured.from_text(three.removesuffix("0"), "GiB")


def boot_from_server(info: ServerInfo, *, state_slots: int | None = None) -> Boot:
    """Return the boot of a running server, as far as the server states it.

    Args:
        info: What the server says.
        state_slots: K of a worker where it is known otherwise, for example from
            metrics.

    Returns:
        A boot that is ready, with settings of origin ``"option"`` and without lines.
        Bytes of the state pool are not stated, and K only by some releases.
    """
    known = bool(info.version)
    releases = Releases(
        info.version or FIRST,
        info.version or LAST,
        (f"the server calls itself {info.version}",) if known else (),
    )
    arguments = {name: (value, 0) for name, value in info.arguments.items()}
    settings = {
        name: Setting(value.value, "option" if value.origin == "log:0" else "inferred")
        for name, value in settle(arguments, (), (), releases).items()
    }
    hybrid, evidence = _hybridity(info, state_slots)
    ranks = _ranks(info.workers, state_slots)
    return Boot(
        source=Source(info.source, 0, 1),
        number=1,
        outcome="ready",
        releases=releases,
        hybrid=hybrid,
        hybrid_evidence=evidence,
        architecture=None,
        draft_architecture=None,
        settings=settings,
        ranks=ranks,
        summaries=_summaries(info, ranks),
        unified=info.arguments.get("enable_unified_memory") is True,
    )


def _hybridity(info: ServerInfo, state_slots: int | None) -> tuple[bool | None, str]:
    """Return whether the server's model has a state pool, and how that shows."""
    if info.arguments.get("uses_mamba_radix_cache") is True:
        return True, "the server says uses_mamba_radix_cache=True"
    if state_slots or any(worker.state_slots for worker in info.workers):
        return True, "the server states the slots of its state pool"
    return None, "the server does not say whether its model has a state pool"


def _ranks(
    workers: Sequence[WorkerLimits], state_slots: int | None
) -> tuple[RankBoot, ...]:
    """Return one rank per worker that states a pool."""
    ranks = []
    for number, worker in enumerate(workers):
        slots = worker.state_slots if worker.state_slots is not None else state_slots
        if worker.kv_tokens is None and slots is None:
            continue
        dp = number if len(workers) > 1 else -1
        ranks.append(
            RankBoot(
                rank=Rank(dp=dp, text=f"DP{dp}" if dp >= 0 else ""),
                weights=worker.weights,
                state_pool=(
                    None if slots is None else StatePool(slots, conv=None, ssm=None)
                ),
                kv_pool=(
                    None
                    if worker.kv_tokens is None
                    else KvPool(worker.kv_tokens, size=worker.kv)
                ),
                idle=worker.idle,
            )
        )
    return tuple(ranks)


def _summaries(info: ServerInfo, ranks: Sequence[RankBoot]) -> tuple[Summary, ...]:
    """Return the summary line that each rank has printed at its boot."""
    limits = [worker.max_running_requests for worker in info.workers]
    return tuple(
        Summary(
            rank.kv_pool.tokens,
            limits[max(0, rank.rank.dp)],
            _count(info.arguments, "context_length"),
            _count(info.arguments, "chunked_prefill_size"),
            _count(info.arguments, "max_prefill_tokens"),
            rank.rank,
            0,
        )
        for rank in ranks
        if rank.kv_pool is not None
    )
