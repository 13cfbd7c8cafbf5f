"""Lines that a terminal, a person or a narrow page has broken.

A line that no dialect reads, or that ends before its wording's optional tail, is kept
open.  It is joined with the lines after it when, and only when, that makes a line
that a dialect reads and that the parts alone do not make.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from mamba_advisor.pattern import Entry, Hit
from mamba_advisor.prefix import Spoken
from mamba_advisor.record import Record
from mamba_advisor.server_args import Brackets

MAX_PARTS = 5
"""Physical lines that one line may have been broken into."""

MAX_ARGUMENT_PARTS = 400
"""The same for ``server_args=``, which is longer than many screens are wide."""

MAX_LENGTH = 65536
"""Characters of a joined line."""

MAX_TEXTS = 8
"""Ways to join that are pursued at a time."""

Hits: TypeAlias = "Sequence[tuple[Entry, Hit]]"
"""Patterns that read a text, and what they read."""


class Part(Record):
    """A physical line, or what is left of one."""

    number: int
    spoken: Spoken
    width: int
    """Characters of the physical line."""


class Join:
    """A line that the next ones may complete."""

    __slots__ = (
        "_texts",
        "brackets",
        "first",
        "hits",
        "is_arguments",
        "joined",
        "kept",
        "looks_like",
        "text",
    )

    def __init__(
        self, first: Part, text: str, hits: Hits, looks_like: str = ""
    ) -> None:
        self.first = first
        self.text = text
        """The text that `hits` come from."""

        self.hits = hits
        """The best reading so far."""

        self.joined = 0
        """Further physical lines in `text`."""

        self.kept: list[Part] = []
        """Lines seen since that are not in `text`."""

        self.looks_like = looks_like
        """Event that it is reported as when nothing reads it."""

        self.brackets = Brackets()
        """Those of a ``server_args=``."""

        self.is_arguments = text.startswith("server_args=") and not (
            self.brackets.close(text)
        )
        """It is a wrapped ``server_args=``."""

        self._texts = [text]

    def accepts(self, spoken: Spoken) -> bool:
        """Return whether *spoken* may continue the line: it starts nothing new."""
        most = MAX_ARGUMENT_PARTS if self.is_arguments else MAX_PARTS
        return (
            not spoken.is_stamped
            and spoken.message != ""
            and spoken.speaker == self.first.spoken.speaker
            and self.joined + len(self.kept) + 1 < most
        )

    def continued(self, part: Part) -> Iterator[tuple[str, int]]:
        """Yield (text, position of the seam) for the ways to add *part*.

        A seam inside a number or a word needs a hard wrap: the continuation starts
        in the first column and is no longer than the line that it continues.
        """
        message = part.spoken.message
        is_hard = not part.spoken.is_indented and part.width <= self.first.width
        for text in self._texts:
            if len(text) + len(message) >= MAX_LENGTH:
                continue
            trimmed = text.rstrip()
            torn = (text + message, len(text))
            spaced = (f"{trimmed} {message}", len(trimmed) + 1)
            if self.is_arguments:
                yield torn
            elif not (_is_word(text[-1:]) and _is_word(message[:1])):
                yield from (spaced, torn)
            elif not is_hard:
                yield spaced
            elif text[-1:].isdigit():
                yield from (torn, spaced)
            else:
                yield from (spaced, torn)

    def take(
        self, number: int, text: str, hits: Hits, texts: Sequence[str] = ()
    ) -> None:
        """Take the lines up to *number* into the line.

        Args:
            number: The last line's.
            text: The line now.
            hits: What patterns read from it.
            texts: All ways to join that are still open, when *text* may be wrong.
        """
        self.text, self.hits = text, hits
        self._texts = list(texts or [text])[:MAX_TEXTS]
        self.joined = number - self.first.number
        self.kept = []

    def keep(self, part: Part) -> None:
        """Remember a line that completes nothing yet."""
        self._texts = [text for text, _ in self.continued(part)][:MAX_TEXTS]
        self.kept.append(part)

    def improves(self, hits: Hits, seam: int) -> bool:
        """Return whether exact *hits* of a joined text say more than the line so far.

        Args:
            hits: What exact patterns read from the joined text.
            seam: Where the last part starts in it.
        """
        crossing = [
            (entry, hit)
            for entry, hit in hits
            if hit.start < len(self.first.spoken.message) and hit.end > seam
        ]
        if not crossing:
            return False
        if all(entry.edited for entry, _ in self.hits):
            return True
        return count_facts(crossing) > count_facts(self.hits)

    def adds(self, hits: Hits, rest: Hits) -> int:
        """Return how many facts a joined edited text has that its parts have not.

        Args:
            hits: What edited patterns read from the joined text.
            rest: What they read from the last part.

        Returns:
            0 also when it lacks a fact that the parts have.
        """
        return max(
            (
                len(joined - parts)
                for event in self.events
                if (joined := _facts(hits, event))
                >= (parts := _facts(self.hits, event) | _facts(rest, event))
            ),
            default=0,
        )

    @property
    def events(self) -> set[str]:
        """What the line says, or seems to be about."""
        return {entry.event for entry, _ in self.hits} or {self.looks_like}


def count_facts(hits: Hits) -> int:
    """Return the number of facts in *hits*."""
    return sum(len(hit.facts) for _, hit in hits)


def _facts(hits: Hits, event: str) -> set[str]:
    return {name for entry, hit in hits if entry.event == event for name in hit.facts}


def _is_word(char: str) -> bool:
    return char.isalnum() or char in ("_", ".")
