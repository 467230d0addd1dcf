"""The command line: ``drbo fit``, ``drbo demo`` and the rest.

Data goes to stdout, talk to stderr. Exit codes: 0 a result, 1 a failure, 2 usage or bad data, 130 interrupted. The
commands import numpy, pandas and torch when they run, so that help is there at once.
"""

import atexit
import gc
import sys
import time
import traceback
import warnings
from contextlib import suppress
from typing import Any, NoReturn

import click

from drbo import __version__
from drbo.cli.about import installation
from drbo.cli.commands.check import check
from drbo.cli.commands.compare import compare
from drbo.cli.commands.datasets import datasets
from drbo.cli.commands.demo import demo
from drbo.cli.commands.effects import effects
from drbo.cli.commands.export import export
from drbo.cli.commands.fit import fit
from drbo.cli.commands.init import init
from drbo.cli.commands.judge import judge
from drbo.cli.commands.lag import lag
from drbo.cli.commands.mcp import mcp
from drbo.cli.commands.moments import moments
from drbo.cli.commands.next import next_
from drbo.cli.commands.report import report
from drbo.cli.commands.resume import resume
from drbo.cli.commands.schema import schema
from drbo.cli.commands.score import score
from drbo.cli.commands.simulate import simulate
from drbo.cli.commands.studio import studio
from drbo.cli.headings import moved_hint
from drbo.cli.interrupts import FAILURE, INTERRUPTED, MISUSE, NO_RESULT, timed
from drbo.cli.messages import OutputError, answer_error, put, ready_streams, say, say_error, say_warning
from drbo.deadline import INTERRUPTED as INTERRUPTED_RUN
from drbo.deadline import OutOfTimeError
from drbo.errors import DrboError, TimeLimitError, WriteError, write_hint

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Program(click.Group):
    """A group of commands whose errors are a line each, without a traceback.

    A closed pipe, as in ``drbo datasets | head -1``, ends the program without a word; click sees to it.
    """

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run a command and exit with its code."""
        atexit.unregister(gc.freeze)
        atexit.register(gc.freeze)  # no search for garbage among all modules at the end: it takes up to a second
        ready_streams()
        words = (args[0] if args else extra.get("args")) or sys.argv[1:]
        self._as_json = "--json" in words
        sys.exit(self._run(*args, **extra | {"standalone_mode": False}))

    def _fail(self, error: Exception, message: str, hint: str | None = None) -> None:
        """Say an error to people, and to a program that asked for JSON."""
        say_error(message, hint)
        if self._as_json:
            with suppress(DrboError, OSError):  # stdout cannot be written: stderr has said what is wrong
                answer_error(error, message, hint)

    def _run(self, *args: Any, **extra: Any) -> int:
        try:
            code = super().main(*args, **extra)
        except click.exceptions.Abort as error:
            self._fail(error, NO_RESULT)
            return INTERRUPTED
        except click.UsageError as error:
            self._fail(error, _usage_words(error), _usage_hint(error))
            return MISUSE
        except click.ClickException as error:
            self._fail(error, error.format_message())
            return FAILURE
        except DrboError as error:
            self._fail(error, error.message, error.hint)
            for line in getattr(error, "lines", ()):
                say(line)
            return FAILURE if isinstance(error, OutputError | WriteError) else MISUSE
        except OSError as error:  # such as a help text on a full disk
            where = "the output" if error.filename is None else f"'{error.filename}'"
            hint = write_hint(error, "run the command again as 'drbo --debug ...' to see where the error comes from")
            self._fail(error, f"{where}: {error.strerror or error}", hint)
            return FAILURE
        except Exception as error:
            hint = "this is a bug: please report it, with the output of 'drbo --debug ...'"
            self._fail(error, f"internal error: {type(error).__name__}: {error}", hint)
            return FAILURE
        return code if isinstance(code, int) else 0

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which they are of use, not by letter."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; warnings become lines, and with --debug an error shows where it came from."""
        with warnings.catch_warnings():
            warnings.showwarning = say_warning
            try:
                return super().invoke(ctx)
            except OutOfTimeError as error:  # one that no command turned into words
                if str(error) == INTERRUPTED_RUN.words:
                    raise
                raise TimeLimitError(f"{error} before there was a result", hint="raise the time limit") from error
            except Exception as error:
                if ctx.params.get("debug") and not isinstance(error, click.exceptions.Exit | click.ClickException):
                    traceback.print_exc()
                raise


def _usage_words(error: click.UsageError) -> str:
    if isinstance(error, click.NoSuchOption) and moved_hint(error):
        return f"no such option {error.option_name}"  # without others of a similar name
    words = " ".join(error.format_message().split()).rstrip(".")
    return words[:1].lower() + words[1:]


def _usage_hint(error: click.UsageError) -> str:
    return moved_hint(error) or f"see '{error.ctx.command_path if error.ctx else 'drbo'} --help'"


@click.group(cls=Program, invoke_without_command=True, context_settings=CONTEXT)
@click.option("--debug", is_flag=True, help="Show a traceback when a command fails.")
@click.option("--version", is_flag=True, help="Print the version; with --verbose, also what a bug report needs.")
@click.option("--verbose", is_flag=True, hidden=True)
@click.pass_context
def main(ctx: click.Context, debug: bool, version: bool, verbose: bool) -> None:  # noqa: ARG001 - Program.invoke reads debug
    """Find the highest-scoring causal graph for a table of data.

    \b
    Start here:
      drbo demo               two complete examples in less than a minute
      drbo check table.csv    check your data before a fit
      drbo fit table.csv      find the graph of your data
    """
    ctx.obj = time.monotonic()  # time limits count from here
    if verbose and not version:
        raise click.UsageError("--verbose goes with --version", ctx)
    if version:
        put(installation() if verbose else f"drbo {__version__}")
        ctx.exit()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for command in (
    fit,
    resume,
    demo,
    studio,
    check,
    report,
    export,
    judge,
    effects,
    next_,
    score,
    compare,
    moments,
    lag,
    simulate,
    datasets,
    init,
    schema,
    mcp,
):
    main.add_command(timed(command))  # a new one obeys limits and signals, too
