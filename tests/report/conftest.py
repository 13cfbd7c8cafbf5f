"""Advice made by hand, one of each kind that a report has to show.

The figures belong to Qwen3.6-27B on two GPUs: P = 76,972,032 bytes a slot and
c = 32,768 bytes a token, so that a slot costs 2349 tokens; 131 slots and 344,064 tokens
are then worth 132 + 146.5 = 278.5 rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from mamba_advisor.advice.model import (
    Advice,
    BalancePoint,
    Concurrency,
    Cost,
    Curves,
    Derivation,
    Finding,
    Interval,
    KvPoolAdvice,
    Lever,
    Limits,
    Plateau,
    Prediction,
    RankAdvice,
    Recommendation,
    Residency,
    SelfCheck,
    Severity,
    StatePoolAdvice,
    SweepRow,
    Verdict,
    Workload,
)
from mamba_advisor.boot.model import Boot, Failure, Releases, Source
from mamba_advisor.facts import Scalar
from mamba_advisor.measured import Measured
from mamba_advisor.runtime.model import Evidence, Spread, WorkerEvidence

SLOT, TOKEN = 76_972_032, 32_768
GIB = 1 << 30

# fmt: off


def gib(text: str, *lines: int) -> Measured:
    """Return a size as the log prints it."""
    return Measured.from_text(text, "GiB", lines)


STATE = StatePoolAdvice(
    131, 132, gib("9.46", 31), Measured(SLOT, 76_870_549, 77_033_234, (31,)),
    gib("0.18", 31), gib("9.28", 31), None, None,
)
PER_TOKEN = Measured(TOKEN, 32_736, 32_799, (33,))
KV = KvPoolAdvice(
    344_064, 344_064, gib("10.50", 33), PER_TOKEN, None, PER_TOKEN, "bfloat16"
)
SETTINGS: dict[str, tuple[Scalar, str | None]] = {
    "mamba_full_memory_ratio": (0.9, "log:12"),
    "max_mamba_cache_size": (None, "log:12"),
    "mem_fraction_static": (0.82, "log:12"),
    "mamba_radix_cache_strategy": ("extra_buffer", "inferred"),
    "disable_radix_cache": (False, "log:12"),
    "tp_size": (2, "log:12"),
    "attn_dp_size": (1, "inferred"),
    "max_running_requests": (62, "log:12"),
}
EXCERPTS = {
    31: "Mamba Cache is allocated. max_mamba_cache_size: 131, conv_state size: 0.18GB,"
    " ssm_state size: 9.28GB",
    33: "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 344064, K size: 5.25 GB"
    ", V size: 5.25 GB",
}
FINDINGS = (
    Finding("self-check-exact", Severity.OK, "The model returns this boot.", (31,)),
    Finding("state-pool-binds", Severity.WARNING,
            "The state pool sets the limit: 131 slots ÷ 5 a request = 26 requests,"
            " where 62 were asked for.", (12, 31, 40)),
    Finding("idle-memory", Severity.INFO, "6.12 GiB stay idle after the boot; 2.90 GiB"
            " of it can go to the pools.", (52,)),
)
DERIVATIONS = (
    Derivation("state bytes per slot", "(conv + ssm) ÷ (slots + 1)",
               "(0.18 GiB + 9.28 GiB) ÷ (131 + 1)", "73.41 MiB (73.31 to 73.46 MiB)",
               (31,)),
    Derivation("requests that the state pool carries", "slots ÷ slots per request",
               "131 ÷ 5", "26", (31, 40), inferred=True),
)
LEVERS = (
    Lever("mamba-ssm-dtype", ("--mamba-ssm-dtype", "bfloat16"),
          Prediction(310, 206_000, 50, "kv", Limits(62, 50, 103_000, 62)),
          24, "accuracy of the model with 16-bit states"),
    Lever("lazy", ("--mamba-radix-cache-strategy", "extra_buffer_lazy"),
          Prediction(193, 197_632, 48, "state", Limits(48, 48, 98_816, 62)),
          22, "stability: a crash window is reported for this release"),
    Lever("mem-fraction", ("--mem-fraction-static", "0.88"),
          Prediction(149, 391_168, 29, "state", Limits(29, 95, 195_584, 62)),
          3, None, "costs nothing but idle memory"),
    Lever("no-overlap", ("--disable-overlap-schedule",),
          Prediction(131, 344_064, 32, "state", Limits(32, 84, 172_032, 62)),
          6, "latency"),
)


def _curves() -> Curves:
    points = []
    for step in range(41):
        ratio = 0.1 * 1.15**step
        slots = int(278.5 * ratio / (1 + ratio)) - 1
        state, kv = slots // 5, int((278.5 - slots - 1) * 2349) // 4096
        points.append(BalancePoint(ratio, state, kv, min(state, kv, 62), 62))
    return Curves(tuple(points), 4096, 0.9, 2.84)


def state_bound() -> Advice:
    """62 asked for, 26 in force: 131 slots ÷ 5; at 4096 tokens KV would carry 84."""
    boot = Boot(
        Source("server.log", 812, 2), 2, "ready",
        Releases("0.5.17", "0.5.18", ("line 40: names the pool that binds",)),
        True, "line 31: a state pool was allocated", "Qwen3_5ForConditionalGeneration",
        None, {}, (), excerpts=EXCERPTS,
    )
    ranks = tuple(
        RankAdvice(name, gib("14.11", 22), gib("47.03", 20), gib("32.40", 24), STATE,
                   KV, None, gib("6.12", 52))
        for name in ("TP0", "TP1")
    )
    advised = Recommendation(
        "ratio", 2.84, 2.867, 206, ("--mamba-full-memory-ratio", "2.84"),
        Prediction(206, 168_960, 41, "kv", Limits(41, 41, 84_480, 62), 41, 168_960),
        15, Cost(kv_tokens=175_104),
        "it carries 41 requests at 4,096 tokens each, then the KV pool binds:"
        " +15 requests for 175,104 tokens of KV and prefix cache",
        plateau=Plateau(2.79, 2.9), equivalent=("--max-mamba-cache-size", "206"),
    )
    return Advice(
        boot, Workload(4096, "option", None, None), True,
        Verdict("62 requested → 26 effective → 26 sustained at 4,096 tokens; the limit"
                " is the state pool (131 slots, 5 slots per request).", "", "improve"),
        SETTINGS, ranks, STATE, KV, None, gib("19.96", 31, 33),
        Interval(2349.0, 2343.6, 2353.1, (31, 33)), 13_233,
        Concurrency(62, 26, 26, 1, 5, (5,), Limits(26, 84, 172_032, 62), "state", 26,
                    "user"),
        SelfCheck("consistent", 131, 344_064, 26, "the model returns this boot: 131"
                  " slots, 344,064 tokens, 26 requests"),
        advised, LEVERS, (), None, FINDINGS, DERIVATIONS, _curves(),
    )


def kv_bound() -> Advice:
    """At 32,768 tokens KV carries 10 of the 26 that the slots would."""
    base = state_bound()
    return replace(
        base,
        workload=Workload(32_768, "measured", 16, 40),
        verdict=Verdict("62 requested → 26 effective → 10 sustained at 32,768 tokens;"
                        " the limit is the KV pool (344,064 tokens).", kind="improve"),
        concurrency=replace(base.concurrency, sustained=10, binding="kv",
                            limits=Limits(26, 10, 172_032, 62)),
        recommendation=Recommendation(
            "pin", 0.361, 0.358, 81, ("--max-mamba-cache-size", "81"),
            Prediction(81, 461_568, 14, "kv", Limits(16, 14, 230_784, 62)),
            4, Cost(slots=50), "a pin holds when the memory changes",
            "first raise --mem-fraction-static to 0.88: memory lies idle",
        ),
        residency=Residency(50, 81, 81, True, "room for the checkpoints of about 81"
                            " idle conversations, enough for the 40 wanted"),
        boot=replace(base.boot, runtime=_evidence()),
    )


def _evidence() -> Evidence:
    total = WorkerEvidence(
        "", 3204, 120, "no request was running", 32_768,
        Spread(32_768.0, 90_112.0, 20_480.0, 47_104.0), Spread(9.6, 11.0),
        Spread(4.2, 30.0), Spread(0.32, 0.36), Spread(0.97, 1.0), 4.0, 0.39, 0.99, 0.33,
        3, 0.61, "kv", "in 39 % of the samples requests queued, state stood at 33 %",
    )
    return Evidence(
        total,
        (replace(total, worker="DP0"), replace(total, worker="DP1", hot_pool=None)),
        "2026-09-14 12:00:01", "2026-09-14 14:05:11", 7510.0, (), (60, 700, 811),
        exhausted=(640,),
    )


ROWS = (
    SweepRow(2048, None, 4.73, 224,
             Prediction(224, 126_080, 44, "state", Limits(44, 61, 63_040, 62)), 26),
    SweepRow(8192, None, 1.26, 156,
             Prediction(156, 286_336, 31, "state", Limits(31, 34, 143_168, 62)), 26),
    SweepRow(32_768, None, 0.361, 81,
             Prediction(81, 461_568, 14, "kv", Limits(16, 14, 230_784, 62)), 10),
    SweepRow(131_072, None, None, 26,
             Prediction(26, 590_720, 4, "kv", Limits(5, 4, 295_360, 62)), 2),
)


def no_context() -> Advice:
    """Nobody said how long requests are: no recommendation, a table instead."""
    base = state_bound()
    return replace(
        base,
        workload=Workload(),
        verdict=Verdict("62 requested → 26 effective; the limit is the state pool (131"
                        " slots, 5 slots per request).",
                        "Give --avg-context for a setting; the table below shows the"
                        " best split over contexts."),
        concurrency=replace(base.concurrency, sustained=None,
                            limits=Limits(26, None, 172_032, 62)),
        recommendation=None, sweep=ROWS, curves=Curves(),
    )


def wanted() -> Advice:
    """A grid over contexts and the concurrency wanted."""
    rows = (replace(row, concurrency=n) for row in ROWS[:2] for n in (None, 32, 64))
    return replace(no_context(), sweep=tuple(rows))


def speculation() -> Advice:
    """Speculation set a limit of 48 that nobody asked for; no split lifts it."""
    return replace(
        state_bound(),
        verdict=Verdict("48 requested (speculation's default) → 48 effective → 48"
                        " sustained at 4,096 tokens; the limit is speculation's"
                        " default of 48 requests.", "", "no-help"),
        state_pool=replace(STATE, slots=301, rows=302,
                           draft_state_bytes=gib("2.11", 31)),
        kv_pool=replace(KV, draft_bytes_per_token=Measured.exact(2048, (35,))),
        draft_kv_pool=replace(KV, bytes=gib("0.66", 35)),
        concurrency=Concurrency(48, 48, 48, 1, 5, (5,), Limits(60, 84, 172_032, 48),
                                "request", 48, "speculation"),
        recommendation=Recommendation(
            "max-running-requests", None, None, None, ("--max-running-requests", "60"),
            Prediction(301, 331_776, 60, "state", Limits(60, 81, 165_888, 60)),
            12, Cost(kv_tokens=12_288),
        ),
        levers=(), findings=(),
    )


def unified() -> Advice:
    """Unified memory: sizes are not printed, and there is no split to advise."""
    base = state_bound()
    return replace(
        base,
        boot=replace(base.boot, unified=True),
        verdict=Verdict("One buffer holds both pools: no split to set", "", "no-help"),
        state_pool=replace(STATE, bytes=None, conv_bytes=None, ssm_bytes=None),
        kv_pool=replace(KV, bytes=None),
        concurrency=replace(base.concurrency, slots_per_request=None, binding=None,
                            slots_per_request_candidates=(4, 5)),
        recommendation=None, levers=(), curves=Curves(),
    )


def failed() -> Advice:
    """The pools were never made; the failure prints enough for a way out."""
    base = state_bound()
    boot = replace(
        base.boot, source=Source("crash.log", 96, 1), number=1, outcome="failed",
        failure=Failure("state-cache-not-positive", "RuntimeError: Not enough GPU"
                        " memory for hybrid model's state cache:"
                        " max_mamba_cache_size=-3", 88, phase="pools"),
        excerpts={},
    )
    return replace(
        base,
        boot=boot, workload=Workload(),
        verdict=Verdict("Boot failed: the weights leave 0.31 GiB for both pools, 5"
                        " slots of 73.41 MiB each are needed to start",
                        "Lowering --mem-fraction-static would make it worse.",
                        "failed"),
        ranks=(), state_pool=None, kv_pool=None, budget_bytes=gib("0.31", 88),
        token_equivalent=None, balanced_context=None,
        concurrency=Concurrency(62, None, None, 1, 5, (5,), Limits(request=62), None,
                                None, "user"),
        self_check=SelfCheck(None, None, None, None),
        recommendation=Recommendation(
            "mem-fraction", None, None, None, ("--mem-fraction-static", "0.9"),
            Prediction(24, 61_440, None, "state", Limits(4, None, 30_720, 62), 4),
            None, Cost(), "the least that boots",
        ),
        levers=(), findings=(), derivations=(), curves=Curves(),
    )


def not_hybrid() -> Advice:
    """A plain transformer: there is no state pool, and no ratio."""
    base = failed()
    return replace(
        base,
        boot=replace(base.boot, source=Source("llama.log", 60, 1), outcome="ready",
                     failure=None, hybrid=False, architecture="LlamaForCausalLM"),
        hybrid=False, recommendation=None,
        verdict=Verdict("Not a hybrid: there is no ratio to set"),
    )


def plan() -> Advice:
    """Before a boot: every figure comes from the config."""
    base, exact = state_bound(), Measured.exact
    return replace(
        base,
        boot=replace(base.boot, source=Source("config.json", 0, 0), outcome=None,
                     number=0, excerpts={}),
        verdict=Verdict("It boots, and carries 41 at 4,096 tokens each", kind="good"),
        state_pool=replace(STATE, bytes=exact(132 * SLOT), bytes_per_slot=exact(SLOT),
                           conv_bytes=None, ssm_bytes=None),
        kv_pool=replace(KV, bytes=Measured(10 * GIB, 9 * GIB, 11 * GIB),
                        bytes_per_token=exact(TOKEN)),
        recommendation=Recommendation(
            "keep", 2.84, 2.867, None, (),
            Prediction(206, 168_960, 41, "kv", Limits(41, 41, 84_480, 62),
                       slots_low=198, slots_high=213, tokens_low=168_900,
                       tokens_high=169_000),
            0, Cost(), "keep it: already the best split",
        ),
        is_plan=True, ranks=(), findings=(), derivations=(),
        settings={"tp_size": (2, "option"), "mamba_full_memory_ratio": (2.84, None)},
    )


def bare() -> Advice:
    """Next to nothing is known."""
    return Advice(
        Boot(Source("-", 0, 0), 1, "incomplete", Releases("", ""), None, "", None, None,
             {}, ()),
        Workload(), None, Verdict("The log shows neither pool."), {}, (), None, None,
        None, None, None, None,
        Concurrency(None, None, None, 1, None, (), Limits(), None, None),
        SelfCheck(None, None, None, None), None,
    )


# fmt: on

KINDS: Mapping[str, Callable[[], Advice]] = {
    "state-bound": state_bound,
    "kv-bound": kv_bound,
    "no-context": no_context,
    "wanted": wanted,
    "speculation": speculation,
    "unified": unified,
    "failed": failed,
    "not-hybrid": not_hybrid,
    "plan": plan,
    "bare": bare,
}


@pytest.fixture
def advices() -> dict[str, Advice]:
    """Return an advice of each kind, by its name."""
    return {name: make() for name, make in KINDS.items()}


@pytest.fixture(params=KINDS)
def advice(request: pytest.FixtureRequest) -> Advice:
    """Return an advice; a test that takes it runs for each kind."""
    return KINDS[request.param]()
