"""``mamba-advisor parsers``: the log dialects in force."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mamba_advisor.cli.show import say
from mamba_advisor.cli.terminal import width
from mamba_advisor.errors import DialectError, InputError
from mamba_advisor.report.safe import safe

if TYPE_CHECKING:
    from mamba_advisor.catalog import Catalog

FILES = click.option(
    "--parser",
    "files",
    multiple=True,
    metavar="FILE",
    help="A further dialect; repeatable.",
)


@click.group("parsers", invoke_without_command=True)
@FILES
@click.pass_context
def command(ctx: click.Context, files: tuple[str, ...]) -> None:
    """Show, list and check log dialects.

    A dialect is a TOML file: what lines of a log look like, and samples that prove
    it.  Later ones win by name: built-in, installed plug-ins, --parser FILE.
    """
    ctx.obj = files
    if ctx.invoked_subcommand is None:
        _list(_catalog(files))


@command.command("list")
@FILES
@click.pass_obj
def list_(outer: tuple[str, ...], files: tuple[str, ...]) -> None:
    """List the dialects in force, in the order in which they are tried."""
    _list(_catalog(outer + files))


@command.command()
@click.argument("name")
@FILES
@click.pass_obj
def show(outer: tuple[str, ...], name: str, files: tuple[str, ...]) -> None:
    """Show the dialect NAME in full."""
    texts = _catalog(outer + files).texts
    if name not in texts:
        known = ", ".join(texts)
        raise InputError(f"there is no dialect {name!r} (there are {known})")
    _, text = texts[name]
    click.echo("\n".join(map(safe, text.splitlines())))


@command.command()
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.pass_context
def check(ctx: click.Context, files: tuple[str, ...]) -> None:
    """Prove dialect files by their own samples; without FILE, those in force."""
    from mamba_advisor.catalog import read_file
    from mamba_advisor.selftest import load

    texts = {} if files else dict(_catalog(ctx.obj).texts.values())
    status = 0
    for where in files or texts:
        try:
            dialect = load(texts.get(where) or read_file(where), where)
        except DialectError as error:
            say(str(error))
            status = error.exit_code
            continue
        samples = sum(len(pattern.samples) for pattern in dialect.patterns)
        click.echo(
            f"{safe(where)}: sound: {_counted(len(dialect.patterns), 'pattern')}, "
            f"{_counted(samples, 'sample')}, {_counted(len(dialect.rejects), 'reject')}"
        )
    ctx.exit(status)


def _catalog(files: tuple[str, ...]) -> Catalog:
    """Return the dialects in force; name plug-ins that were left out."""
    from mamba_advisor.catalog import load_catalog

    catalog = load_catalog(files)
    for problem in catalog.problems:
        say(f"left out: {problem}", "Warning")
    return catalog


def _list(catalog: Catalog) -> None:
    """Print a table of the dialects, titles folded to the terminal's width."""
    from textwrap import wrap

    rows = [("NAME", "PATTERNS", "TITLE")]
    for one in catalog.dialects():
        place = "" if one.where == f"{one.name}.toml" else f" (from {one.where})"
        rows.append((safe(one.name), f"{len(one.patterns)}", safe(one.title + place)))
    names = max(len(name) for name, _, _ in rows)
    room = max(width() - names - len("  PATTERNS  "), 20)
    for name, patterns, title in rows:
        first, *others = wrap(title, room) or [""]
        click.echo(f"{name:{names}}  {patterns:>8}  {first}".rstrip())
        for other in others:
            click.echo(" " * (names + 12) + other)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
