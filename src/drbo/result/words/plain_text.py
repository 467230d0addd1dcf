"""Text for people: without characters that disturb a terminal, in columns, or as a command for the shell."""

import os
import shlex
from collections.abc import Iterable, Sequence


def plain(text: str, keep: str = "") -> str:
    r"""Return text that cannot disturb a terminal: characters that do not print are written out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> str:
    """Return rows as columns; ``align`` has one letter per column: l for left, r for right.

    Examples
    --------
    >>> print(table(["name", "rows"], [["asia", "8"], ["sachs", "853"]], align="lr"))
      name   rows
      asia      8
      sachs   853
    """
    columns = [[plain(cell) for cell in column] for column in zip(header, *rows, strict=True)]
    for k, (column, side) in enumerate(zip(columns, align, strict=True)):
        width = max(map(len, column))
        columns[k] = [cell.ljust(width) if side == "l" else cell.rjust(width) for cell in column]
    return "\n".join("  " + "  ".join(row).rstrip() for row in zip(*columns, strict=True))


def shell_line(words: Iterable[str]) -> str:
    """Return a command as a line for the shell.

    Examples
    --------
    >>> shell_line(["drbo", "fit", "my table.csv; rm -r ~"])
    "drbo fit 'my table.csv; rm -r ~'"
    """
    return " ".join(map(quoted, words))


def quoted(word: str) -> str:
    r"""Return a word for the shell; bytes that are no UTF-8 and what cannot be printed are written out."""
    try:
        word.encode()
    except UnicodeEncodeError:
        raw = os.fsencode(word)
        return "$'" + "".join(chr(c) if 32 <= c < 127 and c not in b"\\'" else _escape(c) for c in raw) + "'"
    if word.isprintable():
        return shlex.quote(word)
    safe = (c if c.isprintable() and c not in "\\'" else _escape(ord(c), ord(c) > 127) for c in word)
    return "$'" + "".join(safe) + "'"


def _escape(code: int, wide: bool = False) -> str:
    return f"\\U{code:08x}" if wide else f"\\x{code:02x}"
