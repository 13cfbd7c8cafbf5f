"""What stands before a message: SGLang's prefix, and what collectors put before it.

A physical line becomes `Spoken` pieces.  Nothing here knows a message; whether facts
may be taken from one is decided in `trust.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from mamba_advisor.facts import Rank
from mamba_advisor.record import Record

MAX_LAYERS = 8
"""Wrappers taken off one line; more is no log."""

NO_RANK = Rank()
"""A line without tags."""

_TIME = r"(?:\d{4}[-/]\d\d[-/]\d\d[ T])?\d\d:\d\d:\d\d(?:[.,]\d{3,6})?"
_STAMPED = re.compile(rf"\[({_TIME})((?: {{1,2}}[^\]\s]{{1,40}}){{0,8}})\] ?")
_BARE = r"\[([A-Z][^\]\s]{1,40}(?: [A-Z][^\]\s]{1,40}){0,7})\] ?"
_TAG = (
    r"([A-Z][A-Z_]{0,11}?)(\d{1,6})(?:(?:\.\.|[-–…~])(?:[A-Z][A-Z_]{0,11}?)?(\d{1,6}))?"
)
_KNOWN = frozenset(
    {
        *("DP", "PP", "TP", "EP", "CP", "DCP", "SP"),
        *("ATTN_CP", "ATTN_TP", "MOE_DP", "MOE_TP"),
    }
)
"""Tags that make a prefix also where a person cut the time."""

_AHEAD = r"(?=\[(?:\d{4}[-/]|\d\d:\d\d:|[DTPE]P\d))"
_WORD = r"[\w.\-]{1,120}"
_ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
_SYSLOG_TIME = r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})?"
# Compiled when they are first needed: most logs need none of them.
_LAYERS = (
    ("frame", "│┃║▏▕┆┊╎╏▌|", "", r"[│┃║▏▕┆┊╎╏▌]+ ?|\|+ "),
    (
        "markdown",
        ">*+•–-`0123456789",
        "",
        r"(?:> ?)+|[*+•–-] +|\d{1,3}[.)] +|`+|\*\*(?=\S)",
    ),
    ("kubectl", "[", "/", rf"\[(?P<who>{_WORD}(?:/{_WORD}){{1,3}})\] ?"),
    (
        "launcher",
        "[",
        "]",
        r"\[(?:rank|default)\d{1,6}\]:? |\[\d{1,6},\d{1,6}\]<std\w{3}>: ?",
    ),
    (
        "ray",
        "(",
        "pid=",
        r"\((?:(?P<who>[\w.:#\-]{1,120}(?: [\w.:#\-]{1,120})?) )?"
        r"pid=\d{1,10}(?:, ip=[\w.:]{1,60})?\) ?",
    ),
    (
        "logger",
        "DIWEC",
        ":",
        r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL):[\w.]{1,120}:",
    ),
    (
        "journal",
        "",
        ": ",
        rf"(?:{_SYSLOG_TIME}|{_ISO}) \S{{1,120}} "
        r"(?P<who>[^\s\[\]:|]{1,120})(?:\[\d{1,10}\])?: ",
    ),
    ("time", "", ":", rf"(?:{_ISO}|{_SYSLOG_TIME}) (?=\S)"),
    (
        "compose",
        "",
        "| ",
        # Not the first column of a table of figures.
        rf"(?!(?:max|conv|ssm|intermediate)_)(?P<who>{_WORD}?)"
        rf"(?: {{2,120}}\| | ?\| {_AHEAD})",
    ),
    ("launcher", "0123456789", ": [", rf"\d{{1,6}}: {_AHEAD}"),
    ("words", "", "[", rf"(?P<who>{_WORD}(?:[ /:]{{1,3}}{_WORD}){{0,3}}):? {_AHEAD}"),
)
"""(kind, first characters or empty for a letter or digit, text inside, head)."""

_ANSI = (
    r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]"
    r"|\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?|\x1b[@-_]?"
)
_BAR = r"[^\[\]'\"]{0,200}?\d{1,3}%(?:\|| ?Completed ?\|)"
_GLUE = rf"(?:it/s|s/it)\](?=\[{_TIME})"
_FRAME_ENDS = "│┃║▕┆┊╎╏|`"
_JSON_TEXT = ("log", "message", "msg", "textPayload")
_JSON_WHO = ("container_name", "pod_name", "pod", "container", "service", "host")
_JSON_TIME = ("time", "timestamp", "@timestamp", "ts")


class Spoken(Record):
    """One message, and who said it when."""

    message: str
    """Without prefix, collector's head and leading blanks."""

    rank: Rank = NO_RANK
    last_rank: Rank | None = None
    speaker: str = ""
    stamp: str = ""
    is_stamped: bool = False
    """SGLang's own prefix stands before it."""

    is_indented: bool = False
    """Blanks stand before it, as in a traceback or a wrapped line."""

    is_glued: bool = False
    """A progress bar stands before its prefix on the same physical line."""

    layers: str = ""
    """Kinds of the collectors' heads, outermost first: how this log is wrapped."""


