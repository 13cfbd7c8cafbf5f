r"""One expression for a whole block, which names what is not wanted.

Its cost does not depend on how many kinds of line there are: a line is noise, or a
batch line of a known shape, whose values come out as a row, or some other line, which
comes out whole.  It starts with the newline before a line: a literal, and a true
line start, which no text inside a line can fake.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from itertools import compress, islice

from mamba_advisor.batch import Batch, Kind, Row
from mamba_advisor.facts import Rank, Reading
from mamba_advisor.record import Record
from mamba_advisor.scan.noise import Head, Noise
from mamba_advisor.scan.shape import BRIEF, Read, Shape

MAX_SHAPES = 8
"""Shapes in force at a time."""

MAX_KNOWN = 64
"""Shapes remembered for when they are needed again."""

ENOUGH = 16
"""Lines of a kind that are read one by one before a shape is made of them: learning
takes as long as reading a hundred lines, and a boot log holds only a few."""

MAX_TAGS = 1024
"""Rank tags told apart; lines of further ones are read one by one."""

MAX_DROPPED = 64
"""Rank tags that the expression passes over by name."""


class Origin(Record):
    """What all lines with one prefix have in common."""

    speaker: str
    stamp_at: int
    tags_at: int
    kinds: tuple[Kind, ...]

    def pick(self, rows: list[Row]) -> list[Row]:
        """Return the rows of this origin among *rows*."""
        place = self.stamp_at if self.stamp_at >= 0 else self.tags_at
        if place >= 0:
            return [row for row in rows if row[place]]
        starts = [kind.start for kind in self.kinds]
        return [row for row in rows if any(row[start] for start in starts)]


class Sieve:
    """Learns from lines that were read, and compiles what it has learned."""

    def __init__(self, anchors: Collection[str], new_read: Callable[[], Read]) -> None:
        self.pattern = re.compile(rb"\n([^\n]+)")
        """Finds all lines but noise; its last group is a line of no known shape."""

        self.origins: tuple[Origin, ...] = ()
        self.ranks: dict[bytes, Rank] = {b"": Rank()}
        """Tags that batch lines were seen with."""

        self._new_read = new_read
        self._noise = Noise(anchors)
        self._shapes: list[Shape] = []
        self._known: list[tuple[re.Pattern[bytes], Shape]] = []
        self._seen: dict[bytes, int] = {}
        self._heard: dict[tuple[str, int, int], dict[int, bytes]] = {}
        self._spoken: dict[str, set[bytes]] = {}
        self._tags = 0
        self._dropped: dict[str, list[bytes]] = {}
        self._decoding: dict[str, set[bytes]] = {}
        self._brief: set[str] = set()
        self._sated: set[str] = set()
        self._compiled: dict[bytes, re.Pattern[bytes]] = {}
        self._is_stale = False

    def note_silent(self, line: bytes) -> bool:
        """Learn from a line without facts; return whether the pattern changed."""
        if not self._noise.note(line):
            return False
        self._is_stale = True
        return True

    def note_batch(self, line: bytes, reading: Reading) -> bool:
        """Learn from a batch line without doubt; return whether the pattern changed."""
        # Ranks alone are no hurry: lines of ranks that repeat others do no harm.
        self._is_stale |= self.note_rank(reading.speaker, reading.rank)
        if reading.event == "decode":
            self._is_stale |= self._weigh(reading.speaker, {reading.rank.text.encode()})
        changed = False
        if len(self._shapes) < MAX_SHAPES:
            shape = self._shape_of(line, reading)
            if shape is not None and shape not in self._shapes:
                self._shapes.append(shape)
                changed = True
        self._is_stale |= changed
        return changed

    def note_rank(self, speaker: str, rank: Rank) -> bool:
        """Note who prints batch lines; return whether the pattern has to change.

        TP ranks under one DP and PP tag repeat each other: of them only the lowest
        counts (`Worker.listens_to`), and the others are passed over.
        """
        tags = rank.text.encode()
        if tags in self._spoken.get(speaker, ()) or self._tags >= MAX_TAGS:
            return False
        self._spoken.setdefault(speaker, set()).add(tags)
        self._tags += 1
        self._brief.discard(speaker)
        self._sated.discard(speaker)
        self.ranks[tags] = rank
        heard = self._heard.setdefault((speaker, rank.dp, rank.pp), {})
        heard.setdefault(rank.tp, tags)
        before = self._dropped.setdefault(speaker, [])
        if len(heard) == 1:
            return False  # it repeats nobody
        repeating = (
            tags
            for (who, _, _), ranks in self._heard.items()
            if who == speaker and len(ranks) > 1
            for lowest in (min(ranks),)
            for tp, tags in ranks.items()
            if tags and tp > lowest
        )
        self._dropped[speaker] = list(islice(repeating, MAX_DROPPED))
        return before != self._dropped[speaker]

    def disarm(self) -> bool:
        """Put all shapes aside until a line of each was read again.

        Returns:
            Whether there were any.
        """
        if not self._shapes:
            return False
        self._disarm()
        self._is_stale = True
        return True

    def forget(self) -> bool:
        """Drop what is true of one server start only; return whether it was much."""
        much = bool(self._shapes or self._noise.heads or self._dropped)
        self._noise.forget()
        self._disarm()
        self._heard.clear()
        self._spoken.clear()
        self._tags = 0
        self._dropped.clear()
        self.ranks = {b"": Rank()}
        self._is_stale |= much
        return much

    def note_rows(self, batch: Batch) -> None:
        """Note which ranks have printed decode lines.

        Once all ranks have, the pools are judged by decode lines alone, and prefill
        lines are read for their prompts only.
        """
        if batch.speaker in self._brief:
            return
        for kind in batch.kinds:
            if kind.event == "decode":
                tags = set(compress(batch.printed_tags(), batch.column(kind.start)))
                self._is_stale |= self._weigh(batch.speaker, tags)

    def note_sated(self, speaker: str) -> None:
        """Pass over prefill lines of *speaker*, but for sampled seconds."""
        if speaker not in self._sated:
            self._sated.add(speaker)
            self._is_stale = True

    def _weigh(self, speaker: str, tags: set[bytes]) -> bool:
        """Note that ranks have printed decode lines.

        Returns:
            Whether prefill lines of *speaker* may be read briefly from now on.
        """
        spoken = self._spoken.get(speaker)
        if spoken is None or speaker in self._brief:
            return False
        decoding = self._decoding.setdefault(speaker, set())
        decoding |= tags & spoken
        if len(decoding) < len(spoken):
            return False
        self._brief.add(speaker)
        return True

    def _disarm(self) -> None:
        self._shapes.clear()
        self._decoding.clear()
        self._brief.clear()
        self._sated.clear()

    def _shape_of(self, line: bytes, reading: Reading) -> Shape | None:
        for known, shape in self._known:
            if shape.event == reading.event and known.fullmatch(line):
                return shape
        skeleton = re.sub(rb"\d+", b"0", line)
        if len(self._seen) >= MAX_KNOWN:  # there are no more known ones than seen ones
            self._seen.clear()
            self._known.clear()
        seen = self._seen[skeleton] = self._seen.get(skeleton, 0) + 1
        if seen != ENOUGH:
            return None
        # Most boot logs hold no batch line twice.
        from mamba_advisor.scan.learning import learn

        learned = learn(line, reading, self._new_read())
        if learned is None:
            return None
        self._known.append((re.compile(learned.prefix + learned.message), learned))
        return learned

    def refresh(self) -> None:
        """Compile what was learned since the last time."""
        if self._is_stale:
            self._is_stale = False
            self._compile()

    def _compile(self) -> None:
        groups: dict[bytes, list[Shape]] = {}
        for shape in self._shapes:
            groups.setdefault(shape.prefix, []).append(shape)
        branches, origins, place = list[bytes](), list[Origin](), 0
        for prefix, shapes in groups.items():
            one = shapes[0]
            stamp_at = place if one.has_stamp else -1
            tags_at = place + one.has_stamp if one.has_tags else -1
            place += one.has_stamp + one.has_tags
            kinds, messages = list[Kind](), list[bytes]()
            is_brief = one.speaker in self._brief
            for shape in shapes:
                fields, message = shape.fields, shape.message
                if is_brief and shape.event == "prefill" and shape.brief:
                    fields = tuple(name for name in fields if name in BRIEF)
                    message = shape.brief
                is_sampled = self._is_sampled(shape)
                kinds.append(Kind(shape.event, place, fields, is_sampled))
                messages.append(message + rb"\r?(?=\n)")
                place += len(fields)
            branches.append(prefix + b"(?:" + b"|".join(messages) + b")")
            origins.append(Origin(one.speaker, stamp_at, tags_at, tuple(kinds)))
        branches.append(rb"([^\n]+)")
        self.origins = tuple(origins)
        source = rb"\n" + self._skipped() + b"(?:" + b"|".join(branches) + b")"
        if len(self._compiled) >= MAX_KNOWN:
            self._compiled.clear()
        pattern = self._compiled.get(source)
        if pattern is None:
            pattern = self._compiled[source] = re.compile(source)
        self.pattern = pattern

    def _is_sampled(self, shape: Shape) -> bool:
        """Return whether only lines of sampled seconds are wanted."""
        is_prefill = shape.event == "prefill" and shape.sparse
        return bool(is_prefill) and shape.speaker in self._sated

    def _skipped(self) -> bytes:
        """Return the expression that excludes noise and ranks that repeat others."""
        heads = list[Head](self._noise.heads)
        repeated: dict[tuple[bytes, bytes, str], list[bytes]] = {}
        for shape in self._shapes:
            if self._dropped.get(shape.speaker) and shape.has_tags:
                key = shape.lead, shape.gap, shape.speaker
                repeated.setdefault(key, []).append(shape.opening)
            if self._is_sampled(shape):
                heads.append((shape.sparse, shape.tags + shape.opening))
        for (lead, gap, speaker), openings in repeated.items():
            tags = b"|".join(map(re.escape, self._dropped[speaker]))
            rest = b"(?:" + tags + b")(?:" + b"|".join(openings) + b")"
            heads.append((lead, gap + rest))
        by_lead: dict[bytes, list[bytes]] = {}
        for lead, rest in heads:
            by_lead.setdefault(lead, []).append(rest)
        # Each by itself: an alternation takes longer to be left.
        return b"".join(
            b"(?!" + lead + b"(?:" + b"|".join(rests) + b"))"
            for lead, rests in by_lead.items()
        )
