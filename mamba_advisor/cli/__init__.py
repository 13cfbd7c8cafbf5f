"""The command line: the only part that reads options, prints and exits."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.core import ParameterSource

from mamba_advisor import __version__
from mamba_advisor.cli.options import Command, leaving
from mamba_advisor.cli.terminal import width
from mamba_advisor.errors import InputError, MambaAdvisorError
from mamba_advisor.patience import obey_signals

if TYPE_CHECKING:
    from mamba_advisor.cli.call import Options

COMMANDS = {
    "analyze": "Read boot logs and say how to split the memory.",
    "plan": "Advise before any boot, from a model's config.json.",
    "compare": "Set two logs side by side and judge the change.",
    "parsers": "Show, list and check log dialects.",
}
"""Command, and module of `cli` -> its line in the help."""

BARE = "mamba_advisor.bare"
"""Whether a call begins with a command, in the context."""

HELP_WIDTH = 100
"""Columns that a help text uses at most."""

INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 + SIGINT."""

PIPE_CLOSED = 141
"""Exit status when the reader of stdout has gone: 128 + SIGPIPE."""


class Program(click.Group, Command):
    """The group: loads a command when it is called, and reports errors in a line."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run; leave with the right status, too, where nothing more can be said.

        Help and messages of click are written outside of `invoke`.
        """
        try:
            return super().main(*args, **extra)
        except OSError as error:
            pending = error.__context__
            status = getattr(pending, "exit_code", InputError.exit_code)
            with contextlib.suppress(OSError):
                sys.stderr.write(f"Error: {error.strerror or error}\n")
                sys.stderr.flush()
            _drop_unwritten()
            sys.exit(status)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Return the context; its width is known without the imports of shutil."""
        extra.setdefault("terminal_width", min(width(), HELP_WIDTH) - 2)
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            raise _in_one_line(error) from None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; what begins with a command holds none of the filter's options."""
        ctx.meta[BARE] = bool(args) and args[0] in COMMANDS
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters of the filter; none where a command comes first."""
        return [] if ctx.meta.get(BARE) else Command.get_params(self, ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module, and return the command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"mamba_advisor.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command, or say what was probably meant.

        Options that stand before it count as its own.
        """
        word = args[0]
        if word not in COMMANDS and not word.startswith("-"):
            import difflib

            hint = ""
            if close := difflib.get_close_matches(word, COMMANDS, n=1):
                hint = f" Did you mean {close[0]!r}?"
            elif os.path.exists(word):
                hint = f" To read a log: {ctx.command_path} analyze {word}"
            raise click.UsageError(f"No such command {word!r}.{hint}", ctx)
        found = super().resolve_command(ctx, args)
        _hand_down(ctx, *found[:2])
        return found

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the commands, then the options of the filter."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))
        Command.format_options(self, ctx, formatter)

    def invoke(self, ctx: click.Context) -> Any:
        """Run; show every error as one line on stderr, with its exit status."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise _in_one_line(error) from None
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except MambaAdvisorError as error:
            _leave(ctx, str(error), error.exit_code)
        except KeyboardInterrupt:
            _leave(ctx, "interrupted", INTERRUPTED)
        except BrokenPipeError:
            _drop_unwritten()
            ctx.exit(PIPE_CLOSED)
        except OSError as error:
            where = f"{error.filename!r}: " if error.filename else ""
            try:
                _leave(
                    ctx, where + (error.strerror or str(error)), InputError.exit_code
                )
            finally:
                _drop_unwritten()
        except Exception as error:  # the last resort: no traceback reaches a user
            from mamba_advisor.cli.show import CRASHED, crash

            _leave(ctx, crash(error), CRASHED)


def _in_one_line(error: click.UsageError) -> click.UsageError:
    """Return *error* with a message in which a terminal finds nothing to obey.

    It may quote an argument, which may be a file's name that the shell put in.
    """
    from mamba_advisor.cli.show import one_line

    return click.UsageError(one_line(error.format_message()), error.ctx)


def _drop_unwritten() -> None:
    """Let nothing fail when the interpreter flushes its streams once more."""
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def _leave(ctx: click.Context, message: str, status: int) -> NoReturn:
    """Say *message* in one line on stderr, and exit."""
    if ctx.meta.get("debug"):
        import traceback

        traceback.print_exc()
    from mamba_advisor.cli.show import say

    say(message)
    ctx.exit(status)


def _hand_down(
    ctx: click.Context, name: str | None, command: click.Command | None
) -> None:
    """Let the options given before *command* count as its own."""
    given = {
        option: value
        for option, value in ctx.params.items()
        if ctx.get_parameter_source(option) is ParameterSource.COMMANDLINE
    }
    if not given or name is None or command is None:
        return
    shared = command.shared() if isinstance(command, Command) else []
    takes = {parameter.name for parameter in [*command.params, *shared]}
    if stray := [option.replace("_", "-") for option in given if option not in takes]:
        raise click.UsageError(f"{name} takes no --{stray[0]}.", ctx)
    ctx.default_map = {name: given}


VERSION = leaving(
    "--version",
    text="Show the version and exit.",
    say=lambda ctx: f"{ctx.find_root().info_name} {__version__}",
)


@click.command(
    "mamba-advisor",
    cls=Program,
    evidence=("config", "metrics", "follow"),
    params=[VERSION],
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="In a pipe, every byte goes on to stdout, and the advice to stderr.",
)
@click.pass_context
def main(ctx: click.Context, options: Options) -> None:
    """Say how to split GPU memory between SGLang's state pool and its KV pool.

    Reads the boot log of an SGLang server with a hybrid model: in a pipe
    (sglang-launch ... 2>&1 | mamba-advisor), or from files (analyze).
    """
    for stream in (sys.stdout, sys.stderr):
        # What a terminal's encoding lacks becomes a question mark, not a crash.
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    if ctx.invoked_subcommand is not None:
        obey_signals()  # the filter does so when it can pass on what it is sent
        return
    if sys.stdin is None or sys.stdin.isatty():
        click.echo(ctx.get_help())
        ctx.exit(2)
    from mamba_advisor.cli.filter import run

    run(ctx, options)
