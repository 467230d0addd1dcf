"""The optimum, proved: seconds at 20 columns, and the search without the proof against it.

    python -m benchmarks exact --part certify --seeds 3
    DRBO_DATA=... python -m benchmarks exact --part agree --seeds 10

``certify``: 20 columns, 1,000 rows; linear data on 20ER2 and 20ER4 graphs (scores bic-nv, bic-ev, bge), binary data on
20ER1.5 graphs and categorical data with 2 to 4 levels on the structure of the child network, its probabilities drawn
from a Dirichlet distribution (scores bdeu, bic-discrete). The clock covers the tables of all families, the dynamic
program and, for bic-ev, the sweep of the level from the empty graph; compiled code is warm.

``agree``: at most 12 columns. The default search with ``exact=False``, then the optimum proved on a score object of its
own. Linear data: 10ER2 and 12ER2, raw (bic-ev) and standardised (bic-nv, also 12ER4), default budget; GP tables: the
local scores of GraN-DAG's sets 1 to 5, of which the search sees only those it asks for.

``large``: more than 20 columns, 1,000 rows. The default search, then the proof by the parent sets that can matter, on a
clock: at most ``--limit`` seconds of the processor and 4 GiB. Linear data on ER graphs, raw (bic-ev) and standardised
(bic-nv); real networks (bic-discrete, and bdeu with at most 3 parents; ``--scores bic-discrete,bdeu``, needs pgmpy).

    python -m benchmarks exact --part large --scores bic-nv,bic-ev --seeds 1
"""

import argparse
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import rows as table
from benchmarks.gp import TableScore
from drbo import DrBO
from drbo.data.datasets import load
from drbo.data.simulate import random_dag, simulate, standardize
from drbo.data.table import Table
from drbo.knowledge import Constraints, Knowledge
from drbo.scores.base import Score, build_score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.exact.family_tables import all_tables
from drbo.search.exact.proof import Certificate, certify, certify_large
from drbo.search.exact.useful_parents import Effort
from drbo.search.orders.search import OrderSearch
from drbo.settings import Settings

KEY = ("part", "data", "score", "route", "seed")
OPTIONS = {"penalty": 1.0}
#: Linear data of the comparison with the search; raw for equal variances, standardised for the other.
LINEAR = (("10ER2", "bic-ev"), ("12ER2", "bic-ev"), ("10ER2", "bic-nv"), ("12ER2", "bic-nv"), ("12ER4", "bic-nv"))
#: Graphs and networks with more than 20 columns, and one with 20.
LARGE = ("25ER1", "30ER1", "40ER1", "50ER1", "25ER2", "30ER2", "40ER2", "50ER2")
NETWORKS = ("child", "insurance", "water", "alarm", "hailfinder")
NO_LIMIT = Settings(max_evals=2**40)


def prove(score: Score) -> tuple[Certificate, int, float]:
    """Return the proof of the optimum, the local scores it took and its seconds."""
    evaluator, free = Evaluator(score, NO_LIMIT), Constraints.none(score.n_nodes)
    start = time.perf_counter()
    empty = evaluator.evaluate(np.zeros((1, score.n_nodes, score.n_nodes), dtype=bool))
    proof = certify(all_tables(evaluator, free), evaluator, free, empty)
    return proof, evaluator.n_local, time.perf_counter() - start


def categorical(dag: npt.NDArray[np.bool_], n: int, seed: int) -> npt.NDArray[np.float64]:
    """Draw columns with 2 to 4 levels; each configuration of the parents has its own Dirichlet(1/2) probabilities."""
    from drbo.graph import topological_order

    rng = np.random.default_rng(seed)
    levels = rng.integers(2, 5, size=len(dag))
    values = np.zeros((n, len(dag)), dtype=np.int64)
    for node in topological_order(dag):
        parents = np.flatnonzero(dag[:, node])
        code = np.zeros(n, dtype=np.int64)
        for parent in parents:
            code = code * levels[parent] + values[:, parent]
        chances = rng.dirichlet(np.full(levels[node], 0.5), size=int(levels[parents].prod()))
        values[:, node] = (rng.random(n)[:, None] > chances[code].cumsum(axis=1)[:, :-1]).sum(axis=1)
    return values.astype(np.float64)


