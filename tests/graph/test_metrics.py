"""Distances by counting pairs one by one, the SID by d-separation and by simulated interventions in closed form."""

from itertools import combinations, permutations, product

import networkx as nx
import numpy as np
import pytest

from drbo.deadline import Deadline
from drbo.errors import DataError, SettingsError
from drbo.graph import metrics
from drbo.graph.dag import cpdag_to_dag, dag_to_cpdag, descendants, is_acyclic, markov_equivalent
from tests.statements import random_dag


def random_pdag(rng, d):
    """A DAG, its CPDAG, or any graph with some edges left open."""
    dag = random_dag(rng, d, 0.5)
    return [dag, dag_to_cpdag(dag), dag | dag.T & (rng.random((d, d)) < 0.4)][rng.integers(3)]


def all_dags(d):
    pairs = list(combinations(range(d), 2))
    for choice in product((None, 0, 1), repeat=len(pairs)):
        matrix = np.zeros((d, d), dtype=bool)
        for (i, j), way in zip(pairs, choice, strict=True):
            if way is not None:
                matrix[(i, j) if way == 0 else (j, i)] = True
        if is_acyclic(matrix):
            yield matrix


def equivalent_dags(dag):
    """All DAGs with the skeleton of this one that are Markov equivalent to it."""
    pairs = np.argwhere(np.triu(dag | dag.T))
    for ways in product((False, True), repeat=len(pairs)):
        other = np.zeros_like(dag)
        for (i, j), turned in zip(pairs, ways, strict=True):
            other[(j, i) if turned else (i, j)] = True
        if is_acyclic(other) and markov_equivalent(other, dag):
            yield other


def mark(graph, i, j):
    return {(False, False): "none", (True, False): "to", (False, True): "from", (True, True): "open"}[
        bool(graph[i, j]), bool(graph[j, i])
    ]


def count_pairs(learned, truth):
    kinds = dict.fromkeys(("correct", "reversed", "extra", "missing", "undirected", "open_extra"), 0)
    for i, j in combinations(range(len(truth)), 2):
        seen, real = mark(learned, i, j), mark(truth, i, j)
        if real == "none":
            kinds["extra"] += seen != "none"
            kinds["open_extra"] += seen == "open"
        elif seen == "none":
            kinds["missing"] += 1
        elif seen == "open":
            kinds["undirected"] += 1
        else:
            kinds["correct" if seen == real else "reversed"] += 1
    return kinds


def test_every_count_and_ratio_by_pairs():
    rng = np.random.default_rng(0)
    for _ in range(120):
        d = int(rng.integers(3, 9))
        learned, truth = random_pdag(rng, d), random_dag(rng, d, 0.5)
        if not learned.any() or not truth.any():
            continue
        k = count_pairs(learned, truth)
        result = metrics.compare(learned, truth)
        for kind in ("correct", "reversed", "extra", "missing", "undirected"):
            assert len(getattr(result, kind)) == k[kind]
            assert result.numbers()[f"n_{kind}"] == k[kind]
        n_learned = k["correct"] + k["reversed"] + k["extra"] + k["undirected"]
        n_true = k["correct"] + k["reversed"] + k["missing"] + k["undirected"]
        n_open = k["undirected"] + k["open_extra"]
        assert (result.n_learned, result.n_true) == (n_learned, n_true)
        assert result.shd == metrics.shd(learned, truth) == sum(k.values()) - k["correct"] - k["open_extra"]
        assert result.tpr == result.recall == k["correct"] / n_true
        assert result.fdr == (k["reversed"] + k["extra"]) / n_learned
        assert result.precision == k["correct"] / n_learned
        assert result.f1 == pytest.approx(2 * k["correct"] / (n_learned + n_true))
        adjacent = k["correct"] + k["reversed"] + k["undirected"]
        assert result.adjacency_precision == adjacent / n_learned
        assert result.adjacency_recall == adjacent / n_true
        assert result.arrowhead_precision == (k["correct"] / (n_learned - n_open) if n_learned > n_open else 1.0)
        assert result.arrowhead_recall == k["correct"] / n_true


