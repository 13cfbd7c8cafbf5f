"""Whether a line may state facts, or could have been put there by a user's text.

A server that logs requests logs prompts, and a prompt can quote any line.  Facts are
taken from

* a line with SGLang's prefix whose wording starts right behind the prefix;
* a line without prefix whose wording starts the line, behind an exception's name or
  behind the head of another log format; once the log is known to print prefixes, only
  while the server boots, and of a serving server only the error below a traceback;
* what is glued to a progress bar, while the server boots.

While a server serves, pool, weight and limit lines are no news: they need a new
server start before them.  Everything else is read, and marked as doubtful.
"""

from __future__ import annotations

import re

from mamba_advisor.prefix import Spoken

MAX_SPEAKERS = 256
"""Speakers told apart; further ones share a state."""

START_EVENTS = frozenset(
    {
        *("server-args", "init-begin", "init-end", "memory-baseline"),
        *("weights-begin", "weights-end"),
    }
)
"""Events that begin a boot, or show that one runs."""

RUN_EVENTS = frozenset(
    {"decode", "prefill", "retract", "runtime-exhausted", "foreign-engine", "ready"}
)
"""Events that a serving server prints, too; failures and notices are others."""

FRESH, BOOTING, BOOTED, SERVING = range(4)
"""What a speaker is known to do: nothing yet, boot, between summary and requests,
serve."""

_EXCEPTION = r"(?:Scheduler hit an exception: )?[\w.]{0,80}(?:Error|Exception|Exit): "
_HEAD = (
    r"[\[(<]?(?:\d{4}[-/]\d\d[-/]\d\d|\d\d:\d\d:\d\d|\d\d/\d\d|[IWEF]\d{4}\b"
    r"|(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL)\b)[^\"'`?]{0,160}"
)
_TRACEBACK = r"(?:Scheduler hit an exception: )?Traceback \(most recent"


class _Speaker:
    """What is known of one speaker."""

    __slots__ = ("in_frames", "in_traceback", "phase")

    def __init__(self) -> None:
        self.phase = FRESH
        self.in_traceback = False
        self.in_frames = False


class Trust:
    """What the lines so far tell about who speaks."""

    __slots__ = ("_heads", "_is_serving", "_speakers", "uses_prefix")

    def __init__(self) -> None:
        self.uses_prefix = False
        """A line with SGLang's time was seen."""

        self._is_serving = False
        self._heads: set[str] = set()
        self._speakers: dict[str, _Speaker] = {}

    @property
    def is_calm(self) -> bool:
        """Whether nobody is printing a traceback."""
        for speaker in self._speakers.values():
            if speaker.in_frames or (speaker.in_traceback and self.uses_prefix):
                return False
        return True

    def hear(self, spoken: Spoken) -> bool:
        """Note a line; return whether it is a traceback's frame, which states nothing.

        Args:
            spoken: The line.
        """
        speaker = self._speaker(spoken.speaker)
        if spoken.is_stamped:
            self.uses_prefix = self.uses_prefix or spoken.stamp != ""
            if not self._is_serving and len(self._heads) < MAX_SPEAKERS:
                self._heads.add(spoken.layers)
                self._heads.add(_head(spoken))
            speaker.in_traceback = speaker.in_frames = False
        if "Traceback" in spoken.message and re.match(_TRACEBACK, spoken.message):
            speaker.in_frames = True
            speaker.in_traceback |= spoken.is_stamped
        elif speaker.in_frames and not spoken.is_stamped:
            if spoken.is_indented:
                return True
            speaker.in_frames = not spoken.message
        return False

    def doubts(self, spoken: Spoken, event: str, start: int) -> bool:
        """Return whether a reading is doubtful.

        Args:
            spoken: The line.
            event: What a pattern takes it for.
            start: Where the wording starts in the message.
        """
        if start and not self.is_lead(spoken, spoken.message[:start]):
            return True
        phase = self._speaker(spoken.speaker).phase
        if not self._is_serving or (phase == FRESH and not self.uses_prefix):
            return False
        if self.uses_prefix and _head(spoken) not in self._heads:
            return True  # neither SGLang nor a collector of this log begins so
        if phase in (BOOTING, BOOTED):
            return False
        is_failure = event.startswith("failure-") or event == "runtime-exhausted"
        if not spoken.is_stamped:
            is_error = is_failure and self._speaker(spoken.speaker).in_traceback
            return self.uses_prefix and not is_error
        is_news = is_failure or event in START_EVENTS or event in RUN_EVENTS
        is_news = is_news or event.startswith("notice-") or phase == FRESH
        return spoken.is_glued or not is_news

    def advance(self, spoken: Spoken, event: str) -> None:
        """Note that a reading without doubt says *event*."""
        speaker = self._speaker(spoken.speaker)
        if event in START_EVENTS:
            speaker.phase = BOOTING
        elif event == "summary":
            speaker.phase = BOOTED
        elif event == "ready" or (
            event in ("decode", "prefill") and speaker.phase != BOOTING
        ):
            self.serve(spoken.speaker)

    def serve(self, name: str = "") -> None:
        """Note that the speaker *name* serves requests from here on.

        For scanners that do not hand batch lines to the reader.
        """
        self._speaker(name).phase = SERVING
        self._is_serving = True

    @staticmethod
    def is_lead(spoken: Spoken, lead: str) -> bool:
        """Return whether *lead* may stand between a line's start and a wording."""
        if re.fullmatch(_EXCEPTION, lead) or lead in ("**", "`", "`` "):
            return True
        return not spoken.is_stamped and re.fullmatch(_HEAD, lead) is not None

    def _speaker(self, name: str) -> _Speaker:
        speaker = self._speakers.get(name)
        if speaker is None:
            if len(self._speakers) >= MAX_SPEAKERS:
                name = ""
            speaker = self._speakers.setdefault(name, _Speaker())
        return speaker


def _head(spoken: Spoken) -> str:
    """Return what the lines of one log have in common before their messages."""
    if not spoken.is_stamped:
        return spoken.layers
    return f"{spoken.layers} [{len(spoken.stamp)}]"
