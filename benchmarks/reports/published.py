"""Figures of the paper (Duong, Gupta & Nguyen 2025): mean and standard deviation, typed from its tables.

They are in rows/paper.csv. Methods are named as in ``benchmarks.methods``. Where the paper gives a figure for another
number of evaluations than ours was run with, it stands there with the closest, and ``SOURCES`` says so.
"""

from benchmarks.rows import Row, grouped, read

Figure = tuple[float, float]
OURS = "DrBO"
_TABLES = {name: rows for (name,), rows in grouped(read("paper"), "table").items()}


def _figure(row: Row) -> Figure:
    return float(row["mean"]), float(row["sd"])


def _minutes(row: Row) -> Figure:
    return float(row["minutes"]), float(row["minutes_sd"])


#: SHD by experiment and data set, then by method.
SHD: dict[tuple[str, str], dict[str, Figure]] = {
    (experiment, data): {row["method"]: _figure(row) for row in rows}
    for (experiment, data), rows in grouped(_TABLES["shd"], "experiment", "data").items()
}
#: Run-time tables by data set and method: evaluations, then SHD and minutes.
RUN_TIMES: dict[str, dict[str, dict[int, tuple[Figure, Figure]]]] = {
    data: {
        method: {int(row["at"]): (_figure(row), _minutes(row)) for row in cells}
        for (method,), cells in grouped(rows, "method").items()
    }
    for (data,), rows in grouped(_TABLES["run times"], "data").items()
}
#: Large nonlinear data: minutes to an SHD of 20, 10, 5 and 2 (Fig. 8).
MINUTES_TO: dict[str, dict[str, tuple[Figure, ...]]] = {
    data: {method: tuple(map(_minutes, cells)) for (method,), cells in grouped(rows, "method").items()}
    for (data,), rows in grouped(_TABLES["minutes to an SHD"], "data").items()
}
#: Unique DAGs among 1,000 by rank, and with the full rank.
UNIQUE: dict[str, Figure] = {row["at"]: _figure(row) for row in _TABLES["unique"]}
#: What the paper's figures of an experiment are.
SOURCES: dict[str, str] = {
    "raw": "table of additional baselines; ALIAS, CORL, COSMO and DAGMA: run times on 30ER8 at 20,000 evaluations, "
    "DrBO at 10,000",
    "curves": "run times at 50,000 evaluations",
    "curves_gp": "run times at 20,000 evaluations, nothing pruned",
    "standardised_large": "SHD about 3 for DrBO and nearly 20 for the next best, edges below 0.01 pruned; here an F "
    "test prunes",
    "gp_standardised": "drawn alone: DrBO without pruning as near as on the data as they are (0.4)",
    "cos": "drawn alone: DrBO and ALIAS, [minutes to a given SHD](paper.md)",
    "sizes": "drawn alone: DrBO has SHD about 0 from 500 rows on",
    "gp": "table of additional baselines, after CAM pruning",
    "sachs": "table of additional baselines, one data set; the paper's DrBO uses a Gaussian process score",
    "bnlearn": "table of real structures, 20,000 evaluations; a gradient step counts as one: gradient methods are cut "
    "short there and run to their end here",
    "graphs": "table of graph types, 10,000 evaluations; DAGMA is cut short there and runs to its end here",
    "noises": "table of noises, 20,000 evaluations; DAGMA is cut short there and runs to its end here",
}
#: FDR and TPR of DrBO where the paper's tables have them.
RATES: dict[tuple[str, str], tuple[float, float]] = {
    ("raw", "10ER2 raw"): (0.00, 1.00),
    ("raw", "30ER8 raw"): (0.00, 0.99),
    ("gp", "10ER4 GP"): (0.00, 0.90),
    ("sachs", "sachs"): (0.11, 0.47),
    **{("graphs", f"{graph} n = 10,000"): (0.00, 1.00) for graph in ("20ER2", "20ER8", "20SF2", "20SF8")},
    ("noises", "20ER4 exponential"): (0.00, 0.99),
    **{("noises", f"20ER4 {noise}"): (0.00, 1.00) for noise in ("gaussian", "gumbel", "laplace", "uniform")},
}
#: What the paper says of DrBO, or draws, without figures in a table; and the SHD up to which ours agrees with it.
SAID: dict[tuple[str, str], tuple[str, float]] = {
    ("sizes", "20ER4 n = 500"): ("SHD about 0 at 500 rows already (Fig. 4)", 0.5),
    ("standardised_large", "10ER2 standardised, n = 100,000"): ("SHD about 3, the next best nearly 20 (Fig. 7a)", 3.5),
    ("gp_standardised", "10ER4 GP standardised, unpruned"): ("a very low SHD, as without standardising (Fig. 7b)", 0.9),
    ("cos", "50ER2 cos"): ("SHD 2 at 20,000 evaluations (Fig. 8a)", 2.5),
    ("cos", "100ER1 cos"): ("SHD 2 at 20,000 evaluations (Fig. 8b)", 2.5),
}
