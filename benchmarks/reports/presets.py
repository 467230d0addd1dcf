"""Tables of both presets for the docs, from the committed rows: called by ``python -m benchmarks report``."""

import re

from benchmarks import rows as table
from benchmarks.reports import scores as score_report
from drbo.data.datasets import load
from drbo.data.simulate import parse_graph_name

#: SHD of DrBO in the paper by evaluations: its tables of run times and of real structures.
PAPER_SHD = {
    ("30ER8", "10000"): "2.0 +- 1.2",
    ("30ER8", "50000"): "1.6 +- 1.5",
    ("asia", "20000"): "0.0 +- 0.0",
    ("cancer", "20000"): "0.0 +- 0.0",
    ("earthquake", "20000"): "0.0 +- 0.0",
    ("child", "20000"): "0.0 +- 0.0",
    ("alarm", "20000"): "1.0 +- 2.2",
}
HEADER = (
    "| data | preset | SHD, paper | SHD, drbo | score - true graph's, pruned | evaluations | local scores / d "
    "| seconds | data sets, machine |\n|---|---|---|---|---|---|---|---|---|\n"
)


def line(part: list[table.Row]) -> str:
    """Return one line of the table for the data sets of one graph and preset."""
    first = part[0]
    gap = table.spread((float(row["pruned_score"]) - float(row["true_score"]) for row in part), 4)
    graph = first["graph"]
    nodes = parse_graph_name(graph)[0] if graph[0].isdigit() else len(load(graph).names)
    per_node = table.spread((float(row["n_local"]) / nodes for row in part), 0)
    paper = PAPER_SHD.get((graph, first["evals"]), "") if first["preset"] == "paper" else ""
    candidates = f", C = {int(first['candidates']):,}" if first["preset"] == "paper" else ", order search"
    shared = f", {first['workers']} runs at a time" if first["workers"] != "1" else ""
    return (
        f"| {graph} | {first['preset']}{candidates} | {paper} | {table.spread(row['shd'] for row in part)} "
        f"| {gap} | {table.spread((row['n_evals'] for row in part), 0)} | {per_node} "
        f"| {table.spread(row['seconds'] for row in part)} | {len(part)}, {first['machine']}{shared} |\n"
    )


def lines(name: str) -> str:
    """Return the table of one experiment."""
    groups: dict[tuple[str, ...], list[table.Row]] = {}
    for row in table.load(table.FOLDER / f"{name}.csv"):
        key = (row["graph"], row["preset"], row["candidates"], row["evals"], row["device"])
        groups.setdefault(key, []).append(row)
    order = sorted(groups, key=lambda key: (int(re.sub(r"\D.*", "", key[0]) or 0), key))
    return HEADER + "".join(line(groups[key]) for key in order)


def page() -> str:
    """Return the page of both presets and of every score."""
    return (
        "# Both presets, and every score\n\nMade by `python -m benchmarks report` from the rows in `benchmarks/rows`. "
        "Spread is the standard deviation over data sets. SHD is counted after pruning: by |w| > 0.3 for the paper's "
        "preset, as in the paper; the rows of the default preset say what they were pruned by. Scores are divided by "
        "n d. "
        "The order search counts every local score it computes, repeats included; evaluations are these / d.\n\n"
        "## Linear-Gaussian data, random graphs, score bic-ev, n = 1,000\n\n"
        f"{lines('linear')}\n## Linear-Gaussian data on real structures, columns permuted, score bic-ev, n = 1,000\n\n"
        f"{lines('bnlearn')}{score_report.sections()}"
    )
