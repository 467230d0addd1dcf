"""Tables with many columns: ours beside FLOP, how fits grow with the columns, with a picture, and what proofs add."""

import numpy as np

from benchmarks.reports.figures import Panel, curves
from benchmarks.reports.speed import markdown
from benchmarks.rows import Row, grouped

#: Columns from which on all fits of the study are screened.
SCREENED = 1_000


def beside(rows: list[Row]) -> str:
    """Return the CPU time until our score is FLOP's, and the distances to the true CPDAG, by graph."""
    lines: list[list[object]] = []
    for graph in sorted({row["graph"] for row in rows}, key=lambda name: (name.lstrip("0123456789"), len(name), name)):
        ours, equal, usual = (
            [row for row in rows if row["graph"] == graph and row["method"] == method and not row.get("failed")]
            for method in ("drbo", "FLOP, equal penalty", "FLOP, recommended")
        )
        reached = [float(row["reached_seconds"]) for row in ours if row["reached_seconds"]]
        true = {row["seed"]: float(row["true_score"]) for row in ours}
        lines.append(
            [
                graph,
                ", ".join(sorted({row["restarts"] for row in equal})),
                f"{len(reached)} of {len(equal)}" if equal else "",
                f"**{np.mean(reached):.2f}**" if reached else "",
                *(_mean([float(row["cpu_seconds"]) for row in some], 2) for some in (equal, ours)),
                *(_mean([float(row["shd_c"]) for row in some], 1) for some in (ours, equal, usual)),
                *(_mean([float(row["score"]) - true[row["seed"]] for row in some], 1) for some in (ours, equal)),
            ]
        )
    titles = "graph, FLOP's restarts, tables that reach FLOP's score, CPU s until then, FLOP's CPU s, our whole fit"
    distances = ["SHD-C, ours", "FLOP, equal penalty", "FLOP, penalty 2"]
    return markdown(
        [*titles.split(", "), *distances, "score above the true graph's, ours", "FLOP, equal penalty"], lines
    )


def _mean(values: list[float], digits: int) -> str:
    """Return a mean, or that there is none."""
    return f"{round(float(np.mean(values)), digits) + 0.0:.{digits}f}" if values else "no answer"


def _means(rows: list[Row]) -> list[dict[str, float]]:
    """Return the means of fits by the number of columns, and how many there are."""
    names = ["cpu_seconds", "search_seconds", "seconds", "gib", "f1"]
    found = []
    for (size,), tables in grouped(sorted(rows, key=lambda row: int(row["columns"])), "columns").items():
        means = {name: float(np.mean([float(row[name]) for row in tables])) for name in names}
        found.append({"columns": int(size), "tables": len(tables), **means})
    return found


def growth(rows: list[Row]) -> str:
    """Return CPU time and memory of whole fits by the number of columns, with the exponents of their growth."""
    fits = _means(rows)
    lines: list[list[object]] = [
        [
            f"{row['columns']:,}",
            row["tables"],
            *(f"{row[name]:.1f}" for name in ("cpu_seconds", "search_seconds", "seconds")),
            f"{row['gib']:.2f}",
            f"{row['f1']:.3f}",
        ]
        for row in fits
    ]
    large = [row for row in fits if row["columns"] >= SCREENED]
    words = ""
    if len(large) > 1:
        sizes = np.log([row["columns"] for row in large])
        slopes = [np.polyfit(sizes, np.log([row[name] for row in large]), 1)[0] for name in ("cpu_seconds", "gib")]
        words = (
            f"\nFrom {SCREENED:,} columns on, CPU time grows with the power {slopes[0]:.1f} of the number of columns "
            f"and memory with the power {slopes[1]:.1f}.\n"
        )
    titles = "columns, tables, CPU s, of them until the search ended, seconds, GiB, F1 of the CPDAG"
    return markdown(titles.split(", "), lines) + words


def neighbourhood(rows: list[Row]) -> str:
    """Return what the neighbourhood of one column takes, and F1 of its Markov blanket, beside the whole graph's."""
    lines: list[list[object]] = []
    for row in sorted(rows, key=lambda row: (int(row["columns"]), int(row["seed"]))):
        figures = {name: float(row[name] or "nan") for name in ("cpu_seconds", "f1", "whole_seconds", "whole_f1")}
        cpu, f1, whole_cpu, whole_f1 = figures.values()
        searched = f"{float(row['searched']):.0f} of {int(row['columns']):,}"
        whole = [f"{whole_cpu:.1f}", f"{whole_f1:.3f}"] if row["whole_f1"] else ["", ""]
        lines.append([row["graph"], row["outcomes"], searched, f"**{cpu:.1f}**", f"{f1:.3f}", *whole])
    titles = "graph, outcomes, columns searched, CPU s of a fit, F1 of blankets, CPU s of a fit of all, F1 there"
    return markdown(titles.split(", "), lines)


def whole(rows: list[Row]) -> str:
    """Return what whole fits take, of that the search and the halves of the rows, beside FLOP."""
    lines: list[list[object]] = []
    for (table, count, n), some in grouped(sorted(rows, key=_size), "table", "columns", "n").items():
        ours, other = ([row for row in some if row["method"] == method] for method in ("drbo", "FLOP"))
        spent = [[float(row[name]) for row in ours] for name in ("cpu_seconds", "search_seconds", "stability_seconds")]
        theirs = [float(row["cpu_seconds"]) for row in other if not row.get("failed")]
        ratio = f"{np.mean(spent[0]) / np.mean(theirs):.1f}" if theirs else ""
        counts = table, f"{int(count):,}", f"{int(n):,}", len(ours)
        found = ours[0]["score_name"], f"**{np.mean(spent[0]):.2f}**", *(_mean(part, 2) for part in spent[1:])
        lines.append([*counts, *found, _mean(theirs, 2) if other else "", ratio])
    titles = "table, columns, rows, tables, score, CPU s of a fit, of them until the search ended, halves of the rows"
    return markdown([*titles.split(", "), "FLOP's CPU s", "times FLOP's"], lines)


def _size(row: Row) -> tuple[bool, int, str]:
    """Simulated tables first, and few columns."""
    return "/" in row["table"], int(row["columns"]), row["table"]


def proof(rows: list[Row]) -> str:
    """Return what the proof that nobody asked for adds to a fit, by graph."""
    lines: list[list[object]] = []
    for graph, tables in grouped(rows, "graph").items():
        means = [
            np.mean([float(row[name]) for row in tables])
            for name in ("search_seconds", "without_seconds", "cpu_seconds")
        ]
        proved = sum(row["proved"] == "True" for row in tables)
        lines.append([*graph, *(f"{mean:.2f}" for mean in means), f"{proved} of {len(tables)}"])
    titles = "graph, CPU s until the answer was found, a fit without a proof, a fit, proved"
    return markdown(titles.split(", "), lines)


def picture(rows: list[Row]) -> bytes:
    """Draw CPU seconds and memory over the columns."""
    fits = _means(rows)

    def panel(names: dict[str, str], words: str) -> Panel:
        points = {
            name: [(row["columns"], [float(np.log10(row[what]))]) for row in fits] for what, name in names.items()
        }
        least = min((value[0] for line in points.values() for _, value in line), default=0.0)
        return Panel(points, {}, "columns", words, least)

    times = {"cpu_seconds": "a whole fit", "search_seconds": "until the search ended"}
    return curves([panel(times, "log10 of CPU seconds"), panel({"gib": "a whole fit"}, "log10 of GiB")])
