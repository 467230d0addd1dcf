"""Searches other rows, or the same rows on another scale, beginning from a graph that is known already."""

from drbo.arrays import Bools
from drbo.constraints import Constraints
from drbo.deadline import Stop, current
from drbo.scores.base import Score
from drbo.search.base import Search
from drbo.search.orders.search import OrderSearch
from drbo.search.outcome import Outcome
from drbo.search.stopping import Limits
from drbo.settings import Settings

#: Rounds of shaken orders without a better score that end a search with a warm start; a brief one ends with the first.
WARM_CLIMBS = 2
#: Columns up to which a warm search is repeated from an unrelated order, and rows from which on more columns are not
#: and brief searches may do.
MOST_COLD, MANY_ROWS = 30, 500


def warm_searches(n_nodes: int, n_rows: int) -> int:
    """Return from how many orders a table is searched again: that of the graph, and with few cells an unrelated one.

    With many rows and columns, a short search from an unrelated order finds nothing better than that from the graph.
    """
    return 1 if n_nodes > MOST_COLD and n_rows >= MANY_ROWS else 2


def warm_search(
    score: Score,
    settings: Settings,
    constraints: Constraints,
    start: Bools,  # (d, d)
    seed: int,
    searches: int = 1,  # those after the first begin from unrelated orders
    brief: bool = False,  # shake little, and list no parent sets
) -> OrderSearch:
    """Return a search over orders that begins from a graph.

    Examples
    --------
    >>> import numpy as np
    >>> from drbo.scores.linear import BicNV
    >>> score, empty = BicNV.from_covariance([[1.0, 0.8], [0.8, 1.0]], 100), np.zeros((2, 2), dtype=bool)
    >>> int(searched(warm_search(score, Settings(), Constraints.none(2), empty, seed=0)).best.dags[0].sum())
    1
    """
    settings = settings.with_(order_patience=1 if brief else WARM_CLIMBS)
    return OrderSearch(
        score, settings, constraints=constraints, seed=seed, start=start, max_searches=searches, brief=brief
    )


def searched(search: Search) -> Outcome:
    """Run a search to its end; raises an OutOfTimeError if it was cut short, because what it found does not count."""
    outcome = search.run([Limits(search.settings)])
    current().check()
    if outcome.stop is Stop.INTERRUPTED:
        raise KeyboardInterrupt
    return outcome
