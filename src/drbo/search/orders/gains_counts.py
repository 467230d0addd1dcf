"""What adding or dropping a parent is worth for scores of categorical data, by compiled counting.

The configurations of a parent set are numbered once; each addition then needs one pass over the rows.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from drbo.jit import numba
from drbo.search.orders.parent_memo import Expansion, Flags, Floats, Ints, Whole


@dataclass(frozen=True, eq=False)
class CountSteps:
    """Steps for ``gain * (log-likelihood or BDeu evidence) - price`` of a family.

    The price is ``parameter_prices[i] * q`` with q the configurations of the parents, seen or not, and
    ``edge_prices[i, j]`` for each parent j.
    """

    codes: list[npt.NDArray[np.int32]]  # (d, u) levels of the distinct rows, for each group of nodes with the same rows
    repeats: list[Floats]  # (u,) how often each row occurs
    group: Ints  # (d,)
    cardinalities: Ints  # (d,)
    ess: float  # equivalent sample size of BDeu; 0: the log-likelihood
    gain: float
    parameter_prices: Floats  # (d,)
    edge_prices: Floats  # (d, d) edge_prices[j, i]: what the edge i -> j costs
    allowed: Flags  # (d, d) allowed[j, i]: the edge i -> j may be
    required: Flags  # (d, d) required[j, i]: the edge i -> j must be
    max_parents: Ints  # (d,)

    @property
    def n_nodes(self) -> int:
        return len(self.group)

    @property
    def cost(self) -> int:
        """Local scores computed for one set."""
        return self.n_nodes

    def expand(self, nodes: Ints, parents: Ints, sizes: Ints) -> Expansion:
        """Return the steps from the parent sets ``parents[b, :sizes[b]]`` of ``nodes[b]``."""
        count, d = len(nodes), self.n_nodes
        changed = np.full((count, d), -np.inf)  # value with one parent more or less
        values, rows = np.empty(count), np.arange(count)
        members = np.zeros((count, d), dtype=bool)
        for b in rows:
            members[b, parents[b, : sizes[b]]] = True
            node, group = nodes[b], self.group[nodes[b]]
            wanted = np.where(members[b], ~self.required[node], self.allowed[node])
            wanted &= members[b] | (sizes[b] < self.max_parents[node])
            wanted[node] = False
            values[b] = _neighbours(
                node, parents[b, : sizes[b]], wanted, self.codes[group], self.repeats[group], self.cardinalities,
                self.ess, self.gain, self.parameter_prices[node], self.edge_prices[node], changed[b],
            )  # fmt: skip
        gains = changed - values[:, None]
        drops = np.where(members, gains, -np.inf)
        best = np.argmax(drops, axis=1)
        best_gains = drops[rows, best]
        return Expansion(values, np.where(members, 0.0, gains), np.where(best_gains > 0, best, -1), best_gains)


@numba.njit(cache=True)
def _neighbours(
    node: Whole, parents: Any, wanted: Any, codes: Any, repeats: Any, cards: Any, ess: float, gain: float,
    parameter_price: float, edge_prices: Any, changed: Any,
) -> float:  # fmt: skip
    """Write the values of the wanted sets that differ by one parent; return that of the set itself."""
    config = np.zeros(codes.shape[1], dtype=np.int64)
    seen, possible, price = 1, 1.0, 0.0
    for k in range(len(parents)):
        seen = _refine(config, seen, codes[parents[k]], cards[parents[k]])
        possible *= cards[parents[k]]
        price += edge_prices[parents[k]]
    value = gain * _family(config, seen, possible, codes[node], cards[node], repeats, ess)
    value -= parameter_price * possible + price
    finer = np.empty_like(config)
    for other in range(len(wanted)):
        if not wanted[other]:
            continue
        sign, finer_seen = 1.0, seen
        finer_possible = possible * cards[other]
        if other in parents:
            sign, finer_seen, finer_possible = -1.0, 1, possible / cards[other]
            finer[:] = 0
            for k in range(len(parents)):
                if parents[k] != other:
                    finer_seen = _refine(finer, finer_seen, codes[parents[k]], cards[parents[k]])
        else:
            finer[:] = config
            finer_seen = _refine(finer, seen, codes[other], cards[other])
        family = _family(finer, finer_seen, finer_possible, codes[node], cards[node], repeats, ess)
        changed[other] = gain * family - parameter_price * finer_possible - price - sign * edge_prices[other]
    return float(value)


@numba.njit(cache=True)
def _refine(config: Any, seen: Whole, levels: Any, cardinality: Whole) -> Any:
    """Split configurations by another column and number those that occur; return how many there are."""
    number = np.full(seen * cardinality, -1, dtype=np.int64)
    count = 0
    for row in range(len(config)):
        cell = config[row] * cardinality + levels[row]
        if number[cell] < 0:
            number[cell] = count
            count += 1
        config[row] = number[cell]
    return count


@numba.njit(cache=True)
def _family(
    config: Any, seen: Whole, possible: float, levels: Any, cardinality: Whole, repeats: Any, ess: float
) -> float:
    """Return the log-likelihood of a column given configurations, or its BDeu evidence."""
    cells, totals = np.zeros(seen * cardinality), np.zeros(seen)
    for row in range(len(config)):
        cells[config[row] * cardinality + levels[row]] += repeats[row]
        totals[config[row]] += repeats[row]
    value = 0.0
    if ess == 0:
        for count in cells:
            if count > 1:
                value += count * math.log(count)
        for count in totals:
            if count > 1:
                value -= count * math.log(count)
        return value
    log_a = math.log(ess) - math.log(possible)  # a itself may underflow
    for counts, log_prior, sign in ((cells, log_a - math.log(cardinality), 1.0), (totals, log_a, -1.0)):
        prior = math.exp(log_prior)
        offset = log_prior - math.lgamma(1.0 + prior)
        for count in counts:
            if count > 0:
                value += sign * (math.lgamma(count + prior) + offset)
    return value
