"""Make an SGLang server log of any size, and say what is true of it.

    python make_log.py OUT SIZE MIX [--seed N] [--with VARIANT ...]

SIZE takes K, M and G.  The same arguments give the same bytes.  The true aggregates
of the last server start are printed as JSON, so that one file tests speed and
correctness: a fast scan that loses lines is worthless.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

SLOTS, SLOTS_PER_REQUEST, TOKENS = 480, 5, 1_326_317
LIMIT = SLOTS // SLOTS_PER_REQUEST
EPOCH = 1_777_000_000
PARTS = 1 << 20
"""Bytes that are handed out at a time, about."""

VARIANTS = {
    "bars": "progress bars without newline, and lines glued to them",
    "bare-access": "access lines without time",
    "burst": "one minute with everything full, for peaks",
    "retract": "retractions, a few per hour, from every rank",
    "hostile": "request texts that imitate log lines",
    "bytes": "lines that are not UTF-8, and NUL bytes",
    "crlf": "carriage return before every newline",
    "cut": "the last line without its end",
    "ms": "milliseconds in the prefix",
    "long": "lines of 300 KiB",
}
"""Name -> what it adds to a log."""

USAGES = {
    "plain": "#token: {f}, token usage: {u:.2f}, ",
    "mamba": "#full token: {f}, full token usage: {u:.2f}, "
    "mamba num: {m}, mamba usage: {v:.2f}, ",
    "swa": "#full token: {f}, full token usage: {u:.2f}, "
    "#swa token: {m}, swa token usage: {v:.2f}, ",
    "swa-mamba": "#full token: {f}, full token usage: {u:.2f}, #swa token: 77, "
    "swa token usage: 0.07, mamba num: {m}, mamba usage: {v:.2f}, ",
}
"""Family -> usage fragment of its decode lines."""

EXTRAS = {
    "": "",
    "spec": "accept len: 2.35, accept rate: 0.78, ",
    "pd": "pre-allocated usage: 0.12, #prealloc-req: 3, #transfer-req: 1, "
    "#retracted-req: 0, ",
}

HEADS = {"comma": ",", "dot": ".", "iteration": " [{i}],"}
"""How the head of a batch line ends: 0.5.5 on, up to 0.5.3, 0.5.4."""

WRAPS = {
    "": "{p}",
    "docker": "sglang-1  | {p}",
    "journald": "Mar 07 04:31:24 gpu7 sglang[4242]: {p}",
    "colour": "\x1b[32m{p}\x1b[0m",
    "logger": "INFO 03-07 04:31:24 scheduler.py:412: ",
}
"""What stands before a line; ``{p}`` is SGLang's own prefix."""


@dataclass(frozen=True, slots=True)
class Mix:
    """What a log is made of."""

    speakers: tuple[str, ...] = ("TP0",)
    """Rank tags that print batch lines, as printed."""

    copies: bool = False
    """The speakers are TP ranks of one worker: they repeat each other."""

    access: int = 16
    """Access lines a second."""

    requests: int = 0
    """Logged requests a second, with their text."""

    usage: str = "mamba"
    extra: str = ""
    head: str = "comma"
    tail: str = ""
    """What ends a batch line: a comma and a blank up to 0.5.8."""

    wrap: str = ""
    boots: int = 1
    variants: frozenset[str] = frozenset()


EIGHT = tuple(f"TP{rank}" for rank in range(8))
MIXES = {
    "one": Mix(),
    "eight": Mix(EIGHT, copies=True, access=25),
    "dp": Mix(tuple(f"DP{n} TP{n} EP{n}" for n in range(8)), access=25),
    "requests": Mix(requests=5, access=4),
    "docker": Mix(wrap="docker"),
    "logger": Mix(wrap="logger"),
}


