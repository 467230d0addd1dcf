"""Constraints: random consistent statements hold, random contradictions are named, against a check by networkx."""

import pickle

import networkx as nx
import numpy as np
import pytest

from drbo.constraints import Constraints, at_lags
from drbo.errors import DataError, KnowledgeError
from drbo.knowledge import Knowledge
from tests.statements import LETTERS, random_dag, random_knowledge


def obeys(dag, known, names):
    """Every statement on its own, by names and networkx."""
    edges = {(names[i], names[j]) for i, j in np.argwhere(dag)}
    tier = {name: k for k, group in enumerate(known.tiers) for name in group}
    limits = known.max_parents if isinstance(known.max_parents, dict) else dict.fromkeys(names, known.max_parents)
    order = nx.DiGraph(list(known.required))
    order.add_edges_from((a, b) for a in tier for b in tier if tier[a] < tier[b])
    for a, b in edges:
        if (a, b) in known.forbidden or b in known.roots or a in known.leaves:
            return False
        if known.forbid_within_tiers and a in tier and tier[a] == tier.get(b):
            return False
        with_edge = order.copy()
        with_edge.add_edge(a, b)
        if not nx.is_directed_acyclic_graph(with_edge):  # later tier to earlier, alone or with the required edges
            return False
    crowded = any(sum(b == name for _, b in edges) > limit for name, limit in limits.items() if limit is not None)
    return set(known.required) <= edges and not crowded


@pytest.mark.parametrize("block", range(10))
def test_consistent_knowledge_compiles_and_holds(block):
    """100 sets a block: the DAG behind them obeys; every changed DAG is judged as by the independent check."""
    rng = np.random.default_rng([0, block])
    n_broken = 0
    for _ in range(100):
        d = int(rng.integers(2, 9))
        names = rng.permutation(LETTERS)[:d].tolist()
        dag = random_dag(rng, d)
        known = random_knowledge(rng, names, dag)
        limits = Constraints.of(known, names)
        assert limits.violations(dag) == []
        assert not (limits.required & ~limits.allowed).any()
        assert not limits.allowed.diagonal().any()
        changed = dag.copy()
        for i, j in rng.integers(d, size=(3, 2)):
            changed[i, j] ^= i != j
        if not nx.is_directed_acyclic_graph(nx.from_numpy_array(changed, create_using=nx.DiGraph)):
            changed = random_dag(rng, d)
        broken = not obeys(changed, known, names)
        n_broken += broken
        assert bool(limits.violations(changed)) == broken
        # The arrays alone say the same: nothing but masks is needed to obey.
        masks = (limits.required & ~changed).any() or (changed & ~limits.allowed).any()
        assert bool(masks or (changed.sum(axis=0) > limits.max_parents).any()) == broken
    assert 20 < n_broken < 95


@pytest.mark.parametrize(
    ("known", "edges", "words"),
    [
        (Knowledge(required=["a -> b"]), "", "'a -> b' is required but missing"),
        (Knowledge(forbidden=["a -> b"]), "ab", "'a -> b' is present but forbidden"),
        (Knowledge(roots=["b"]), "ab", "'a -> b' is present but 'b' is a root"),
        (Knowledge(leaves=["a"]), "ab", "'a -> b' is present but 'a' is a leaf"),
        (Knowledge(tiers=[["b"], ["a"]]), "ab", "'a -> b' is present but 'a' is in tier 2 and 'b' in tier 1"),
        (
            Knowledge(tiers=[["a", "b"]], forbid_within_tiers=True),
            "ab",
            "'a -> b' is present but 'a' and 'b' are both in tier 1 and edges within tiers are forbidden",
        ),
        (Knowledge(max_parents=1), "ac bc", "max_parents of 'c' is 1 but it has a, b"),
        (Knowledge(max_parents={"c": 1}), "ac bc", "max_parents of 'c' is 1 but it has a, b"),
        (
            Knowledge(required=["c -> b"], tiers=[["a"], ["c"]]),
            "cb ba",
            "'b -> a' is present but the required edges and tiers place 'a' before 'b'",
        ),
    ],
)
def test_a_broken_statement_is_named(known, edges, words):
    dag = np.zeros((3, 3), dtype=bool)
    for a, b in edges.split():
        dag["abc".index(a), "abc".index(b)] = True
    assert Constraints.of(known, ["a", "b", "c"]).violations(dag) == [words]


