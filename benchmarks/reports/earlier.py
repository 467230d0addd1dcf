"""Rows from before the runner, in files of their own, and the rows of experiments that take their place.

The cells of rows/linear.csv are now those of ``raw`` and ``curves``, those of sachs.csv of ``sachs_paper``; bnlearn,
gp, equivalence and discrete are experiments of the same name. A row of ours replaces earlier ones if it says what it
spent.
"""

import json
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.reports import versions
from benchmarks.rows import Row, read
from drbo.data.files.datasets import load as load_data
from drbo.data.files.simulate import parse_graph_name
from drbo.settings import Settings

#: Optimisers of the length scale differ by this much of the score per row and node.
TOLERANCE = 2e-4
#: What tells a run of a preset from one with other settings.
PLAIN = {"preset", "evals", "n_candidates"}
#: Candidates of an iteration: of the default search of version 0.1, which ranked some too, and of the paper.
CANDIDATES, PAPER_CANDIDATES = {"default": 10_000}, Settings().paper.n_candidates
#: The methods of Sachs by their names in the earlier rows.
SACHS = {"drbo paper 20k": "paper-sachs", "random order": "random complete", "drbo gp": "gp, noise fitted"}


#: Whole calls of the paper's preset as the paper runs it.
CALLS = {"preset": "paper", "device": "cuda", "candidates": "100000", "n_evals": "10000"}


class Borrowed(NamedTuple):
    """Earlier rows that answer cells of an experiment: their file, which of them, and what they are called there."""

    file: str
    wanted: dict[str, str]
    method: str
    data: str
    shd: str = "shd"


BORROWED = {
    "raw": Borrowed("speed_call", CALLS | {"graph": "30ER8"}, "drbo paper", "{graph} raw"),
    "bnlearn": Borrowed("bnlearn", {"preset": "paper", "evals": "20000"}, "drbo paper 20k", "{graph} structure"),
    "sachs": Borrowed("sachs", {"method": "paper-sachs"}, "drbo paper 20k", "sachs"),
    "gp": Borrowed("gp", {"preset": "paper-gp", "device": "cuda"}, "drbo paper", "10ER4 GP", "shd_cam"),
}


def borrowed(experiment: str) -> list[Row]:
    """Return rows that answer cells of the paper's preset; they hold fewer figures."""
    if experiment not in BORROWED:
        return []
    file, wanted, method, data, shd = BORROWED[experiment]
    kept = ("shd_c", "tpr", "fdr", "f1", "seconds", "cpu_seconds", "machine", "drbo", "commit")
    return [
        {
            "data": data.format(**row),
            "method": method,
            "seed": str(int(row["id"]) - 1) if "id" in row else row["seed"],  # GP: of the data, not of the search
            "note": "",
            "shd": row[shd],
            **{name: row[name] for name in kept if name in row},
        }
        for row in read(file)
        if all(row[name] == value for name, value in wanted.items())
    ]


def single_runs(data: str) -> list[Row]:
    """Return the ends of single runs of the paper's preset, several at a time on one GPU, as steps of a curve."""
    linear = [
        {**row, "step": row["n_evals"], "method": f"drbo paper, runs of {int(row['evals']):,} (`rows/linear.csv`)"}
        for row in read("linear")
        if row["preset"] == "paper" and f"{row['graph']} raw" == data
    ]
    nonlinear = [
        {**row, "step": row["n_evals"], "method": f"drbo paper, runs of {int(row['evals']):,} (`rows/gp.csv`)"}
        | {"seed": f"{row['id']}-{row['seed']}"}
        for row in read("gp")
        if row["device"] == "cuda" and data == "10ER4 GP unpruned"
    ]
    return [{**row, "step_seconds": row["seconds"]} for row in (*linear, *nonlinear)]


def n_nodes(graph: str) -> int:
    """Return the number of nodes of a random graph or of a real structure."""
    return parse_graph_name(graph)[0] if graph[0].isdigit() else len(load_data(graph).names)