def peel(text: str) -> Iterator[Spoken]:
    r"""Split a physical line into what processes wrote, and read the prefixes.

    Args:
        text: The line without its newline.  A ``\r`` inside ends a progress bar.

    Yields:
        One `Spoken` for each part that is no bare progress bar.  A part after a bar
        counts only where SGLang's time follows the bar's ``it/s]`` directly.
    """
    if "\x1b" in text:
        text = re.sub(_ANSI, "", text)
    if text[:1] == "[" and "\r" not in text and (own := _own_prefix(text)):
        yield _stamped(own, text, _Head(is_glued=False))  # nearly every line of a boot
        return
    for part in text.split("\r") if "\r" in text else (text,):
        if "%" in part and part[:1] != "[" and re.match(_BAR, part):
            if "][" in part and (glue := re.search(_GLUE, part)):
                yield from _peel_part(part[glue.end() :], is_glued=True)
        elif part:
            yield from _peel_part(part)
    if not text:
        yield Spoken("")


class _Head:
    """What was taken off a part so far."""

    __slots__ = ("is_glued", "is_indented", "layers", "speaker", "stamp")

    def __init__(self, is_glued: bool) -> None:
        self.is_glued = is_glued
        self.is_indented = False
        self.speaker = self.stamp = self.layers = ""

    def add(self, kind: str, who: str | None = None) -> None:
        """Note a layer of *kind*, and whom it names."""
        self.layers = f"{self.layers},{kind}" if self.layers else kind
        if who:
            self.speaker = f"{self.speaker}/{who}" if self.speaker else who


def _peel_part(text: str, *, is_glued: bool = False) -> Iterator[Spoken]:
    """Take the layers off one part; a JSON record may hold several lines."""
    head = _Head(is_glued)
    for _ in range(MAX_LAYERS):
        stripped = text.lstrip(" \t\ufeff\u200b")
        if blanks := len(text) - len(stripped):
            head.is_indented = blanks > 1 or text[0] == "\t"
            text = stripped
        if text[:1] == "[" and (own := _own_prefix(text)):
            yield _stamped(own, text, head)
            return
        if text[:1] == "{" and (record := _json_record(text)):
            head.add("json", record.who)
            head.stamp = record.when
            for line in record.lines:
                yield from _peel_json_line(line, head)
            return
        layer = _outermost(text)
        if layer is None:
            break
        kind, match = layer
        head.add(kind, match.groupdict().get("who"))
        head.is_indented = False
        if kind == "time":
            head.stamp = match.group().strip()
        text = text[match.end() :]
        if kind in ("frame", "markdown"):
            text = _without_end(text)
    yield _unstamped(text, head)


def _without_end(text: str) -> str:
    """Take the right side of a frame off a line."""
    stripped = text.rstrip(" \t")
    body = stripped.rstrip(_FRAME_ENDS)
    return body.rstrip(" \t") if len(body) < len(stripped) else text