def test_gcastle_convention_by_entries():
    """Undirected edges as two entries, as set operations on (row, column) pairs."""
    rng = np.random.default_rng(1)
    for _ in range(120):
        d = int(rng.integers(3, 9))
        learned, truth = random_pdag(rng, d), random_dag(rng, d, 0.5)
        entries, real = set(zip(*np.nonzero(learned), strict=True)), set(zip(*np.nonzero(truth), strict=True))
        if not entries or not real:
            continue
        either = real | {(j, i) for i, j in real}
        single = {(i, j) for i, j in entries if (j, i) not in entries}
        turned = {(i, j) for i, j in single if (j, i) in real}
        wrong = turned | (entries - either)
        result = metrics.compare(learned, truth, undirected="gcastle")
        assert result.n_learned == len(entries)
        assert result.fdr == len(wrong) / len(entries)
        assert result.precision == len(entries & real) / len(entries)
        assert result.recall == result.tpr == len(entries & real) / len(real)
        assert result.f1 == pytest.approx(2 * len(entries & real) / (len(entries) + len(real)))
        pairs, real_pairs = {frozenset(e) for e in entries}, {frozenset(e) for e in real}
        assert result.shd == len(pairs ^ real_pairs) + len(turned)


def test_conventions_agree_on_dags():
    rng = np.random.default_rng(2)
    for _ in range(50):
        learned, truth = random_dag(rng, 6, 0.5), random_dag(rng, 6, 0.5)
        assert metrics.compare(learned, truth) == metrics.compare(learned, truth, undirected="gcastle")


