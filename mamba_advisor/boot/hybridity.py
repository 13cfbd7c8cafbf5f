"""Is the model a hybrid?  The evidence, and the rule that weighs it."""

from __future__ import annotations

from mamba_advisor.boot import pick
from mamba_advisor.boot.model import Releases
from mamba_advisor.boot.phase import BATCHES
from mamba_advisor.boot.releases import release_key
from mamba_advisor.boot.roles import is_draft_class
from mamba_advisor.facts import Reading

HYBRID_CLASS = (
    *("Qwen3Next", "Qwen3_5", "Qwen4Exp", "InternS2Preview", "InternS2Mobius"),
    *("MiniCPMV4_6", "MiniCPMV4_7", "MiniCPMSALA", "JetNemotron", "JetVLM"),
    *("GigaChat35", "KimiLinear", "KimiK3", "Glm5Next", "BailingMoeV2_5"),
    *("BailingMoeV3", "NemotronH", "GraniteMoeHybrid", "FalconH1", "FalconMamba"),
    *("Lfm2", "Inkling", "Zaya", "MambaFor", "Mamba2For"),
)
"""Model classes with state layers, up to 0.5.23, by the start of their name."""

OPTIONAL_STATE = "GraniteMoeHybrid"
"""A family that comes with and without state layers."""

CERTAIN = {
    "state-pool": "a state pool was allocated",
    "unified-banner": "the unified pool holds states",
    "capped": "the state pool caps the requests",
    "replayssm-rings": "state rings were allocated",
    "checkpoint-pool": "a pool of state checkpoints was allocated",
    "hybrid-backend": "the hybrid attention backend is in use",
    "failure-state-cache": "the state pool did not fit",
    "failure-no-request": "the state pool is too small",
    "notice-pd-slots": "the state pool was resized",
}
"""Event -> what it says; only a server of a hybrid model prints such a line."""


class Hybridity:
    """Collects what the lines of one server start say about the model's layers."""

    def __init__(self) -> None:
        self._yes = ""
        self._no = ""
        self._by_arguments = ""
        self._by_class = ""
        self._optional = False
        self._plain = ""
        self._plain_is_new = False
        self._kv = ""

    def feed(self, reading: Reading) -> None:
        """Take the evidence of one reading."""
        if self._yes:
            return
        event, line = reading.event, reading.line
        if event in CERTAIN:
            self._yes = f"line {line}: {CERTAIN[event]}"
        elif event in BATCHES:
            self._feed_batch(reading)
        elif event == "unified-subpool":
            if pick.word(reading, "subpool_name") == "mamba":
                self._yes = f"line {line}: the unified pool holds states"
        elif event in ("tree-cache", "server-args"):
            self._feed_switch(reading)
        elif event == "weights-end":
            self._feed_class(reading)
        elif event == "retract" and "state_gained" in reading.facts:
            self._yes = f"line {line}: a retraction freed state slots"
        elif event == "runtime-exhausted" and "mamba" in reading.text.lower():
            self._yes = f"line {line}: the state pool ran out"
        elif event == "notice-radix-disabled" and "model detected" in reading.text:
            self._yes = f"line {line}: {reading.text.split(',')[0]}"
        elif event in ("kv-pool", "kv-noop") and not self._kv:
            self._kv = f"line {line}: a KV pool and no state pool"

    def conclude(self, releases: Releases) -> tuple[bool | None, str]:
        """Return whether the model is a hybrid, and the sentence behind it.

        Certain lines decide first, then what the tree cache says, then the model
        class; a KV pool or batch lines without any of these are a model without
        states.

        Source:
            Rule 12 of the list of log lines: which of SGLang's lines only hybrids
            print, by release.
        """
        if self._yes or self._by_arguments:
            return True, self._yes or self._by_arguments
        if self._no and (self._optional or not self._by_class):
            return False, self._no
        if self._by_class:
            return True, self._by_class
        if self._kv:
            return False, self._kv
        if self._plain:
            dated = release_key(releases.low) >= release_key("0.5.13")
            if dated or self._plain_is_new:
                return False, self._plain
        return None, ""

    def _feed_batch(self, reading: Reading) -> None:
        facts, line = reading.facts, reading.line
        if "state_usage" in facts or "state_slots_used" in facts:
            self._yes = f"line {line}: a batch line states the use of the state pool"
        elif facts.get("plain_usage") and not (reading.edited or reading.joined):
            plain = f"line {line}: a batch line without the use of a state pool"
            if "pending_tokens" in facts and not self._plain_is_new:
                # 0.5.11 and later; there only two families of hybrids, up to 0.5.12,
                # print their batches in this form.
                self._plain_is_new, self._plain = True, plain
            self._plain = self._plain or plain

    def _feed_switch(self, reading: Reading) -> None:
        line = reading.line
        if reading.event == "server-args":
            if pick.arguments(reading).get("uses_mamba_radix_cache") is True:
                self._by_arguments = f"line {line}: uses_mamba_radix_cache=True"
            return
        hybrid = pick.flag(reading, "hybrid_ssm")
        if hybrid:
            self._yes = f"line {line}: hybrid_ssm=True"
        elif hybrid is False and not self._no:
            self._no = f"line {line}: hybrid_ssm=False"

    def _feed_class(self, reading: Reading) -> None:
        name = pick.word(reading, "model_type") or ""
        if self._by_class or not name.startswith(HYBRID_CLASS):
            return
        whose = "the draft's class" if is_draft_class(name) else "the model class"
        self._by_class = f"line {reading.line}: {whose} {name} is of a hybrid family"
        self._optional = name.startswith(OPTIONAL_STATE)
