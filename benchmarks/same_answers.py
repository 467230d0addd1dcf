"""Compare the answers of two versions of drbo on 32 small tables of all kinds, scores and presets.

Run ``write`` once with each version, each in an environment of its own, then compare the two files:

    python -m benchmarks.same_answers write old.json     # with the old version installed
    python -m benchmarks.same_answers write new.json     # with the new one
    python -m benchmarks.same_answers compare old.json new.json

The comparison lists every case whose graph differs, or whose score differs by more than one part in 10^9, and exits
with 1 if there is one. Two kinds of differences are listed, but are no failure: graphs of one Markov class with the
same score, between which rounding decides; and the paper's networks, which learn in single precision, so that another
order of summation leads to another path of the search.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import pandas as pd

from drbo import DrBO, Knowledge, Settings
from drbo.data.files.simulate import linear_weights, random_dag, simulate_cos, simulate_linear, simulate_logistic
from drbo.graph.dag import markov_equivalent

#: Scores closer than this share count as equal.
SAME = 1e-9
#: Presets and surrogates that compute in single precision.
SINGLE_PRECISION = "paper"


def _surrogate() -> str:
    """Return the name of the route that spends evaluations sparingly; older versions call it ``networks``."""
    names = get_args(get_type_hints(Settings)["route"])
    return "surrogate" if "surrogate" in names else "networks"


def _named(values: Any) -> pd.DataFrame:
    return pd.DataFrame(values, columns=[f"x{k}" for k in range(np.shape(values)[1])])


def _linear(d: int, degree: float, n: int, seed: int, noise: str = "equal") -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    weights = linear_weights(random_dag(d, degree, rng), rng)
    frame = _named(simulate_linear(weights, n, rng))
    return frame if noise == "equal" else frame * rng.uniform(0.5, 2.0, size=d)


def _categories(d: int, n: int, seed: int, levels: int = 3) -> pd.DataFrame:
    values = _linear(d, 2, n, seed).to_numpy()
    ranks = values.argsort(axis=0).argsort(axis=0) * levels // n
    return _named(ranks).map(lambda level: f"level {level}")


def _binary(d: int, n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return _named(simulate_logistic(linear_weights(random_dag(d, 2, rng), rng), n, rng))


def _curved(d: int, n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return _named(simulate_cos(random_dag(d, 2, rng), n, rng))


def _mixed(d: int, n: int, seed: int) -> pd.DataFrame:
    frame = _linear(d, 2, n, seed)
    for name in frame.columns[::2]:
        frame[name] = np.where(frame[name] > frame[name].median(), "high", "low")
    return frame


def _with_gaps(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    return frame.mask(np.random.default_rng(seed).random(frame.shape) < 0.05)


Case = tuple[Callable[[], pd.DataFrame], dict[str, Any]]
RULES = Knowledge(required=["x1 -> x0"], forbidden=["x2 -> x3"], max_parents=3)
TIERS = Knowledge(tiers=[["x0", "x1", "x2"], ["x3", "x4", "x5", "x6", "x7"]])


def cases() -> dict[str, Case]:
    """Return a table and the arguments of the estimator for each case."""
    sparing = {"route": _surrogate(), "max_evals": 60}
    short = Settings.preset("paper").with_(max_evals=640, n_candidates=500)
    return {
        "linear, bic-ev, orders": (lambda: _linear(12, 4, 500, 0), {"score": "bic-ev"}),
        "linear, bic-nv, orders": (lambda: _linear(12, 4, 500, 1, "unequal"), {"score": "bic-nv"}),
        "linear, bge, orders": (lambda: _linear(10, 3, 300, 2, "unequal"), {"score": "bge"}),
        "linear, auto": (lambda: _linear(9, 2, 400, 3), {}),
        "linear, 25 columns": (lambda: _linear(25, 3, 500, 4), {"score": "bic-ev", "exact": False}),
        "linear, 40 columns": (lambda: _linear(40, 2, 500, 5, "unequal"), {"score": "bic-nv", "exact": False}),
        "linear, required and forbidden": (lambda: _linear(8, 3, 300, 6), {"score": "bic-nv", "knowledge": RULES}),
        "linear, tiers": (lambda: _linear(8, 3, 300, 7), {"score": "bic-nv", "knowledge": TIERS}),
        "linear, few rows": (lambda: _linear(10, 3, 15, 8), {"score": "bic-nv"}),
        "linear, no proof": (lambda: _linear(14, 4, 300, 9), {"score": "bic-nv", "exact": False}),
        "linear, proof by search over sets": (
            lambda: _linear(18, 2, 500, 10),
            {"score": "bic-nv", "exact": True, "settings": {"max_memory": 0.02}},
        ),
        "linear, proof of bic-ev": (lambda: _linear(11, 3, 300, 11), {"score": "bic-ev", "exact": True}),
        "linear, proof of bge": (lambda: _linear(11, 3, 300, 12, "unequal"), {"score": "bge", "exact": True}),
        "linear, gaps": (lambda: _with_gaps(_linear(8, 2, 300, 13), 13), {"score": "bic-nv", "missing": "em"}),
        "linear, surrogate, bic-ev": (lambda: _linear(8, 3, 300, 14), {"score": "bic-ev", "settings": sparing}),
        "linear, surrogate, bic-nv": (lambda: _linear(14, 3, 300, 15), {"score": "bic-nv", "settings": sparing}),
        "linear, surrogate, rules": (
            lambda: _linear(8, 3, 300, 16),
            {"score": "bic-nv", "knowledge": RULES, "settings": sparing},
        ),
        "discrete, bic": (lambda: _categories(8, 500, 17), {"score": "bic-discrete"}),
        "discrete, bdeu": (lambda: _categories(8, 500, 18), {"score": "bdeu"}),
        "discrete, four levels": (lambda: _categories(12, 800, 19, 4), {"score": "bic-discrete", "exact": False}),
        "discrete, rules": (lambda: _categories(8, 400, 20), {"score": "bdeu", "knowledge": RULES}),
        "discrete, surrogate": (lambda: _categories(7, 400, 21), {"score": "bic-discrete", "settings": sparing}),
        "discrete, proof by search over sets": (
            lambda: _categories(18, 400, 22),
            {"score": "bic-discrete", "exact": True, "settings": {"max_memory": 0.02}},
        ),
        "binary, logistic, orders": (
            lambda: _binary(6, 300, 23),
            {"score": "logistic", "settings": {"route": "orders"}},
        ),
        "binary, logistic, surrogate": (lambda: _binary(6, 300, 24), {"score": "logistic", "settings": sparing}),
        "curved, splines": (lambda: _curved(8, 300, 25), {"score": "splines"}),
        "curved, splines, 20 columns": (lambda: _curved(20, 300, 26), {"score": "splines"}),
        "curved, gp, surrogate": (
            lambda: _curved(5, 80, 27),
            {"score": "gp", "settings": {**sparing, "max_evals": 30}},
        ),
        "mixed": (lambda: _mixed(8, 400, 28), {"score": "mixed"}),
        "mixed, conditional Gaussian": (lambda: _mixed(6, 300, 29), {"score": "mixed-cg", "settings": sparing}),
        "paper, low rank": (lambda: _linear(8, 3, 300, 30), {"score": "bic-ev", "settings": short}),
        "paper, full rank": (
            lambda: _linear(8, 3, 300, 31),
            {"score": "bic-nv", "settings": short.with_(space="full-rank")},
        ),
    }


def answer(table: pd.DataFrame, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the score, the graph and what else a fit says about it."""
    settings = arguments.get("settings")
    if isinstance(settings, dict):
        arguments = {**arguments, "settings": Settings().with_(**settings)}
    start = time.perf_counter()
    model = DrBO(random_state=0, prune="none", **arguments).fit(table)
    result = model.result_
    return {
        "score": float(model.score_),
        "edges": np.argwhere(np.asarray(model.adjacency_)).tolist(),
        "n_evals": int(result.n_evals),
        "n_local": int(result.n_local),
        "seconds": round(time.perf_counter() - start, 2),
    }


