"""Knowledge: random consistent statements hold, random contradictions are named, against a check by networkx."""

import copy
import json
import pickle
import re

import networkx as nx
import numpy as np
import pytest

from drbo.errors import DataError, KnowledgeError
from drbo.knowledge import Constraints, Knowledge

LETTERS = list("abcdefgh")


def random_dag(rng, d, p=0.4):
    order = rng.permutation(d)
    return np.triu(rng.random((d, d)) < p, 1)[np.ix_(order, order)]


def some(rng, items, share):
    return [item for item in items if rng.random() < share]


def random_knowledge(rng, names, dag):
    """Statements that this DAG obeys."""
    d = len(names)
    edges = [(names[i], names[j]) for i, j in np.argwhere(dag)]
    absent = [(names[i], names[j]) for i in range(d) for j in range(d) if i != j and not dag[i, j]]
    line = list(nx.lexicographical_topological_sort(nx.from_numpy_array(dag, create_using=nx.DiGraph)))
    cuts = sorted(rng.choice(np.arange(1, d), size=min(int(rng.integers(0, 3)), d - 1), replace=False).tolist())
    blocks = [line[a:b] for a, b in zip([0, *cuts], [*cuts, d], strict=True)]
    tiers = [tier for tier in ([names[i] for i in some(rng, block, 0.8)] for block in blocks) if tier]
    within = any((a, b) in edges for tier in tiers for a in tier for b in tier)
    limits = {name: int(dag[:, i].sum() + rng.integers(0, 2)) for i, name in enumerate(names)}
    return Knowledge(
        required=some(rng, edges, 0.4),
        forbidden=some(rng, absent, 0.2),
        tiers=tiers if rng.random() < 0.6 else [],
        forbid_within_tiers=bool(not within and rng.random() < 0.5),
        roots=some(rng, [names[i] for i in range(d) if not dag[:, i].any()], 0.5),
        leaves=some(rng, [names[i] for i in range(d) if not dag[i].any()], 0.5),
        max_parents=[None, int(dag.sum(axis=0).max()), dict(some(rng, limits.items(), 0.5))][rng.integers(3)],
    )


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
        limits = known.compile(names)
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
    assert known.compile(["a", "b", "c"]).violations(dag) == [words]


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
            contradiction.compile(names)
    assert len(kinds) == 10


def test_all_contradictions_are_told_at_once():
    known = Knowledge(required=["a -> b", "b -> c"], forbidden=["a -> b"], roots=["c"])
    with pytest.raises(KnowledgeError) as caught:
        known.compile(["a", "b", "c"])
    assert caught.value.message == (
        "2 contradictions: 'a -> b' is required but forbidden; 'b -> c' is required but 'c' is a root"
    )
    assert caught.value.hint == "drop or change one of these statements"


def test_unknown_names_get_a_suggestion_and_a_word_about_dropped_columns():
    known = Knowledge(required=["smokng -> cancer"], roots=["age"], max_parents={"zip": 1})
    with pytest.raises(KnowledgeError) as caught:
        known.compile(["smoking", "cancer", "age"])
    assert caught.value.message == (
        "unknown name in the knowledge: 'smokng' (in required 'smokng -> cancer') is not a column; "
        "did you mean 'smoking'?; 'zip' (in max_parents) is not a column"
    )
    assert "part of the search" in caught.value.hint
    assert "smoking, cancer, age" in caught.value.hint


def test_masks_hold_what_follows_from_the_required_edges():
    limits = Knowledge(required=["a -> b", "b -> c"], max_parents={"c": 1}).compile(["a", "b", "c", "e"])
    assert limits.allowed.astype(int).tolist() == [[0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 1], [1, 1, 0, 0]]
    assert limits.required.sum() == 2
    assert limits.max_parents.tolist() == [3, 3, 1, 3]
    assert limits.tier.tolist() == [0, 0, 0, 0]


def test_tiers_are_numbered_from_one_and_free_variables_are_free():
    limits = Knowledge(tiers=[["b"], ["a"]]).compile(["a", "b", "c"])
    assert limits.tier.tolist() == [2, 1, 0]
    assert limits.allowed.astype(int).tolist() == [[0, 0, 1], [1, 0, 1], [1, 1, 0]]


