"""What a log must hold to be advised on, and what to say where it does not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from mamba_advisor.boot.model import Boot
from mamba_advisor.errors import NotHybridError, TooLittleError
from mamba_advisor.record import Record

FOREIGN = (
    ("vLLM", r"(?i)\bvllm\b|# GPU blocks:|EngineCore"),
    ("TensorRT-LLM", r"TensorRT-LLM|\btrtllm-serve\b|\[TRT-LLM\]"),
    ("llama.cpp", r"llama_model_loader|llama_context|ggml_|llama-server"),
    ("Ollama", r"(?i)\bollama\b"),
    ("LMDeploy", r"(?i)\blmdeploy\b"),
    ("Text Generation Inference", r"text_generation_(?:launcher|router)"),
)
"""Another inference engine -> words that its own log is full of."""

POOL_LINES = '"Mamba Cache is allocated" and "KV Cache is allocated"'
PLAN = "`mamba-advisor plan CONFIG.json` sizes the pools from the model's config"

MIN_ARGUMENTS = 4
"""Arguments from one line that make it ``server_args``: notices and quoted commands
state fewer.
"""


class Glimpse(Record):
    """What an input looks like, whether or not a boot is in it."""

    name: str
    """Path as given, ``"-"`` for standard input."""

    lines: int
    head: str = ""
    """Its beginning, some thousand characters."""

    looks: str = ""
    """``"html"``, ``"binary"`` or empty: a text that may be a log."""

    engine: str = ""
    """Another engine that a dialect recognised, empty for none."""

    unread: tuple[tuple[int, str], ...] = ()
    """Lines with SGLang's key words that no dialect reads: number and kind."""


def require_boot(boots: Sequence[Boot], glimpse: Glimpse) -> None:
    """Check that the input holds a server start at all.

    Raises:
        TooLittleError: It does not; the message says what the input is instead.
    """
    if not boots:
        raise TooLittleError(f"{_shown(glimpse.name)}: {explain(glimpse)}")


def explain(glimpse: Glimpse) -> str:
    """Return a sentence on what an input without an SGLang boot is."""
    return _not_text(glimpse) or _not_read(glimpse) or _not_ours(glimpse)


def _not_text(glimpse: Glimpse) -> str:
    if not glimpse.head.strip():
        return "only blank lines" if glimpse.lines > 1 else "the input is empty"
    if glimpse.looks == "binary":
        return "this is a binary file, not a log"
    if glimpse.looks == "html":
        return "this is a web page; save the log itself (the raw file) and pass that"
    return ""


def _not_read(glimpse: Glimpse) -> str:
    if glimpse.unread:
        return unknown_wording(*glimpse.unread[0])
    if "sglang" in glimpse.head.lower():
        return (
            f"lines of SGLang, but none of a boot: the pool lines ({POOL_LINES}) are "
            f"missing; {_how_to_get('them')}. Without them, {PLAN}"
        )
    return ""


def unknown_wording(line: int, kind: str) -> str:
    """Return what to do about a line with SGLang's words that no dialect reads."""
    return (
        f"line {line} looks like a {kind} line in a wording that this version does not "
        "know; describe it in a dialect file and pass it with --parser"
    )


def _not_ours(glimpse: Glimpse) -> str:
    engine = glimpse.engine or _foreign(glimpse.head)
    if engine:
        return (
            f"this is a log of {engine}, not of SGLang; its memory is split by other "
            "rules, so there is nothing to advise"
        )
    return f"no line of an SGLang server's boot in it; {_how_to_get('them')}"


def _foreign(head: str) -> str:
    return next((name for name, words in FOREIGN if re.search(words, head)), "")


def require_pools(boot: Boot) -> None:
    """Check that a start holds what advice needs: both pools, or a failure.

    Raises:
        NotHybridError: The model has no state pool.
        TooLittleError: A pool is missing; the message says which lines, and how to
            get them.
    """
    if boot.outcome == "failed":
        return
    state = any(rank.state_pool for rank in boot.ranks)
    kv = any(rank.kv_pool for rank in boot.ranks)
    if state and kv:
        return
    where = _shown(boot.source.name)
    if boot.hybrid is False:
        model = f"{boot.architecture}: " if boot.architecture else ""
        raise NotHybridError(
            f"{where}: {model}not a hybrid model ({boot.hybrid_evidence}); it has no "
            "state pool, so there is no --mamba-full-memory-ratio to set"
        )
    raise TooLittleError(f"{where}: {missing(boot)}")


def missing(boot: Boot) -> str:
    """Return at most two sentences on the pool lines that *boot* lacks.

    They name the lines, how to get them, and what does without them.
    """
    state = any(rank.state_pool for rank in boot.ranks)
    kv = any(rank.kv_pool for rank in boot.ranks)
    if not state and not kv:
        lacks, them = f"the pool lines ({POOL_LINES}) are missing", "them"
    elif kv:
        lacks = 'the state pool\'s line ("Mamba Cache is allocated") is missing'
        them = "it"
    else:
        lacks = 'the KV pool\'s line ("KV Cache is allocated ... #tokens:") is missing'
        them = "it"
    found = _found(boot)
    told = f" (found: {found})" if found else ""
    level = boot.setting("log_level").value
    if isinstance(level, str) and level.lower() not in ("info", "debug"):
        way = f"--log-level {level} hides {them}: boot once with --log-level info"
    else:
        way = _how_to_get(them)
    return f"{lacks}{told}; {way}. Without {them}, {_instead(boot)}"


def _how_to_get(them: str) -> str:
    return (
        f"SGLang prints {them} before the ready line at --log-level info: keep the "
        "output from its first line on (... > server.log 2>&1)"
    )


def _instead(boot: Boot) -> str:
    """Return what can be advised without the pool lines."""
    if boot.capped is None:
        return PLAN
    return f"-c N finds a pin by the printed limit, or {PLAN}"


def _found(boot: Boot) -> str:
    """Return what a start does hold, in words."""
    parts = []
    origins = Counter(setting.origin for setting in boot.settings.values())
    printed = [origins[one] for one in origins if one and one.startswith("log:")]
    if max(printed, default=0) >= MIN_ARGUMENTS:
        parts.append("server_args")
    if any(rank.weights or rank.avail_before for rank in boot.ranks):
        parts.append("weights")
    if boot.capped:
        parts.append("the limit set by the state pool")
    if boot.summaries:
        parts.append("the max_total_num_tokens line")
    if boot.runtime:
        parts.append("batch lines")
    return ", ".join(parts)


def _shown(name: str) -> str:
    return "standard input" if name == "-" else name
