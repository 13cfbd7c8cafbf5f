"""Where dialects come from, and which one wins."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mamba_advisor.errors import DialectError
from mamba_advisor.pattern import Dialect, Entry
from mamba_advisor.shipped import sketch

LARGEST_FILE = 1 << 20
"""Characters of the largest file that is taken for a dialect."""

PLUGIN_GROUP = "mamba_advisor.parsers"
"""Entry points of packages whose ``*.toml`` files are dialects."""


class Catalog:
    """The patterns in force."""

    __slots__ = ("edited", "entries", "exact", "problems", "texts")

    def __init__(
        self,
        shelves: Iterable[Sequence[Entry]],
        texts: dict[str, tuple[str, str]],
        problems: Sequence[DialectError] = (),
    ) -> None:
        self.entries = tuple(entry for shelf in shelves for entry in shelf)
        self.exact = _by_anchor(entry for entry in self.entries if not entry.edited)
        """Anchor -> the patterns with it, for lines as SGLang prints them."""

        self.edited = _by_anchor(entry for entry in self.entries if entry.edited)
        """Anchor -> the patterns with it, for lines that a person has changed."""

        self.problems = tuple(problems)
        """Plug-ins that were left out, and why."""

        self.texts = texts
        """Name of a dialect -> (where it comes from, its file's content)."""

    def dialects(self) -> list[Dialect]:
        """Return every dialect in full, in the order in which they are tried."""
        from mamba_advisor.dialect import parse

        return [parse(text, where) for where, text in self.texts.values()]


def load_catalog(
    files: Sequence[str | os.PathLike[str]] = (), *, plugins: bool = True
) -> Catalog:
    """Collect the dialects: built-in, installed plug-ins, then *files*.

    Args:
        files: Further dialect files; they must be sound.
        plugins: Look for installed packages that bring dialects.

    Returns:
        The catalog.  Of dialects with the same name the later one counts.  A
        plug-in that is not sound is left out and named in `Catalog.problems`.

    Raises:
        DialectError: One of *files* cannot be read, or is not sound; or the
            built-in dialects are missing.
    """
    shelves: dict[str, Sequence[Entry]] = {}
    texts: dict[str, tuple[str, str]] = {}
    problems: list[DialectError] = []
    for where, text in builtin_files():
        sketched = sketch(text, where)
        name = sketched[0].dialect
        shelves[name], texts[name] = sketched, (where, text)
    for where, text in _plugin_files(problems) if plugins else ():
        try:
            name, shelf = _proved(text, where)
        except DialectError as error:
            problems.append(error)
        else:
            shelves[name], texts[name] = shelf, (where, text)
    for file in files:
        text = read_file(file)
        name, shelf = _proved(text, str(file))
        shelves[name], texts[name] = shelf, (str(file), text)
    return Catalog(shelves.values(), texts, problems)


def _proved(text: str, where: str) -> tuple[str, Sequence[Entry]]:
    """Return the name and the patterns of a dialect from outside.

    Raises:
        DialectError: It is not sound.
    """
    # Neither is worth loading for most runs.
    from mamba_advisor.dialect import entries
    from mamba_advisor.selftest import load

    dialect = load(text, where)
    return dialect.name, entries(dialect)


def read_file(file: str | os.PathLike[str]) -> str:
    """Return the content of a dialect file.

    Raises:
        DialectError: It cannot be read, is not UTF-8, or has no end in sight.
    """
    try:
        with open(file, encoding="utf-8") as stream:
            text = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise DialectError(str(file), f"cannot be read: {reason}") from error
    except ValueError as error:  # not UTF-8, or a NUL in the path
        raise DialectError(repr(str(file)), f"cannot be read: {error}") from error
    if len(text) > LARGEST_FILE:
        raise DialectError(str(file), "too large for a dialect file")
    return text


def builtin_files() -> Iterator[tuple[str, str]]:
    """Yield (name, content) of the dialects that this package ships.

    An installed package carries them inside itself.  A checkout keeps them beside
    the package, which is where an editable install finds them.

    Raises:
        DialectError: Neither place exists; the installation is broken.
    """
    package = os.path.dirname(os.path.abspath(__file__))
    checkout = os.path.dirname(package)
    folder = os.path.join(package, "parsers")
    if not os.path.isdir(folder) and os.path.isfile(
        os.path.join(checkout, "pyproject.toml")
    ):
        folder = os.path.join(checkout, "parsers")
    if os.path.isdir(folder):
        # Plain files cost a fifth of importlib.resources at start-up.
        for name in sorted(os.listdir(folder)):
            if name.endswith(".toml"):
                with open(os.path.join(folder, name), "rb") as stream:
                    yield name, stream.read().decode()
        return
    from importlib.resources import files

    packaged = files("mamba_advisor") / "parsers"
    if not packaged.is_dir():  # not even inside a zipped package
        raise DialectError("mamba_advisor", "its own dialects are missing")
    for file in sorted(packaged.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            yield file.name, file.read_text(encoding="utf-8")


def entry_points(*, group: str) -> Sequence[Any]:
    """Return the installed entry points of *group*.

    Packages are only looked at in full when one of them announces the group:
    `importlib.metadata` alone takes longer than reading a boot log.  The current
    directory is not an installation.
    """
    try:
        here = os.getcwd()
    except OSError:  # it was deleted
        here = ""
    folders = [folder for folder in sys.path if folder not in ("", here)]
    if not any(_announces(folder, group.encode()) for folder in folders):
        return ()
    from importlib.metadata import distributions

    return [
        point
        for package in distributions(path=folders)
        for point in package.entry_points
        if point.group == group
    ]


def _announces(folder: str, group: bytes) -> bool:
    """Return whether a package installed in *folder* may announce *group*."""
    try:
        names = os.listdir(folder)
    except NotADirectoryError:
        return True  # a zip file: let importlib.metadata look
    except OSError:
        return False
    for name in names:
        if name.endswith((".dist-info", ".egg-info")):
            path = os.path.join(folder, name, "entry_points.txt")
            try:
                if os.access(path, os.R_OK):  # most have none
                    with open(path, "rb") as file:
                        if group in file.read(1 << 20):
                            return True
            except OSError:
                continue
    return False


def _plugin_files(problems: list[DialectError]) -> Iterator[tuple[str, str]]:
    """Yield (where, content) of the dialects of installed plug-ins."""
    for point in entry_points(group=PLUGIN_GROUP):
        where = f"plug-in {point.name}"
        try:
            from importlib.resources import files

            folder = files(point.load())
            found = sorted(
                (file for file in folder.iterdir() if file.name.endswith(".toml")),
                key=lambda file: file.name,
            )
            texts = [(file.name, file.read_text(encoding="utf-8")) for file in found]
        except Exception as error:
            reason = f"cannot be loaded: {type(error).__name__}: {error}"
            problems.append(DialectError(where, reason))
            continue
        yield from ((f"{where}, {name}", text) for name, text in texts)


def _by_anchor(found: Iterable[Entry]) -> dict[str, tuple[Entry, ...]]:
    table: dict[str, tuple[Entry, ...]] = {}
    for entry in found:
        table[entry.anchor] = (*table.get(entry.anchor, ()), entry)
    return table