def preset_rows(name: str) -> list[Row]:
    """Return the rows of both presets on random graphs (``linear``) or on real structures (``bnlearn``)."""
    experiments = {"linear": ("raw", "curves"), "bnlearn": ("bnlearn",)}[name]
    new = [row for experiment in experiments for row in _presets(experiment)]
    new += [
        {**row, "evals": row["n_evals"], "workers": "1"}
        for row in read("speed_call")
        if name == "linear" and all(row[key] == value for key, value in CALLS.items())
    ]
    return _replaced(read(name), new, "graph", "preset", "candidates", "evals", "device")


def _presets(experiment: str) -> Iterator[Row]:
    for row in _ours(experiment):
        settings, graph = json.loads(row["settings"]), row["data"].split()[0]
        preset, scale = settings.get("preset", "default"), int(row["n"]) * n_nodes(graph)
        yield {
            **{**row, "graph": graph, "preset": preset, "evals": str(settings.get("evals", 0)), "workers": "1"},
            "candidates": str(settings.get("n_candidates", CANDIDATES.get(preset, PAPER_CANDIDATES))),
            "pruned_score": float(row["found_score"]) / scale,
            "true_score": float(row["true_score"]) / scale,
        }


def gp_rows() -> list[Row]:
    """Return the rows of the Gaussian-process data, whose optimum is known."""
    new = [
        {
            **row,
            "preset": json.loads(row["settings"]).get("preset", "default"),
            "evals": str(json.loads(row["settings"]).get("evals", "")),
            "optimum_reached": str(_per_cell(row, "searched_score") >= _per_cell(row, "optimum") - TOLERANCE),
            "shd": row["searched_shd"],
            "shd_cam": row["shd"],
        }
        for row in _ours("gp")
    ]
    return _replaced(read("gp"), new, "preset", "evals", "machine")


def sachs_rows() -> list[Row]:
    """Return the rows of Sachs with the paper's score, and of complete graphs."""
    complete = n_nodes("sachs") * (n_nodes("sachs") - 1) // 2
    new = [
        {
            **row,
            "method": SACHS[row["method"]],
            "edges_before": row.get("n_searched") or str(complete),
            "edges_after": row["n_found"],
        }
        for row in read("run/sachs_paper")
        if row["method"] in SACHS and row.get("shd")
    ]
    return _replaced(read("sachs"), new, "method")


def small_rows() -> list[Row]:
    """Return the rows of small data, whose best score is known."""
    new = [{**_searched(row), "best_score": row["optimum"]} for row in read("run/equivalence")]
    return [versions.of_ours(row) for row in _replaced(read("equivalence"), new, "score", "method")]


def discrete_rows() -> list[Row]:
    """Return the rows of discrete networks."""
    new = [{**_searched(row), "network": row["data"].split()[0]} for row in read("run/discrete")]
    rows = _replaced(read("discrete"), new, "network", "n", "score", "method")
    return [versions.of_ours(row) for row in rows]


def _searched(row: Row) -> Row:
    """Return a row, for ours with the figures before pruning and under its earlier name."""
    if row["method"] != "drbo same score":
        return row
    figures = {"found_score": row["searched_score"], "shd_c": row["searched_shd_c"]} if row.get("n_evals") else {}
    return {**row, "method": "drbo", **figures}


def _ours(experiment: str) -> Iterator[Row]:
    """Yield the rows of both presets at their own settings that say what the search spent."""
    for row in read(f"run/{experiment}"):
        if row.get("n_evals") and row["method"].startswith("drbo") and json.loads(row["settings"]).keys() <= PLAIN:
            yield row


def _per_cell(row: Row, name: str) -> float:
    return float(row[name]) / (int(row["n"]) * 10)


def _replaced(old: list[Row], new: list[Row], *group: str) -> list[Row]:
    """Return the new rows, and the old ones of the groups that have no new rows."""
    there = {tuple(row[name] for name in group) for row in new}
    return [row for row in old if tuple(row[name] for name in group) not in there] + new