@dataclass(slots=True)
class Worker:
    """True figures of one worker since the last server start."""

    decode_lines: int = 0
    prefill_lines: int = 0
    running: int = 0
    """Sum over its decode lines, as the following ones."""

    queued: int = 0
    full_tokens: int = 0
    slots_used: int = 0
    queued_lines: int = 0
    running_max: int = 0
    queued_max: int = 0
    usage_max: float = 0.0
    new_tokens: int = 0
    cached_tokens: int = 0


@dataclass(slots=True)
class Truth:
    """What is true of a generated log; filled in while it is made."""

    lines: int = 0
    boots: int = 0
    retractions: int = 0
    workers: dict[str, Worker] = field(default_factory=dict)
    """Tags of the worker's lowest rank -> its figures."""

    def start(self, mix: Mix) -> None:
        """Begin a new server start."""
        self.boots += 1
        self.retractions = 0
        kept = mix.speakers[:1] if mix.copies else mix.speakers
        self.workers = {tags: Worker() for tags in kept}


class Maker:
    """Makes one log."""

    def __init__(self, mix: Mix, seed: int) -> None:
        self.mix = mix
        self.truth = Truth()
        self.random = random.Random(seed)
        self.now = 0
        self.load = dict.fromkeys(mix.speakers, (LIMIT // 3, 9000))
        pool = [
            f"INFO:     10.0.{self.random.randrange(9)}.{self.random.randrange(255)}:"
            f'{self.random.randrange(20000, 60000)} - "POST /v1/chat/completions'
            ' HTTP/1.1" 200 OK\n'
            for _ in range(509)
        ]
        self.access = pool * 2
        usage, extra = USAGES[mix.usage], EXTRAS[mix.extra]
        self.decode = (
            f"Decode batch{HEADS[mix.head]} #running-req: {{r}}, {usage}{extra}cuda"
            f" graph: True, gen throughput (token/s): {{g}}.55, #queue-req: {{q}}"
            f"{mix.tail}\n"
        ).format
        shown = (
            "token usage: {u:.2f}, "
            if mix.usage == "plain"
            else ("full token usage: {u:.2f}, mamba usage: {v:.2f}, ")
        )
        self.prefill = (
            f"Prefill batch{HEADS[mix.head]} #new-seq: {{s}}, #new-token: {{n}},"
            f" #cached-token: {{c}}, {shown}#running-req: {{r}}, #queue-req: {{q}},"
            " #pending-token: 0, cuda graph: False, input throughput (token/s):"
            f" 61233.10{mix.tail}\n"
        ).format

    def prefix(self, tags: str) -> str:
        """Return all that stands before a message of the rank *tags*."""
        second = EPOCH + self.now
        clock = f"{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}"
        day = second // 86400 % 28 + 1
        milli = ".417" if "ms" in self.mix.variants else ""
        tags = f" {tags}" if tags else ""
        own = f"[2026-03-{day:02} {clock}{milli}{tags}] "
        return WRAPS[self.mix.wrap].format(p=own)

    def second(self) -> Iterator[str]:
        """Yield the lines of one second of a server at work."""
        mix, variants, rng = self.mix, self.mix.variants, self.random
        self.now += 1
        burst = "burst" in variants and 600 <= self.now % 3600 < 660
        line = ""
        for tags in mix.speakers:
            if line and mix.copies:
                yield "".join(
                    self.prefix(tags) + text for text in line.splitlines(True)
                )
                continue
            line = self.batches(tags, burst=burst)
            yield "".join(self.prefix(tags) + text for text in line.splitlines(True))
        start = rng.randrange(509)
        bare = "" if "bare-access" in variants else self.prefix("")
        if mix.access:
            yield bare + bare.join(self.access[start : start + mix.access])
        for _ in range(mix.requests):
            yield self.prefix("") + self.request()
        if variants and rng.random() < 0.01:
            yield from self.oddities()

    def batches(self, tags: str, *, burst: bool) -> str:
        """Return two prefill lines and a decode line, without prefix; count them."""
        rng = self.random
        running, context = self.load[tags]
        running = min(LIMIT, max(1, running + rng.randrange(-3, 4)))
        context = min(13000, max(2000, context + rng.randrange(-200, 201)))
        self.load[tags] = running, context
        queued = rng.randrange(1, 40) if running == LIMIT else 0
        if burst:
            running, queued = LIMIT, 97
        held = running * (SLOTS_PER_REQUEST - 1) + rng.randrange(running)
        full = min(TOKENS, running * context + rng.randrange(1000))
        usage, state = full / TOKENS, held / SLOTS
        shape = {
            "r": running, "q": queued, "f": full, "u": usage, "m": held, "v": state,
            "g": 40 * running + rng.randrange(99), "i": self.now, "s": 1,
        }  # fmt: skip
        truth = self.truth.workers.get(tags)
        text = ""
        for _ in range(2):
            new, cached = rng.randrange(16, 8192), rng.randrange(0, 4096)
            text += self.prefill(n=new, c=cached, **shape)
            if truth:
                truth.prefill_lines += 1
                truth.new_tokens += new
                truth.cached_tokens += cached
        if truth:
            truth.decode_lines += 1
            truth.running += running
            truth.queued += queued
            truth.full_tokens += full
            truth.slots_used += held
            truth.queued_lines += queued > 0
            truth.running_max = max(truth.running_max, running)
            truth.queued_max = max(truth.queued_max, queued)
            truth.usage_max = max(truth.usage_max, round(usage, 2))
        return text + self.decode(**shape)

    def request(self) -> str:
        """Return a logged request: user text inside the log."""
        if "hostile" in self.mix.variants:
            words = [self.forgery()]
        else:
            words = self.random.choices(("state", "slot", "Grüße", "token"), k=300)
        text = " ".join(words)
        verb = self.random.choice(("Receive", "Finish"))
        return f"{verb}: obj=GenerateReqInput(rid='{self.now}', text={text!r})\n"

    def forgery(self) -> str:
        """Return user text that looks like the log."""
        lies = {"r": 999, "q": 999, "f": 9, "u": 1.0, "m": 9, "v": 1.0, "g": 1, "i": 1}
        fake = self.prefix(self.mix.speakers[0]) + self.decode(**lies).rstrip("\n")
        return self.random.choice(
            (
                fake,
                f"] {fake}",
                "server_args=ServerArgs(tp_size=64",
                f"\n{fake}\n{fake}",
            )
        )

    def oddities(self) -> Iterator[str]:
        """Yield a rare thing or two, as far as the variants ask for them."""
        variants, rng = self.mix.variants, self.random
        if "retract" in variants and rng.random() < 0.3:
            self.truth.retractions += 1
            for tags in self.mix.speakers if self.mix.copies else self.mix.speakers[:1]:
                yield self.prefix(tags) + (
                    "KV cache pool is full. Retract requests. #retracted_reqs: 1,"
                    " #new_tokens_gained: 900, #new_token_ratio: 0.5000 -> 0.8000\n"
                )
        if "bars" in variants:
            yield "Loading: 50%|#### | 1/2 [00:01<00:01,  1.20s/it]\r"
            yield self.prefix("") + "Cache flushed successfully!\n"
        if "bytes" in variants:
            yield "\udcff\udcfe\x00 noise \udcc3\n"
        if "hostile" in variants:
            yield self.prefix("") + self.request()
        if "long" in variants:
            yield self.prefix("") + "x" * rng.randrange(200_000, 300_000) + "\n"

    def boot(self) -> Iterator[str]:
        """Yield a server start, from ``server_args`` to the ready line."""
        self.truth.start(self.mix)
        ranks = self.mix.speakers
        dp = len(ranks) if ranks[0].startswith("DP") else 1
        fields = ", ".join(f"option_{number}=None" for number in range(150))
        yield self.prefix("") + (
            "server_args=ServerArgs(model_path='Qwen/Qwen3-Next-80B-A3B-Instruct',"
            f" tp_size={len(ranks)}, dp_size={dp}, pp_size=1, page_size=1,"
            " mem_fraction_static=0.85, max_running_requests=None, max_mamba_cache_size"
            "=None, mamba_full_memory_ratio=0.9, mamba_radix_cache_strategy="
            f"'extra_buffer', disable_radix_cache=False, {fields})\n"
        )
        for text in (
            "Load weight begin. avail mem=78.58 GB",
            "Load weight end. elapsed=18.10 s, type=Qwen3NextForCausalLM, avail"
            " mem=40.21 GB, mem usage=38.37 GB.",
            f"Mamba Cache is allocated. max_mamba_cache_size: {SLOTS}, conv_state size:"
            " 0.30GB, ssm_state size: 13.46GB ",
            f"KV Cache is allocated. dtype: torch.bfloat16, #tokens: {TOKENS}, K size:"
            " 7.59 GB, V size: 7.59 GB",
            "Memory pool end. avail mem=11.52 GB",
            "Capture target decode CUDA graph end. elapsed=18.42 s, mem usage=1.51 GB,"
            " avail mem=10.01 GB.",
        ):
            for tags in ranks:
                self.now += self.random.randrange(2)
                if "bars" in self.mix.variants and self.random.random() < 0.2:
                    yield "Capturing: 50%|#### | 2/4 [00:01<00:01,  2.09it/s]"
                yield f"{self.prefix(tags)}{text}\n"
        yield self.prefix(ranks[0]) + (
            f"max_total_num_tokens={TOKENS}, chunked_prefill_size=8192,"
            f" max_prefill_tokens=16384, max_running_requests={LIMIT},"
            " context_len=262144, available_gpu_mem=10.01 GB\n"
        )
        yield self.prefix("") + "The server is fired up and ready to roll!\n"

    def make(self, size: int) -> Iterator[bytes]:
        """Yield the log in pieces, *size* bytes or a little more in all."""
        made = 0
        newline = b"\r\n" if "crlf" in self.mix.variants else b"\n"
        for number in range(1, self.mix.boots + 1):
            parts = list(self.boot())
            share = size * number // self.mix.boots
            while True:
                held = 0
                while held < min(PARTS, share - made):
                    more = list(self.second())
                    held += sum(map(len, more))
                    parts += more
                block = "".join(parts).encode(errors="surrogateescape")
                self.truth.lines += block.count(b"\n")
                if newline != b"\n":
                    block = block.replace(b"\n", newline)
                made += len(block)
                yield block
                parts = []
                if made >= share:
                    break
        if "cut" in self.mix.variants:
            self.truth.lines += 1
            yield self.prefix(self.mix.speakers[0]).encode() + b"Decode batch, #runn"


def bytes_of(text: str) -> int:
    """Return the number of bytes that *text*, such as ``100M``, stands for."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text)


def main() -> None:
    """Write the log that the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("size", type=bytes_of)
    parser.add_argument("mix", choices=MIXES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--boots", type=int, default=1)
    parser.add_argument("--usage", choices=USAGES, default="mamba")
    parser.add_argument("--extra", choices=EXTRAS, default="")
    parser.add_argument("--head", choices=HEADS, default="comma")
    parser.add_argument("--with", nargs="*", choices=VARIANTS, default=(), dest="add")
    asked = parser.parse_args()
    mix = replace(
        MIXES[asked.mix], boots=asked.boots, usage=asked.usage, extra=asked.extra,
        head=asked.head, variants=frozenset(asked.add),
    )  # fmt: skip
    maker = Maker(mix, asked.seed)
    with asked.out.open("wb") as out:
        for part in maker.make(asked.size):
            out.write(part)
    print(json.dumps(asdict(maker.truth)))


if __name__ == "__main__":
    main()
