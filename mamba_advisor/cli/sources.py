"""The logs that the arguments of a call stand for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from mamba_advisor.errors import InputError

LOG_NAME = r"""(?ix) \. (?: log | txt | out | err ) (?: [.\-_] [0-9A-Za-z\-_:]+ )*
    (?: \. (?: gz | xz | bz2 | zst ) )? $"""
"""Names that count as logs where a folder is given, rotated and compressed too."""

MAGIC = frozenset("*?[")
"""Characters that make an argument a pattern."""


def expand(arguments: Iterable[str]) -> list[str]:
    """Return the logs that *arguments* stand for, each once, in their order.

    Args:
        arguments: Paths, ``-`` for standard input, URLs, also with a pattern, folders
            (every log below them) and glob patterns that the shell left alone.

    Raises:
        InputError: A folder holds no log, a pattern matches nothing, or an argument
            is empty.
    """
    found: dict[str, None] = {}
    for argument in arguments:
        if not argument:
            raise InputError("an empty argument names no log")
        found.update(dict.fromkeys(_one(argument)))
    return list(found)


def _one(argument: str) -> list[str]:
    if argument == "-":
        return [argument]
    if "://" in argument and not os.path.lexists(argument):
        from mamba_advisor.remote import expand_url

        return expand_url(argument)
    if os.path.isdir(argument):
        logs = sorted(_logs_below(argument), key=_natural)
        if not logs:
            raise InputError(
                f"{argument!r} holds no log (*.log, *.txt, *.out, *.err, also .gz, "
                ".xz, .bz2, .zst)"
            )
        return logs
    if not os.path.lexists(argument) and not MAGIC.isdisjoint(argument):
        matches = sorted(_matches(argument), key=_natural)
        if not matches:
            raise InputError(f"no file matches {argument!r}")
        return [log for path in matches for log in _below_or_itself(path)]
    return [argument]


def _matches(pattern: str) -> Iterator[str]:
    """Yield what *pattern* matches; ``**/`` stands for any folders, links left out.

    `glob` would follow links, and two that lead back make 2⁴⁰ paths.
    """
    import glob  # few calls bring a pattern that the shell has left alone

    before, stars, rest = pattern.partition("**/")
    if not stars:
        yield from glob.iglob(pattern)
        return
    for top in glob.iglob(before) if before else [""]:
        for folder, folders, _ in os.walk(top or "."):
            folders[:] = [name for name in folders if not name.startswith(".")]
            inside = os.path.join(glob.escape(folder if top else folder[2:]), rest)
            yield from _matches(inside)


def _below_or_itself(path: str) -> list[str]:
    if os.path.isdir(path):
        return sorted(_logs_below(path), key=_natural)
    return [path]


def _logs_below(folder: str) -> Iterator[str]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = os.path.join(parent, name)
            if name.startswith(".") or not re.search(LOG_NAME, name):
                continue
            if os.path.isfile(path):  # no device or pipe, which may never end
                yield path


def _natural(path: str) -> list[tuple[int, str]]:
    """Return a key that puts ``run10.log`` after ``run9.log``."""
    parts = re.split(r"([0-9]+)", path)
    return [(int(part[:18]), part) if part.isdigit() else (-1, part) for part in parts]
