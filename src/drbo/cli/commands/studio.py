"""``drbo studio``: a local page to see the graph, say what is known, and see what that costs."""

import webbrowser
from html import escape
from pathlib import Path

import click

from drbo.cli.messages import OutputError, put, say
from drbo.cli.options import FILE, json_option
from drbo.cli.output import show_json, write, writing
from drbo.cli.studio_words import fit_words, python_code
from drbo.errors import SettingsError
from drbo.result.files.run_folder import make_private, names_in, other_owner
from drbo.result.words.plain_text import shell_line

FOLDER, OPENER = "drbo-studio", "open.html"


@click.command(short_help="Open a table in a local page, and say what you know.")
@click.argument("data", type=FILE, required=False)
@click.option(
    "-o", "--output", type=FILE, metavar="DIR", help="Folder of the run.  [default: drbo-studio, or TABLE-studio]"
)
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port.  [default: a free one]")
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
@json_option
def studio(data: Path | None, output: Path | None, host: str, port: int, no_browser: bool, as_json: bool) -> None:
    """Open the table in DATA in a page of your browser: columns, knowledge, the graph, and what each edit costs.

    Without DATA the page takes a file or an included data set. Everything is kept in a folder that 'drbo resume',
    'report' and 'export' work on, and the page shows the command that repeats what is on it. Only this machine can
    reach the page, by an address with a random part; Ctrl-C ends it. It needs drbo[studio].

    \b
    Examples:
      drbo studio table.csv
      drbo studio table.csv -o result --port 8000 --no-browser
    """
    try:
        from drbo.studio.server import listening, serve
    except ImportError as error:
        raise SettingsError(
            f"the studio needs a package that is not installed: {error.name}", hint="pip install 'drbo[studio]'"
        ) from error
    from drbo.deadline import current
    from drbo.studio.session import Session

    if data is not None and not data.is_file():
        raise SettingsError(f"'{data}' is not a file", hint="check the path and the spelling")
    folder = output or Path(FOLDER if data is None else f"{data.name.split('.')[0]}-studio")
    _check(folder)
    with writing(folder):
        make_private(folder)
    session = Session(folder, "" if data is None else str(data), fit_words, python_code)

    def opened(address: str) -> None:
        if as_json:
            show_json({"address": address, "folder": str(folder)})
        else:
            put(address)
        say(f"studio: open this address in a browser; everything is kept in {folder}. Ctrl-C ends it")
        if not no_browser:
            _browse(folder, address)

    try:
        serve(session, listening(host, port), host, opened)
    except KeyboardInterrupt:  # the way to end it
        session.worker.close()
    if current().over() and not current().interrupted:
        say("time ran out, and the studio has ended")
    words = ["drbo", "studio", *([] if data is None else [str(data)]), "-o", str(folder)]
    say(f"to open it again: {shell_line(words)}")


def _check(folder: Path) -> None:
    """Refuse a folder of somebody else, or one with other things in it."""
    from drbo.studio.state_file import STATE

    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"'{folder}' is a file, but a studio needs a folder", hint="choose another one with -o")
    names = names_in(folder)
    if names and not names & {STATE, "run.json", "result.json"}:
        raise SettingsError(
            f"folder '{folder}' is not empty and holds no run of drbo", hint="choose another folder with -o"
        )
    if folder.exists() and (owner := other_owner(folder)):
        raise OutputError(f"folder '{folder}' belongs to another user ({owner})", hint="choose another folder with -o")


def _browse(folder: Path, address: str) -> None:
    """Open a browser by a private file: the words of a process, and so an address, can be read by every user."""
    path = folder / OPENER
    link = escape(address)
    write(
        path, f'<!doctype html><meta http-equiv="refresh" content="0; url={link}"><a href="{link}">studio</a>'.encode()
    )
    path.chmod(0o600)
    if not webbrowser.open(path.resolve().as_uri()):
        say("no browser could be opened: open the address yourself")
