"""Text for people: without characters that disturb a terminal, and in columns."""

from collections.abc import Sequence


def plain(text: str, keep: str = "") -> str:
    r"""Return text that cannot disturb a terminal: characters that do not print are written out.

    Examples
    --------
    >>> plain("a\x1b[31mb"), plain("dose [µg]"), plain("a\nb", keep="\n")
    ('a\\x1b[31mb', 'dose [µg]', 'a\nb')
    """
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
