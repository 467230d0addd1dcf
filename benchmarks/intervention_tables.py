"""Simulated tables from several experiments: straight, bent and categorical mechanisms, and what is changed in them."""

import numpy as np
import numpy.typing as npt
import pandas as pd

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
CONTROL = "observational"
D, EXPERIMENTS, CONTROL_ROWS, ROWS = 20, 10, 500, 100
DRIFT = 0.3
#: Effects that are no straight lines: saturating, bent, with a minimum, and wavy.
SHAPES = (
    lambda x: 1.5 * np.tanh(x),
    lambda x: np.log1p(np.exp(2 * x)),
    lambda x: 1.2 * np.sqrt(1 + x**2),
    lambda x: x + np.sin(2 * x) / 1.5,
)
#: Levels of categories, most parents of a category, and how alike the probabilities of its levels are.
LEVELS, MOST_PARENTS, ALIKE = 3, 3, 0.5


def simulated(kind: str, seed: int) -> tuple[pd.DataFrame, Bools, Bools]:
    """Return a table of ten experiments, its DAG (ER2), and which columns each experiment changes (E, d)."""
    rng = np.random.default_rng(seed)
    order, dag = rng.permutation(D), np.zeros((D, D), dtype=bool)
    dag[np.ix_(order, order)] = np.triu(rng.random((D, D)) < 4 / (D - 1), 1)
    if kind in ("bent shift", "categories"):
        return (_bent if kind == "bent shift" else _categories)(dag, order, rng)
    weights = dag * rng.uniform(0.5, 1.5, (D, D)) * rng.choice([-1, 1], (D, D))
    deviations, changed, parts = rng.uniform(0.7, 1.3, D), np.zeros((EXPERIMENTS, D), dtype=bool), []
    for number in range(EXPERIMENTS + 1):
        own, shift, spread = weights.copy(), np.zeros(D), deviations.copy()
        if number and kind != "nothing":
            changed[number - 1, rng.choice(D, rng.integers(1, 3), replace=False)] = True
            for node in np.flatnonzero(changed[number - 1]):
                if kind in ("shift", "drifting shift"):
                    shift[node] = rng.choice([-1, 1]) * rng.uniform(1, 2)
                elif kind == "coefficients":
                    own[:, node] = dag[:, node] * rng.uniform(0.5, 1.5, D) * rng.choice([-1, 1], D)
                    spread[node] *= rng.choice([0.5, 2.0])
                else:
                    own[:, node], shift[node], spread[node] = 0.0, rng.choice([-1, 1]) * rng.uniform(0, 2), 1.0
        if kind == "drifting shift":
            shift += DRIFT * deviations * rng.normal(size=D)
        noise = rng.normal(size=(ROWS if number else CONTROL_ROWS, D)) * spread + shift
        parts.append(noise @ np.linalg.inv(np.eye(D) - own))
    return _joined(parts), dag, changed


def _bent(dag: Bools, order: npt.NDArray[np.intp], rng: np.random.Generator) -> tuple[pd.DataFrame, Bools, Bools]:
    """Every effect has one of four shapes; experiments shift one or two columns."""
    weights = dag * rng.uniform(0.5, 1.5, (D, D)) * rng.choice([-1, 1], (D, D))
    deviations, shapes = rng.uniform(0.7, 1.3, D), rng.integers(len(SHAPES), size=(D, D))
    changed, parts = _targets(rng), []
    for number in range(EXPERIMENTS + 1):
        values = rng.normal(size=(ROWS if number else CONTROL_ROWS, D)) * deviations
        if number:
            hit = changed[number - 1]
            values[:, hit] += rng.choice([-1, 1], hit.sum()) * rng.uniform(1, 2, hit.sum())
        for j in order:
            for i in np.flatnonzero(dag[:, j]):
                values[:, j] += weights[i, j] * SHAPES[shapes[i, j]](values[:, i])
        parts.append(values)
    return _joined(parts), dag, changed


def _categories(dag: Bools, order: npt.NDArray[np.intp], rng: np.random.Generator) -> tuple[pd.DataFrame, Bools, Bools]:
    """Columns have three levels and at most three parents; experiments give one or two columns new probabilities."""
    for j in range(D):
        dag[rng.permutation(np.flatnonzero(dag[:, j]))[MOST_PARENTS:], j] = False
    prior = np.full(LEVELS, ALIKE)
    tables = [rng.dirichlet(prior, size=LEVELS ** int(dag[:, j].sum())) for j in range(D)]
    changed, parts = _targets(rng), []
    for number in range(EXPERIMENTS + 1):
        own = list(tables)
        if number:
            for j in np.flatnonzero(changed[number - 1]):
                own[j] = rng.dirichlet(prior, size=len(tables[j]))
        codes = np.zeros((ROWS if number else CONTROL_ROWS, D), dtype=np.intp)
        for j in order:
            place = np.zeros(len(codes), dtype=np.intp)
            for i in np.flatnonzero(dag[:, j]):
                place = place * LEVELS + codes[:, i]
            above = rng.random(len(codes))[:, None] > own[j][place].cumsum(axis=1)
            codes[:, j] = np.minimum(above.sum(axis=1), LEVELS - 1)
        parts.append(np.array(list("abc"), dtype=object)[codes])
    return _joined(parts), dag, changed


def _targets(rng: np.random.Generator) -> Bools:
    changed = np.zeros((EXPERIMENTS, D), dtype=bool)
    for hit in changed:
        hit[rng.choice(D, rng.integers(1, 3), replace=False)] = True
    return changed


def _joined(parts: list[npt.NDArray[np.generic]]) -> pd.DataFrame:
    """Return the rows of the control and the experiments as one table."""
    frames = [
        pd.DataFrame(values, columns=[f"x{j}" for j in range(D)]).assign(
            experiment=f"e{number:02d}" if number else CONTROL
        )
        for number, values in enumerate(parts)
    ]
    return pd.concat(frames, ignore_index=True)
