"""A seeded stand-in for a server: the evidence is held to what it really did."""

from __future__ import annotations

import heapq
import random
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from typing import Literal

import pytest

from mamba_advisor.facts import Rank, Reading, Value
from mamba_advisor.runtime.collector import EvidenceCollector
from mamba_advisor.runtime.model import Evidence

STEP = timedelta(milliseconds=25)
START = datetime(2026, 2, 27, 17, 10, 28)
LOG_INTERVAL = 40
STEPS = 8000

NUMBERS = re.compile(
    r"\[(?P<stamp>[\d :-]+)\] "
    r"(?:(?P<decode>Decode batch)|(?P<prefill>Prefill batch)|KV cache pool is full)"
)
FIELDS = {
    "running": (re.compile(r"#running-req: (\d+)"), int),
    "queued": (re.compile(r"#queue-req: (\d+)"), int),
    "full_tokens": (re.compile(r"#full token: (\d+)"), int),
    "full_usage": (re.compile(r"full token usage: (\d\.\d\d)"), float),
    "state_slots_used": (re.compile(r"mamba num: (\d+)"), int),
    "state_usage": (re.compile(r"mamba usage: (\d\.\d\d)"), float),
    "new_tokens": (re.compile(r"#new-token: (\d+)"), int),
    "cached_tokens": (re.compile(r"#cached-token: (\d+)"), int),
    "retracted": (re.compile(r"#retracted_reqs: (\d+)"), int),
}


@dataclass(order=True)
class Request:
    """A running request; all of them produce one token per step."""

    finish: int
    started: int
    prompt: int
    output: int


@dataclass
class Server:
    """SGLang's admission in small: slots are reserved, tokens are estimated."""

    slots: int
    reserved: int
    held: int
    tokens: int
    reserve_share: float
    """Part of the output still to come that admission keeps free."""

    now: int = 0
    resident: int = 0
    running: list[Request] = field(default_factory=list)
    queue: deque[tuple[int, int]] = field(default_factory=deque)
    steady_tokens: int = 0
    """Resident tokens, summed over the steps that the truth rests on."""

    steady_running: int = 0

    @property
    def limit(self) -> int:
        """Running requests that the slots allow."""
        return self.slots // self.reserved

    def admit(self) -> list[int]:
        """Start what fits and return the prompts."""
        prompts: list[int] = []
        to_come = sum(request.finish for request in self.running)
        to_come -= len(self.running) * self.now
        while self.queue and len(self.running) < self.limit:
            prompt, output = self.queue[0]
            needed = self.resident + prompt + self.reserve_share * (to_come + output)
            if needed > self.tokens:
                break
            self.queue.popleft()
            heapq.heappush(
                self.running, Request(self.now + output, self.now, prompt, output)
            )
            self.resident += prompt
            to_come += output
            prompts.append(prompt)
        return prompts

    def decode(self) -> int:
        """Produce one token per request; return how many had to be retracted."""
        self.now += 1
        self.resident += len(self.running)
        while self.running and self.running[0].finish <= self.now:
            done = heapq.heappop(self.running)
            self.resident -= done.prompt + done.output
        retracted = 0
        while self.resident > self.tokens:
            victim = max(self.running, key=lambda request: request.started)
            self.running.remove(victim)
            heapq.heapify(self.running)
            made = self.now - victim.started
            self.resident -= victim.prompt + made
            self.queue.appendleft((victim.prompt + made, victim.output - made))
            retracted += 1
        return retracted

    def stamp(self) -> str:
        """Return the time as SGLang prints it."""
        return (START + self.now * STEP).strftime("[%Y-%m-%d %H:%M:%S]")

    def usages(self) -> str:
        """Return the usage fragment of a batch line."""
        used = self.held * len(self.running)
        return (
            f"full token usage: {self.resident / self.tokens:.2f}, "
            f"mamba usage: {used / self.slots:.2f}, "
        )

    def run(
        self,
        steps: int,
        load: float,
        draw: Callable[[random.Random], tuple[int, int]],
        rng: random.Random,
    ) -> Iterator[str]:
        """Yield log lines: *load* requests arrive per step, then the server drains."""
        due = rng.expovariate(load)
        while self.now < steps or self.running:
            while due <= self.now < steps:
                self.queue.append(draw(rng))
                due += rng.expovariate(load)
            before = len(self.running)
            if self.now < steps and (prompts := self.admit()):
                yield (
                    f"{self.stamp()} Prefill batch, #new-seq: {len(prompts)}, "
                    f"#new-token: {sum(prompts)}, #cached-token: 0, {self.usages()}"
                    f"#running-req: {before}, #queue-req: {len(self.queue)}, "
                )
            if retracted := self.decode():
                yield (
                    f"{self.stamp()} KV cache pool is full. Retract requests. "
                    f"#retracted_reqs: {retracted}, #new_tokens_gained: 1, "
                    "#new_token_ratio: 0.3000 -> 0.4000"
                )
            if steps // 20 < self.now < steps:
                self.steady_tokens += self.resident
                self.steady_running += len(self.running)
            if self.now % LOG_INTERVAL == 0 and self.running:
                used = self.held * len(self.running)
                fragment = self.usages().replace(
                    "mamba usage", f"mamba num: {used}, mamba usage"
                )
                yield (
                    f"{self.stamp()} Decode batch, #running-req: {len(self.running)}, "
                    f"#full token: {self.resident}, {fragment}cuda graph: True, "
                    f"gen throughput (token/s): 4210.55, #queue-req: {len(self.queue)}"
                )


