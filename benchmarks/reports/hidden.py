"""Tables and pictures of hidden causes."""

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.reports.tables import header
from benchmarks.rows import Row, grouped
from benchmarks.studies.hidden import METHODS
from drbo.result.report.drawing import Drawing, Line
from drbo.result.svg import STYLE

#: What a method is called in a table.
WORDS = {"drbo": "`--hidden`", "DAG": "PAG of the best DAG", "GFCI": "tests on the best DAG"}
#: The marks at both ends of an edge, by the name of its picture.
PICTURES = {
    "arrow": ("none", "solid"),
    "two-headed": ("solid", "solid"),
    "circle-arrow": ("circle", "solid"),
    "circles": ("circle", "circle"),
}


def hidden(rows: list[Row]) -> str:
    """Return precision and recall of every method, by kind of table."""
    text = header(
        "tables | rows | method | links: precision, recall | arrowheads | tails | two-headed | whole PAG | illegal | "
        "causes right | supported causes right | CPU seconds"
    )
    parts = grouped(rows, "table", "columns", "hidden", "n", "method")
    ranks = {name: place for place, name in enumerate(METHODS)}
    for key in sorted(parts, key=lambda key: (key[0] != "random", key[0], *map(int, key[1:4]), ranks[key[4]])):
        table, columns, share, n, method = key
        here = [row for row in parts[key] if row["whole"] != ""]
        what = f"{columns} columns, {share}% hidden" if table == "random" else f"{table}, {columns} columns"
        count = f"{len(parts[key])} table{'s' * (len(parts[key]) > 1)}"
        text += f"| {what} ({count}) | {int(n):,} | {WORDS.get(method, method)} | {_figures(here, parts[key])} |\n"
    return text


def _figures(rows: list[Row], asked: list[Row]) -> str:
    """Return what a method's answers are worth, and how many tables it left without one."""
    seconds = np.mean([float(row["cpu_seconds"]) for row in asked])
    late = f", {len(asked) - len(rows)} without an answer" if len(asked) > len(rows) else ""
    if not rows:
        return f"{'- | ' * 8}{seconds:.1f}{late}"
    marks = " | ".join(_both(rows, name) for name in ("adjacent", "arrows", "tails", "two-headed"))
    whole, legal = (sum(int(row[name]) for row in rows) / len(rows) for name in ("whole", "legal"))
    causes = " | ".join(_share(rows, f"{name} right", f"{name} claimed") for name in ("causes", "supported"))
    return f"{marks} | {whole:.0%} | {1 - legal:.0%} | {causes} | {seconds:.1f}{late}"


def _both(rows: list[Row], name: str) -> str:
    return f"{_share(rows, f'{name} right', f'{name} claimed', count=False)}, " + _share(
        rows, f"{name} right", f"{name} true", count=False
    )


def _share(rows: list[Row], good: str, every: str, *, count: bool = True) -> str:
    """Return a pooled share, and of how many."""
    right, total = (sum(int(row.get(name) or 0) for row in rows) for name in (good, every))
    if total == 0:
        return "-"
    return f"{right} of {total}" if count else f"{right / total:.2f}".lstrip("0")


def picture(marks: tuple[str, str], rows: list[Row]) -> bytes:
    """Return two columns with an edge that has these marks; the rows do not matter."""
    del rows
    start, head = marks
    line = Line(
        0, 1, np.array([0.0, 0.0]), np.array([12.0, 48.0]), np.zeros(2), head, "plain", 1.6, start=start
    )  # fmt: skip
    drawn = Drawing(["a", "b"], ("a", "b"), np.array([[0.0, 0.0], [0.0, 60.0]]), np.array([30.0, 30.0]), [line])
    return drawn.svg("a and b").replace(">", f"><style>{STYLE}</style>", 1).encode() + b"\n"


#: Pictures of the page: name and drawing.
DRAWN: tuple[tuple[str, str, Callable[[list[Row]], bytes]], ...] = tuple(
    (f"mark-{name}.svg", "hidden", partial(picture, marks)) for name, marks in PICTURES.items()
)
