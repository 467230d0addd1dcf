"""What a request to the studio may hold: a little JSON, or a table of a known kind."""

import os
from pathlib import Path
from typing import Any

from starlette.requests import Request

from drbo.errors import SettingsError

MAX_BODY = 2**17  # bytes of an edit
MAX_UPLOAD = 2**28  # bytes of a table that the page sends
TOO_LARGE = f"a table sent by the page may have at most {MAX_UPLOAD // 2**20} MiB"
INSTEAD = "give larger tables on the command line: drbo studio table.csv"


async def json_of(request: Request) -> Any:
    """Return the JSON that a request holds."""
    from drbo.data.files.files import read_json

    raw = bytearray()
    async for piece in request.stream():
        raw += piece
        if len(raw) > MAX_BODY:
            raise SettingsError(f"a request may have at most {MAX_BODY:,} bytes")
    try:
        return read_json(bytes(raw)) if raw else {}
    except (ValueError, RecursionError) as error:
        raise SettingsError("the request is not valid JSON") from error


async def received(request: Request, path: Path) -> None:
    """Write an uploaded table piece by piece, and remove it if it is too large or breaks off."""
    size, whole = 0, False
    try:
        if int(request.headers.get("content-length") or 0) > MAX_UPLOAD:
            raise SettingsError(TOO_LARGE, hint=INSTEAD)
        with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as stream:
            async for piece in request.stream():
                size += len(piece)
                if size > MAX_UPLOAD:
                    raise SettingsError(TOO_LARGE, hint=INSTEAD)
                stream.write(piece)
        whole = True
    finally:
        if not whole:
            path.unlink(missing_ok=True)


def word(body: Any, name: str) -> str:
    """Return a text of a JSON body."""
    if not isinstance(body, dict) or not isinstance(body.get(name), str):
        raise SettingsError(f"the request needs a text '{name}'")
    return str(body[name])


def number(request: Request, name: str) -> int:
    """Return a whole number of the address; -1: there is none."""
    text = request.query_params.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 10 else -1
