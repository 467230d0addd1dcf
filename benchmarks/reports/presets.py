"""The page of both presets and of every score, and the table of README."""

import re

from benchmarks.reports import earlier, published, scores, versions
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
    pruned = [
        float(row["pruned_score"]) - float(row["true_score"]) for row in part if row.get("pruned_score", "") != ""
    ]
    gap = spread(pruned, 4) if pruned else ""
    per_node, evals = _distinct(part), ""
    if first["preset"] == "paper":
        paper, how = paper_shd(first["graph"], int(first["evals"])), f"C = {int(first['candidates']):,}"
        evals = spread((row["n_evals"] for row in part), 0)
    shared = f", {first['workers']} runs at a time" if first["workers"] != "1" else ""
    return (
        f"| {first['graph']} | {first['preset']}, {how} | {paper} | {spread(row['shd'] for row in part)} "
        f"| {gap} | {evals} | {per_node} "
        f"| {spread(row['seconds'] for row in part)} | {len(part)}, {first['machine']}{shared} |\n"
    )


def _distinct(part: list[Row]) -> str:
    """Return how many distinct local scores a node got; the order search counts repeats: a bound on them."""
    nodes = earlier.n_nodes(part[0]["graph"])
    each = [float(row["n_local"]) / nodes for row in part]
    if part[0]["preset"] == "paper":
        return spread(each, 0)
    return f"at most {min(2 ** (nodes - 1), round(sum(each) / len(each))):,}"


def lines(rows: list[Row]) -> str:
    """Return the table of one kind of graphs."""
    groups = grouped(rows, "graph", "preset", "candidates", "evals", "device")
    order = sorted(groups, key=lambda key: (int(re.sub(r"\D.*", "", key[0]) or 0), key))
    titles = "data | preset | SHD, paper | SHD, drbo | BIC minus the true graph's, pruned | evaluations "
    counted = "| distinct local scores / d | seconds | data sets, machine"
    return header(titles + counted) + "".join(line(groups[key]) for key in order)


def page() -> str:
    """Return the page of both presets and of every score."""
    return (
        "# Both presets, and every score\n\nMade by `python -m benchmarks report` from the rows in `benchmarks/rows`. "
        "Spread is the standard deviation over data sets. SHD is counted after pruning: by |w| > 0.3 for the paper's "
        "preset, as in the paper; the rows of the default preset say what they were pruned by. Scores are divided by "
        "n d. "
        "The order search evaluates no whole DAGs, and its rows count repeated local scores, so only a bound on the "
        "distinct ones is known.\n\n"
        "## Linear-Gaussian data, random graphs, score bic-ev, n = 1,000\n\n"
        f"{versions.tables(earlier.preset_rows('linear'), lines)}\n"
        "## Linear-Gaussian data on real structures, columns permuted, score bic-ev, n = 1,000\n\n"
        f"{versions.tables(earlier.preset_rows('bnlearn'), lines)}{scores.sections()}"
    )
