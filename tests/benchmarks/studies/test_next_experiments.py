import numpy as np
import pytest

from benchmarks.studies.next_experiments import POLICIES, classes, count, optimum, random_dag
from drbo.claims.orientations import ways_left
from drbo.graph.dag import dag_to_cpdag, is_acyclic


@pytest.mark.parametrize("kind", ["tree", "chordal", "ER1", "ER2"])
def test_random_graphs_are_of_their_kind(kind, rng):
    dag = random_dag(kind, 12, rng)
    assert is_acyclic(dag)
    if not kind.startswith("ER"):
        cpdag = dag_to_cpdag(dag)
        assert (cpdag == cpdag.T).all()
    if kind == "tree":
        assert dag.sum() == 11


def test_a_star_needs_one_experiment(rng):
    star = np.zeros((6, 6), dtype=bool)
    star[0, 1:] = True
    (ways,) = ways_left(star | star.T, star)
    for name in ("degree", "edge_entropy", "information"):
        assert count(ways, ways.forward[0], POLICIES[name], rng) == 1
    assert optimum(ways) == 1.0


def test_the_optimum_of_a_path(rng):
    path = np.zeros((4, 4), dtype=bool)
    path[0, 1] = path[1, 2] = path[2, 3] = True
    (ways,) = ways_left(path | path.T, path)
    assert optimum(ways) == pytest.approx(1.5)  # an inner node tells two of the four roots from the others


def test_a_row_has_every_choice():
    row = next(iter(classes(seeds=[100], kinds=("tree",))))
    assert row["optimum"] <= row["random"]
    assert {*POLICIES} <= {*row}