def sets_to_certify(seed: int) -> dict[str, tuple[npt.NDArray[np.float64], tuple[str, ...]]]:
    """Return the data sets of 20 columns and the scores tried on each."""
    binary = random_dag(20, 1.5, np.random.default_rng(seed))
    return {
        "20ER2": (simulate("20ER2", "linear", n=1000, seed=seed).X, ("bic-nv", "bic-ev", "bge")),
        "20ER4": (simulate("20ER4", "linear", n=1000, seed=seed).X, ("bic-nv", "bic-ev", "bge")),
        "20ER1.5 binary": (
            simulate(binary, "logistic", n=1000, seed=seed).X,
            ("bdeu", "bic-discrete"),
        ),
        "child": (categorical(load("child").dag, 1000, seed), ("bdeu", "bic-discrete")),
    }


def certify_all(options: argparse.Namespace) -> list[table.Row]:
    """Time the proofs at 20 columns."""
    for name, model in (("bic-nv", "linear"), ("bic-ev", "linear"), ("bge", "linear"), ("bdeu", "logistic")):
        prove(build_score(name, Table.from_array(simulate("4ER1", model, n=50, seed=0).X)))  # type: ignore[arg-type]
    found = []
    for seed in range(options.seeds):
        for name, (values, scores) in sets_to_certify(seed).items():
            for kind in scores:
                score = build_score(kind, Table.from_array(values), OPTIONS)
                proof, count, seconds = prove(score)
                memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
                row = {
                    "n": len(values),
                    "optimum": repr(float(proof.best.scores[0])),
                    "n_edges": int(proof.best.dags.sum()),
                }
                row |= {"gap": proof.upper_bound - float(proof.best.scores[0]), "tolerance": proof.tolerance}
                row |= {"n_local": count, "seconds": round(seconds, 2), "peak_gib": round(memory, 2)}
                key = {"part": "certify", "data": name, "score": kind, "route": "", "seed": seed}
                found.append(key | row | table.stamp("cpu"))
                print(f"{name} seed {seed} {kind}: {row}", flush=True)
    for kind in dict.fromkeys(row["score"] for row in found):
        part = [row for row in found if row["score"] == kind]
        worst = max(row["seconds"] for row in part)
        proved = sum(row["gap"] <= row["tolerance"] for row in part)
        print(f"{kind}: {proved} of {len(part)} proved, {worst:.1f} s at most, {part[0]['machine']}")
    return found


def one_agreement(
    data: str, kind: str, seed: int, fresh: Any, values: npt.NDArray[np.float64], route: str
) -> table.Row:
    """Search with the proof off, then prove the optimum on another score object."""
    spec = kind if isinstance(fresh, str) else fresh()
    start = time.perf_counter()
    options = {"score_options": OPTIONS} if isinstance(fresh, str) else {}
    settings = Settings(route=route)  # type: ignore[arg-type]
    model = DrBO(spec, random_state=seed, prune="none", exact=False, device="cpu", settings=settings, **options)
    model.fit(values)
    seconds = time.perf_counter() - start
    other = build_score(kind, Table.from_array(values), OPTIONS) if isinstance(fresh, str) else fresh()
    proof, _, _ = prove(other)
    top, found = float(proof.best.scores[0]), model.result_.score
    tolerance = proof.tolerance + 1e-9 * abs(top)
    row = {"optimum": repr(top), "score_found": repr(found), "equal": abs(found - top) <= tolerance}
    row |= {"n_evals": model.result_.n_evals, "n_local": model.result_.n_local, "seconds": round(seconds, 2)}
    print(f"{data} seed {seed} {kind}: {row}", flush=True)
    key = {"part": "agree", "data": data, "score": kind, "route": route, "seed": seed}
    return key | row | table.stamp("cpu")


