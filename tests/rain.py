"""Five columns about rain and falls, with known linear effects, and a small fit of them."""

import numpy as np
import pandas as pd
import pytest

from drbo import DrBO, Settings
from drbo.data.statistics.statistics import Statistics
from drbo.scores.families import Families

#: A small search; without the forests that propose whole parent sets, which would take most of its time.
SMALL = Settings(climbs=4).with_(batch_size=8, n_candidates=100, hidden=8, n_grads=2, n_replay=32, parent_sets=False)
NAMES = ["rain", "sprinkler", "wet", "slippery", "fall"]
#: rain -> wet, sprinkler -> wet, wet -> slippery, slippery -> fall, rain -> sprinkler
WEIGHTS = np.zeros((5, 5))
WEIGHTS[[0, 1, 2, 3, 0], [2, 2, 3, 4, 1]] = [1.5, -1.0, 2.0, 1.2, 0.8]
#: A budget takes the route surrogate; without one a linear score is climbed over orders.
ROUTES = pytest.mark.parametrize("max_evals", [30, None], ids=["surrogate", "orders"])


def frame(seed=0, n=400):
    noise = np.random.default_rng(seed).normal(size=(n, 5))
    return pd.DataFrame(noise @ np.linalg.inv(np.eye(5) - WEIGHTS), columns=NAMES)


def model(**options):
    usual = {"score": "bic-ev", "random_state": 0, "settings": SMALL, "prune": "f-test"}
    return DrBO(**{**usual, **options})


def edges(model):
    """The learned edges by name."""
    names = model.result_.names
    return {(names[i], names[j]) for i, j in np.argwhere(model.adjacency_)}


def true_score(kind, frame, dag, **options):
    """Score a graph over the columns of a frame, without search and without canonical order."""
    score = kind(Statistics.from_array(frame.to_numpy(), list(frame.columns)), **options)
    families = Families.from_dags(np.asarray(dag, dtype=bool)[None])
    local, price = score.local(families), score.family_price(families)
    return float(score.combine(local, price)), local, price
