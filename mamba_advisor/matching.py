"""Which patterns read a text: anchors first, then the regexes behind them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from mamba_advisor.catalog import Catalog
from mamba_advisor.joining import Hits
from mamba_advisor.pattern import REACH, Entry, Hit

SIZING_EVENTS = frozenset(
    {
        *("state-pool", "kv-pool", "summary", "capped", "reduced", "weights-end"),
        *("server-args", "unified-banner", "unified-subpool", "replayssm-rings"),
        *("checkpoint-pool", "pool-end", "post-capture-tokens", "swa-pool"),
    }
)
"""Events whose unknown wordings are worth a word to the user."""

SHORTEST_KEY = 8
"""Anchors shorter than this are no key words."""

LEAD = r"(?:[\w-]{1,20} ){0,2}"
"""What may stand before the key words of an unknown wording: a label."""


MAX_TEXTS = 512
"""Texts whose anchors are remembered at a time."""

_WORD = r"[A-Za-z_]{4,}"


class Matcher:
    """Finds the patterns of a catalog that read a text."""

    __slots__ = (
        "_always",
        "_anchors",
        "_edited",
        "_exact",
        "_keys",
        "_order",
        "_sorted",
        "_starts",
        "_words",
    )

    def __init__(self, catalog: Catalog) -> None:
        self._exact = catalog.exact
        self._edited = catalog.edited
        self._sorted = sorted(filter(None, catalog.exact))
        self._starts = ("Traceback (most recent", *self._sorted)
        self._order = {anchor: place for place, anchor in enumerate(catalog.exact)}
        self._always: list[str] = []
        self._words: dict[str, list[str]] = {}
        find = re.compile(rf"(?<=\W){_WORD}(?=\W)").search
        for anchor in catalog.exact:
            # A word that ends inside the anchor stands in every line with it.
            inner = find(anchor)
            where = self._words.setdefault(inner[0], []) if inner else self._always
            where.append(anchor)
        # Ranks, restarts and replicas say the same again and again.
        self._anchors = lru_cache(maxsize=MAX_TEXTS)(self._anchors_in)
        self._keys = lru_cache(maxsize=MAX_TEXTS)(self._keys_in)

    def anchors(self, text: str) -> Sequence[str]:
        """Return the anchors of exact patterns in *text*, in the catalog's order."""
        return self._anchors(text[:REACH])

    def _anchors_in(self, near: str) -> Sequence[str]:
        found = [anchor for anchor in self._always if anchor in near]
        for word in self._words.keys() & set(re.findall(_WORD, near)):
            found += [anchor for anchor in self._words[word] if anchor in near]
        found.sort(key=self._order.__getitem__)
        return found

    def keys(self, text: str, *, is_stamped: bool = False) -> Sequence[str]:
        """Return the anchors of edited patterns that *text* holds.

        Args:
            text: The message.
            is_stamped: It is a line of SGLang's own, which nobody retyped: anchors
                that stand for too much are left out.
        """
        return self._keys(text[:REACH], SHORTEST_KEY if is_stamped else 0)

    def _keys_in(self, near: str, shortest: int) -> Sequence[str]:
        return [
            anchor
            for anchor in self._edited
            if anchor in near and len(anchor) >= shortest
        ]

    def exact(
        self, text: str, number: int, anchors: Iterable[str] | None = None
    ) -> Hits:
        """Return what exact patterns read from *text*, one hit for each event."""
        if anchors is None:
            anchors = self.anchors(text)
        return _read(self._exact, anchors, text, number)

    def edited(self, text: str, number: int, keys: Iterable[str] | None = None) -> Hits:
        """Return what edited patterns read from *text*, one hit for each event."""
        if keys is None:
            keys = self.keys(text)
        return _read(self._edited, keys, text, number)

    def starts(self, text: str) -> bool:
        """Return whether *text* starts a wording of its own."""
        return text.startswith(self._starts) or bool(self.exact(text, 0))

    def is_beginning(self, text: str) -> bool:
        """Return whether *text* is a torn-off beginning of an anchor."""
        if len(text) < SHORTEST_KEY:
            return False
        at = bisect_left(self._sorted, text)
        return at < len(self._sorted) and self._sorted[at].startswith(text)

    def announced(self, text: str, anchors: Sequence[str], keys: Sequence[str]) -> str:
        """Return the event that an unread line seems to be about, empty for none.

        Args:
            text: The message.
            anchors: Exact anchors in it.
            keys: Edited anchors in it; those of one word say too little.
        """
        phrases = [key for key in keys if " " in key.strip()]
        for anchor in (*anchors, *phrases):
            event = (self._exact.get(anchor) or self._edited[anchor])[0].event
            if (
                event in SIZING_EVENTS
                and len(anchor) >= SHORTEST_KEY
                and re.fullmatch(LEAD, text[: text.find(anchor)])
            ):
                return event if any(char.isdigit() for char in text[:300]) else ""
        return ""


@lru_cache(maxsize=4)
def matcher_for(catalog: Catalog) -> Matcher:
    """Return the matcher of *catalog*; logs read with one catalog share it."""
    return Matcher(catalog)


def _read(
    table: Mapping[str, tuple[Entry, ...]],
    anchors: Iterable[str],
    text: str,
    number: int,
) -> Hits:
    """Return the patterns behind *anchors* that read *text*, one for each event."""
    best: dict[str, tuple[Entry, Hit]] = {}
    for anchor in anchors:
        for entry in table[anchor]:
            rival = best.get(entry.event)
            if rival and not entry.edited and rival[0].dialect == entry.dialect:
                continue  # its samples prove that one pattern reads the line
            hit = entry.read(text, (number,))
            if hit is not None and (
                rival is None
                or (rival[0].rank, len(rival[1].facts)) <= (entry.rank, len(hit.facts))
            ):
                best[entry.event] = entry, hit
    return list(best.values())