def agree(options: argparse.Namespace) -> list[table.Row]:
    """Compare the search with the optimum, run by run."""
    found = []
    for seed in range(options.seeds):
        for graph, kind in LINEAR:
            if kind not in options.scores.split(","):
                continue
            values = simulate(graph, "linear", n=1000, seed=seed).X
            name = graph if kind == "bic-ev" else f"{graph} standardised"
            values = values if kind == "bic-ev" else standardize(values)
            found.append(one_agreement(name, kind, seed, kind, values, options.route))
    folder = os.environ.get("DRBO_DATA")
    if "gp-table" not in options.scores.split(","):
        pass
    elif folder is None:
        print("GP tables left out: DRBO_DATA does not name a data folder")
    else:
        sets = np.load(Path(folder, "gran_dag", "p10_e40_n1000_gp_ids1to5.npz"))["X"]
        tables = np.load(Path(folder, "gran_dag", "gp_local_scores_ids1to5.npz"))
        for number in range(1, 6):
            values = np.asarray(sets[number - 1], dtype=np.float64)

            def fresh(data: Any = values, number: int = number) -> Score:
                return TableScore(Table.from_array(data), tables[f"T{number}"])

            for seed in range(options.seeds):
                found.append(one_agreement(f"gp {number}", "gp-table", seed, fresh, values, options.route))
    for kind in dict.fromkeys(row["score"] for row in found):
        part = [row for row in found if row["score"] == kind]
        local = np.median([row["n_local"] for row in part])
        print(f"{kind}: the optimum in {sum(row['equal'] for row in part)} of {len(part)} runs, ", end="")
        print(f"median {local:.0f} local scores, {table.spread(row['seconds'] for row in part)} s")
    print(f"all: {sum(row['equal'] for row in found)} of {len(found)}")
    return found


def prove_large(score: Score, best: npt.NDArray[np.bool_], limits: Constraints, limit: float) -> table.Row:
    """Return what is proved about the best DAG of a search, and what it took."""
    evaluator, start = Evaluator(score, NO_LIMIT), time.process_time()
    effort = Effort(start + limit, max_kept=2**24, max_states=2**26, clock=time.process_time)
    proof = certify_large(evaluator, limits, evaluator.evaluate(best[None]), effort)
    seconds = time.process_time() - start
    row: table.Row = {"score_found": repr(float(evaluator.evaluate(best[None]).scores[0]))}
    if proof is not None:
        top = float(proof.best.scores[0])
        gap = proof.upper_bound - top
        row |= {"optimum": repr(top), "gap": gap if gap > proof.tolerance else 0.0, "tolerance": proof.tolerance}
        row |= {"n_edges": int(proof.best.dags.sum())}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    row |= {"n_local": effort.n_looked_at, "n_kept": effort.n_kept, "n_states": effort.n_states}
    return row | {"cpu_seconds": round(seconds, 2), "peak_gib": round(memory, 2)}


def large_sets(scores: list[str], seed: int) -> Iterator[tuple[str, str, Table, Knowledge]]:
    """Yield the data sets with more than 20 columns: name, score, table and what is known."""
    for kind in (kind for kind in scores if kind in ("bic-nv", "bic-ev")):
        for graph in LARGE:
            values = simulate(graph, "linear", n=1000, seed=seed).X
            raw = kind == "bic-ev"
            name = graph if raw else f"{graph} standardised"
            yield name, kind, Table.from_array(values if raw else standardize(values)), Knowledge()
    for kind in (kind for kind in scores if kind in ("bic-discrete", "bdeu")):
        from benchmarks.studies.discrete import draw, read_network

        for network in NETWORKS:
            data, _ = draw(read_network(network), 1000, seed)
            few = kind == "bdeu"
            name = f"{network} ({data.n_columns})" + ", at most 3 parents" * few
            yield name, kind, data, Knowledge(max_parents=3) if few else Knowledge()


