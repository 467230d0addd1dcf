"""What a text file does not say of itself: its encoding, and what stands between two cells."""

import codecs
import csv
import io
import re
from collections.abc import Iterator
from itertools import chain, islice

from drbo.errors import DataError, SettingsError

#: What is looked at to find out, in bytes and in lines.
HEAD_BYTES = 2**16
HEAD_LINES = 100
#: In this order: a comma may also be a decimal mark, and a space a part of a text.
SEPARATORS = ("\t", ";", "|", ",", " ")
#: Encodings that are no character sets; some of them need quadratic time.
_NO_CHARACTER_SETS = ("idna", "punycode", "undefined", "utf-7", "unicode_escape", "raw_unicode_escape")


class EncodingError(DataError):
    """A file is not in the encoding that it was read in."""


def checked_encoding(name: str) -> str:
    """Return the usual name of an encoding, or refuse one that Python does not know as text."""
    try:
        found = codecs.lookup(name)
        b"a".decode(found.name, "replace")  # refuses what does not turn bytes into text, such as rot13
        if found.name not in _NO_CHARACTER_SETS:
            return found.name
    except (LookupError, ValueError):
        pass
    raise SettingsError(f"unknown encoding {name!r:.80}", hint="for example utf-8, cp1252 or utf-16")


def encoding_of(head: bytes) -> str:
    r"""Return the encoding that the first bytes of a text file show: UTF-8, unless they are UTF-16."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    halves = head[0:2000:2], head[1:2000:2]  # the letters of most languages have a zero in one of two bytes
    zeros = [half.count(0) / max(1, len(half)) for half in halves]
    if max(zeros) > 0.5 > 5 * min(zeros):
        return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    return "utf-8"


def as_utf8(pieces: Iterator[bytes], encoding: str, what: str) -> Iterator[bytes]:
    """Yield text in UTF-8; one that is in UTF-8 already is not looked at."""
    if encoding in ("utf-8", "utf-8-sig"):
        yield from pieces
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for piece, last in chain(((piece, False) for piece in pieces), [(b"", True)]):
            yield decoder.decode(piece, last).encode()
    except UnicodeError as error:
        raise EncodingError(
            f"{what} is not {encoding} text: {error!s:.200}", hint="give its encoding, such as encoding='utf-16'"
        ) from error


def separator_of(head: str) -> str:
    r"""Return what cuts the lines of a text into the same number of cells, two or more; else the comma."""
    counted = {mark: _cell_counts(head, mark) for mark in SEPARATORS}
    for mark, counts in counted.items():
        if min(counts) > 1 and len(set(counts)) == 1:
            return mark
    return max(",;\t|", key=lambda mark: counted[mark][0])  # some lines are too long or too short: they are told


def _cell_counts(head: str, mark: str) -> list[int]:
    """Return the numbers of cells of the first lines."""
    text = re.sub(r"[ \t]+", " ", re.sub(r"(?m)^[ \t]+|[ \t]+$", "", head)) if mark == " " else head
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
    try:
        counts = [len(cells) for cells in islice(lines, HEAD_LINES) if "".join(cells).strip()]
    except csv.Error:  # reported later, with its line
        return [1]
    return counts or [1]


def single_spaced(pieces: Iterator[bytes]) -> Iterator[bytes]:
    r"""Yield text whose columns are aligned by spaces with one space between two cells."""
    held, begins = b"", True  # blanks at the end of the piece before; whether a line begins
    for piece in pieces:
        text = (b"" if begins and not held else held) + piece
        text = text.lstrip(b" \t") if begins else text
        body = text.rstrip(b" \t")
        held = b" " if len(body) < len(text) else b""
        body = re.sub(rb"[ \t]+", b" ", re.sub(rb"[ \t]*([\r\n]+)[ \t]*", rb"\1", body))
        begins = body.endswith((b"\n", b"\r")) or (begins and not body)
        held = b"" if begins else held
        yield body
