import numpy as np
import pandas as pd
import pytest

from drbo import _core
from drbo.constraints import Constraints
from drbo.data.checks.check import check_table
from drbo.data.reading.frames import as_frame
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import is_acyclic
from drbo.knowledge import Knowledge
from drbo.scores.base import Relative
from drbo.scores.discrete import DiscreteBIC
from drbo.scores.families import Families
from drbo.scores.linear import BicEV, BicNV
from drbo.search.bayes import climb
from drbo.search.bayes import drawn_score as landscape
from drbo.search.bayes.drawn_score import CheapTable, Landscape, family_codes
from drbo.search.bayes.first_design import repaired
from drbo.search.evaluation.evaluator import Evaluator
from drbo.settings import Settings

D = 5


def made(score, **changes):
    evaluator = Evaluator(score, Settings())
    rng = np.random.default_rng(0)
    return Landscape(evaluator, Settings().with_(**changes), Constraints.none(D), rng), evaluator


def values(kind):
    rng = np.random.default_rng(1)
    data = rng.normal(size=(100, D))
    data[:, 1:] += data[:, :-1]
    if kind is DiscreteBIC:
        words = np.array(["low", "middle", "high"])[np.digitize(data, [-0.5, 0.5])]
        return DiscreteBIC(check_table(as_frame(pd.DataFrame(words, columns=list("abcde"))))[0])
    return kind(Statistics.from_array(data))


def random_dags(n):
    rng = np.random.default_rng(2)
    return np.triu(rng.random((n, D, D)) < 0.5, 1)


def known_score(place, dag):
    """The score of a DAG as a climb sees it, from the table of known families."""
    total = 0.0
    for node in range(D):
        key = family_codes(Families(np.array([node]), dag[:, node][None]), place.code)[0]
        value, gain, level = place.known.look_up(np.array([key]))[0], place.rules.gain[node], place.rules.level
        share = gain / level * np.exp(value) if level > 0 else gain * value
        total += share + (place.rules.price[:, node] * dag[:, node]).sum()
    return total


@pytest.mark.parametrize("kind", [BicNV, BicEV, DiscreteBIC])
def test_a_climb_sees_the_true_scores_of_known_dags(kind):
    """Differences of scores are those of the score itself; at a level they are its additive bound, exact there."""
    place, evaluator = made(values(kind))
    batch = evaluator.evaluate(random_dags(6))
    best = evaluator.evaluate(batch.dags[:1])
    place.refresh(best)
    price = evaluator.score.family_price(Families.from_dags(batch.dags)).reshape(6, D)
    level = evaluator.score.level_of(best.local[0])
    expected = evaluator.score.share(batch.local, price, level).sum(-1)
    found = np.array([known_score(place, dag) for dag in batch.dags])
    assert np.diff(found) == pytest.approx(np.diff(expected), rel=1e-6)


def test_all_known_families_are_in_the_table():
    place, evaluator = made(values(BicNV))
    for start in range(0, 12, 3):
        batch = evaluator.evaluate(random_dags(12)[start : start + 3])
        place.refresh(evaluator.evaluate(batch.dags[:1]))
    families, _ = evaluator.known()
    assert not np.isnan(place.known.look_up(family_codes(families, place.code))).any()


def test_without_a_surrogate_the_starts_are_the_ends():
    place, _ = made(values(BicNV), surrogate=False)
    starts = random_dags(3)
    assert place.climb(starts) is starts


def test_bold_draws_stray_further(monkeypatch):
    place, evaluator = made(values(BicNV))
    batch = evaluator.evaluate(random_dags(8))
    place.refresh(evaluator.evaluate(batch.dags[:1]))
    asked = []
    original = place._process.draw
    monkeypatch.setattr(place._process, "draw", lambda n, rng, t: asked.append(t) or original(n, rng, t))
    place.climb(random_dags(2))
    place.climb(random_dags(2), boldness=3.0)
    assert asked == [landscape.TEMPERATURE, 3 * landscape.TEMPERATURE]


def drawn_score(place, drawn, draw, dag):
    return place.shares(_core.DrawnFunctions(*drawn), draw, np.arange(D), dag.T.copy())[0].sum()


@pytest.mark.parametrize("kind", [BicNV, BicEV, DiscreteBIC])
def test_shares_of_known_families_are_those_that_climbs_see(kind):
    place, evaluator = made(values(kind))
    batch = evaluator.evaluate(random_dags(6))
    place.refresh(evaluator.evaluate(batch.dags[:1]))
    drawn = place._draw(1, 1.0)
    for dag in batch.dags:
        assert drawn_score(place, drawn, 0, dag) == pytest.approx(known_score(place, dag), rel=1e-9)


