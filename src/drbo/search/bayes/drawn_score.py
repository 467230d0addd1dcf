"""The function that a climb maximises: a draw from the surrogate, with exact scores where they are known."""

import numpy as np

from drbo import _core
from drbo.arrays import Bools, Floats, Indices, Ints, Masks
from drbo.constraints import Constraints
from drbo.graph.dag import topological_order
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.search.bayes import climb
from drbo.search.bayes.climb import ClimbRules, Drawn
from drbo.search.bayes.surrogate import GpSurrogate
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.evaluation.promotion import Promotion
from drbo.search.orders.climb import OrderClimb
from drbo.search.orders.gains import ScoreSteps
from drbo.search.outcome import Evaluated
from drbo.search.state import LARGEST, Fields, State
from drbo.settings import Settings

#: Draws are a little nearer to the posterior's mean than the posterior: as safe, and a fifth fewer families
#: (benchmarks/studies/efficiency.py).
TEMPERATURE = 0.7
#: Nodes from which on known families bound draws. With fewer, draws that promise too much find what would be missed.
BOUNDED_FROM = 13


class CheapTable:
    """The costs (minus the local values) of a cheap relative of the score, each family computed once."""

    def __init__(self, relative: Score, code: Masks) -> None:
        self.relative, self.code = relative, code
        self.table = _core.FamilyTable(code)

    def values(self, families: Families) -> Floats:
        """Return the costs of families."""
        keys = family_codes(families, self.code)
        self._fill(keys, families)
        return self.table.look_up(keys)

    def fill(self, nodes: Indices, parents: Bools) -> _core.FamilyTable:
        """Compute what is not in the table; return it."""
        families = Families(nodes, parents)
        self._fill(family_codes(families, self.code), families)
        return self.table

    def _fill(self, keys: Masks, families: Families) -> None:
        keys, first = np.unique(keys, return_index=True)
        new = np.isnan(self.table.look_up(keys))
        if new.any():
            self.table.insert(keys[new], -self.relative.local(families[first[new]]))


class DrawnSteps(ScoreSteps):
    """Steps of a drawn function, with true values where they are known: what a climb over orders needs."""

    def __init__(self, landscape: "Landscape", drawn: Drawn, draw: int) -> None:
        super().__init__(landscape.evaluator, landscape.constraints)
        self.landscape, self.draw = landscape, draw
        self.functions = _core.DrawnFunctions(*drawn)

    def _gains(self, nodes: Ints, chosen: Bools, changes: Bools) -> tuple[Floats, Floats]:
        values, gains = self.landscape.shares(self.functions, self.draw, nodes, chosen)
        return values, np.where(changes, gains, -np.inf)


