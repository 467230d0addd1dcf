"""Tables of the scores for the docs, from the committed rows: called by ``python -m benchmarks report``."""

from collections.abc import Callable
from itertools import groupby
from operator import itemgetter

import numpy as np

from benchmarks import rows as table
from benchmarks.studies import discrete, equivalence, solution
from benchmarks.studies import false_edges as null


def null_table() -> str:
    """Return the table of the null test."""
    rows = table.load(table.FOLDER / "null.csv")
    rows.sort(key=lambda row: (list(null.KINDS).index(row["score"]), row["kind"], int(row["n"])))
    groups = [list(part) for _, part in groupby(rows, itemgetter("score", "kind", "n"))]
    return "\n".join([null.HEADER, *(null.line(part) for part in groups)]) + "\n"


def sections() -> str:
    """Return the sections of the page of results."""
    parts: dict[str, tuple[str, Callable[[list[table.Row]], str]]] = {
        "The paper's GP score against its fingerprints and scikit-learn (`gp_check`)": ("gp_check", gp_check),
        "Seconds for a batch of GP families, n = 1,000 (`gp_speed`)": ("gp_speed", gp_speed),
        "Gaussian-process data, 10 nodes, 40 edges, score gp-nv (`gp`)": ("gp", gp),
        "Seconds to a given SHD (`solution`)": ("solution", solution.summary),
        "Sachs (`sachs`)": ("sachs", sachs),
        "Small data sets, where the best of all DAGs is known (`bge`, `logistic`)": ("equivalence", small),
        "Discrete data from real networks (`discrete`)": ("discrete", discrete.summary),
        "Numbers and categories, from the command line (`mixed`)": ("mixed", mixed),
    }
    made = ((title, make(rows)) for title, (name, make) in parts.items() if (rows := load(name)))
    return "".join(f"\n## {title}\n\n{text}" for title, text in made)


def load(name: str) -> list[table.Row]:
    return table.load(table.FOLDER / f"{name}.csv")


def gp_check(rows: list[table.Row]) -> str:
    """Return the fingerprints, and the agreement with scikit-learn."""
    text = "| data | score / (n d) of the true graph | by the authors' rules |\n|---|---|---|\n"
    text += "".join(f"| {row['data']} | {row['value']} | {row['expected']} |\n" for row in rows if row["value"])
    part = [row for row in rows if row["families"]]
    count, same = (sum(int(row[name]) for row in part) for name in ("families", "same_length_scale"))
    difference, shortfall = (
        max(float(row[name]) for row in part) for name in ("largest_difference", "likelihood_shortfall")
    )
    return text + (
        f"\n{count} random families: both optimisers end at the same scale in {same}, where ln MSE differs by at "
        f"most {difference:.1e}; the log marginal likelihood is never worse than scikit-learn's by more than "
        f"{shortfall:.1e}.\n"
    )


def gp_speed(rows: list[table.Row]) -> str:
    """Return seconds by machine."""
    text = (
        "| families | seconds (of CPU) | scikit-learn, seconds (of CPU) | times as quick (in CPU) | machine |\n"
        "|---|---|---|---|---|\n"
    )
    for row in rows:
        cpu = f" ({row['cpu_seconds']})" if row.get("cpu_seconds") else ""
        other = ratio = ""
        if row.get("sklearn_seconds"):
            other = f"{row['sklearn_seconds']} ({row['sklearn_cpu_seconds']})"
            other += (
                f", timed on {row['sklearn_timed_on']} and scaled" if row["sklearn_timed_on"] != row["families"] else ""
            )
            ratio = f"{row['ratio']} ({row['cpu_ratio']})"
        text += f"| {row['families']} | {row['seconds']}{cpu} | {other} | {ratio} "
        text += f"| {row['machine']}, {row['threads']} threads |\n"
    return text


def gp(rows: list[table.Row]) -> str:
    """Return how often the optimum is reached, with the errors and the time."""
    text = (
        "| preset | evaluations | optimum reached | SHD (paper 0.4; the optimum's own: 0.4) "
        "| SHD after CAM pruning (paper 4.2) | local scores | seconds | seconds of CPU | machine |\n"
        "|---|---|---|---|---|---|---|---|---|\n"
    )
    key = itemgetter("preset", "evals", "machine")
    for (preset, evals, machine), group in groupby(sorted(rows, key=key), key):
        part = list(group)
        reached = sum(row["optimum_reached"] == "True" for row in part)
        figures = " | ".join(table.spread(row[name] for row in part) for name in ("shd", "shd_cam"))
        text += f"| {preset} | {evals} | {reached} of {len(part)} | {figures} "
        text += f"| {table.spread((row['n_local'] for row in part), 0)} "
        cpu = table.spread(row["cpu_seconds"] for row in part) if all(row.get("cpu_seconds") for row in part) else ""
        text += f"| {table.spread(row['seconds'] for row in part)} | {cpu} | {machine} |\n"
    return text


def sachs(rows: list[table.Row]) -> str:
    """Return what is left after pruning, beside random complete graphs."""
    text = (
        "| method | runs | edges before | after pruning | SHD (paper 9) | FDR (0.11) | TPR (0.47) | F1 (0.62) |\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    for method in dict.fromkeys(row["method"] for row in rows):
        part = [row for row in rows if row["method"] == method]
        names = (("edges_before", 1), ("edges_after", 1), ("shd", 1), ("fdr", 2), ("tpr", 2), ("f1", 2))
        figures = " | ".join(table.spread((row[name] for row in part), digits) for name, digits in names)
        text += f"| {method} | {len(part)} | {figures} |\n"
    return (
        text + "\nWhat these figures mean is said under [the paper's GP scores](../scores.md#the-papers-gp-scores).\n"
    )


def small(rows: list[table.Row]) -> str:
    """Return how found scores relate to the true graph's and to the best of all DAGs."""
    text = (
        "| score | method | data sets | correlation of found and true score | at least the true graph's "
        "| the best of all | SHD-C | seconds |\n|---|---|---|---|---|---|---|---|\n"
    )
    key = itemgetter("score", "method")
    for (score, method), group in groupby(sorted(rows, key=lambda row: (row["score"], row["method"] != "drbo")), key):
        part = list(group)
        scored = [row for row in part if row["found_score"] != ""]
        found, true = (np.array([float(row[name]) for row in scored]) for name in ("found_score", "true_score"))
        at_least, best = (equivalence.gaps(scored, name) for name in ("true_score", "best_score"))
        text += f"| {score} | {method} | {len(part)} | {np.corrcoef(found, true)[0, 1]:.4f} "
        text += f"| {(at_least >= 0).sum()} | {(best == 0).sum()} | {table.spread(row['shd_c'] for row in part)} "
        text += f"| {table.spread((row['seconds'] for row in part), 2)} |\n"
    return text


def mixed(rows: list[table.Row]) -> str:
    """Return one line per table."""
    text = (
        "| table | rows | score, penalty | true edges | found | SHD-C | precision, recall of adjacencies | seconds |\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    for row in rows:
        quality = f"{row['adjacency_precision']}, {row['adjacency_recall']}" if row["shd_c"] else ""
        text += f"| {row['table']} {row['seed']} | {row['n']} | {row['score']}, {row['penalty']} | {row['n_edges']} "
        text += f"| {row['n_found']} | {row['shd_c']} | {quality} | {row['seconds']} |\n"
    return text
