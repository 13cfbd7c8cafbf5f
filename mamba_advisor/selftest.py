"""The proof of a dialect file by its own samples, and by lines that try its regexes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mamba_advisor.dialect import entries, group_names, parse
from mamba_advisor.errors import DialectError
from mamba_advisor.facts import Value
from mamba_advisor.measured import UNITS, Measured
from mamba_advisor.pattern import Dialect, Entry, Field, convert
from mamba_advisor.prefix import peel

PROBE_LENGTH = 3000
"""Characters of a probe: enough for a catastrophic regex to run into its fuse."""

PROBE_TEXTS = ("0", "a", " ", "a ", "0,", "1.", "=", ", ", "(", "'")
"""Texts that probes repeat behind an anchor."""


def load(text: str, where: str) -> Dialect:
    """Read a dialect file and prove it.

    Args:
        text: The file's content.
        where: Its path, for messages.

    Raises:
        DialectError: The file is malformed; a regex does not compile, or is so slow
            that it hits the fuse; groups and fields differ; a pattern has no sample
            or does not read it; the file reads other facts from a sample than the
            sample states; a pattern reads a line under ``[[reject]]``.
    """
    dialect = parse(text, where)
    prove(dialect)
    return dialect


def prove(dialect: Dialect) -> None:
    """Hold *dialect* against its own samples and rejects.

    Raises:
        DialectError: As `load`, but for the form of the file.
    """
    where = dialect.where
    if not dialect.patterns:
        raise DialectError(where, "has no pattern", "add [[pattern]]")
    ready = entries(dialect)
    for entry in ready:
        pattern = entry.pattern
        what = f"pattern {pattern.name!r}"
        groups, fields = group_names(pattern, where), {f.group for f in pattern.fields}
        if groups != fields:
            names = ", ".join(sorted(groups ^ fields))
            raise DialectError(where, f"{what}: groups and fields differ: {names}")
        if not pattern.samples:
            raise DialectError(
                where, f"{what}: has no sample", "add [[pattern.sample]]"
            )
        for sample in pattern.samples:
            _prove_sample(ready, entry, sample.line, sample.facts)
        _probe(entry)
    for line in dialect.rejects:
        for entry in ready:
            if any(_read(entry, message) is not None for message in _messages(line)):
                reason = f"pattern {entry.pattern.name!r}: reads {line[:120]!r}"
                raise DialectError(where, f"{reason} from a line it must not read")


def _messages(line: str) -> list[str]:
    return [spoken.message for spoken in peel(line)]


def _read(entry: Entry, message: str) -> Mapping[str, Value] | None:
    if entry.anchor not in message:
        return None
    hit = entry.read(message)
    return None if hit is None else hit.facts


def _prove_sample(
    ready: Sequence[Entry], entry: Entry, line: str, stated: Mapping[str, Any]
) -> None:
    """Check that *entry* reads *line*, and the file what the sample states."""
    what = f"pattern {entry.pattern.name!r}"
    messages = _messages(line)
    if all(_read(entry, message) is None for message in messages):
        hint = "the anchor is not in it" if entry.anchor not in line else ""
        reason = f"{what}: does not read its sample {line[:120]!r}"
        raise DialectError(entry.where, reason, hint)
    found: dict[str, Value] = {}
    for other in ready:
        for message in messages:
            facts = _read(other, message)
            # Of two wordings of an edited line the richer one counts, as in a log.
            if facts is not None and not (
                other.edited
                and other.pattern.event == entry.pattern.event
                and len(facts) < len(stated)
            ):
                found.update(facts)
    wanted = {name: _comparable(stated[name], typed=entry.edited) for name in stated}
    actual = {name: _comparable(value) for name, value in found.items()}
    if wanted != actual:
        differing = sorted(
            name
            for name in wanted.keys() | actual.keys()
            if wanted.get(name, ...) != actual.get(name, ...)
        )
        shown = "; ".join(
            f"{name}: sample states {stated.get(name, 'nothing')!r}, "
            f"the file reads {_shown(found, name)}"
            for name in differing
        )
        raise DialectError(entry.where, f"{what}: {shown}")


def _shown(found: Mapping[str, Value], name: str) -> str:
    value = found.get(name, "nothing")
    return f"{value.value} B" if isinstance(value, Measured) else repr(value)


def _comparable(value: object, *, typed: bool = False) -> object:
    """Bring a fact and what TOML states for it into one form."""
    if isinstance(value, Measured):
        return (value.low, value.value, value.high)
    if isinstance(value, str):
        number, _, unit = value.partition(" ")
        if unit in UNITS:
            size = convert(Field("", "", "size", unit), number, typed=typed)
            return _comparable(size)
        return value
    if isinstance(value, list | tuple):
        return tuple(value)
    if isinstance(value, Mapping):
        return {
            name: "None" if inner is None else inner for name, inner in value.items()
        }
    return value


def _probe(entry: Entry) -> None:
    """Run the regex on lines that nearly fit, so that a slow one shows now.

    Raises:
        DialectError: It hits the fuse.
    """
    for sample in entry.pattern.samples:
        for message in _messages(sample.line):
            for text in (message[:-1], message * 20, message[:-2] + "\x00"):
                entry.read(text[:PROBE_LENGTH])
    for text in PROBE_TEXTS:
        repeated = (text * PROBE_LENGTH)[:PROBE_LENGTH]
        entry.read(f"{entry.anchor}{repeated}\x00")
        entry.read(f"{repeated}{entry.anchor}")
