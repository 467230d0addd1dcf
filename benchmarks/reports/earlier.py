"""Rows of four experiments from before the runner: rows/linear.csv, bnlearn.csv, gp.csv and sachs.csv.

Their cells are now cells of ``raw``, ``curves``, ``bnlearn``, ``gp`` and ``sachs_paper``. Rows of these that say what a
search of ours spent replace the earlier ones.
"""

import json
from collections.abc import Iterator

from benchmarks.rows import Row, read
from drbo.data.datasets import load as load_data
from drbo.data.simulate import parse_graph_name
from drbo.settings import Settings

#: Optimisers of the length scale differ by this much of the score per row and node.
TOLERANCE = 2e-4
#: What tells a run of a preset from one with other settings.
PLAIN = {"preset", "evals", "n_candidates"}
#: The methods of Sachs by their names in the earlier rows.
SACHS = {"drbo paper 20k": "paper-sachs", "random order": "random complete", "drbo gp": "gp, noise fitted"}


def borrowed(experiment: str) -> list[Row]:
    """Return rows that answer cells of the paper's preset; they hold fewer figures."""

    def taken(file: str, method: str, data: str, shd: str, wanted: dict[str, str]) -> list[Row]:
        kept = ("shd_c", "tpr", "fdr", "f1", "seconds", "machine")
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

    if experiment == "raw":
        return taken("linear", "drbo paper", "{graph} raw", "shd", {"preset": "paper", "evals": "10000"})
    if experiment == "bnlearn":
        return taken("bnlearn", "drbo paper 20k", "{graph} structure", "shd", {"preset": "paper", "evals": "20000"})
    if experiment == "sachs":
        return taken("sachs", "drbo paper 20k", "sachs", "shd", {"method": "paper-sachs"})
    if experiment == "gp":
        return taken("gp", "drbo paper", "10ER4 GP", "shd_cam", {"preset": "paper-gp", "device": "cuda"})
    return []


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
    return _replaced(read(name), new, "graph", "preset", "candidates", "evals", "device")


def _presets(experiment: str) -> Iterator[Row]:
    for row in _ours(experiment):
        settings, graph = json.loads(row["settings"]), row["data"].split()[0]
        preset, scale = settings.get("preset", "default"), int(row["n"]) * n_nodes(row["data"].split()[0])
        candidates = settings.get("n_candidates", Settings.preset(preset).n_candidates)
        scores = {
            "pruned_score": float(row["found_score"]) / scale,
            "true_score": float(row["true_score"]) / scale,
        }
        yield {
            **{**row, "graph": graph, "preset": preset, "candidates": str(candidates), "workers": "1"},
            **{"evals": str(settings.get("evals", 0)), **scores},
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
