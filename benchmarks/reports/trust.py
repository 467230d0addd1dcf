"""Tables of what makes a result trustworthy: judged graphs, knowledge, missing values, resampling."""

from statistics import mean, median

import numpy as np

from benchmarks.reports.tables import header
from benchmarks.rows import Row, grouped, spread
from benchmarks.studies import judge as judging
from benchmarks.studies import missing as holes
from benchmarks.studies.knowledge import N_TIERS


def judge(rows: list[Row]) -> str:
    """Return how often each kind of graph passes the tests."""
    count = len({row["seed"] for row in rows})
    sets = f"{judging.NAME}, standardised, {judging.ROWS} held-out rows, {count} data sets"
    text = f"{sets} (`python -m benchmarks judge`).\n\n" + header(
        "graph | better than random graphs | permutations tell something | falsified | claims that fail (FDR)"
    )
    parts = grouped(rows, "graph")
    for name in judging.GRAPHS:
        here = parts[(name,)]
        shares = [np.mean([row[key] == "True" for row in here]) for key in ("beats_random", "informative", "falsified")]
        failed = sum(int(row["discoveries"]) for row in here) / max(1, sum(int(row["claims"]) for row in here))
        text += f"| {name} | " + " | ".join(f"{share:.0%}" for share in shares) + f" | {failed:.1%} |\n"
    return text


def knowledge(rows: list[Row]) -> str:
    """Return how often a statement was broken, a contradiction refused, and what tiers save."""
    text, parts = header("what | how often"), grouped(rows, "part")
    for (route,), held in grouped(parts.get(("hold",), []), "route").items():
        graphs, bad, single, worse = (
            sum(int(row[key]) for row in held) for key in ("graphs", "broken_graphs", "families", "broken_families")
        )
        text += f"| random consistent statements, route {route} | {len(held)} sets: {bad} of {graphs:,} scored graphs "
        text += f"and {worse} of {single:,} single families break one |\n"
    if clashes := parts.get(("clash",)):
        refused, named = (sum(row[key] == "True" for row in clashes) for key in ("refused", "named"))
        spent = sum(int(row["scored_before"]) for row in clashes)
        text += f"| random contradictions | {refused} of {len(clashes)} refused, {named} naming the statements, "
        text += f"{spent} families scored before |\n"
    cases = grouped(parts.get(("tiers",), []), "case")
    for key, words in (("n_evals", "evaluations"), ("n_local", "local scores")) if cases else ():
        without, given = ([int(row[key]) for row in cases[(case,)]] for case in ("nothing", "tiers"))
        saved = 1 - np.median(np.array(given) / np.array(without))
        text += (
            f"| {words} to the optimum, 10ER2, route surrogate | median {median(without):,.0f}; with the true order "
        )
        text += f"in {N_TIERS} tiers {median(given):,.0f}: {saved:.0%} fewer (median of {len(given)} data sets) |\n"
    return text


def missing(rows: list[Row]) -> str:
    """Return what each policy for missing values costs."""
    policies = [name for name in holes.POLICIES if any(row["policy"] == name for row in rows)]
    text = header(f"data | complete rows | {' | '.join(policies)}")
    for (part, mechanism, share), group in sorted(grouped(rows, "part", "mechanism", "share").items()):
        count = len({row["seed"] for row in group})
        if part == "graph":
            size, what, column, digits = f"{holes.GRAPH}, {holes.ROWS} rows", "SHD-C", "shd_c", 1
            lost = mean(float(row["missing"]) for row in group)
            whole = f"{mean(float(row['complete_rows']) for row in group):.0f}"
        else:
            size, what = f"10 independent columns, {holes.NULL_ROWS} rows", "false edges"
            column, digits, lost, whole = "edges", 2, float(share), ""
        cells = [spread((row[column] for row in group if row["policy"] == name), digits) for name in policies]
        name = f"{size}, {lost:.0%} {mechanism.upper()}, {count} data sets: {what}"
        text += f"| {name} | {whole} | {' | '.join(cells)} |\n"
    return text


def panels(rows: list[Row]) -> str:
    """Return the false edges and errors of panels with and without groups."""
    methods = ("plain", "design effect", "groups")
    return _dependent(rows, ("kind", "size"), "what is constant | rows per group", methods)


def series(rows: list[Row]) -> str:
    """Return the false edges and errors of series, with rows that count in full or as what they are worth."""
    return _dependent(rows, ("kind",), "coefficient", ("plain", "default"))


def _dependent(rows: list[Row], case: tuple[str, ...], columns: str, methods: tuple[str, ...]) -> str:
    text = header(f"{columns} | graph | {' | '.join(methods)} | worth, {methods[-1]}")
    for (n_edges, *names), here in grouped(rows, "n_edges", *case).items():
        what, column, digits = "no edges: false edges", "edges", 2
        if n_edges != "0":
            what, column, digits = f"{n_edges} edges: SHD-C", "shd_cpdag", 1
        parts = grouped(here, "method")
        cells = [spread((row[column] for row in parts[(name,)]), digits) for name in methods]
        worth = mean(float(row["worth"]) for row in parts[(methods[-1],)])
        text += f"| {' | '.join(names)} | {what} | {' | '.join(cells)} | {worth:.0f} rows |\n"
    return text


def bootstrap(rows: list[Row]) -> str:
    """Return the cost of a bootstrap and what a warm start changes."""
    text = (
        "Standardised linear data: CPU seconds of a fit, and of a bootstrap of 100 from warm and from cold starts\n"
        "with 2 workers, their start included, and by how much the frequencies of arrows and links differ between the\n"
        "two (over all pairs that either of them linked). A fit includes the proof of the optimum and all checks.\n\n"
    )
    text += header("graph, rows | data set | fit | warm | cold | warm / fit | mean difference | 95th percentile")
    for row in rows:
        times = " | ".join(f"{float(row[f'{name}_cpu_seconds']):.1f}" for name in ("fit", "warm", "cold"))
        apart = " | ".join(f"{float(row[name]):.3f}" for name in ("mean_difference", "p95_difference"))
        text += f"| {row['graph']}, {row['n_rows']} | {row['seed']} | {times} | {row['warm_over_fit']} | {apart} |\n"
    return text
