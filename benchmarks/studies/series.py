"""Series and panels: edges between past and present against the truth, beside PCMCI+ on the same tables.

    python -m benchmarks series --methods drbo --seeds 500-519
    rivals/bin/python -m benchmarks series --methods "drbo,PCMCI+ 0.01"

Tables are drawn from structural vector autoregressions: every column keeps a share of its own last value, and acts on
others within a row and after one or two steps, with weights from 0.2 to 0.5. Cells differ from ``base`` (10 columns,
500 rows, up to two steps) in what their name says: fewer or more rows, own shares up to 0.95 (with half of the
weights), noise that is not normal, ``nonlinear`` effects, a ``hidden`` column that drives three others now or a step
later, ``late``: one edge after three steps in a system of one, and ``panel``: units with means of their own, of 10, 20
or 50 rows. Cells with ``null`` have no edge but that of each column on itself, and a line, a season of 50 rows, a
random walk, a step or three times the spread in each column. All methods look three steps back, two in panels, five for
``late``. PCMCI+ is that of tigramite with partial correlation (``pip install tigramite==5.2.10.1`` into an environment
of its own); in panels it gets tables from which the mean of each unit was taken.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.gran_dag import Unavailable
from benchmarks.parameters import Names, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo import Design, DrBO

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
#: Weights of edges; standard deviations of the noise; rows that are drawn before the first one.
WEIGHTS, NOISE, BURN = (0.2, 0.5), (0.5, 2.0), 300
#: The moduli of the eigenvalues of a system stay below; values of a nonlinear one, too.
STABLE, BOUND, TRIES = 0.97, 1e3, 1_000
#: The period of a season, in rows; the sizes of lines, seasons and steps in standard deviations of the noise.
SEASON, LINE, WAVE, STEP = 50, 10.0, 3.0, 4.0
NULLS = ("line", "season", "walk", "step", "spread")


class System(NamedTuple):
    """What a table is drawn from."""

    columns: int = 10
    rows: int = 500
    lags: int = 2  # after which columns act on each other
    own: float = 0.6  # the largest share that a column keeps of its own last value
    within: float = 0.7  # edges within a row, for each column
    across: float = 1.0  # edges from the past, for each column
    normal: bool = True
    nonlinear: bool = False
    hidden: bool = False
    late: bool = False
    units: int = 1
    null: str = ""
    looked: int = 3  # steps back that methods look


CELLS = {
    "base": System(),
    "200 rows": System(rows=200),
    "2000 rows": System(rows=2_000),
    "20 columns": System(columns=20),
    "own 0.95": System(own=0.95),
    "own 0.95 2000 rows": System(own=0.95, rows=2_000),
    "noise": System(normal=False),
    "nonlinear": System(nonlinear=True),
    "hidden": System(hidden=True),
    "hidden 5000 rows": System(hidden=True, rows=5_000),
    "late": System(lags=1, late=True, looked=5),
    "panel 50 x 20": System(columns=8, rows=20, lags=1, units=50, looked=2),
    "panel 20 x 50": System(columns=8, rows=50, lags=1, units=20, looked=2),
    "panel 100 x 10": System(columns=8, rows=10, lags=1, units=100, looked=2),
    **{f"null {what}": System(columns=8, null=what, within=0, across=0, lags=1) for what in NULLS},
}


class Table(NamedTuple):
    """A table and the truth about it."""

    units: list[Floats]  # (n, d) of each unit
    edges: Bools  # (L + 1, d, d) edges[l, i, j]: column i at t - l acts on column j at t


def curve(x: Floats) -> Floats:
    """Return the nonlinear effect of a value: a bump on a line."""
    return np.asarray(x + 5 * x**2 * np.exp(-(x**2) / 20))


def _weights(system: System, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the weights (L + 1, D, D) of a system, with its hidden column last, and an order of its nodes."""
    d, total = system.columns, system.columns + system.hidden
    most = max(system.lags, 3 if system.late else 1)
    weights, order = np.zeros((most + 1, total, total)), rng.permutation(d)
    size = 0.5 if system.own > 0.9 else 1.0  # or most systems of many edges grow without bound

    def drawn(count: int) -> Floats:
        return np.asarray(size * rng.uniform(*WEIGHTS, count) * rng.choice([-1, 1], count))

    low = system.own - (0.05 if system.own > 0.9 else 0.15)
    weights[1, range(total), range(total)] = rng.uniform(low, system.own, total)
    first, second = np.triu_indices(d, 1)
    chosen = rng.choice(len(first), round(system.within * d), replace=False)
    weights[0, order[first[chosen]], order[second[chosen]]] = drawn(len(chosen))
    pairs = np.argwhere(~np.eye(d, dtype=bool))
    places = rng.choice(len(pairs) * system.lags, round(system.across * d), replace=False)
    cause, effect = pairs[places % len(pairs)].T
    weights[1 + places // len(pairs), cause, effect] = drawn(len(places))
    if system.late:
        cause, effect = pairs[rng.integers(len(pairs))]
        weights[3, cause, effect] = drawn(1)[0]
    if system.hidden:
        for k, child in enumerate(rng.choice(d, max(2, d // 3), replace=False)):
            weights[k % 2, d, child] = rng.choice([-1, 1]) * rng.uniform(0.5, 0.8)
    return weights, np.append([d], order) if system.hidden else order


def _is_stable(weights: Floats, own: float) -> bool:
    most, d = len(weights) - 1, weights.shape[1]
    inner = np.linalg.inv(np.eye(d) - weights[0].T)
    companion = np.eye(most * d, k=-d)
    companion[:d] = np.hstack([inner @ weight.T for weight in weights[1:]])
    return bool(np.abs(np.linalg.eigvals(companion)).max() < max(STABLE, own + 0.035))


def _run(system: System, weights: Floats, order: Floats, rng: np.random.Generator, spread: Floats) -> Floats:
    """Return the rows of one unit."""
    total, most = weights.shape[1], len(weights) - 1
    shape = system.rows + BURN, total
    noise = rng.normal(size=shape)
    if not system.normal:  # skewed and flat in turn
        flat = np.sqrt(3) * rng.uniform(-1, 1, size=shape)
        noise = np.where(np.arange(total) % 2, flat, rng.exponential(size=shape) - 1)
    noise *= spread
    x, own = np.zeros(shape), weights[1].diagonal()
    effects = weights.copy()
    effects[1][np.diag_indices(total)] = 0.0
    act: Callable[[Floats], Floats] = curve if system.nonlinear else np.asarray
    for t in range(most, len(x)):
        x[t] = own * x[t - 1] + noise[t]
        for lag in range(1, most + 1):
            x[t] += act(x[t - lag]) @ effects[lag]
        for node in order:
            x[t, node] += act(x[t]) @ effects[0, :, node]
        if not np.abs(x[t]).max() < BOUND:
            raise OverflowError
    means = 3 * spread * rng.normal(size=total) if system.units > 1 else np.zeros(total)
    return np.asarray((x[BURN:] + means)[:, : system.columns])


def _with_time(x: Floats, what: str, rng: np.random.Generator) -> Floats:
    """Return the rows with something that changes with time, and has no causes in the table."""
    n, d = x.shape
    time_ = np.arange(n)[:, None]
    if what == "line":
        return x + LINE * time_ / n * rng.choice([-1, 1], d)
    if what == "season":
        return np.asarray(x + WAVE * np.sin(2 * np.pi * (time_ / SEASON + rng.uniform(0, 0.1, d))))
    if what == "walk":
        return np.cumsum(rng.normal(size=x.shape), axis=0)
    return x + STEP * (time_ > n / 2) if what == "step" else x * np.where(time_ > n / 2, 3.0, 1.0)


def drawn(cell: str, seed: int) -> Table:
    """Return the table of a cell, from the first random system that does not grow without bound."""
    system = CELLS[cell]
    rng = np.random.default_rng([seed, *map(ord, cell)])
    for _ in range(TRIES):
        weights, order = _weights(system, rng)
        spread = np.ones(weights.shape[1]) if system.null else rng.uniform(*NOISE, weights.shape[1])
        if not _is_stable(weights, system.own):
            continue
        try:
            units = [_run(system, weights, order, rng, spread) for _ in range(system.units)]
        except OverflowError:
            continue
        if system.null:
            units = [_with_time(x, system.null, rng) for x in units]
        return Table(units, weights[:, : system.columns, : system.columns] != 0)
    raise RuntimeError(f"no stable system for '{cell}', seed {seed}")


def frame_of(table: Table) -> pd.DataFrame:
    """Return a table as a user would have it, with columns of times and, in a panel, of units."""
    d = table.units[0].shape[1]
    parts = [
        pd.DataFrame(x, columns=[f"c{k}" for k in range(d)]).assign(t=np.arange(len(x)), unit=f"u{number}")
        for number, x in enumerate(table.units)
    ]
    frame = pd.concat(parts, ignore_index=True)
    return frame if len(parts) > 1 else frame.drop(columns="unit")


def counted(found: Bools, directed: Bools, truth: Bools) -> Row:
    """Return how edges compare with the truth, as counts: found, right, true; within a row, links and directions.

    Effects of columns on themselves are left out.

    Parameters
    ----------
    found : (L + 1, d, d), where a link within a row stands in one direction.
    directed : (d, d) the links within a row that have a direction.
    truth : (K + 1, d, d).
    """
    d = truth.shape[1]
    lagged = np.zeros((2, max(len(found), len(truth)), d, d), dtype=bool)
    lagged[0, 1 : len(found)], lagged[1, 1 : len(truth)] = found[1:], truth[1:]
    lagged[:, :, range(d), range(d)] = False
    links, true = (np.triu(part[0] | part[0].T) for part in (found, truth))
    return {
        "lagged_found": int(lagged[0].sum()),
        "lagged_true": int(lagged[1].sum()),
        "lagged_right": int(lagged.all(axis=0).sum()),
        "links_found": int(links.sum()),
        "links_true": int(true.sum()),
        "links_right": int((links & true).sum()),
        "arrows_found": int(directed.sum()),
        "arrows_right": int((directed & truth[0]).sum()),
    }


def ours(table: Table, looked: int) -> Row:
    """Return what a default fit finds, and how many of its supported arrows are right."""
    frame, panel = frame_of(table), len(table.units) > 1
    design = Design(time="t", unit="unit" if panel else None, max_lag=looked)
    result = DrBO(design=design, random_state=0).fit(frame).result_
    assert result.window is not None
    names, truth = [f"c{k}" for k in range(table.edges.shape[1])], table.edges
    row = dict.fromkeys(("supported_lagged", "supported_lagged_right", "supported_now", "supported_now_right"), 0)
    for one in result.directions:
        if one.direction != "supported":
            continue
        series, _, lag = one.cause.rstrip("]").partition("[-")
        if series == one.effect:
            continue
        back, kind = int(lag or 0), "supported_lagged" if lag else "supported_now"
        row[kind] += 1
        row[f"{kind}_right"] += int(back < len(truth) and truth[back, names.index(series), names.index(one.effect)])
    now = np.array([lag == 0 for lag in result.series.lags]) if result.series else np.zeros(0, dtype=bool)
    arrows = np.array(result.graph.directed)[np.ix_(now, now)]
    return counted(result.window, arrows, truth) | row | {"score": result.score_name}


def pcmci_plus(table: Table, looked: int, alpha: float) -> Row:
    """Return what PCMCI+ finds; tables of several units lose their means first."""
    try:
        from tigramite import data_processing
        from tigramite.independence_tests.parcorr import ParCorr
        from tigramite.pcmci import PCMCI
    except ImportError as error:
        raise Unavailable("tigramite is not installed: pip install tigramite==5.2.10.1") from error
    if len(table.units) > 1:
        rows = {number: x - x.mean(axis=0) for number, x in enumerate(table.units)}
        data = data_processing.DataFrame(rows, analysis_mode="multiple")
    else:
        data = data_processing.DataFrame(table.units[0])
    marks = PCMCI(dataframe=data, cond_ind_test=ParCorr(), verbosity=0).run_pcmciplus(
        tau_min=0, tau_max=looked, pc_alpha=alpha
    )["graph"]
    found = (marks == "-->").transpose(2, 0, 1)
    directed = found[0].copy()
    found[0] |= np.triu((marks[:, :, 0] == "o-o") | (marks[:, :, 0] == "x-x"))
    return counted(found, directed, table.edges)


def method_of(name: str) -> Callable[[Table, int], Row]:
    """Return a method by its name: drbo, or PCMCI+ and its level."""
    if name == "drbo":
        return ours
    alpha = float(name.removeprefix("PCMCI+ "))
    return lambda table, looked: pcmci_plus(table, looked, alpha)


@study("series", "cell seed method", cells=("base",), seeds=range(1), methods=("drbo",))
def run(
    cells: Annotated[Names, "kinds of tables"] = tuple(CELLS),
    seeds: Seeds = range(500, 510),
    methods: Annotated[Names, "drbo, PCMCI+ and its level"] = ("drbo", "PCMCI+ 0.01", "PCMCI+ 0.001"),
) -> Iterator[Row]:
    """Yield how the edges that each method finds in each table compare with the truth."""
    warm = drawn("base", 0)
    for method in methods:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            method_of(method)(warm, 1)
            for cell in cells:
                for seed in seeds:
                    table, system = drawn(cell, seed), CELLS[cell]
                    start = time.process_time()
                    row = method_of(method)(table, system.looked)
                    seconds = time.process_time() - start
                    yield {"cell": cell, "seed": seed, "method": method, **row, "cpu_seconds": round(seconds, 2)}