def read(lines: Iterator[str]) -> Iterator[Reading]:
    """Yield the readings of a simulated log."""
    for number, line in enumerate(lines, 1):
        head = NUMBERS.match(line)
        assert head is not None
        event = (
            "decode" if head["decode"] else "prefill" if head["prefill"] else "retract"
        )
        facts = {
            name: kind(found[1])
            for name, (pattern, kind) in FIELDS.items()
            if (found := pattern.search(line))
        }
        yield Reading(event, facts, number, "test/line", Rank(), stamp=head["stamp"])


Bound = Literal["state", "kv"] | None


@dataclass(frozen=True)
class Run:
    """A simulated run with what is known to be true of it."""

    bound: Bound
    avg_context: float
    server: Server
    evidence: Evidence


def short(running: int) -> Reading:
    """Return the decode line of *running* requests of 100 tokens each."""
    facts: dict[str, Value] = {
        "running": running,
        "queued": 0,
        "full_tokens": 100 * running,
        "full_usage": 0.01,
        "state_usage": 0.05,
    }
    return Reading("decode", facts, 1, "test/line", stamp="2026-02-27 17:10:28")


def simulate(
    seed: int,
    *,
    knows_limit: bool = True,
    before: Sequence[int] = (),
    after: Sequence[int] = (),
) -> Run:
    """Run a server whose hot pool follows from *seed*: none, state or KV.

    The pool that is meant to bind gets half to three quarters of the capacity of
    the other one, and half as many requests again as it can serve; where none is
    to bind, the load is a third of what the smaller pool could serve.

    Args:
        seed: Decides everything else as well.
        knows_limit: Whether a boot tells the limit.
        before: Running requests of lines with short contexts before the run.
        after: The same after it.
    """
    rng = random.Random(seed)
    bound: Bound = None if seed % 5 == 0 else "state" if seed % 2 else "kv"
    prompt = rng.choice([500, 2000, 8000, 30_000])
    output = rng.choice([120, 250, 400])
    shape = rng.choice(["fixed", "uniform", "skewed"])

    def draw(source: random.Random) -> tuple[int, int]:
        if shape == "fixed":
            return prompt, output
        if shape == "uniform":
            return (
                source.randint(prompt // 2, prompt * 3 // 2),
                source.randint(output // 2, output * 3 // 2),
            )
        return (
            min(10 * prompt, 1 + int(source.lognormvariate(0, 0.7) * prompt)),
            min(10 * output, 2 + int(source.expovariate(1 / output))),
        )

    few, many = rng.randint(8, 40), rng.uniform(1.4, 2)
    reserved, held = rng.choice([(3, 3), (5, 4), (4, 3), (1, 1)])
    requests_by_state = few if bound == "state" else int(few * many)
    requests_by_kv = few if bound == "kv" else few * many
    live = {
        "fixed": prompt + 0.5 * output,
        "uniform": prompt + 0.54 * output,
        "skewed": 1.28 * prompt + output,
    }[shape]
    longest = 10 * (prompt + output)
    server = Server(
        slots=requests_by_state * reserved + rng.randrange(reserved),
        reserved=reserved,
        held=held,
        tokens=int(max(requests_by_kv * live, longest)),
        reserve_share=rng.uniform(0.05, 0.2),
    )
    capacity = min(server.limit, server.tokens / live) / output
    load = capacity * (0.33 if bound is None else 1.5)
    collector = EvidenceCollector()
    log = read(server.run(STEPS, load, draw, rng))
    for reading in chain(map(short, before), log, map(short, after)):
        collector.feed(reading)
    evidence = (
        collector.evidence(
            limit=server.limit, slots=server.slots, slots_per_request=reserved
        )
        if knows_limit
        else collector.evidence()
    )
    assert evidence is not None
    return Run(bound, server.steady_tokens / server.steady_running, server, evidence)


@pytest.mark.parametrize("seed", range(125))
def test_simulated_run_is_read_back(seed: int) -> None:
    """The context is met within 5 %, and the pool that bound is named, if any.

    One bound in 200 of the seeds, and none in every fifth.
    """
    run = simulate(seed)
    total = run.evidence.total

    assert total.avg_context == pytest.approx(run.avg_context, rel=0.05)
    assert run.bound == total.hot_pool, total.hot_why
    assert run.server.held == pytest.approx(total.slots_per_request)


def test_held_slots_tell_when_the_limit_is_unknown() -> None:
    """Without a boot, a queue at 2/3 of the state pool and more points to it.

    Of the first thirty seeds, twelve have a hot state pool; in some of them requests
    hold 3 of 4 or 4 of 5 reserved slots, so that usage never nears 100 %.
    """
    runs = [simulate(seed, knows_limit=False) for seed in range(30)]

    assert [run.bound for run in runs] == [run.evidence.total.hot_pool for run in runs]


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 6, 7])
def test_what_surrounds_the_load_does_not_poison_it(seed: int) -> None:
    """A sweep of short prompts before, and idling with single requests after it.

    The sweep doubles from one request on, up to a quarter of the run's requests, with
    six lines at each step; the idling prints a thousand lines of one short request.
    """
    run = simulate(seed)
    most = int(run.evidence.total.running.mean) // 4
    sweep = [2**step for step in range(most.bit_length()) for _ in range(6)]
    total = simulate(seed, before=sweep, after=[1] * 1000).evidence.total

    assert total.left_out >= 1000
    assert total.avg_context == pytest.approx(run.avg_context, rel=0.05)
    assert run.bound == total.hot_pool