def contradict(known, names, rng):
    """A contradiction of a random kind added to consistent knowledge, and the words that must name it."""
    a, b, c, e = rng.permutation(names)[:4].tolist()
    edge = (a, b)
    mapping = known.to_mapping()

    def add(**parts):
        for key, value in parts.items():
            mapping[key] = [*mapping.get(key, []), *value]

    kind = rng.choice(["forbidden", "cycle", "tiers", "root", "leaf", "crowd", "twice", "path", "within", "unknown"])
    if kind in ("tiers", "path", "within", "twice"):
        mapping.pop("tiers", None)
        mapping.pop("forbid_within_tiers", None)
    if kind == "forbidden":
        add(required=[edge], forbidden=[edge])
        words = f"'{a} -> {b}' is required but forbidden"
    elif kind == "cycle":
        mapping["required"] = [edge, (b, c), (c, a)]
        ring = [(a, b, c, a), (b, c, a, b), (c, a, b, c)]
        words = "|".join("the required edges form a cycle: " + " -> ".join(path) for path in ring)
    elif kind == "tiers":
        add(required=[edge], tiers=[[b, c], [a]])
        words = f"'{a} -> {b}' is required but '{a}' is in tier 2 and '{b}' in tier 1"
    elif kind == "root":
        add(required=[edge], roots=[b])
        words = f"'{a} -> {b}' is required but '{b}' is a root"
    elif kind == "leaf":
        add(required=[edge], leaves=[a])
        words = f"'{a} -> {b}' is required but '{a}' is a leaf"
    elif kind == "crowd":
        mapping.update(required=[(a, c), (b, c)], max_parents={c: 1})
        words = f"required but max_parents of '{c}' is 1"
    elif kind == "twice":
        add(tiers=[[a, b], [c], [a]])
        words = f"'{a}' is in tiers 1 and 3"
    elif kind == "path":
        mapping = {"required": [edge, (b, c)], "tiers": [[c], [e], [a]]}
        words = f"'{a} -> {b} -> {c}' is required but '{a}' is in tier 3 and '{c}' in tier 1"
    elif kind == "within":
        add(required=[edge], tiers=[[a, b, c]])
        mapping["forbid_within_tiers"] = True
        words = f"'{a} -> {b}' is required but '{a}' and '{b}' are both in tier 1"
    else:
        add(required=[(a, "Zebra")])
        words = f"'Zebra' \\(in required '{a} -> Zebra'\\) is not a column"
    return kind, Knowledge.from_mapping(mapping), words


def test_contradictions_are_refused_and_named():
    rng = np.random.default_rng(1)
    kinds = set()
    for _ in range(150):
        names = rng.permutation(LETTERS)[: int(rng.integers(4, 9))].tolist()
        known = random_knowledge(rng, names, random_dag(rng, len(names), 0.2))
        kind, contradiction, words = contradict(known, names, rng)
        kinds.add(str(kind))
        with pytest.raises(KnowledgeError, match=words):
            Constraints.of(contradiction, names)
    assert len(kinds) == 10


def test_all_contradictions_are_told_at_once():
    known = Knowledge(required=["a -> b", "b -> c"], forbidden=["a -> b"], roots=["c"])
    with pytest.raises(KnowledgeError) as caught:
        Constraints.of(known, ["a", "b", "c"])
    assert caught.value.message == (
        "2 contradictions: 'a -> b' is required but forbidden; 'b -> c' is required but 'c' is a root"
    )
    assert caught.value.hint == "drop or change one of these statements"


def test_masks_hold_what_follows_from_the_required_edges():
    limits = Constraints.of(Knowledge(required=["a -> b", "b -> c"], max_parents={"c": 1}), ["a", "b", "c", "e"])
    assert limits.allowed.astype(int).tolist() == [[0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 1], [1, 1, 0, 0]]
    assert limits.required.sum() == 2
    assert limits.max_parents.tolist() == [3, 3, 1, 3]
    assert limits.tier.tolist() == [0, 0, 0, 0]


