"""Bootstrap: what it costs, what a warm start changes, and what a frequency is worth.

    python -m benchmarks bootstrap --graphs 20ER2,20ER4 --seeds 5           # warm against cold, and the cost
    python -m benchmarks bootstrap --reliability --tables 200               # frequencies against the truth

Data set s of a graph is ``drbo.data.simulate.simulate(graph, n, seed=s)``, each column divided by its standard
deviation; the score is ``bic-nv``, the default for such tables.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from benchmarks import rows as table
from drbo import DrBO
from drbo.claims.resampling import Confidence
from drbo.data.simulate import Simulated, simulate
from drbo.graph import dag_to_cpdag

KEY = ("graph", "n_rows", "seed", "resamples", "kind")
RELIABILITY_KEY = ("kind", "edge", "bin")
DOCS = Path(__file__).parents[2] / "docs"
BINS = np.linspace(0, 1, 11)
SMALL = ("6ER1", "8ER1", "8ER2", "10ER1")  # graphs of the reliability tables, in turn
SMALL_ROWS = (100, 200, 500)


def parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--graphs", default="20ER2,20ER4", help="comma-separated")
    options.add_argument("--seeds", type=int, default=5, help="data sets FIRST_SEED to FIRST_SEED + SEEDS - 1")
    options.add_argument("--first-seed", type=int, default=0)
    options.add_argument("--rows", type=int, default=1_000, help="sample size")
    options.add_argument("--resamples", type=int, default=100)
    options.add_argument("--kind", default="bootstrap")
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--reliability", action="store_true", help="frequencies of small tables against the truth")
    options.add_argument("--tables", type=int, default=200)
    options.add_argument("--save", type=Path, help="CSV file that gets the rows")
    options.add_argument("--docs", action="store_true", help="only write docs/confidence.md from the rows")
    return options


def standardised(graph: str, n: int, seed: int) -> Simulated:
    made = simulate(graph, n=n, seed=seed)
    return replace(made, X=made.X / made.X.std(axis=0))


def difference(one: Confidence, two: Confidence) -> npt.NDArray[np.float64]:
    """Return how far apart the frequencies of edges are that either found: as arrows, and as links."""
    either = (one.adjacent > 0) | (two.adjacent > 0)
    arrows = np.abs(one.directed - two.directed)[either]
    links = np.abs(one.adjacent - two.adjacent)[np.triu(either, 1)]
    return np.concatenate([arrows, links])


def compare(graph: str, seed: int, options: argparse.Namespace) -> table.Row:
    """Return the times of one fit, of a warm and of a cold bootstrap, and the difference of their frequencies."""
    X = standardised(graph, options.rows, seed).X
    DrBO(score="bic-nv", random_state=seed).fit(X[:50])  # compiles, once per process
    seconds, found = {}, {}
    start = time.perf_counter()
    DrBO(random_state=seed).fit(X)
    seconds["fit"] = time.perf_counter() - start
    for name, warm in (("warm", True), ("cold", False)):
        with ProcessPoolExecutor(options.workers) as pool:
            start = time.perf_counter()
            found[name] = DrBO(random_state=seed).bootstrap(
                X, n=options.resamples, kind=options.kind, warm=warm, executor=pool
            )
            seconds[name] = time.perf_counter() - start
    apart = difference(found["warm"], found["cold"])
    return {
        "graph": graph,
        "n_rows": options.rows,
        "seed": seed,
        "resamples": options.resamples,
        "kind": options.kind,
        "workers": options.workers,
        **{f"{name}_seconds": round(value, 3) for name, value in seconds.items()},
        "warm_over_fit": round(seconds["warm"] / seconds["fit"], 2),
        "mean_difference": round(float(apart.mean()), 4),
        "p95_difference": round(float(np.quantile(apart, 0.95)), 4),
        **table.stamp("cpu"),
    }


def frequencies(number: int, options: argparse.Namespace) -> list[tuple[str, float, bool]]:
    """Return (edge kind, frequency, is it true) for every link and arrow that one small table's bootstrap found."""
    graph, n = SMALL[number % len(SMALL)], SMALL_ROWS[number // len(SMALL) % len(SMALL_ROWS)]
    made = standardised(graph, n, options.first_seed + number)
    found = DrBO(random_state=number).bootstrap(made.X, n=options.resamples, kind=options.kind)
    truth = dag_to_cpdag(made.dag)
    linked = np.argwhere(np.triu(found.adjacent, 1) > 0).tolist()
    pairs = [("link", float(found.adjacent[i, j]), bool(made.dag[i, j] or made.dag[j, i])) for i, j in linked]
    arrows = np.argwhere(found.directed > 0).tolist()
    return pairs + [("arrow", float(found.directed[i, j]), bool(truth[i, j] and not truth[j, i])) for i, j in arrows]


def reliability(options: argparse.Namespace) -> list[table.Row]:
    """Return, for each bin of frequencies, how many links and arrows there are and what share of them is true."""
    with ProcessPoolExecutor(options.workers) as pool:
        parts = list(pool.map(frequencies, range(options.tables), [options] * options.tables, chunksize=5))
    every = [item for part in parts for item in part]
    lines = []
    for edge in ("link", "arrow"):
        shares = np.array([share for kind, share, _ in every if kind == edge])
        right = np.array([true for kind, _, true in every if kind == edge])
        place = np.clip(np.digitize(shares, BINS[1:-1], right=True), 0, len(BINS) - 2)
        for k in range(len(BINS) - 1):
            inside = place == k
            line = {"kind": options.kind, "edge": edge, "bin": f"{BINS[k]:.1f}-{BINS[k + 1]:.1f}"}
            line |= {"count": int(inside.sum()), "tables": options.tables, "resamples": options.resamples}
            line["mean_frequency"] = round(float(shares[inside].mean()), 4) if inside.any() else ""
            line["share_true"] = round(float(right[inside].mean()), 4) if inside.any() else ""
            lines.append(line | table.stamp("cpu"))
    return lines


def write_docs() -> None:
    """Put the tables of the committed rows into docs/confidence.md, and draw the reliability."""
    page = DOCS / "confidence.md"
    text = page.read_text(encoding="utf-8")
    parts = {"bootstrap": cost_table(), "reliability": reliability_words()}
    for name, content in parts.items():
        start, end = f"<!-- {name}: start -->", f"<!-- {name}: end -->"
        before, rest = text.split(start)
        text = f"{before}{start}\n{content}\n{end}{rest.split(end)[1]}"
    page.write_text(text, encoding="utf-8")


def cost_table() -> str:
    """Return the cost of a bootstrap and what a warm start changes, as a table."""
    lines = [
        "Standardised linear data, `python -m benchmarks bootstrap`: a fit, a bootstrap of 100 from warm and from",
        "cold starts with 2 workers, and by how much the frequencies of arrows and links differ between the two (over",
        "all pairs that either of them linked). The machine was shared while these ran: times are too long, and their",
        "ratios rough. A fit of 20 columns includes the proof of its optimum.",
        "",
        "| graph, rows | data set | fit | warm | cold | warm / fit | mean difference | 95th percentile |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in table.load(table.FOLDER / "bootstrap.csv"):
        times = " | ".join(f"{float(row[f'{name}_seconds']):.2f} s" for name in ("fit", "warm", "cold"))
        apart = " | ".join(f"{float(row[name]):.3f}" for name in ("mean_difference", "p95_difference"))
        first = f"| {row['graph']}, {row['n_rows']} | {row['seed']}"
        lines.append(f"{first} | {times} | {row['warm_over_fit']} | {apart} |")
    return "\n".join(lines)


def reliability_words() -> str:
    """Draw the reliability of frequencies, and return what goes with the picture."""
    rows = [row for row in table.load(table.FOLDER / "bootstrap_reliability.csv") if row["share_true"]]
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    for axes, edge in zip(figure.subplots(1, 2, sharey=True), ("link", "arrow"), strict=True):
        axes.plot([0, 1], [0, 1], color="#8592A0", linewidth=1, linestyle=(0, (4, 3)))
        for kind, colour, mark in zip(kinds, ("#0072B2", "#D55E00"), ("o", "s"), strict=False):
            part = [row for row in rows if (row["kind"], row["edge"]) == (kind, edge)]
            across, up = ([float(row[name]) for row in part] for name in ("mean_frequency", "share_true"))
            error = [1.96 * np.sqrt(p * (1 - p) / int(row["count"])) for p, row in zip(up, part, strict=True)]
            axes.errorbar(across, up, yerr=error, color=colour, marker=mark, markersize=4, linewidth=1.4, label=kind)
        axes.set(title=f"{edge}s", xlabel="frequency", xlim=(0, 1.02), ylim=(0, 1.02))
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("share that is true")
    figure.axes[0].legend(frameon=False)
    figure.savefig(DOCS / "images" / "bootstrap-reliability.png", dpi=110)
    tables, resamples = rows[0]["tables"], rows[0]["resamples"]
    return (
        f"{tables} simulated tables (6 to 10 standardised linear columns, 100 to 500 rows), {resamples} resamples\n"
        "each: of all links and arrows with a frequency, how many are in the true graph (an arrow: in its CPDAG).\n"
        "Bars are 95% intervals; on the dashed line a frequency would be a probability.\n\n"
        "![Share of true links and arrows by their frequency](images/bootstrap-reliability.png)\n\n"
        "It is close here because the tables obey the model: linear, no hidden causes, independent rows. On real data\n"
        "it is an upper limit of what a frequency is worth."
    )


def main(words: list[str]) -> None:
    """Run the experiment from the command line."""
    options = parser().parse_args(words)
    if options.docs:
        write_docs()
        return
    if options.reliability:
        keep(reliability(options), RELIABILITY_KEY, options.save)
        return
    for graph in options.graphs.split(","):
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            keep([compare(graph, seed, options)], KEY, options.save)


def keep(lines: list[table.Row], key: tuple[str, ...], path: Path | None) -> None:
    """Print rows, and save them at once: the next data set may take long."""
    for line in lines:
        print(*(f"{value}" for value in line.values()), sep="  ", flush=True)
    if path:
        table.save(path, lines, key)
