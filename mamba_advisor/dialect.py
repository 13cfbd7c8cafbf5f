"""Dialect files: TOML -> `Dialect`.  The only module that imports `regex`.

Patterns that this package ships run on the standard library's `re`, and the tests
prove them.  Patterns from outside are proved when they are loaded, and run with a
fuse.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from time import thread_time
from typing import Any

from mamba_advisor.errors import DialectError
from mamba_advisor.measured import UNITS
from mamba_advisor.pattern import (
    EARNED_S,
    KINDS,
    LINE_COST,
    MATCH_TIMEOUT_S,
    SLACK_S,
    Compiled,
    Dialect,
    Entry,
    Field,
    Pattern,
    Sample,
)
from mamba_advisor.shipped import ends_of

SCHEMA = 1
"""Version of the file format."""

MAX_FILE = 1 << 20
"""Characters of the longest dialect file."""

MAX_REGEX = 8192
"""Characters of the longest regex."""

KEYS = {
    "file": {"schema", "name", "title", "edited", "rank", "pattern", "reject"},
    "pattern": {
        *("name", "event", "versions", "source", "anchor", "regex", "fields"),
        *("constants", "sample"),
    },
    "field": {"fact", "kind", "unit"},
    "sample": {"line", "facts"},
    "reject": {"line", "why"},
}
"""Table of the format -> the keys that it may have."""

EVENT_FACTS = {
    "state-pool": {
        *("state_slots", "conv_bytes", "ssm_bytes"),
        *("draft_ssm_bytes", "draft_conv_bytes"),
    },
    "kv-pool": {
        *("kv_tokens", "kv_dtype", "kv_label", "k_bytes", "v_bytes", "kv_bytes"),
        "upper_bound",
    },
    "capped": {"granted", "state_slots", "slots_per_request"},
    "summary": {
        *("kv_tokens", "chunked_prefill_size", "max_prefill_tokens"),
        *("max_running_requests", "context_len", "avail_bytes"),
    },
    "weights-end": {"model_type", "avail_bytes", "used_bytes", "dtype", "quant"},
    "pool-end": {"avail_bytes"},
}
"""Event -> facts; a pattern without an event has the first that covers its facts."""

_NAME = r"[A-Za-z0-9][\w.-]{0,63}"
_RELEASE = r"\d+\.\d+\.\d+"


def parse(text: str, where: str) -> Dialect:
    """Read a dialect file, without proving it.

    Args:
        text: The file's content.
        where: Its path, for messages.

    Returns:
        The dialect.  A pattern without ``event`` gets the first of `EVENT_FACTS`
        that covers its facts, else its own name.

    Raises:
        DialectError: It is not TOML, of an unknown schema, has unknown keys,
            wrong types, kinds or units; *where* and the pattern are named.
    """
    document = _toml(text, where)
    _check_keys(document, "file", where, "the file")
    if document.get("schema") != SCHEMA:
        reason = f"schema {document.get('schema')!r} is not known"
        raise DialectError(where, reason, f"put schema = {SCHEMA} first")
    name = _text(document, "name", where, "the file")
    if not re.fullmatch(_NAME, name):
        raise DialectError(where, f"name {name!r} is not a word")
    edited, rank = document.get("edited", False), document.get("rank", 0)
    if not isinstance(edited, bool):
        raise DialectError(where, "edited is not true or false")
    if not isinstance(rank, int) or isinstance(rank, bool):
        raise DialectError(where, "rank is not an integer")
    patterns = tuple(
        _pattern(table, where) for table in _tables(document, "pattern", where)
    )
    if len({pattern.name for pattern in patterns}) < len(patterns):
        raise DialectError(where, "two patterns have the same name")
    return Dialect(
        name,
        _text(document, "title", where, "the file", default=""),
        where,
        patterns,
        tuple(_reject(table, where) for table in _tables(document, "reject", where)),
        edited,
        rank,
    )


def entries(dialect: Dialect) -> list[Entry]:
    """Return the patterns of *dialect*, which is from outside, ready to run."""
    return [
        Entry(
            dialect,
            pattern.event,
            pattern.anchor,
            partial(_itself, pattern),
            _compile_fused,
        )
        for pattern in dialect.patterns
    ]


def group_names(pattern: Pattern, where: str) -> set[str]:
    """Return the named groups of the pattern's regex.

    Raises:
        DialectError: The regex does not compile.
    """
    return set(_fused(pattern, where).groupindex)


def _itself(pattern: Pattern) -> Pattern:
    return pattern


def _compile_fused(pattern: Pattern, where: str) -> Compiled:
    """Return what `Entry` needs; the search raises `TimeoutError`.

    What a pattern may take grows with what it has read: a process may read logs for
    months.  Only what it needs itself counts, not how long others keep it waiting.
    """
    fused = _fused(pattern, where)
    left = SLACK_S

    def search(text: str) -> re.Match[str] | None:
        nonlocal left
        start = thread_time()
        found: re.Match[str] | None = fused.search(text, timeout=MATCH_TIMEOUT_S)
        earned = EARNED_S * (len(text) + LINE_COST)
        left = min(SLACK_S, left + earned - (thread_time() - start))
        if left < 0:
            raise TimeoutError
        return found

    return search, max(fused.groupindex.values(), default=0), 0


def _fused(pattern: Pattern, where: str) -> Any:
    import regex

    try:
        return regex.compile(pattern.regex)
    except (regex.error, OverflowError, RecursionError, MemoryError) as error:
        reason = f"pattern {pattern.name!r}: regex does not compile: {error}"
        raise DialectError(where, reason) from error


def _toml(text: str, where: str) -> dict[str, Any]:
    import tomllib

    if len(text) > MAX_FILE:
        raise DialectError(where, f"longer than {MAX_FILE} characters")
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DialectError(where, f"not TOML: {error}") from error


def _pattern(table: Mapping[str, Any], where: str) -> Pattern:
    name = _text(table, "name", where, "a pattern")
    what = f"pattern {name!r}"
    if not re.fullmatch(_NAME, name):
        raise DialectError(where, f"{what}: the name is not a word")
    _check_keys(table, "pattern", where, what)
    regex = _text(table, "regex", where, what)
    if len(regex) > MAX_REGEX:
        raise DialectError(where, f"{what}: regex longer than {MAX_REGEX} characters")
    versions = _versions(
        _text(table, "versions", where, what, default="–"), where, what
    )
    fields = tuple(
        _field(group, entry, where, what)
        for group, entry in _table(table, "fields", where, what).items()
    )
    constants = _table(table, "constants", where, what)
    for fact, value in constants.items():
        if not isinstance(value, bool | int | float | str):
            raise DialectError(where, f"{what}: constant {fact!r} is not plain")
    facts = {field.fact for field in fields}
    event = _text(table, "event", where, what, default="") or next(
        (event for event, known in EVENT_FACTS.items() if facts and facts <= known),
        name,
    )
    return Pattern(
        name,
        event,
        regex,
        _text(table, "anchor", where, what, default=""),
        versions,
        _text(table, "source", where, what, default=""),
        fields,
        constants,
        tuple(
            _sample(sample, where, what)
            for sample in _tables(table, "sample", where, what)
        ),
    )


def _versions(text: str, where: str, what: str) -> tuple[str, str]:
    """Return the ends of a range of releases, as `ends_of`.

    Raises:
        DialectError: One of them is no release.
    """
    ends = ends_of(text)
    for release in ends:
        if release and not re.fullmatch(_RELEASE, release):
            hint = "for example 0.5.4 – 0.5.12, or 0.5.13 –"
            raise DialectError(where, f"{what}: versions {text!r} is not a range", hint)
    return ends


def _field(group: str, entry: object, where: str, what: str) -> Field:
    what = f"{what}: field {group!r}"
    if not isinstance(entry, dict):
        raise DialectError(where, f"{what} is not a table")
    _check_keys(entry, "field", where, what)
    fact = _text(entry, "fact", where, what)
    kind = _text(entry, "kind", where, what)
    unit = _text(entry, "unit", where, what, default="")
    if kind not in KINDS:
        known = ", ".join(sorted(KINDS))
        raise DialectError(where, f"{what}: kind {kind!r} is not known", known)
    if (kind == "size") != (unit in UNITS) or (unit and unit not in UNITS):
        hint = f"sizes take one of {', '.join(UNITS)}, other kinds none"
        reason = f"{what}: kind {kind!r} does not go with unit {unit!r}"
        raise DialectError(where, reason, hint)
    return Field(group, fact, kind, unit)


def _sample(table: Mapping[str, Any], where: str, what: str) -> Sample:
    _check_keys(table, "sample", where, f"{what}: a sample")
    line = _text(table, "line", where, f"{what}: a sample")
    return Sample(line, _table(table, "facts", where, f"{what}: a sample"))


def _reject(table: Mapping[str, Any], where: str) -> str:
    _check_keys(table, "reject", where, "a reject")
    return _text(table, "line", where, "a reject")


def _check_keys(table: Mapping[str, Any], kind: str, where: str, what: str) -> None:
    if unknown := sorted(set(table) - KEYS[kind]):
        known = ", ".join(sorted(KEYS[kind]))
        raise DialectError(
            where, f"{what} has unknown keys: {', '.join(unknown)}", known
        )


def _text(
    table: Mapping[str, Any],
    key: str,
    where: str,
    what: str,
    default: str | None = None,
) -> str:
    value = table.get(key, default)
    if value is None:
        raise DialectError(where, f"{what} has no {key}")
    if not isinstance(value, str):
        raise DialectError(where, f"{what}: {key} is not a string")
    return value


def _table(
    table: Mapping[str, Any], key: str, where: str, what: str
) -> Mapping[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise DialectError(where, f"{what}: {key} is not a table")
    return value


def _tables(
    table: Mapping[str, Any], key: str, where: str, what: str = "the file"
) -> list[Mapping[str, Any]]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise DialectError(where, f"{what}: write [[{key}]], not {key} = …")
    return value
