import numpy as np
import pytest

from drbo.claims.margins import Alternatives
from drbo.constraints import Constraints
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import dag_to_cpdag
from drbo.scores.registry import build_score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.exact.family_tables import all_tables, tables_of
from drbo.settings import Settings


def _setup(name, seed, every_dag):
    data = simulate("4ER1.5", "linear", n=60, seed=seed)
    evaluator = Evaluator(build_score(name, Statistics.from_array(data.X)), Settings(max_evals=10**6))
    scores = evaluator.evaluate(every_dag).scores
    best = every_dag[np.argmax(scores)]
    level = evaluator.score.level_of(evaluator.evaluate(best[None]).local[0])
    tables = all_tables(evaluator, Constraints.none(4))
    return scores, best, Alternatives(tables, evaluator.score, best, level)


@pytest.mark.parametrize("name", ["bic-nv", "bge", "bic-ev"])
@pytest.mark.parametrize("seed", range(6))
def test_margins_against_all_dags(name, seed, every_dag):
    scores, best, others = _setup(name, seed, every_dag)
    margins = others.margins
    assert margins.exact == (name != "bic-ev")
    assert np.isnan(margins.removed[~best]).all()
    for a, b in np.argwhere(best):
        apart = ~(every_dag[:, a, b] | every_dag[:, b, a])
        removed, turned = scores.max() - scores[apart].max(), scores.max() - scores[every_dag[:, b, a]].max()
        if name == "bic-ev":  # the DAG found at the level of the optimum: never better than the best
            assert removed - 1e-9 <= margins.removed[a, b] <= 1.1 * removed + 1e-9
            assert turned - 1e-9 <= margins.reversed[a, b] <= 1.1 * turned + 1e-9
        else:
            assert margins.removed[a, b] == pytest.approx(removed, abs=1e-7)
            assert margins.reversed[a, b] == pytest.approx(turned, abs=1e-7)


@pytest.fixture(scope="module")
def class_of_each(every_dag):
    return [dag_to_cpdag(dag).tobytes() for dag in every_dag]


@pytest.mark.parametrize("name", ["bic-nv", "bic-ev"])
@pytest.mark.parametrize("seed", range(10))
def test_classes_are_distinct_and_the_runner_up_is_exact(name, seed, every_dag, class_of_each):
    scores, _, others = _setup(name, seed, every_dag)
    found = others.classes[:5]
    keys = [dag_to_cpdag(other.dag).tobytes() for other in found]
    assert len(set(keys)) == len(keys) == 5
    values = [other.score for other in found]
    assert values == sorted(values, reverse=True)
    of_class = {}
    for key, score in zip(class_of_each, scores, strict=True):
        of_class[key] = max(score, of_class.get(key, -np.inf))
    ranked = sorted(of_class.values(), reverse=True)
    assert values[0] == pytest.approx(ranked[0])
    if name == "bic-nv":
        assert values[1] == pytest.approx(ranked[1])
    assert values[4] <= ranked[4] + 1e-9


def test_margins_over_known_families_are_upper_bounds(every_dag):
    rng = np.random.default_rng(0)
    data = simulate("4ER1.5", "linear", n=60, seed=1)
    evaluator = Evaluator(build_score("bge", Statistics.from_array(data.X)), Settings(max_evals=10**6))
    free = Constraints.none(4)
    _, best, others = _setup("bge", 1, every_dag)
    evaluator.evaluate(np.concatenate([best[None], every_dag[rng.choice(543, 12)]]))
    known = Alternatives(tables_of(evaluator.known()[0], evaluator, free), evaluator.score, best).margins
    full = others.margins
    assert not known.exact
    for some, everything in ((known.removed, full.removed), (known.reversed, full.reversed)):
        there = best & ~np.isnan(some)
        assert (some[there] >= everything[there] - 1e-9).all()
