"""Reads TOML files as untrusted: size and nesting are limited before the parser runs."""

import re
import stat
import tomllib
from pathlib import Path
from typing import Any

MAX_TOML_BYTES = 2**21
#: Deepest dotted key. The time that tomllib takes grows with the square of its parts.
MAX_KEY_PARTS = 32

# A string that is not closed counts up to the end of its line, so that no place is looked at twice.
_QUOTED_OR_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"?|\'[^\'\n]*\'?|#[^\n]*')
_LONG_NUMBER = re.compile(r"\b0[xob]\w{1000}")  # in decimal Python refuses one of 4300 digits, but only in decimal
_OUTSIDE_KEYS = re.compile(r"[^\w\-.]+")


def read_toml(path: str | Path) -> dict[str, Any]:
    """Return the content of a TOML file.

    Raises
    ------
    OSError : the file cannot be read, or is a pipe or a device.
    ValueError : it is too large, nested too deeply, not UTF-8 or not TOML; the message says where.
    """
    path = Path(path)
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # opening a pipe would wait for ever
        raise OSError(0, "not a regular file")
    with path.open("rb") as stream:
        raw = stream.read(MAX_TOML_BYTES + 1)
    if len(raw) > MAX_TOML_BYTES:
        raise ValueError(f"it has more than {MAX_TOML_BYTES} bytes")
    text = raw.decode("utf-8")
    _check_parts(text)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("lists or tables are nested too deeply") from None


def _check_parts(text: str) -> None:
    bare = _QUOTED_OR_COMMENT.sub("", text).replace(" ", "").replace("\t", "")
    if _LONG_NUMBER.search(bare):
        raise ValueError("a number has more than 1000 digits")
    if any(run.count(".") >= MAX_KEY_PARTS for run in _OUTSIDE_KEYS.split(bare)):
        raise ValueError(f"a key has more than {MAX_KEY_PARTS} parts")
