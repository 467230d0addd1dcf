"""Can the time of a fit be told in advance? CPU seconds of fits of all routes, beside what two formulas expect.

    python -m benchmarks estimates

Every seed draws a table: 5 to 40 columns (fewer where a family is expensive), 100 to 2,000 rows, sparse or dense. A row
has the CPU seconds of the fit and those until its first round ended. Estimates are least-squares fits of the logarithm
of the seconds, route by route, on the seeds below 200; they are judged on the others: before the search, from columns,
rows and budget; and after the first round, from its seconds as well. All fits are on one machine, so this is the best
that such formulas can do: on another machine they would be wrong by its speed, too.
"""

import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import numpy as np
import pandas as pd

from benchmarks.parameters import Names, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo import DrBO, Settings
from drbo.data.files.simulate import simulate

#: Smallest and largest numbers of columns, rows and evaluations; no evaluations: the search ends by itself.
SIZES: dict[str, tuple[tuple[int, int], tuple[int, int], tuple[int, int] | None]] = {
    "linear": ((5, 40), (100, 2000), None),
    "bge": ((5, 30), (100, 2000), None),
    "splines": ((5, 30), (100, 2000), None),
    "categories": ((5, 25), (100, 2000), None),
    "gp": ((3, 6), (50, 120), None),
    "surrogate": ((5, 15), (100, 2000), (60, 240)),
    "paper": ((5, 10), (100, 1000), (128, 512)),
}
#: Seeds below are for fitting formulas, the others for judging them.
FIRST_JUDGED = 200


def drawn(rng: np.random.Generator, ends: tuple[int, int]) -> int:
    """Return a whole number between two ends, every factor alike."""
    return round(float(np.exp(rng.uniform(*np.log(ends)))))


def categories(values: Any) -> pd.DataFrame:
    """Return a table in which every column has three levels."""
    cut = {f"x{j}": np.digitize(column, np.quantile(column, [1 / 3, 2 / 3])) for j, column in enumerate(values.T)}
    return pd.DataFrame(cut).astype(str).astype("category")


def fitted(route: str, values: Any, evals: int | None, callback: Callable[[Any], None]) -> None:
    """Fit a table along a route."""
    settings = Settings(route="surrogate", max_evals=evals) if route == "surrogate" and evals else None
    options: dict[str, dict[str, Any]] = {
        "linear": {"score": "bic-nv"},
        "bge": {"score": "bge"},
        "splines": {"score": "splines"},
        "categories": {},
        "gp": {"score": "gp"},
        "surrogate": {"score": "bic-nv", "settings": settings},
        "paper": {"preset": "paper", "max_evals": evals},
    }
    table = categories(values) if route == "categories" else values
    DrBO(random_state=0, **options[route]).fit(table, callbacks=[callback])


def timed(route: str, seed: int) -> Row:
    """Time one fit; return its row."""
    columns, rows, budget = SIZES[route]
    rng = np.random.default_rng([seed, list(SIZES).index(route)])
    d, n, density = drawn(rng, columns), drawn(rng, rows), int(rng.integers(1, 4 if columns[1] > 8 else 2))
    evals = None if budget is None else drawn(rng, budget)
    x = simulate(f"{d}ER{density}", model="gp" if route == "gp" else "linear", n=n, seed=seed).X
    ends: list[float] = []
    begin = time.process_time()
    fitted(route, x, evals, lambda _: ends.append(time.process_time() - begin))
    seconds = time.process_time() - begin
    row: Row = {"route": route, "seed": seed, "columns": d, "rows": n, "density": density, "evals": evals or ""}
    return row | {"rounds": len(ends), "first_seconds": round(ends[0], 4), "cpu_seconds": round(seconds, 4)}


def errors(rows: list[Row], *, after: bool) -> list[float]:
    """Return the factors by which estimates of one route miss, each at least 1; ``after`` the first round, or before.

    Examples
    --------
    >>> one = {"columns": 5, "rows": 100, "evals": "", "first_seconds": 1, "cpu_seconds": 2}
    >>> errors([one | {"seed": 1}, one | {"seed": 200, "cpu_seconds": 6}], after=False)
    [3.0]
    """
    fit = [row for row in rows if int(row["seed"]) < FIRST_JUDGED]
    judged = [row for row in rows if int(row["seed"]) >= FIRST_JUDGED]
    known, wanted = _features(fit, after=after), np.log([float(row["cpu_seconds"]) for row in fit])
    coefficients = np.linalg.lstsq(known, wanted, rcond=None)[0]
    seconds = np.log([float(row["cpu_seconds"]) for row in judged])
    return [round(float(one), 4) for one in np.exp(np.abs(_features(judged, after=after) @ coefficients - seconds))]


def _features(rows: list[Row], *, after: bool) -> Any:
    """Return what an estimate knows, (fits, features): 1 and logarithms of numbers."""
    names = ["columns", "rows", *["evals"] * all(row["evals"] for row in rows), *["first_seconds"] * after]
    return np.column_stack([np.ones(len(rows)), *(np.log([float(row[name]) for row in rows]) for name in names)])


@study("estimates", "route seed", routes=("linear",), seeds=(100,))
def run(
    routes: Annotated[Names, "what is fitted"] = tuple(SIZES),
    seeds: Seeds = (*range(100, 116), *range(200, 216)),
) -> Iterator[Row]:
    """Time the fits; the first one, which loads libraries, is not counted."""
    for route in routes:
        timed(route, 99)
        for seed in seeds:
            yield timed(route, seed)