def test_limits_above_the_number_of_variables_are_no_limits():
    assert Knowledge(max_parents=10).compile(["a", "b", "c"]).is_trivial
    assert not Knowledge(max_parents=1).compile(["a", "b", "c"]).is_trivial
    assert not Knowledge(required=["a -> b"]).compile(["a", "b"]).is_trivial
    assert Knowledge().compile(["a", "b"]).is_trivial
    assert Knowledge(max_parents=0).compile(["a", "b"]).allowed.sum() == 0


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
        moved, direct = known.compile(names).permuted(order), known.compile([names[i] for i in order])
        assert moved.names == direct.names
        for part in ("allowed", "required", "tier", "max_parents"):
            assert np.array_equal(getattr(moved, part), getattr(direct, part))
        assert moved.violations(dag[np.ix_(order, order)]) == []


def test_mapping_round_trip_through_json():
    rng = np.random.default_rng(3)
    for _ in range(50):
        known = random_knowledge(rng, LETTERS, random_dag(rng, 8))
        assert Knowledge.from_mapping(json.loads(json.dumps(known.to_mapping()))) == known
    assert Knowledge().to_mapping() == {}
    assert Knowledge.from_mapping({"max_parents": 0}).to_mapping() == {"max_parents": 0}


def test_copies_and_pickles():
    known = Knowledge(required=["a -> b"], max_parents={"b": 2})
    assert copy.deepcopy(known) == known == pickle.loads(pickle.dumps(known))
    limits = pickle.loads(pickle.dumps(known.compile(["a", "b"])))
    assert limits.violations([[0, 0], [0, 0]]) == ["'a -> b' is required but missing"]


def test_callers_lists_are_copied():
    edges, limits = [("a", "b")], {"b": 2}
    known = Knowledge(required=edges, max_parents=limits)
    edges.append(("b", "c"))
    limits["b"] = 0
    assert known == Knowledge(required=[("a", "b")], max_parents={"b": 2})


def test_statements_given_twice_count_once():
    assert Knowledge(required=["a->b", ("a", "b")], roots=["a", "a"], tiers=[["a", "a"]]) == Knowledge(
        required=[("a", "b")], roots=["a"], tiers=[["a"]]
    )


def test_from_strings():
    known = Knowledge.from_strings(
        require=["a->b", " b -> c "],
        forbid=["c->a"],
        tiers="a, b; c,d",
        roots=["a"],
        leaves=["d"],
        max_parents=2,
        forbid_within_tiers=False,
    )
    assert known == Knowledge(
        required=[("a", "b"), ("b", "c")],
        forbidden=[("c", "a")],
        tiers=[["a", "b"], ["c", "d"]],
        roots=["a"],
        leaves=["d"],
        max_parents=2,
    )
    assert Knowledge.from_strings() == Knowledge()


def test_names_with_arrows_go_in_pairs():
    limits = Knowledge(forbidden=[("a->b", "c")]).compile(["a->b", "c"])
    assert limits.allowed.astype(int).tolist() == [[0, 0], [1, 0]]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Knowledge(required=["a b"]), "required: an edge must be 'a -> b' or a pair of names, got 'a b'"),
        (lambda: Knowledge(required=["a->b->c"]), "got 'a->b->c'"),
        (lambda: Knowledge(required=["->b"]), "got '->b'"),
        (lambda: Knowledge(forbidden=[("a", "b", "c")]), "forbidden: an edge must be"),
        (lambda: Knowledge(forbidden=[("a", 1)]), "forbidden: an edge must be"),
        (lambda: Knowledge(forbidden="a -> b"), "forbidden must be a list, got 'a -> b'"),
        (lambda: Knowledge(required=["a -> a"]), "'a -> a' is an edge from a variable to itself"),
        (lambda: Knowledge(roots="age"), "roots must be a list, got 'age'"),
        (lambda: Knowledge(leaves=[3]), "leaves must contain names of variables, got 3"),
        (lambda: Knowledge(tiers=["a", "b"]), "tier 1 must be a list, got 'a'"),
        (lambda: Knowledge(tiers=[["a"], []]), "tier 2 is empty"),
        (lambda: Knowledge(tiers=3), "tiers must be a list, got 3"),
        (lambda: Knowledge(forbid_within_tiers="yes"), "must be true or false, got 'yes'"),
        (lambda: Knowledge(max_parents=-1), "max_parents must be a whole number >= 0, got -1"),
        (lambda: Knowledge(max_parents=1.5), "got 1.5"),
        (lambda: Knowledge(max_parents=True), "got True"),
        (lambda: Knowledge(max_parents={"a": "2"}), "max_parents of 'a' must be a whole number >= 0, got '2'"),
        (lambda: Knowledge.from_strings(require=["a=>b"]), "require: an edge must be"),
        (lambda: Knowledge.from_strings(tiers="a,;b"), "tier 1 must contain names of variables, got ''"),
        (lambda: Knowledge.from_mapping({"require": []}), "no field 'require'"),
    ],
)
def test_badly_written_statements(build, message):
    with pytest.raises(KnowledgeError, match=re.escape(message)):
        build()


