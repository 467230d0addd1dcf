from collections import defaultdict
from itertools import combinations, permutations

import numpy as np
import pytest

from drbo.graph.generalised_adjustment import adjustment, m_separated
from drbo.graph.mag import Mag, hide
from drbo.graph.marks import ARROW, TAIL
from drbo.graph.pag import pag_of
from tests.search.ancestral.graphs import PAIRS, SUBSETS, D, all_mags, separations

NAMES = tuple("abcd")


@pytest.fixture(scope="module")
def classes():
    found = defaultdict(list)
    for graph in all_mags():
        found[separations(graph)].append(graph)
    return list(found.values())


class Model:
    """A linear network that a graph stands for: a hidden cause of each <->, and of as many -> as leave the graph."""

    def __init__(self, graph, rng):
        pairs = np.argwhere(np.triu(graph.bidirected)).tolist()
        for pair in rng.permutation(np.argwhere(graph.directed)).tolist():
            if (hide(*_network(graph, [*pairs, pair])).marks() == graph.marks()).all():
                pairs.append(pair)
        dag, _ = _network(graph, pairs)
        weights = dag * rng.uniform(0.5, 1.5, dag.shape) * rng.choice([-1, 1], dag.shape)
        effects = np.linalg.inv(np.eye(len(dag)) - weights)
        self.effects = effects[:D, :D]
        self.covariance = (effects.T @ np.diag(rng.uniform(0.5, 2, len(dag))) @ effects)[:D, :D]

    def gives(self, source, target, given):
        """Tell whether a regression on the source and these columns gives the total effect."""
        used = [source, *given]
        slopes = np.linalg.solve(self.covariance[np.ix_(used, used)], self.covariance[used, target])
        return bool(np.isclose(slopes[0], self.effects[source, target], atol=1e-8))


def _network(graph, pairs):
    """Return a DAG with one hidden cause for each pair, and which of its nodes are hidden."""
    d = D + len(pairs)
    dag = np.zeros((d, d), dtype=bool)
    dag[:D, :D] = graph.directed
    for k, ends in enumerate(pairs):
        dag[D + k, ends] = True
    return dag, np.arange(d) >= D


@pytest.mark.floats
def test_a_set_gives_the_effect_in_every_graph_of_the_class_and_where_there_is_none_no_set_does(classes):
    rng, told = np.random.default_rng(0), defaultdict(int)
    for members in classes[::4]:
        pag, models = pag_of(members[0]), [Model(graph, rng) for graph in members]
        for source, target in permutations(range(D), 2):
            found = adjustment(pag, members[-1], source, target, NAMES)
            if found.no_effect:
                assert all(abs(model.effects[source, target]) < 1e-9 for model in models)
            elif found.nodes is not None:
                assert all(model.gives(source, target, found.nodes) for model in models)
                for fewer in combinations(found.nodes, max(0, len(found.nodes) - 1)):
                    assert found.nodes == () or not all(model.gives(source, target, fewer) for model in models)
            else:
                assert found.reason
                others = [given for given in SUBSETS if not given & {source, target}]
                for given in others:
                    assert not all(model.gives(source, target, sorted(given)) for model in models)
            told["none" if found.no_effect else "set" if found.nodes is not None else "open"] += 1
    assert min(told.values()) > 10


@pytest.mark.floats
def test_with_knowledge_a_set_gives_the_effect_in_every_graph_that_obeys_it(classes):
    rng = np.random.default_rng(1)
    never = np.zeros((D, D), dtype=bool)
    never[3, :3] = never[1:3, 0] = True  # tiers: 0, then 1 and 2, then 3
    found = 0
    for members in classes[::3]:
        obeying = [graph for graph in members if not (never & _ancestors(graph)).any()]
        if not obeying:
            continue
        pag, models = pag_of(obeying[0], never), [Model(graph, rng) for graph in obeying]
        for source, target in permutations(range(D), 2):
            one = adjustment(pag, obeying[-1], source, target, NAMES)
            if one.nodes is not None:
                assert all(model.gives(source, target, one.nodes) for model in models)
                found += 1
            if one.no_effect:
                assert all(abs(model.effects[source, target]) < 1e-9 for model in models)
    assert found > 10


def _ancestors(graph):
    reach = graph.directed.copy()
    for node in range(D):
        reach |= np.outer(reach[:, node], reach[node])
    return reach


def test_separation_is_that_of_every_path():
    for graph in all_mags()[::20]:
        expected = separations(graph)
        for i, j in PAIRS:
            for given in SUBSETS:
                if not {i, j} & given:
                    assert m_separated(graph, i, j, sorted(given)) == ((i, j, frozenset(given)) in expected)


def test_reasons_name_the_edge_that_hides_an_effect():
    link = Mag.of([[0, 1], [0, 0]])
    assert "or the reverse" in adjustment(pag_of(link), link, 0, 1, NAMES).reason
    known = np.array([[0, ARROW], [TAIL, 0]], dtype=np.int8)
    assert "not visible" in adjustment(known, link, 0, 1, NAMES).reason
    assert adjustment(known, link, 1, 0, NAMES).no_effect
