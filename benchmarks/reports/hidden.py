"""Tables and pictures of hidden causes."""

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.reports.tables import header
from benchmarks.rows import Row, grouped
from benchmarks.studies.hidden import METHODS
from drbo.result.pictures.svg import STYLE
from drbo.result.report.drawing import Drawing, Line

#: What a method is called in a table.
WORDS = {"drbo": "`--hidden`", "DAG": "PAG of the best DAG", "GFCI": "tests on the best DAG"}
#: The order of the methods.
RANKS = {name: place for place, name in enumerate(METHODS)}
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
        "tables | rows | method | links: precision, recall | arrowheads | tails | bidirected | whole PAG | illegal | "
        "causes right | supported causes right | CPU seconds"
    )
    parts = grouped(rows, "table", "columns", "hidden", "n", "method")
    for key in sorted(parts, key=lambda key: (key[0] != "random", key[0], *map(int, key[1:4]), RANKS[key[4]])):
        table, columns, share, n, method = key
        here = [row for row in parts[key] if row["whole"] != ""]
        what = f"{columns} columns, {share}% hidden" if table == "random" else f"{table}, {columns} columns"
        count = f"{len(parts[key])} table{'s' * (len(parts[key]) > 1)}"
        text += f"| {what} ({count}) | {int(n):,} | {WORDS.get(method, method)} | {_figures(here, parts[key])} |\n"
    return text


def rivals(rows: list[Row]) -> str:
    """Return arrowheads and bidirected edges of every other method beside ours on the tables that it answered."""
    text = header(
        "columns | rows | method | tables | arrowheads: precision, recall | `--hidden` there | "
        "bidirected | `--hidden` there | illegal"
    )
    ours = {_table(row): row for row in rows if row["method"] == "drbo"}
    answered = [row for row in _random(rows) if row["whole"] != "" and _table(row) in ours and row["method"] != "drbo"]
    parts = grouped(answered, "columns", "n", "method")
    for key in sorted(parts, key=lambda key: (int(key[0]), int(key[1]), RANKS[key[2]])):
        here, beside = parts[key], [ours[_table(row)] for row in parts[key]]
        marks = " | ".join(_both(part, name) for name in ("arrows", "two-headed") for part in (here, beside))
        illegal = 1 - sum(int(row["legal"]) for row in here) / len(here)
        method = WORDS.get(key[2], key[2])
        text += f"| {key[0]} | {int(key[1]):,} | {method} | {len(here)} | {marks} | {illegal:.0%} |\n"
    return text


def supported(rows: list[Row]) -> str:
    """Return what is claimed on all random tables with hidden causes, and how much of it is right."""
    text = header("rows | tables | bidirected edges right | supported causes right | other causes right | illegal")
    parts = grouped([row for row in _random(rows) if row["method"] == "drbo"], "n")
    for key in sorted(parts, key=lambda key: int(key[0])):
        here = parts[key]
        cells = [_percent(here, "two-headed"), _percent(here, "supported"), _percent(here, "causes", "supported")]
        illegal = sum(row["legal"] != "1" for row in here)
        text += f"| {int(key[0]):,} | {len(here)} | {' | '.join(cells)} | {illegal} |\n"
    return text


def plain(rows: list[Row]) -> str:
    """Return the arrows that a fit without hidden causes supports, and those among them that no data could tell."""
    text = header("tables | supported arrows right | those open in the true PAG | the others")
    here = [row for row in rows if row["method"] == "DAG" and row.get("open claimed", "") != ""]
    parts = grouped(here, "table")
    for (table,) in sorted(parts, key=lambda key: (key[0] == "random", key[0])):
        part = parts[table,]
        cells = [_share(part, f"{name} right", f"{name} claimed") for name in ("supported", "open")]
        right, claimed = (_sum(part, f"supported {what}") - _sum(part, f"open {what}") for what in ("right", "claimed"))
        text += f"| {table} ({len(part)}) | {' | '.join(cells)} | {f'{right} of {claimed}' if claimed else '-'} |\n"
    return text


def clean(rows: list[Row]) -> str:
    """Return what it costs to allow hidden causes where there are none."""
    text = header(
        "columns | rows | tables | arrowheads: precision, recall | of the best DAG | tails | of the best DAG | "
        "CPU seconds | of the plain fit | ratio"
    )
    parts = grouped([row for row in rows if row["table"] == "random" and row["hidden"] == "0"], "columns", "n")
    for key in sorted(parts, key=lambda key: (int(key[0]), int(key[1]))):
        ours, dag = ([row for row in parts[key] if row["method"] == method] for method in ("drbo", "DAG"))
        marks = " | ".join(_both(part, name) for name in ("arrows", "tails") for part in (ours, dag))
        own, fit = (np.mean([float(row[name]) for row in ours]) for name in ("cpu_seconds", "plain_seconds"))
        text += f"| {key[0]} | {int(key[1]):,} | {len(ours)} | {marks} | {own:.2f} | {fit:.2f} | {own / fit:.1f} |\n"
    return text


def _random(rows: list[Row]) -> list[Row]:
    """Return the rows of random tables with hidden causes."""
    return [row for row in rows if row["table"] == "random" and row["hidden"] != "0"]


def _table(row: Row) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("table", "columns", "hidden", "n", "seed"))


def _sum(rows: list[Row], name: str) -> int:
    return sum(int(row.get(name) or 0) for row in rows)


def _percent(rows: list[Row], name: str, without: str = "") -> str:
    """Return a share in percent, and of how many; ``without`` are not counted."""
    right, claimed = (
        _sum(rows, f"{name} {what}") - (_sum(rows, f"{without} {what}") if without else 0)
        for what in ("right", "claimed")
    )
    return f"{right / claimed:.0%} ({right} of {claimed})" if claimed else "-"


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
    right, total = _sum(rows, good), _sum(rows, every)
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