def test_edge_lists_name_the_edges():
    truth = [[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
    learned = [[0, 0, 1, 0], [1, 0, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0]]
    result = metrics.compare(learned, truth)
    assert result.correct == ()
    assert result.reversed == ((1, 0),)
    assert result.extra == ((2, 3),)
    assert result.missing == ((1, 3),)
    assert result.undirected == ((0, 2),)


def test_ratios_when_there_is_nothing_to_count():
    nothing, edge = np.zeros((2, 2)), np.array([[0, 1], [0, 0]])
    empty = metrics.compare(nothing, nothing)
    assert (empty.fdr, empty.precision, empty.recall, empty.tpr, empty.f1, empty.shd) == (0, 1, 1, 1, 1, 0)
    silent = metrics.compare(nothing, edge)
    assert (silent.fdr, silent.precision, silent.tpr, silent.f1) == (0, 1, 0, 0)
    false = metrics.compare(edge, nothing)
    assert (false.fdr, false.precision, false.tpr, false.f1) == (1, 0, 1, 0)


@pytest.mark.parametrize("undirected", ["mismatch", "gcastle"])
def test_no_ratio_leaves_the_unit_interval(undirected):
    rng = np.random.default_rng(3)
    ratios = [name for name, kind in metrics.Comparison.__annotations__.items() if kind is float]
    assert len(ratios) == 9
    for _ in range(100):
        d = int(rng.integers(2, 7))
        numbers = metrics.compare(random_pdag(rng, d), random_dag(rng, d, rng.random()), undirected).numbers()
        assert all(0 <= numbers[name] <= 1 for name in ratios)


def test_perfect_and_complete_undirected_graphs():
    truth = random_dag(np.random.default_rng(4), 6, 0.5)
    same = metrics.compare(truth, truth)
    assert (same.shd, same.shd_c, same.sid, same.f1, same.fdr) == (0, 0, 0, 1, 0)
    complete = ~np.eye(3, dtype=bool)
    chain = np.eye(3, k=1, dtype=bool)
    result = metrics.compare(complete, chain)
    assert (result.shd, result.tpr, result.fdr, result.adjacency_recall) == (3, 0, 1 / 3, 1)
    theirs = metrics.compare(complete, chain, undirected="gcastle")
    assert (theirs.shd, theirs.tpr, theirs.fdr, theirs.precision) == (1, 1, 2 / 6, 2 / 6)


def test_shd_of_partially_directed_graphs():
    directed, turned, open_edge = [[0, 1], [0, 0]], [[0, 0], [1, 0]], [[0, 1], [1, 0]]
    assert metrics.shd(directed, turned) == 1
    assert metrics.shd(directed, open_edge) == 1
    assert metrics.shd(open_edge, open_edge) == 0
    assert metrics.shd_cpdag(directed, turned) == 0
    assert metrics.shd_cpdag(directed, open_edge) == 0


def test_shd_between_cpdags_is_the_shd_of_the_unions_of_the_classes():
    rng = np.random.default_rng(5)
    for _ in range(15):
        a, b = random_dag(rng, 4, 0.6), random_dag(rng, 4, 0.6)
        first, second = (np.any(list(equivalent_dags(dag)), axis=0) for dag in (a, b))
        expected = sum(mark(first, i, j) != mark(second, i, j) for i, j in combinations(range(4), 2))
        assert metrics.shd_cpdag(a, b) == metrics.shd_cpdag(first, b) == expected
        assert metrics.compare(a, b).shd_c == metrics.compare(first, b).shd_c == expected


def test_bad_input():
    edge = [[0, 1], [0, 0]]
    with pytest.raises(DataError, match="same nodes, got 2 and 3"):
        metrics.compare(edge, np.zeros((3, 3)))
    with pytest.raises(DataError, match="cycle"):
        metrics.compare(edge, [[0, 1], [1, 0]])
    with pytest.raises(DataError, match="cycle"):
        metrics.compare([[0, 1, 0], [0, 0, 1], [1, 0, 0]], np.zeros((3, 3)))
    with pytest.raises(DataError, match="cycle"):
        metrics.sid([[0, 1], [1, 0]], edge)
    with pytest.raises(SettingsError, match="'mismatch' or 'gcastle', got 'half'"):
        metrics.compare(edge, edge, undirected="half")


def sid_by_d_separation(learned, truth):
    """The definition, pair by pair: valid adjustment by d-separation in the proper back-door graph."""
    network = nx.from_numpy_array(truth, create_using=nx.DiGraph)
    wrong = 0
    for i, j in permutations(range(len(truth)), 2):
        parents = set(np.flatnonzero(learned[:, i]).tolist())
        below = nx.descendants(network, i)
        if j in parents:
            wrong += j in below
            continue
        on_path = below & (nx.ancestors(network, j) | {j})
        spoiled = set(on_path).union(*(nx.descendants(network, node) for node in on_path))
        backdoor = network.copy()
        backdoor.remove_edges_from([(i, child) for child in network.successors(i) if child in on_path])
        wrong += bool(parents & spoiled) or not nx.is_d_separator(backdoor, {i}, {j}, parents)
    return wrong


def sid_by_intervention(learned, truth, rng):
    """Count wrong effects in a linear Gaussian model with random weights, true against adjusted distribution."""
    d = len(truth)
    weights = truth * rng.uniform(0.4, 1.6, (d, d)) * rng.choice([-1, 1], (d, d))
    noise = rng.uniform(0.5, 2.0, d)

    def covariance(matrix, variances):
        total = np.linalg.inv(np.eye(d) - matrix)  # [i, j]: total effect of i on j
        return total, total.T @ np.diag(variances) @ total

    _, observed = covariance(weights, noise)
    wrong = 0
    for i, j in permutations(range(d), 2):
        cut, still = weights.copy(), noise.copy()
        cut[:, i], still[i] = 0, 0
        total, intervened = covariance(cut, still)
        parents = np.flatnonzero(learned[:, i])
        if j in parents:
            effect, variance = 0.0, observed[j, j]
        else:
            given = np.append(parents, i)
            slope = np.linalg.solve(observed[np.ix_(given, given)], observed[given, j])
            effect, rest = slope[-1], slope[:-1]
            residual = observed[j, j] - slope @ observed[given, j]
            variance = residual + rest @ observed[np.ix_(parents, parents)] @ rest
        wrong += not np.allclose([effect, variance], [total[i, j], intervened[j, j]], rtol=0, atol=1e-7)
    return wrong


def test_sid_of_all_pairs_of_three_node_dags():
    """Every learned DAG with one true DAG of each shape: names of nodes change nothing."""
    rng = np.random.default_rng(6)
    dags = list(all_dags(3))
    shapes = {min(dag[np.ix_(order, order)].tobytes() for order in permutations(range(3))): dag for dag in dags}
    assert (len(dags), len(shapes)) == (25, 6)
    for learned, truth in product(dags, shapes.values()):
        value = metrics.sid(learned, truth)
        assert value == sid_by_d_separation(learned, truth)
        assert value == sid_by_intervention(learned, truth, rng)


@pytest.mark.parametrize(("d", "p"), [(5, 0.3), (5, 0.6), (7, 0.4)])
def test_sid_of_random_dags(d, p):
    rng = np.random.default_rng([7, d])
    seen = set()
    for _ in range(30):
        learned, truth = random_dag(rng, d, p), random_dag(rng, d, p)
        value = metrics.sid(learned, truth)
        seen.add(value)
        assert value == sid_by_d_separation(learned, truth)
        assert value == sid_by_intervention(learned, truth, rng)
    assert len(seen) > 10


def test_sid_of_the_example_of_its_paper():
    """Peters & Bühlmann 2015, Figure 1: one extra edge costs nothing, one reversed edge costs 8."""
    truth = np.zeros((5, 5), dtype=bool)
    truth[0, 1] = True
    truth[:2, 2:] = True
    extra, turned = truth.copy(), truth.copy()
    extra[2, 3] = True
    turned[0, 1], turned[1, 0] = False, True
    assert metrics.shd(extra, truth) == metrics.shd(turned, truth) == 1
    assert metrics.sid(extra, truth) == 0
    assert metrics.sid(turned, truth) == 8


def test_sid_is_zero_for_supergraphs_and_bounded():
    rng = np.random.default_rng(8)
    for _ in range(30):
        order = rng.permutation(8)
        complete = np.triu(np.ones((8, 8), dtype=bool), 1)[np.ix_(order, order)]
        truth = complete & (rng.random((8, 8)) < 0.4)
        more = truth | (complete & (rng.random((8, 8)) < 0.5))
        assert metrics.sid(more, truth) == 0
        assert metrics.sid(truth, truth) == 0
        # The empty graph adjusts for nothing: it takes every effect of a descendant on its ancestor for real.
        assert int(descendants(truth).sum()) <= metrics.sid(np.zeros((8, 8)), truth) <= 8 * 7
    reversed_chain = np.eye(6, k=-1, dtype=bool)
    assert metrics.sid(reversed_chain, reversed_chain.T) == 6 * 5


def test_an_sid_that_there_is_no_time_for_is_left_out(rng):
    dag = random_dag(rng, 6, 0.5)
    with Deadline() as deadline:
        deadline.stop()
        found = metrics.compare(dag, dag)
    assert (found.sid, found.sid_bounds, found.shd) == (None, None, 0)
    assert metrics.compare(dag, dag).sid == 0


def test_sid_in_chunks(monkeypatch):
    rng = np.random.default_rng(9)
    learned, truth = random_dag(rng, 9, 0.4), random_dag(rng, 9, 0.4)
    whole = metrics.sid(learned, truth)
    monkeypatch.setattr(metrics, "ROWS_AT_ONCE", 2)
    assert metrics.sid(learned, truth) == whole


@pytest.mark.parametrize(("d", "p", "count"), [(4, 0.7, 10), (5, 0.5, 8), (5, 1.0, 1), (6, 0.4, 4)])
def test_sid_bounds_by_enumerating_the_class(d, p, count):
    rng = np.random.default_rng([10, d, count])
    for _ in range(count):
        member, truth = random_dag(rng, d, p), random_dag(rng, d, 0.5)
        values = [metrics.sid(dag, truth) for dag in equivalent_dags(member)]
        cpdag = dag_to_cpdag(member)
        assert metrics.sid_bounds(cpdag, truth) == (min(values), max(values))
        result = metrics.compare(cpdag, truth)
        assert result.sid_bounds == (min(values), max(values))
        assert result.sid == (values[0] if not (cpdag & cpdag.T).any() else None)
        assert (result.numbers()["sid_lower"], result.numbers()["sid_upper"]) == result.sid_bounds


def test_sid_bounds_of_trees_by_their_sources():
    """A tree without v-structures stands for one DAG per source."""
    rng = np.random.default_rng(11)
    tree = np.zeros((12, 12), dtype=bool)
    for node in range(1, 12):
        tree[rng.integers(node), node] = True
    network = nx.from_numpy_array(tree | tree.T)
    members = []
    for source in range(12):
        dag = np.zeros_like(tree)
        for edge in nx.bfs_edges(network, source):
            dag[edge] = True
        members.append(dag)
    truth = random_dag(rng, 12, 0.3)
    values = [metrics.sid(dag, truth) for dag in members]
    assert metrics.sid_bounds(dag_to_cpdag(tree), truth) == (min(values), max(values))


def test_sid_bounds_of_a_dag_and_of_other_graphs():
    rng = np.random.default_rng(12)
    learned, truth = random_dag(rng, 6, 0.5), random_dag(rng, 6, 0.5)
    value = metrics.sid(learned, truth)
    assert metrics.sid_bounds(learned, truth) == (value, value)
    half_open = np.array([[0, 1, 0], [0, 0, 1], [0, 1, 0]])  # 0 -> 1 - 2: the second edge is not really open
    with pytest.raises(DataError, match="require a DAG or a CPDAG"):
        metrics.sid_bounds(half_open, np.zeros((3, 3)))
    result = metrics.compare(half_open, np.zeros((3, 3)))
    assert result.sid is None
    assert result.sid_bounds is None
    assert result.numbers()["sid_lower"] is None


def test_sid_bounds_give_up_on_large_cliques(monkeypatch):
    clique = ~np.eye(6, dtype=bool)
    monkeypatch.setattr(metrics, "MAX_FAMILIES", 100)
    with pytest.raises(DataError, match="too many DAGs"):
        metrics.sid_bounds(clique, cpdag_to_dag(clique))
    assert metrics.compare(clique, cpdag_to_dag(clique)).sid_bounds is None
