"""``drbo mcp``: the same answers for programs that speak the Model Context Protocol."""

import sys
from pathlib import Path

import click

from drbo.cli.messages import say
from drbo.deadline import current


@click.command(short_help="Serve check, fit, edges, why, ask, effects and next to a program.")
def mcp() -> None:
    """Serve drbo to a program on this machine by the Model Context Protocol, on stdin and stdout.

    The tools check, fit, edges, why, ask, effects and next have the limits of the commands, and reach no file outside
    the folder in which this is started. A line of JSON is a message; nothing listens on a port.

    \b
    Example, in the settings of the program:
      {"mcpServers": {"drbo": {"command": "drbo", "args": ["mcp"], "cwd": "/path/to/tables"}}}
    """
    from drbo.studio.mcp import serve

    out = sys.stdout

    def send(message: object) -> None:
        import json

        out.write(json.dumps(message) + "\n")
        out.flush()

    say("mcp: waits for messages on stdin; files of this folder alone can be read and written")
    serve(Path.cwd(), sys.stdin.buffer.readline, send, current())
    if current().over() and not current().interrupted:
        say("time ran out, and drbo mcp has ended")