def write(path: Path, wanted: str = "") -> None:
    """Write the answers of the installed version; ``wanted``: only cases whose name holds this."""
    found = {}
    for name, (make, arguments) in cases().items():
        if wanted in name:
            found[name] = answer(make(), arguments)
            print(f"{name}: {found[name]['score']:.6f} in {found[name]['seconds']} s", file=sys.stderr)
    path.write_text(json.dumps(found, indent=1) + "\n")


def _one_class(*graphs: list[list[int]]) -> bool:
    d = 1 + max((max(edge) for edges in graphs for edge in edges), default=0)
    dags = np.zeros((len(graphs), d, d), dtype=bool)
    for dag, edges in zip(dags, graphs, strict=True):
        dag[tuple(np.array(edges, dtype=int).reshape(-1, 2).T)] = True
    return markov_equivalent(*dags)


def compare(old: Path, new: Path) -> int:
    """Print what differs; return the number of cases that should not differ but do."""
    before, after = json.loads(old.read_text()), json.loads(new.read_text())
    failures = len(before.keys() ^ after.keys())
    for name in before.keys() & after.keys():
        one, two = before[name], after[name]
        apart = abs(one["score"] - two["score"]) / (1.0 + abs(one["score"]))
        if apart <= SAME and one["edges"] == two["edges"]:
            continue
        tie = apart <= SAME and _one_class(one["edges"], two["edges"])
        expected = tie or name.startswith(SINGLE_PRECISION)
        failures += not expected
        kind = "a tie in one Markov class" if tie else "differs, as single precision may" if expected else "DIFFERS"
        print(
            f"{name}: {kind}: score {one['score']!r} and {two['score']!r}, graphs alike: {one['edges'] == two['edges']}"
        )
    seconds = [sum(case["seconds"] for case in answers.values()) for answers in (before, after)]
    print(f"{len(before)} cases, {failures} differ; {seconds[0]:.0f} s before, {seconds[1]:.0f} s after")
    return failures


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write", path, *wanted]:
            write(Path(path), *wanted)
        case ["compare", old, new]:
            sys.exit(1 if compare(Path(old), Path(new)) else 0)
        case _:
            sys.exit(__doc__)
