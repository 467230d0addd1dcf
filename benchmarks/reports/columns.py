"""Tables with many columns: ours beside FLOP, and how a fit grows with the columns, with a picture."""

import numpy as np

from benchmarks.reports.figures import Panel, curves
from benchmarks.reports.speed import markdown
from benchmarks.rows import Row

#: Columns from which on all fits of the study are screened.
SCREENED = 1_000


def beside(rows: list[Row]) -> str:
    """Return the CPU time until our score is FLOP's, and the distances to the true CPDAG, by graph."""
    lines: list[list[object]] = []
    for graph in sorted({row["graph"] for row in rows}, key=lambda name: (name.lstrip("0123456789"), len(name), name)):
        ours, equal, usual = (
            [row for row in rows if row["graph"] == graph and row["method"] == method]
            for method in ("drbo", "FLOP, equal penalty", "FLOP, recommended")
        )
        reached = [float(row["reached_seconds"]) for row in ours if row["reached_seconds"]]
        times = [[float(row["cpu_seconds"]) for row in some] for some in (equal, ours)]
        distances = [[int(row["shd_c"]) for row in some] for some in (ours, equal, usual)]
        lines.append(
            [
                graph,
                f"{len(reached)} of {len(ours)}",
                f"**{np.mean(reached):.2f}**" if reached else "",
                *(f"{np.mean(values):.2f}" for values in times),
                *(f"{np.mean(values):.1f}" for values in distances),
            ]
        )
    titles = "graph, tables that reach FLOP's score, CPU s until then, FLOP's CPU s, our whole fit"
    return markdown([*titles.split(", "), "SHD-C, ours", "FLOP, equal penalty", "FLOP, penalty 2"], lines)


def growth(rows: list[Row]) -> str:
    """Return CPU time and memory of whole fits by the number of columns, with the exponents of their growth."""
    rows = sorted(rows, key=lambda row: int(row["columns"]))
    lines: list[list[object]] = [
        [
            f"{int(row['columns']):,}",
            *(f"{float(row[name]):.1f}" for name in ("cpu_seconds", "search_seconds", "seconds")),
            f"{float(row['gib']):.2f}",
            f"{float(row['f1']):.3f}",
        ]
        for row in rows
    ]
    large = [row for row in rows if int(row["columns"]) >= SCREENED]
    words = ""
    if len(large) > 1:
        sizes = np.log([float(row["columns"]) for row in large])
        logs = [np.log([float(row[name]) for row in large]) for name in ("cpu_seconds", "gib")]
        slopes = [np.polyfit(sizes, values, 1)[0] for values in logs]
        words = (
            f"\nFrom {SCREENED:,} columns on, CPU time grows with the power {slopes[0]:.1f} of the number of columns "
            f"and memory with the power {slopes[1]:.1f}.\n"
        )
    titles = ["columns", "CPU s", "of them until the search ended", "seconds", "GiB, at most", "F1 of the CPDAG"]
    return markdown(titles, lines) + words


def picture(rows: list[Row]) -> bytes:
    """Draw CPU seconds and memory over the columns."""
    rows = sorted(rows, key=lambda row: int(row["columns"]))

    def panel(names: dict[str, str], words: str) -> Panel:
        points = {
            name: [(float(row["columns"]), [float(np.log10(float(row[what])))]) for row in rows]
            for what, name in names.items()
        }
        least = min((value[0] for line in points.values() for _, value in line), default=0.0)
        return Panel(points, {}, "columns", words, least)

    times = {"cpu_seconds": "a whole fit", "search_seconds": "until the search ended"}
    return curves([panel(times, "log10 of CPU seconds"), panel({"gib": "a whole fit"}, "log10 of GiB, at most")])
