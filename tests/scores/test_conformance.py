"""Every registered score keeps the contract, with and without its options."""

import numpy as np
import pytest

from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.scores.registry import SCORES
from drbo.testing import check_score


def numbers(n=60):
    return Statistics.from_array(simulate("5ER2", model="gp", n=n, seed=1).X * [0.01, 1.0, 3.0, 10.0, 100.0])


def binary():
    return Statistics.from_array(simulate("5ER2", model="logistic", n=80, seed=2).X)


def grades():
    return Statistics.from_array(np.clip(np.round(simulate("5ER2", n=90, seed=3).X), -2, 2))


def mixed():
    values = simulate("5ER2", n=90, seed=4).X
    values[:, 3:] = np.clip(np.round(values[:, 3:]), 0, 2)
    kinds = ("numeric",) * 3 + ("categorical",) * 2
    return Statistics(values, tuple("abcde"), kinds, (None,) * 3 + (("l", "m", "s"),) * 2)


#: The tables of each score; those that are not listed get numbers.
SUITED = dict.fromkeys(SCORES, (numbers,)) | {
    "bdeu": (binary, grades),
    "bic-discrete": (binary, grades),
    "discrete-experiments": (binary, grades),
    "logistic": (binary,),
    "mixed": (mixed, numbers),
    "mixed-cg": (mixed, numbers),
}
OPTIONS = {
    "bdeu": {"ess": 10.0},
    "bge": {"alpha_mu": 0.5, "standardize": False},
    "gp-nv": {"alpha": 1e-6, "median_scale": True, "standardize": True},
    "splines": {"df": 3},
    "splines-experiments": {"df": 3, "drift": True},
}


#: All that the registered scores declare for the small tables here; some depend on rows and columns.
NOT_CHEAP = {"gp", "gp-ev", "gp-nv"}


@pytest.mark.parametrize(("name", "make"), [(name, make) for name, tables in SUITED.items() for make in tables])
def test_contract(name, make):
    score = check_score(name, make(), n_dags=8)
    assert score.name == name
    assert score.cheap == (name not in NOT_CHEAP)


@pytest.mark.parametrize("name", sorted(name for name in SUITED if not name.endswith("-experiments")))
def test_contract_with_penalty_prior_and_interventions(name, rng):
    table = SUITED[name][0]()
    targets = np.zeros(table.values.shape, dtype=bool)
    targets[:10, 0] = True
    targets[5:20, 2] = True
    options = {"penalty": "ebic", "edge_prior": rng.normal(size=(5, 5)), "targets": targets}
    assert check_score(name, table, options, n_dags=5).penalty == "ebic"


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_contract_with_options_of_its_own(name):
    check_score(name, SUITED[name][-1](), OPTIONS[name], n_dags=5)
