"""The page on how far edge probabilities and directions can be believed, from the committed rows."""

from benchmarks.reports import directions, figures, versions
from benchmarks.reports.tables import header
from benchmarks.rows import Row, grouped, read

#: What the tables of links and arrows show, in this order.
KINDS = {
    "linear": "linear, Gaussian noise",
    "t3": "linear, noise with heavy tails (t3)",
    "nonlinear": "nonlinear",
    "hidden": "linear, two hidden causes",
}
EDGES, COLUMNS = ("links", "arrows"), ("given", "found", "low", "high")

INTRODUCTION = """# Calibration

Made by `python -m benchmarks report` from the rows in `benchmarks/rows`. Of the links and arrows with probability p, a
share p should be in the true graph. The probabilities are explained under
[resampling](../reference/resampling.md), what supports a direction under [directions](../reference/directions.md).

## Links and arrows

`python -m benchmarks calibration`: networks of 10 columns, with weights from 0.1 to 1; `networks` counts tables of 100,
200 and 1,000 rows. Sparse networks have 0.5, 1 or 2 edges per column, dense ones 3. Only probabilities from 0.05 to
0.95 count, in ten bins of equal size. The error is the mean distance between the probability given and the share found;
noise alone makes it larger than 0 where numbers are small. Intervals (95%) come from resampled networks. An arrow is
found if it is in the true graph. Bootstrap frequencies are no probabilities: an arrow counts there only if the class of
a resample has it.

"""
MISFIT = """
Probabilities are calibrated where the score fits the table. They are too small for links that bend (a linear score sees
a part of the dependence only, and finds the graph sparser than it is), and too large where a hidden cause links its
effects.

"""


def number(row: Row) -> str:
    """Return a calibration error with its interval."""
    error, low, high = (float(row[name]) for name in ("error", "low", "high"))
    return f"{error:.3f} ({low:.3f} to {high:.3f})"


def errors(rows: list[Row]) -> str:
    """Return the calibration errors of all tables, and of each number of rows."""
    sizes = sorted({row["n"] for row in rows} - {"all"}, key=int)
    titles = " | ".join(f"{edge}: number | error (95%) | with {', '.join(sizes)} rows" for edge in EDGES)
    text = header(f"tables | graphs | method | networks | {titles}")
    parts = grouped((row for row in rows if row["bin"] == "all"), "kind", "graphs", "method")
    places = {kind: place for place, kind in enumerate(KINDS)}
    for (kind, graphs, method), part in sorted(
        parts.items(), key=lambda one: (places[one[0][0]], one[0][1] == "dense")
    ):
        found = {(row["edge"], row["n"]): row for row in part}
        cells = [KINDS[kind], graphs, method, found[EDGES[0], "all"]["networks"]]
        for edge in EDGES:
            by_rows = ", ".join(f"{float(found[edge, n]['error']):.3f}" for n in sizes if (edge, n) in found)
            cells += [f"{int(found[edge, 'all']['count']):,}", number(found[edge, "all"]), by_rows]
        text += f"| {' | '.join(cells)} |\n"
    return text


def bins(rows: list[Row]) -> str:
    """Return what was given and found in each bin of sparse linear networks."""
    text = ""
    for (method, edge), part in grouped(_shown(rows), "method", "edge").items():
        part.sort(key=lambda row: float(row["given"]))
        text += f"\n**{method}, {edge}**, linear, sparse\n\n"
        given, found, low, high = ([f"{float(row[name]):.2f}" for row in part] for name in COLUMNS)
        text += header(f"given | {' | '.join(given)}") + f"| found | {' | '.join(found)} |\n"
        text += f"| 95% | {' | '.join(map(' to '.join, zip(low, high, strict=True)))} |\n"
    return text


def _shown(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["bin"] != "all" and (row["kind"], row["graphs"]) == ("linear", "sparse")]


def page() -> str:
    """Return the page."""
    rows, graphs, pairs = (read(name) for name in ("calibration", "directions", "directions_pairs"))
    text = INTRODUCTION + "![Share of true edges by the probability given](calibration.svg)\n\n"
    text += errors(rows) + MISFIT + bins(rows).lstrip("\n")
    return text + "\n" + directions.sections(graphs, pairs) + versions.listed([*rows, *graphs, *pairs])


def picture() -> bytes:
    """Draw what was found over what was given, for sparse linear networks."""
    lines: dict[str, list[tuple[float, float, int]]] = {}
    for row in _shown(read("calibration")):
        point = (float(row["given"]), float(row["found"]), int(row["count"]))
        lines.setdefault(f"{row['method']}, {row['edge']}", []).append(point)
    return figures.reliability({name: sorted(points) for name, points in lines.items()})