def _outermost(text: str) -> tuple[str, re.Match[str]] | None:
    """Return the kind and the match of the head that *text* starts with."""
    initial = text[:1]
    for kind, first, inside, pattern in _LAYERS:
        if (
            (initial in first if first else initial.isalnum())
            and inside in text
            and (match := re.match(pattern, text))
        ):
            return kind, match
    return None


class _Own(Record):
    """SGLang's own prefix."""

    end: int
    stamp: str
    rank: Rank
    last: Rank | None


def _own_prefix(text: str, start: int = 0) -> _Own | None:
    """Read SGLang's own prefix at *start*: time and tags, or tags alone."""
    if found := _STAMPED.match(text, start):
        stamp, tags = found.groups()
        ranks = _ranks(tags)
    elif "A" <= text[start + 1 : start + 2] <= "Z":
        found = re.compile(_BARE).match(text, start)
        stamp, ranks = "", _ranks(found.group(1), bare=True) if found else None
    else:
        return None
    if found is None or ranks is None:
        return None
    return _Own(found.end(), stamp, *ranks)


def _stamped(own: _Own, text: str, head: _Head) -> Spoken:
    """Build the message behind SGLang's prefix *own*."""
    if not own.rank.text and text[own.end : own.end + 1] == "[":
        # Somebody may have stamped lines that were stamped already.
        own = _own_prefix(text, own.end) or own
    return Spoken(
        text[own.end :],
        own.rank,
        own.last,
        head.speaker,
        own.stamp or head.stamp,
        is_stamped=True,
        is_indented=head.is_indented,
        is_glued=head.is_glued,
        layers=head.layers,
    )


def _unstamped(text: str, head: _Head) -> Spoken:
    """Build a message without SGLang's prefix."""
    return Spoken(
        text,
        speaker=head.speaker,
        stamp=head.stamp,
        is_indented=head.is_indented,
        is_glued=head.is_glued,
        layers=head.layers,
    )


@lru_cache(maxsize=4096)
def _ranks(tags: str, *, bare: bool = False) -> tuple[Rank, Rank | None] | None:
    """Return the rank of *tags*, and the last one where a range is printed.

    Args:
        tags: Tags with blanks between them.
        bare: They stand without a time: all must be known.

    Returns:
        None when one is no tag.
    """
    first, last = dict[str, int](), dict[str, int]()
    for tag in tags.split():
        found = re.fullmatch(_TAG, tag)
        if found is None or (bare and found.group(1) not in _KNOWN):
            return None
        name, low, high = found.groups()
        first[name] = int(low)
        last[name] = int(high or low)
    text = " ".join(tags.split())
    if not first:
        return NO_RANK, None
    rank = Rank(first.get("DP", -1), first.get("PP", -1), first.get("TP", -1), text)
    if first == last:
        return rank, None
    return rank, Rank(last.get("DP", -1), last.get("PP", -1), last.get("TP", -1), text)


class _Entry(Record):
    """The parts of a collector's JSON record that matter."""

    lines: list[str]
    who: str
    when: str


def _json_record(text: str) -> _Entry | None:
    """Return a collector's JSON record, None for other text."""
    if not text.startswith(('{"', "{ ")) or not text.rstrip().endswith("}"):
        return None
    import json

    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not (message := _first(record, _JSON_TEXT)):
        return None
    places = (record, record.get("kubernetes"), record.get("labels"))
    who = next(filter(None, (_first(place, _JSON_WHO) for place in places)), "")
    return _Entry(message.splitlines(), who[:120], _first(record, _JSON_TIME)[:40])


def _first(place: object, keys: tuple[str, ...]) -> str:
    """Return the first string that *place* holds under *keys*, else empty."""
    if not isinstance(place, dict):
        return ""
    return next((place[key] for key in keys if isinstance(place.get(key), str)), "")


def _peel_json_line(line: str, head: _Head) -> Iterator[Spoken]:
    """Read SGLang's prefix of a line inside a JSON record."""
    plain = re.sub(_ANSI, "", line)
    if own := _own_prefix(plain):
        yield _stamped(own, plain, head)
    else:
        text = plain.lstrip()
        head.is_indented = len(plain) - len(text) > 1
        yield _unstamped(text, head)
