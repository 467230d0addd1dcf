"""The page of both presets and of every score, and the table of README."""

import re

from benchmarks.reports import earlier, published, scores
from benchmarks.reports.tables import figure, header
from benchmarks.rows import Row, grouped, spread


def paper_shd(graph: str, evals: int) -> str:
    """Return the SHD of DrBO in the paper's tables of run times and of real structures."""
    runs = published.RUN_TIMES.get(f"{graph} raw", {}).get(published.OURS, {})
    structures = published.SHD.get(("bnlearn", f"{graph} structure"), {})
    return figure(runs[evals][0] if evals in runs else structures.get(published.OURS))


def line(part: list[Row]) -> str:
    """Return one line of the table for the data sets of one graph and preset."""
    first, paper, how = part[0], "", "order search"
    gap = spread((float(row["pruned_score"]) - float(row["true_score"]) for row in part), 4)
    per_node = spread((float(row["n_local"]) / earlier.n_nodes(first["graph"]) for row in part), 0)
    if first["preset"] == "paper":
        paper, how = paper_shd(first["graph"], int(first["evals"])), f"C = {int(first['candidates']):,}"
    shared = f", {first['workers']} runs at a time" if first["workers"] != "1" else ""
    return (
        f"| {first['graph']} | {first['preset']}, {how} | {paper} | {spread(row['shd'] for row in part)} "
        f"| {gap} | {spread((row['n_evals'] for row in part), 0)} | {per_node} "
        f"| {spread(row['seconds'] for row in part)} | {len(part)}, {first['machine']}{shared} |\n"
    )


def lines(rows: list[Row]) -> str:
    """Return the table of one kind of graphs."""
    groups = grouped(rows, "graph", "preset", "candidates", "evals", "device")
    order = sorted(groups, key=lambda key: (int(re.sub(r"\D.*", "", key[0]) or 0), key))
    titles = "data | preset | SHD, paper | SHD, drbo | score - true graph's, pruned | evaluations | local scores / d "
    return header(f"{titles}| seconds | data sets, machine") + "".join(line(groups[key]) for key in order)


def page() -> str:
    """Return the page of both presets and of every score."""
    return (
        "# Both presets, and every score\n\nMade by `python -m benchmarks report` from the rows in `benchmarks/rows`. "
        "Spread is the standard deviation over data sets. SHD is counted after pruning: by |w| > 0.3 for the paper's "
        "preset, as in the paper; the rows of the default preset say what they were pruned by. Scores are divided by "
        "n d. "
        "The order search counts every local score it computes, repeats included; evaluations are these / d.\n\n"
        "## Linear-Gaussian data, random graphs, score bic-ev, n = 1,000\n\n"
        f"{lines(earlier.preset_rows('linear'))}\n"
        "## Linear-Gaussian data on real structures, columns permuted, score bic-ev, n = 1,000\n\n"
        f"{lines(earlier.preset_rows('bnlearn'))}{scores.sections()}"
    )
