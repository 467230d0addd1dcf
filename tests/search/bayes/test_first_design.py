import numpy as np

from drbo.constraints import Constraints
from drbo.graph.dag import is_acyclic
from drbo.knowledge import Knowledge
from drbo.search.bayes.first_design import random_dags, repaired


class TestRepaired:
    @staticmethod
    def dag(rng, d=8):
        order = rng.permutation(d)
        return np.triu(rng.random((d, d)) < 0.5, 1)[np.ix_(order, order)]

    def test_without_knowledge_nothing_changes(self, rng):
        dag = self.dag(rng)
        assert (repaired(dag, Constraints.none(8)) == dag).all()

    def test_the_knowledge_holds_afterwards(self, rng):
        names = [f"x{k}" for k in range(8)]
        known = Knowledge(required=["x3 -> x0", "x0 -> x5"], forbidden=["x1 -> x2"], roots=["x7"], max_parents=2)
        limits = Constraints.of(known, names)
        for _ in range(50):
            dag = self.dag(rng)
            made = repaired(dag, limits)
            assert limits.violations(made) == []
            assert is_acyclic(made)
            assert not (made & ~dag & ~limits.required).any()


class TestRandomDags:
    def test_the_sparsest_graph_comes_first(self, rng):
        limits = Constraints.of(Knowledge(required=["x3 -> x0"], forbidden=["x1 -> x2"]), [f"x{k}" for k in range(8)])
        dags = random_dags(30, limits, rng)
        assert (dags[0] == limits.required).all()
        assert all(is_acyclic(dag) and limits.violations(dag) == [] for dag in dags)

    def test_densities_differ(self, rng):
        edges = random_dags(60, Constraints.none(8), rng).sum(axis=(1, 2))
        assert edges.min() == 0
        assert edges.max() > 14  # of 28
