"""Prints notes, warnings and errors on stderr, made safe for any terminal."""

import errno
import json
import os
import re
import shutil
import sys
import textwrap
from typing import Any

import click

from drbo.errors import DrboError, write_hint
from drbo.result.words.plain_text import plain

SCHEMA_VERSION = 1  # of what --json prints
LONGEST = 5_000  # characters of an error; those about large files can be long
COLOURS = {"error": "red", "warning": "yellow", "hint": "cyan"}
#: Hints speak of arguments of Python functions; on the command line the same things are options.
_ARGUMENT = re.compile(r"""(?<!--set )\b(on_constant|on_collinear|missing|score|device|prune)=(["']?)([\w.:-]+)\2""")
_FLAGS = ("missing", "score")  # the others are given by --set
_LABEL = re.compile(r"\s*\S+(?: \S+)*\s{2,}")  # the words before the first gap
_PHRASES = {
    "separator=...": "--read separator=CHAR",
    "header=False": "--read header=false",
    "max_input=...": "--read max_input=SIZE",
    "device='auto' or 'cpu'": "--set device=auto",
}


class OutputError(DrboError):
    """What was computed cannot be written where it was asked for."""


def ready_streams() -> None:
    """Make the three standard streams safe to use, whatever the shell did to them.

    A file that is opened gets the lowest free number: with stdout or stderr closed, what libraries print there would
    end up in it. So closed numbers are kept busy. What goes to a closed stderr is lost; :func:`show` tells of a closed
    stdout.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for as long as the program runs
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # names that the terminal's encoding does not know


def say(text: str) -> None:
    """Print a line of talk; data goes to stdout by :func:`show`."""
    _talk(plain(text))


def _talk(text: str) -> None:
    """Print to stderr; if it cannot be written, the work goes on without talk."""
    try:
        click.echo(text, err=True)
    except OSError:  # a full disk, or a closed pipe
        _drop(2)


def show(text: str, *, machine: bool = False) -> None:
    """Print data or a result; its line breaks stay. Text for people is fitted to the width of a terminal."""
    safe = plain(text, keep="\n")
    if sys.stdout is not None and sys.stdout.isatty() and not machine:
        safe = wrapped(safe, shutil.get_terminal_size().columns)
    put(safe)


def put(content: str | bytes, *, newline: bool = True) -> None:
    """Print to stdout as it is, or say that it cannot be."""
    if sys.stdout is None:
        raise OutputError(
            "the result cannot be printed: stdout is closed", hint="redirect stdout to a file, or to /dev/null"
        )
    try:
        click.echo(content, nl=newline)
    except OSError as error:
        if error.errno == errno.EPIPE:  # such as 'drbo datasets | head -1'
            raise
        _drop(1)
        raise OutputError(
            f"the result cannot be printed: {error.strerror or error}",
            hint=write_hint(error, "redirect stdout to another place"),
        ) from error


def _drop(number: int) -> None:
    """Let what is still to be written to a stream go nowhere, so that the end of the program does not fail on it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def wrapped(text: str, width: int) -> str:
    """Break long lines between words; what follows stands under the column that was broken."""
    lines = []
    for line in text.split("\n"):
        label = _LABEL.match(line)
        indent = " " * min(label.end() if label else 2, width // 2)
        fits = len(line) <= width
        lines += [line] if fits else textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False)
    return "\n".join(lines)


def say_error(message: str, hint: str | None = None) -> None:
    """Print an error and the way out."""
    _say_labelled("error", message)
    if hint:
        _say_labelled("hint", as_options(hint))


def answer_error(error: Exception, message: str, hint: str | None = None) -> None:
    """Answer a program that asked for JSON with an error: the object on stdout that stands in for a result."""
    content = {
        "schema": SCHEMA_VERSION,
        "error": message[:LONGEST],
        "hint": as_options(hint) if hint else None,
        "column": getattr(error, "column", None),
        "details": list(getattr(error, "lines", ())),
    }
    show(json.dumps(content, indent=2), machine=True)


def say_warning(message: Warning | str, *_where: Any, **_how: Any) -> None:
    """Print a warning; takes what ``warnings.showwarning`` takes."""
    _say_labelled("warning", " ".join(str(message).split()))


def _say_labelled(word: str, text: str) -> None:
    """Print a label and one line of text; only a terminal gets colour and line breaks."""
    label, text = f"{word}:", plain(text if len(text) <= LONGEST else f"{text[:LONGEST]} ...")
    if sys.stderr.isatty():
        room = shutil.get_terminal_size().columns - len(label) - 1
        lines = textwrap.wrap(text, room, break_on_hyphens=False)
        text = ("\n" + " " * (len(label) + 1)).join(lines)
    if wants_colour():
        label = click.style(label, fg=COLOURS[word], bold=True)
    _talk(f"{label} {text}")


def as_options(hint: str) -> str:
    """Return a hint with the options of the command line in place of Python arguments."""
    for phrase, option in _PHRASES.items():
        hint = hint.replace(phrase, option)
    return _ARGUMENT.sub(
        lambda match: f"--{match[1]} {match[3]}" if match[1] in _FLAGS else f"--set {match[1]}={match[3]}", hint
    )


def wants_colour() -> bool:
    """Tell whether stderr is a terminal whose user did not ask for plain text (no-color.org)."""
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