def test_climbs_over_orders_end_where_the_drawn_function_is_higher(monkeypatch):
    place, evaluator = made(values(BicNV))
    batch = evaluator.evaluate(random_dags(12))
    place.refresh(evaluator.evaluate(batch.dags[:1]))
    drawn = place._draw(3, 1.0)
    monkeypatch.setattr(place, "_draw", lambda count, boldness: drawn)
    before = evaluator.n_local
    ends = place.climb_orders(batch.dags[0], 3)
    assert evaluator.n_local == before  # nothing is evaluated
    assert all(is_acyclic(end) for end in ends)
    singles = climb.climb_all(np.repeat(batch.dags[:1], 3, axis=0), drawn, place.rules, place.known)
    for draw, (end, single) in enumerate(zip(ends, singles, strict=True)):
        assert drawn_score(place, drawn, draw, end) >= drawn_score(place, drawn, draw, batch.dags[0]) - 1e-9
        assert np.isfinite(drawn_score(place, drawn, draw, single))


def test_climbs_over_orders_obey_the_knowledge():
    limits = Constraints.of(
        Knowledge(required=["x0 -> x3"], forbidden=["x1 -> x2"], max_parents=2), [f"x{i}" for i in range(D)]
    )
    evaluator = Evaluator(values(BicNV), Settings())
    place = Landscape(evaluator, Settings(), limits, np.random.default_rng(0))
    start = evaluator.evaluate(limits.required[None])
    evaluator.evaluate(np.stack([repaired(dag, limits) for dag in random_dags(8)]))
    place.refresh(start)
    for end in place.climb_orders(start.dags[0], 4):
        assert end[0, 3]
        assert not (end & ~limits.allowed).any()
        assert (end.sum(axis=0) <= 2).all()


class Costly(BicNV):
    """A score with a cheap relative that is off by a factor and by what it cannot see."""

    def __init__(self, table):
        super().__init__(table)
        self.nested = False
        self._inner = BicNV(table)

    def local(self, families):
        return 3 * super().local(families) + 0.1 * np.sin(families.parents @ np.arange(D) + families.nodes)

    def relatives(self):
        return [Relative(self._inner, 0.0)]


def test_cheap_values_are_those_of_the_relative_and_computed_once(monkeypatch):
    score, rng = values(BicNV), np.random.default_rng(0)
    table = CheapTable(score, rng.integers(1, 2**63, size=(D, D + 1), dtype=np.uint64))
    asked = []
    local = score.local
    monkeypatch.setattr(score, "local", lambda families: asked.append(len(families)) or local(families))
    for dags in (random_dags(4), random_dags(400)):
        families = Families.from_dags(dags)
        assert table.values(families) == pytest.approx(-local(families))
        table.values(families)
    assert len(asked) == 2
    assert sum(asked) == len(set(Families.from_dags(random_dags(400)).keys()))


@pytest.mark.parametrize("relative", [True, False])
def test_a_relative_makes_predictions_better(relative):
    place, evaluator = made(values(Costly), relative=relative)
    batch = evaluator.evaluate(random_dags(3))
    place.refresh(evaluator.evaluate(batch.dags[:1]))
    assert place.has_relative is relative
    families = Families.from_sets(D, [(4, [j for j in range(4) if mask >> j & 1]) for mask in range(16)])
    mean = place._process.draw(1, np.random.default_rng(0), temperature=0.0)
    place.known = _core.FamilyTable(place.code)  # ask the process for all
    found = place.shares(_core.DrawnFunctions(*mean), 0, families.nodes, families.parents)[0]
    found -= (families.parents * place.rules.price.T[families.nodes]).sum(axis=1)
    truth = place._values(families, evaluator.score.local(families), None)
    error = np.sqrt(np.mean((-found - truth) ** 2)) / truth.std()
    assert error < 0.3 if relative else error > 0.5


def test_climbs_wait_for_cheap_values_and_end_where_no_single_edge_gains():
    place, evaluator = made(values(Costly))
    batch = evaluator.evaluate(random_dags(4))
    place.refresh(evaluator.evaluate(batch.dags[:1]))
    drawn = place._draw(3, 1.0)
    ends = climb.climb_all(random_dags(3), drawn, place.rules, place.known, place._cheap.fill)
    for draw, end in enumerate(ends):
        best = drawn_score(place, drawn, draw, end)
        for i, j in np.argwhere(~np.eye(D, dtype=bool)):
            other = end.copy()
            other[i, j] ^= True
            if is_acyclic(other):
                assert drawn_score(place, drawn, draw, other) <= best + 1e-6


def test_free_draws_may_promise_more_than_known_families_allow(monkeypatch):
    monkeypatch.setattr(landscape, "BOUNDED_FROM", D)
    place, evaluator = made(values(BicNV))
    batch = evaluator.evaluate(random_dags(6))
    place.refresh(evaluator.evaluate(batch.dags[:1]))
    seen = []
    original = climb.climb_all
    monkeypatch.setattr(climb, "climb_all", lambda *given: seen.append(len(given[1].truth)) or original(*given))
    place.climb(random_dags(2))
    place.climb(random_dags(2), bounded=False)
    assert seen == [len(evaluator.known()[0]), 0]
