"""A table with a hidden cause, and its result, for the tests of everything that shows such results."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from drbo import DrBO
from drbo.claims.record import AncestralRecord
from tests.results import make_result


@cache
def confounded_table():
    """Return rows of a -> b <- H -> c <- d and b -> e, without H."""
    rng = np.random.default_rng(0)
    a, d, hidden, *noise = rng.normal(size=(6, 1500))
    b, c = a + hidden + noise[0], d + hidden + noise[1]
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": b + noise[2]})


@cache
def hidden_model():
    """Return the fit of that table with hidden causes allowed."""
    return DrBO(hidden=True, random_state=0).fit(confounded_table())


def with_hidden(directed, bidirected, second=None, whole=True, **given):
    """Return a result with this graph of directed and bidirected edges."""
    d = len(directed)
    record = AncestralRecord(
        directed=np.array(directed, dtype=bool),
        bidirected=np.array(bidirected, dtype=bool),
        gain=1.0,
        second=np.zeros((d, d), dtype=np.int8) if second is None else np.array(second, dtype=np.int8),
        whole=whole,
    )
    return replace(make_result(np.zeros((d, d), dtype=bool), **given), hidden=record)