def test_tiers_are_numbered_from_one_and_free_variables_are_free():
    limits = Constraints.of(Knowledge(tiers=[["b"], ["a"]]), ["a", "b", "c"])
    assert limits.tier.tolist() == [2, 1, 0]
    assert limits.allowed.astype(int).tolist() == [[0, 0, 1], [1, 0, 1], [1, 1, 0]]


def test_limits_above_the_number_of_variables_are_no_limits():
    assert Constraints.of(Knowledge(max_parents=10), ["a", "b", "c"]).is_trivial
    assert not Constraints.of(Knowledge(max_parents=1), ["a", "b", "c"]).is_trivial
    assert not Constraints.of(Knowledge(required=["a -> b"]), ["a", "b"]).is_trivial
    assert Constraints.of(Knowledge(), ["a", "b"]).is_trivial
    assert Constraints.of(Knowledge(max_parents=0), ["a", "b"]).allowed.sum() == 0


def test_none_allows_every_dag():
    limits = Constraints.none(4)
    assert limits.is_trivial
    assert limits.violations(np.triu(np.ones((4, 4)), 1)) == []
    with pytest.raises(DataError, match="3 nodes, but 4 names"):
        limits.violations(np.zeros((3, 3)))
    with pytest.raises(DataError, match="cycle: x0 -> x1 -> x0"):
        limits.violations(np.eye(4, k=1) + np.eye(4, k=-1))


def test_permuted_is_what_the_permuted_columns_give():
    rng = np.random.default_rng(2)
    for _ in range(50):
        d = int(rng.integers(2, 9))
        names, order = rng.permutation(LETTERS)[:d].tolist(), rng.permutation(d)
        dag = random_dag(rng, d)
        known = random_knowledge(rng, names, dag)
        moved, direct = Constraints.of(known, names).permuted(order), Constraints.of(known, [names[i] for i in order])
        assert moved.names == direct.names
        for part in ("allowed", "required", "tier", "max_parents"):
            assert np.array_equal(getattr(moved, part), getattr(direct, part))
        assert moved.violations(dag[np.ix_(order, order)]) == []


def test_names_with_arrows_go_in_pairs():
    limits = Constraints.of(Knowledge(forbidden=[("a->b", "c")]), ["a->b", "c"])
    assert limits.allowed.astype(int).tolist() == [[0, 0], [1, 0]]


def test_pickled_constraints_still_name_their_statements():
    limits = pickle.loads(pickle.dumps(Constraints.of(Knowledge(required=["a -> b"]), ["a", "b"])))
    assert limits.violations([[0, 0], [0, 0]]) == ["'a -> b' is required but missing"]


class TestContext:
    def test_nothing_but_context_causes_context(self):
        limits = Constraints.of(Knowledge(context=["site", "arm"]), ["a", "site", "b", "arm"])
        assert limits.allowed[:, 1].tolist() == [False, False, False, True]
        assert limits.allowed[:, 3].tolist() == [False, True, False, False]
        assert limits.allowed[1, 0]
        assert limits.allowed[0, 2]

    def test_it_is_kept_joined_and_checked(self):
        known = Knowledge(context=["site"]).joined(Knowledge.from_strings(context=["arm"]))
        assert Knowledge.from_mapping(known.to_mapping()) == known
        assert known.context == ("site", "arm")
        with pytest.raises(KnowledgeError, match="'a -> site' is required but 'site' is a context variable"):
            Constraints.of(Knowledge(context=["site"], required=["a -> site"]), ["a", "site"])
        with pytest.raises(KnowledgeError, match=r"'sight' \(in context\) is not a column; did you mean 'site'"):
            Constraints.of(Knowledge(context=["sight"]), ["a", "site"])

    def test_a_broken_statement_is_told(self):
        limits = Constraints.of(Knowledge(context=["site"]), ["a", "site"])
        assert limits.violations([[0, 1], [0, 0]]) == [
            "'a -> site' is present but 'site' is a context variable and 'a' is not"
        ]


