"""SGLang releases: parse, compare, and choose what a release does from a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias, TypeVar

from mamba_advisor.errors import FactError, InputError

T = TypeVar("T")

Release: TypeAlias = tuple[int, int, int]
"""Major, minor and patch number."""

Eras: TypeAlias = Sequence[tuple[str, T]]
"""(first release, what holds from it on), oldest first."""

FIRST_RELEASE = "0.5.4"
"""First release with ``--mamba-full-memory-ratio``."""

KNOWN_RELEASES: tuple[str, ...] = tuple(f"0.5.{patch}" for patch in range(4, 24))
"""Releases whose arithmetic is known, oldest first."""

LAST_RELEASE = KNOWN_RELEASES[-1]
"""Newest release whose arithmetic is known."""

_NUMBER = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?!\d)")


@lru_cache(maxsize=256)
def parse_release(version: str) -> Release:
    """Return the three numbers of *version*.

    Args:
        version: For example ``"0.5.17"``; a leading ``v`` and anything behind the
            third number (``.post1``, ``rc0``, ``.dev12+g1a2b3c``) are left out.

    Raises:
        InputError: *version* does not start with three numbers.
    """
    match = _NUMBER.match(version.strip())
    if match is None:
        raise InputError(f"not an SGLang release: {version!r} (write it as 0.5.17)")
    major, minor, patch = match.groups()
    return int(major), int(minor), int(patch)


def since(version: str, first: str) -> bool:
    """Return whether *version* is *first* or newer.

    Raises:
        InputError: One of them is not a release.
    """
    return parse_release(version) >= parse_release(first)


def require_ratio(version: str) -> None:
    """Refuse the releases that have no ratio to set.

    Raises:
        FactError: *version* is 0.5.3 or older.
        InputError: *version* is not a release.
    """
    if not since(version, FIRST_RELEASE):
        raise FactError(
            f"SGLang {version} has no --mamba-full-memory-ratio: it exists from "
            f"{FIRST_RELEASE} (upgrade, or set --max-mamba-cache-size)"
        )


def choose(eras: Eras[T], version: str) -> T:
    """Return what holds in *version*: the last entry that is not newer.

    Args:
        eras: Oldest first.  A release newer than every known one gets the last.
        version: The release.

    Raises:
        FactError: *version* is older than the first entry.
        InputError: *version* is not a release.
    """
    release = parse_release(version)
    for first, held in reversed(eras):
        if release >= parse_release(first):
            return held
    raise FactError(f"SGLang {version} is older than {eras[0][0]}, where this begins")


def release_note(version: str) -> str:
    """Return the sentence to show when *version* is newer than what is known.

    Returns:
        Empty for a known release.

    Raises:
        InputError: *version* is not a release.
    """
    if parse_release(version) <= parse_release(LAST_RELEASE):
        return ""
    return (
        f"SGLang {version} is newer than the releases known here: "
        f"computed as {LAST_RELEASE}"
    )
