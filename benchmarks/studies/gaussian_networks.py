"""Gaussian networks with real coefficients: the default penalty beside FLOP and BOSS with one penalty for all tables.

    python -m benchmarks gaussian_networks --file pgmpy-1.0.0-py3-none-any.whl
    python -m benchmarks gaussian_networks --file pgmpy-1.0.0-py3-none-any.whl --methods drbo,FLOP --penalties 1.5,2,3
    python -m benchmarks gaussian_networks --part repeats --file pgmpy-1.0.0-py3-none-any.whl
    python -m benchmarks gaussian_networks --networks 20ER2,20ER4 --rows 200,1000 --penalties default,1,2

The networks are the example models of the PyPI package pgmpy 1.0.0, or random graphs. The defaults were chosen on
``ecoli70`` and ``arth150``, seeds 100 and up. FLOP has 20 restarts; its documentation recommends penalty 2, and
causal-learn's default of BOSS is penalty 4 on our scale. ``drbo`` is the order search, with its default penalty and
with that of the others. ``found_score`` is that of the graph at the penalty of its row. ``repeats``: several seeds on
the same tables of 200 rows, which must all end at the same score, with the columns also in other units.
"""

import json
import time
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from benchmarks.gran_dag import Unavailable
from benchmarks.methods import Task
from benchmarks.methods import libraries as lib
from benchmarks.methods.base import Answer
from benchmarks.methods.metrics import judge
from benchmarks.methods.process import attempt, timed
from benchmarks.parameters import Names, Numbers, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo import DrBO
from drbo.choices import Choices
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import dag_to_cpdag
from drbo.scores.linear import BicNV
from drbo.search.orders.search import OrderSearch
from drbo.settings import Settings

Networks = Annotated[Names, "example models of pgmpy, or random graphs"]
File = Annotated[Path, "the wheel of pgmpy 1.0.0"]
TUNED = ("ecoli70", "arth150")
#: Units of the columns in turn; a power of two changes no digit of a number.
UNITS = (3.0, 1e-6, 1e6, 2.0, -7.0)


def read_network(
    file: Path, name: str
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the coefficients (d, d) of causes on effects, the noise variances (d,) and the DAG."""
    if not file.is_file():
        raise Unavailable("the networks are not here: pip download --no-deps pgmpy==1.0.0, then --file with the wheel")
    model = json.loads(zipfile.ZipFile(file).read(f"pgmpy/utils/example_models/{name}.json"))
    place = {node: k for k, node in enumerate(model["nodes"])}
    weights, variances = np.zeros((len(place), len(place))), np.empty(len(place))
    for node, part in model["cpds"].items():
        variances[place[node]] = part["variance"][0]
        for cause in part["parents"]:
            weights[place[cause], place[node]] = part["coefficients"][cause][0]
    dag = np.zeros(weights.shape, dtype=bool)
    for cause, effect in model["arcs"]:
        dag[place[cause], place[effect]] = True
    return weights, variances, dag


def drawn(file: Path, name: str, n: int, seed: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return a table (n, d) and the DAG, of a network in the file or of a random graph such as 20ER4."""
    if "ER" in name:
        data = simulate(name, "linear", n=n, seed=seed)
        return data.X, data.dag
    weights, variances, dag = read_network(file, name)
    noise = np.random.default_rng([seed, n]).normal(size=(n, len(dag))) * np.sqrt(variances)
    return noise @ np.linalg.inv(np.eye(len(dag)) - weights), dag


def answer_of(method: str, task: Task, penalty: float) -> Answer:
    """Return what a method answers with a penalty."""

    def ours() -> Any:
        return OrderSearch(BicNV(task.table, penalty=penalty), Settings(), seed=task.seed).run().best.dags[0]

    learn = {
        "drbo": lambda: ours,
        "FLOP": partial(lib.flop, task, penalty, 20),
        "BOSS": partial(lib.causal_learn_orders, task, "BOSS", penalty / 2),
    }[method]()
    answer: Answer = attempt(partial(timed, learn))
    return answer


@study("gaussian_networks", "network n seed method penalty", slow=True)
def run(
    file: File = Path(),
    networks: Networks = TUNED,
    rows: Annotated[Numbers, "sample sizes"] = (200, 1_000, 10_000),
    seeds: Seeds = range(8),
    methods: Annotated[Names, "drbo, FLOP, BOSS"] = ("drbo", "FLOP", "BOSS"),
    penalties: Annotated[Names, "numbers, and default for that of drbo"] = ("default", "2"),
) -> Iterator[Row]:
    """Yield distance to the true class, score and seconds of every method on every table."""
    for name in networks:
        for n in rows:
            for seed in seeds:
                values, dag = drawn(file, name, n, seed)
                table = Statistics.from_array(values)
                default = Choices().penalty(BicNV, table)[0]
                for method in methods:
                    for asked in penalties:
                        if asked == "default" and method != "drbo":
                            continue
                        penalty = float(default if asked == "default" else asked)
                        answer = answer_of(method, Task(table, "bic-nv", {"penalty": penalty}, seed), penalty)
                        judged = judge(answer, BicNV(table, penalty=penalty), dag)
                        row = {"network": name, "n": n, "seed": seed, "method": method, "penalty": asked}
                        seconds = {"cpu_seconds": round(answer.cpu_seconds, 2)}
                        yield {**row, "charged": penalty, "n_edges": int(dag.sum()), **judged, **seconds}


@study("gaussian_repeats", "network table seed", slow=True)
def repeats(
    file: File = Path(),
    networks: Networks = ("ecoli70",),
    tables: Annotated[Numbers, "seeds of the tables"] = range(4),
    seeds: Annotated[Numbers, "seeds of the search"] = range(4),
) -> Iterator[Row]:
    """Yield the score of every search of the same tables, and whether the graph is the same in other units."""
    for name in networks:
        for number in tables:
            values = drawn(file, name, 200, number)[0]
            scale = np.resize(UNITS, values.shape[1])
            for seed in seeds:
                start = time.process_time()
                result = DrBO(score="bic-nv", random_state=seed, exact=False).fit(values).result_
                seconds = round(time.process_time() - start, 2)
                again = DrBO(score="bic-nv", random_state=seed, exact=False).fit(values * scale).result_
                yield {
                    "network": name,
                    "table": number,
                    "seed": seed,
                    "penalty": result.scoring.options["penalty"],
                    "score": repr(result.score),
                    "least_behind": min((one.behind for one in result.top), default=0.0),
                    "same_in_other_units": bool((result.dag == again.dag).all()),
                    "same_class": bool((dag_to_cpdag(result.dag) == dag_to_cpdag(again.dag)).all()),
                    "cpu_seconds": seconds,
                }