def test_errors_about_thousands_of_statements_stay_short():
    names = [f"x{k}" for k in range(200)]
    with pytest.raises(KnowledgeError, match="and 49990 more") as caught:
        Constraints.of(Knowledge(roots=[f"y{k}" for k in range(50_000)]), names)
    assert len(caught.value.message) < 2000
    both = Knowledge(required=[(a, b) for a in names[:40] for b in names[40:]], roots=names[40:], tiers=[names, names])
    with pytest.raises(KnowledgeError, match=r"6600 contradictions: .*; [.]{3}") as caught:
        Constraints.of(both, names)
    assert len(caught.value.message) < 10_000


WINDOW = ["a", "b", "c", "a[-1]", "b[-1]", "c[-1]"]
LAGS = [0, 0, 0, 1, 1, 1]


def _allowed(known):
    limits = Constraints.of(known, WINDOW, LAGS)
    return {f"{WINDOW[i]} -> {WINDOW[j]}" for i, j in np.argwhere(limits.allowed)}


def test_the_past_has_no_causes():
    free = _allowed(Knowledge())
    assert len(free) == 3 * 5
    assert not any("-> a[-1]" in edge for edge in free)
    limits = Constraints.of(Knowledge(), WINDOW, LAGS)
    assert limits.past.tolist() == [False] * 3 + [True] * 3
    assert limits.permuted([3, 0, 1, 2, 4, 5]).past.tolist() == [True, False, False, False, True, True]
    assert not Constraints.none(2).past.any()


def test_a_forbidden_edge_holds_at_every_lag_or_at_one():
    assert _allowed(Knowledge()) - _allowed(Knowledge(forbidden=["a -> b"])) == {"a -> b", "a[-1] -> b"}
    assert _allowed(Knowledge()) - _allowed(Knowledge(forbidden=["a[-1] -> b"])) == {"a[-1] -> b"}
    assert _allowed(Knowledge()) - _allowed(Knowledge(forbidden=["a[0] -> b"])) == {"a -> b"}
    assert _allowed(Knowledge()) - _allowed(Knowledge(forbidden=["a[-1] -> a"])) == {"a[-1] -> a"}


def test_required_edges_say_their_lag():
    limits = Constraints.of(Knowledge(required=["a[-1] -> b", "c[0] -> b"]), WINDOW, LAGS)
    assert np.argwhere(limits.required).tolist() == [[2, 1], [3, 1]]
    with pytest.raises(KnowledgeError, match="does not say at which lag"):
        at_lags(Knowledge(required=["a -> b"]), WINDOW, LAGS)
    with pytest.raises(KnowledgeError, match="has its effect in the past"):
        at_lags(Knowledge(forbidden=["a -> b[-1]"]), WINDOW, LAGS)


def test_tiers_roots_leaves_and_context_hold_for_the_past():
    assert _allowed(Knowledge()) - _allowed(Knowledge(tiers=[["a"], ["b"]])) == {"b -> a", "b[-1] -> a"}
    within = _allowed(Knowledge()) - _allowed(Knowledge(tiers=[["a", "b"]], forbid_within_tiers=True))
    assert within == {"a -> b", "b -> a", "a[-1] -> b", "b[-1] -> a"}
    into_a = {"b -> a", "c -> a", "b[-1] -> a", "c[-1] -> a"}
    assert _allowed(Knowledge()) - _allowed(Knowledge(roots=["a"])) == into_a
    assert _allowed(Knowledge()) - _allowed(Knowledge(context=["a"])) == into_a
    assert _allowed(Knowledge()) - _allowed(Knowledge(leaves=["a"])) == {"a -> b", "a -> c", "a[-1] -> b", "a[-1] -> c"}


def test_unknown_names_are_named():
    for known in (Knowledge(forbidden=["aa -> b"]), Knowledge(roots=["aa"]), Knowledge(tiers=[["aa"], ["b"]])):
        with pytest.raises(KnowledgeError, match="'aa'"):
            Constraints.of(known, WINDOW, LAGS)
