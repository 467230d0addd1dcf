"""How a pass and a fit grow with the rows: a table with exponents, and a picture."""

import numpy as np

from benchmarks.reports.figures import Panel, curves
from benchmarks.reports.speed import markdown
from benchmarks.rows import Row

WORDS = {"drbo": "one pass", "drbo fit": "a whole fit"}
#: Rows from which on exponents are fitted: below it, starting the program takes most of the time.
MANY_ROWS = 100_000


def table(rows: list[Row]) -> str:
    """Return time and memory by the number of rows, and the exponents of both."""
    lines: list[list[object]] = []
    for n in sorted({int(row["rows"]) for row in _ours(rows)}):
        found = {row["method"]: row for row in _ours(rows) if int(row["rows"]) == n}
        shown = [found[name][what] if name in found else "" for name in WORDS for what in ("cpu_seconds", "gib")]
        lines.append([f"{n:,}", *shown])
    ends = [f"{exponent(rows, name, what):.2f}" for name in WORDS for what in ("cpu_seconds", "gib")]
    titles = [f"{word}, {what}" for word in WORDS.values() for what in ("CPU s", "GiB")]
    return markdown(["rows", *titles], [*lines, [f"exponent from {MANY_ROWS:,} rows on", *ends]] if lines else [])


def exponent(rows: list[Row], method: str, what: str) -> float:
    """Return the slope of the logarithm of a figure over that of the rows."""
    some = [row for row in rows if row["method"] == method and int(row["rows"]) >= MANY_ROWS]
    if len(some) < 2:
        return float("nan")
    x, y = (np.log([float(row[name]) for row in some]) for name in ("rows", what))
    return float(np.polyfit(x, y, 1)[0])


def picture(rows: list[Row]) -> bytes:
    """Draw CPU seconds and memory over the rows."""
    panels = []
    for what, words in (("cpu_seconds", "log10 of CPU seconds"), ("gib", "GiB, at most")):
        points = {
            word: [
                (float(row["rows"]), [np.log10(float(row[what])) if what == "cpu_seconds" else float(row[what])])
                for row in sorted(_ours(rows), key=lambda row: int(row["rows"]))
                if row["method"] == method
            ]
            for method, word in WORDS.items()
        }
        bottom = None if what == "cpu_seconds" else 0.0
        panels.append(Panel({name: line for name, line in points.items() if line}, {}, "rows", words, bottom))
    return curves(panels)


def _ours(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["method"] in WORDS]
