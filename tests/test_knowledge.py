"""Knowledge: what the user states is read, kept, joined and checked for spelling."""

import copy
import json
import pickle
import re

import numpy as np
import pytest

from drbo.errors import KnowledgeError
from drbo.knowledge import Knowledge
from tests.statements import LETTERS, random_dag, random_knowledge


def test_unknown_names_get_a_suggestion_and_a_word_about_dropped_columns():
    known = Knowledge(required=["smokng -> cancer"], roots=["age"], max_parents={"zip": 1})
    with pytest.raises(KnowledgeError) as caught:
        known.check_names(["smoking", "cancer", "age"])
    assert caught.value.message == (
        "unknown name in the knowledge: 'smokng' (in required 'smokng -> cancer') is not a column; "
        "did you mean 'smoking'?; 'zip' (in max_parents) is not a column"
    )
    assert "part of the search" in caught.value.hint
    assert "smoking, cancer, age" in caught.value.hint


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