class Landscape:
    """The surrogate and the table of known families, kept up to date with the evaluator."""

    def __init__(
        self, evaluator: Evaluator, settings: Settings, constraints: Constraints, rng: np.random.Generator
    ) -> None:
        score, d = evaluator.score, evaluator.score.n_nodes
        self.evaluator, self.settings, self.constraints, self.rng = evaluator, settings, constraints, rng
        self.promotion = Promotion(evaluator)
        asked = settings.parts.surrogate and settings.parts.relative
        relative = next((each.score for each in score.relatives() if each.cost == 0), None) if asked else None
        prices = score.price_table()
        self._price = None if prices is None else np.ascontiguousarray(-prices.T)
        nested = settings.parts.bounds and score.nested and d >= BOUNDED_FROM
        nested = nested and self._price is not None  # the values are without prices then
        self._process = GpSurrogate(d, relative is not None, nested) if settings.parts.surrogate else None
        self._known_values = np.empty(0)  # what the surrogate learned of the families that it has seen
        self.code = rng.integers(1, 2**63, size=(d, d + 1), dtype=np.uint64)
        self.known = _core.FamilyTable(self.code)
        self._cheap = CheapTable(relative, self.code) if relative else None
        self.rules = ClimbRules(
            allowed=constraints.allowed,
            required=constraints.required,
            max_parents=constraints.max_parents.astype(np.int64),
            price=np.zeros((d, d)) if self._price is None else self._price,
            gain=-np.ones(d),
            level=0.0,
        )

    @property
    def has_relative(self) -> bool:
        """A cheap score tells the surrogate about families that were never asked for."""
        return self._cheap is not None

    def refresh(self, best: Evaluated) -> None:
        """Take in the families that became known, and the level of the best DAG."""
        families, local = self.evaluator.known(since=len(self._known_values))
        level = self.evaluator.score.level_of(best.local[0])
        if level is not None:
            self.rules = self.rules._replace(gain=-self.evaluator.score.n_rows, level=level)
        if len(families):
            values = self._values(families, local, level)
            if self._process:
                cheap = self._cheap.values(families) if self._cheap else None
                self._process.add(families.nodes, families.parents, values, best.dags[0], cheap)
            self._note(families, values)
        tried, predicted = self.promotion.tried()
        if len(tried):  # climbs take what is predicted for the truth
            self.known.insert(family_codes(tried, self.code), self._values(tried, predicted, level))
        awaited = self.evaluator.awaited
        if self._process and len(awaited):  # and what is expected of families that are being computed
            cheap = self._cheap.values(awaited) if self._cheap else None
            self.known.insert(family_codes(awaited, self.code), self._process.mean(awaited, cheap))

    def _note(self, families: Families, values: Floats) -> None:
        """Keep the values of known families, for climbs to look up."""
        self._known_values = np.concatenate([self._known_values, values])
        self.known.insert(family_codes(families, self.code), values)

    def capture(self) -> State:
        """Return the state; tables of values are filled again when it is restored, or when they are needed."""
        process = self._process.capture() if self._process else None
        return {"values": self._known_values, "process": process}

    def restore(self, fields: Fields) -> None:
        """Set the state; the evaluator has its own already."""
        values = fields.array("values", np.float64, (None,), -LARGEST, LARGEST)
        families = self.evaluator.known()[0][: len(values)]
        if len(families) < len(values):
            fields.refuse("values", f"be at most {len(families)}, as many as known families", str(len(values)))
        self._known_values, self.known = np.empty(0), _core.FamilyTable(self.code)
        self._note(families, values)
        if fields.expect("process", self._process is not None) and self._process:
            cheap = self._cheap.values if self._cheap else None
            self._process.restore(fields.part("process"), families, values, cheap)

    def climb(self, starts: Bools, boldness: float = 1.0, bounded: bool = True) -> Bools:
        """Return where climbs of as many drawn functions end (S, d, d).

        Bold draws stray further from the mean. Not ``bounded``: they may also promise more than known families allow.
        """
        drawn = self._draw(len(starts), boldness)
        if drawn is not None and not bounded:
            drawn = drawn._replace(truth=np.empty(0))
        fill = self._cheap.fill if self._cheap else None
        return starts if drawn is None else climb.climb_all(starts, drawn, self.rules, self.known, fill)

    def climb_orders(self, dag: Bools, count: int, boldness: float = 1.0) -> Bools:
        """Return where climbs over orders of drawn functions end (count, d, d), each from the same DAG.

        A node goes to its best place and all nodes choose their parents anew: that leaves DAGs which no single edge
        improves. Nothing is evaluated on the way.
        """
        drawn = self._draw(count, boldness)
        if drawn is None:
            return np.repeat(dag[None], count, axis=0)
        ends = []
        for draw in range(count):
            steps = DrawnSteps(self, drawn, draw)
            walk = OrderClimb(steps, self.constraints.required, self.constraints.before)
            walk.stand(topological_order(dag), dag)
            walk.climb(self.rng.permutation(len(dag)))
            ends.append(walk.dag)
        return np.stack(ends)

    def shares(
        self,
        functions: _core.DrawnFunctions,
        draw: int,
        nodes: Ints,  # (m,)
        parents: Bools,  # (m, d)
    ) -> tuple[Floats, Floats]:
        """Return what families add to the score at the level of the best DAG, and what each toggle adds to that (m, d).

        By true values where they are known, else by a drawn function.
        """
        cheap = self._cheap.fill(*climb.toggled(nodes, parents)) if self._cheap else self.known
        limits = _core.ClimbRules(*self.rules)
        return _core.drawn_shares(draw, nodes, parents, functions, limits, self.known, cheap)

    def _draw(self, count: int, boldness: float) -> Drawn | None:
        return self._process.draw(count, self.rng, boldness * TEMPERATURE) if self._process else None

    def jump(self, dag: Bools, pairs: Ints) -> Bools:
        """Return a DAG with some pairs changed, within the knowledge."""
        return climb.jump(dag, pairs, self.rules)

    def _values(self, families: Families, local: Floats, level: float | None) -> Floats:
        """Return what the surrogate learns, the costs: minus the local values at a level, else minus the shares.

        The price of edges is left out where it is the same in every family.
        """
        if level is not None:
            return -local
        price = np.zeros(len(local)) if self._price is not None else self.evaluator.score.family_price(families)
        return -self.evaluator.score.share(local, price, None, families.nodes)


def family_codes(families: Families, code: Masks) -> Masks:
    """Return the keys of families in a table of random words (d, d + 1)."""
    keys: Masks = code[families.nodes, -1].copy()
    for parent in range(families.n_nodes):
        keys ^= np.where(families.parents[:, parent], code[families.nodes, parent], np.uint64(0))
    return keys