def large(options: argparse.Namespace) -> list[table.Row]:
    """Prove, or bound, the optimum of more than 20 columns."""
    warm = build_score("bic-nv", Table.from_array(simulate("22ER1", "linear", n=50, seed=0).X))
    prove_large(warm, np.zeros((22, 22), dtype=bool), Knowledge(max_parents=1).compile(warm.names), 60.0)
    found = []
    for seed in range(options.seeds):
        for name, kind, data, knowledge in large_sets(options.scores.split(","), seed):
            score = build_score(kind, data, OPTIONS)
            limits = knowledge.compile(score.names)
            search = OrderSearch(score, Settings(), constraints=limits, seed=seed).run()
            row = prove_large(score, search.best.dags[0], limits, options.limit)
            print(f"{name} seed {seed} {kind}: {row}", flush=True)
            key = {"part": "large", "data": name, "score": kind, "route": "", "seed": seed}
            found.append(key | {"n": data.n_rows, "limit": options.limit} | row | table.stamp("cpu"))
            if options.save:
                table.save(options.save, found, KEY)
    return found


def write_docs() -> None:
    """Write the tables of docs/exact.md from the committed rows."""
    groups: dict[tuple[str, ...], list[table.Row]] = {}
    for row in table.load(table.FOLDER / "exact.csv"):
        groups.setdefault((row["part"], row["data"], row["score"], row["route"]), []).append(row)
    text = {
        "certify": "| 20 columns, 1,000 rows | score | proved | seconds, at most | local scores | GiB | machine |\n"
        "|---|---|---|---|---|---|---|\n",
        "large": "| data, 1,000 rows | score | proved | gap, at most | CPU seconds, at most | families looked at "
        "| families kept | sets of columns followed | GiB |\n|---|---|---|---|---|---|---|---|---|\n",
        "agree": "| data | score | route | runs that end at the optimum | local scores, median | seconds |\n"
        "|---|---|---|---|---|---|\n",
    }
    for (part, data, score, route), rows in groups.items():
        if part == "certify":
            proved = sum(float(row["gap"]) <= float(row["tolerance"]) for row in rows)
            worst, memory = (max(float(row[key]) for row in rows) for key in ("seconds", "peak_gib"))
            text[part] += f"| {data} | {score} | {proved} of {len(rows)} | {worst:.1f} "
            text[part] += f"| {max(int(row['n_local']) for row in rows):,} | {memory:.1f} | {rows[0]['machine']} |\n"
        elif part == "large":
            told = [float(row["gap"]) for row in rows if row["gap"]]
            worst, memory = (max(float(row[key]) for row in rows) for key in ("cpu_seconds", "peak_gib"))
            looked, kept, states = (max(int(row[key]) for row in rows) for key in ("n_local", "n_kept", "n_states"))
            gap = "no bound" if len(told) < len(rows) else f"{max(told):,.1f}" if max(told) else "0"
            text[part] += f"| {data} | {score} | {told.count(0.0)} of {len(rows)} | {gap} | {worst:.1f} | {looked:,} "
            text[part] += f"| {kept:,} | {states:,} | {memory:.1f} |\n"
        else:
            equal = sum(row["equal"] == "True" for row in rows)
            local = np.median([int(row["n_local"]) for row in rows])
            text[part] += f"| {data} | {score} | {route} | {equal} of {len(rows)} | {local:,.0f} "
            text[part] += f"| {table.spread(row['seconds'] for row in rows)} |\n"
    for part, words in text.items():
        table.fill(table.FOLDER.parent.parent / "docs" / "exact.md", part, words)


PARTS = {"certify": certify_all, "agree": agree, "large": large}


def main(arguments: list[str]) -> None:
    """Run the experiment from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, default="certify")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--route", choices=["auto", "orders", "surrogate"], default="auto", help="of the search")
    parser.add_argument("--scores", default="bic-ev,bic-nv,gp-table", help="of agree and large, comma-separated")
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds of a proof of a large graph")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--docs", action="store_true", help="write docs/exact.md from the rows, and do nothing else")
    options = parser.parse_args(arguments)
    if options.docs:
        write_docs()
        return
    found = PARTS[options.part](options)
    if options.save:
        table.save(options.save, found, KEY)