def test_unknown_keys_list_the_allowed_ones():
    with pytest.raises(KnowledgeError) as caught:
        Knowledge.from_mapping({"tier": [], "banned": []})
    assert "'tier', 'banned'" in caught.value.message
    assert caught.value.hint == (
        "allowed are forbidden, required, tiers, forbid_within_tiers, roots, leaves, max_parents, context"
    )


def test_numpy_numbers_are_numbers():
    assert Knowledge(max_parents=np.int64(2)).max_parents == 2


def test_toml_files(tmp_path):
    file = tmp_path / "known.toml"
    file.write_text('required = ["a -> b", ["b", "c"]]\ntiers = [["a"], ["b", "c"]]\nmax_parents = 2\n')
    known = Knowledge(required=[("a", "b"), ("b", "c")], tiers=[["a"], ["b", "c"]], max_parents=2)
    assert Knowledge.from_toml(file) == known
    file.write_text('title = "x"\n[knowledge]\nroots = ["a"]\n')
    assert Knowledge.from_toml(file) == Knowledge(roots=["a"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("required = [", "is not valid TOML"),
        ("roots = ['a']\nleaves = [b]", "(at line 2"),
        ("knowledge = 3", "must be a table, got 3"),
        ("banned = []", "no field 'banned'"),
        ("roots = 'a'", "known.toml': roots must be a list"),
    ],
)
def test_toml_files_that_cannot_be_read(tmp_path, text, message):
    file = tmp_path / "known.toml"
    file.write_text(text)
    with pytest.raises(KnowledgeError, match=re.escape(message)):
        Knowledge.from_toml(file)


def test_a_missing_toml_file():
    with pytest.raises(KnowledgeError, match=re.escape("'no.toml' cannot be read")):
        Knowledge.from_toml("no.toml")


def test_joined_says_all_that_both_say():
    first = Knowledge(required=["a -> b"], roots=["a"], tiers=[["a"], ["b"]])
    second = Knowledge(required=["b -> c"], leaves=["c"], max_parents=2, forbid_within_tiers=True)
    together = first.joined(second)
    assert together.required == (("a", "b"), ("b", "c"))
    assert (together.roots, together.leaves, together.max_parents) == (("a",), ("c",), 2)
    assert together.forbid_within_tiers
    for part in ({"tiers": [["b"], ["c"]]}, {"tiers": [["a"]]}):
        with pytest.raises(KnowledgeError, match="tiers is given twice"):
            first.joined(Knowledge(**part))
    with pytest.raises(KnowledgeError, match="max_parents is given twice"):
        second.joined(Knowledge(max_parents={"a": 1}))


class TestContext:
    def test_nothing_but_context_causes_context(self):
        limits = Knowledge(context=["site", "arm"]).compile(["a", "site", "b", "arm"])
        assert limits.allowed[:, 1].tolist() == [False, False, False, True]
        assert limits.allowed[:, 3].tolist() == [False, True, False, False]
        assert limits.allowed[1, 0]
        assert limits.allowed[0, 2]

    def test_it_is_kept_joined_and_checked(self):
        known = Knowledge(context=["site"]).joined(Knowledge.from_strings(context=["arm"]))
        assert Knowledge.from_mapping(known.to_mapping()) == known
        assert known.context == ("site", "arm")
        with pytest.raises(KnowledgeError, match="'a -> site' is required but 'site' is a context variable"):
            Knowledge(context=["site"], required=["a -> site"]).compile(["a", "site"])
        with pytest.raises(KnowledgeError, match=r"'sight' \(in context\) is not a column; did you mean 'site'"):
            Knowledge(context=["sight"]).compile(["a", "site"])

    def test_a_broken_statement_is_told(self):
        limits = Knowledge(context=["site"]).compile(["a", "site"])
        assert limits.violations([[0, 1], [0, 0]]) == [
            "'a -> site' is present but 'site' is a context variable and 'a' is not"
        ]


def test_errors_about_thousands_of_statements_stay_short():
    names = [f"x{k}" for k in range(200)]
    with pytest.raises(KnowledgeError, match="and 49990 more") as caught:
        Knowledge(roots=[f"y{k}" for k in range(50_000)]).compile(names)
    assert len(caught.value.message) < 2000
    both = Knowledge(required=[(a, b) for a in names[:40] for b in names[40:]], roots=names[40:], tiers=[names, names])
    with pytest.raises(KnowledgeError, match=r"6600 contradictions: .*; [.]{3}") as caught:
        both.compile(names)
    assert len(caught.value.message) < 10_000
