"""What the report says."""

import numpy as np

from drbo.result.report.content import COLUMNS, Column, Content
from drbo.result.result import Result

V_SHAPE = [[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]


def make_content(dag=V_SHAPE, **changes):
    d = len(dag)
    values = {"names": tuple("abcd"[:d]), "dag": dag, "searched_dag": dag, "score": 0.0, "pruned_score": 0.0,
              "score_name": "bic-nv", "score_equivalent": True, "local": np.zeros(d), "price": np.zeros(d),
              "n_rows": 50}  # fmt: skip
    return Content(Result(**(values | changes)))


def test_a_direction_is_settled_open_or_assumed():
    assert make_content().edges[0].facts[0][1].startswith("settled: every graph")
    assert make_content([[0, 1], [0, 0]]).edges[0].facts[0][1].startswith("open")
    assert "assumptions of the score gp" in make_content(score_equivalent=False, score_name="gp").edges[0].facts[0][1]


def test_the_headline_counts():
    assert make_content().headline == "2 edges among 4 variables, learned from 50 rows"
    assert make_content([[0, 1], [0, 0]]).headline.endswith("leave the direction of 1 open")


def test_assumptions_name_hidden_causes_and_those_of_the_score():
    assert "hidden one" in make_content().assumptions[0]
    assert any("units" in text for text in make_content(score_name="bic-ev", score_equivalent=False).assumptions)
    assert any("own:Score" in t for t in make_content(score_name="own:Score", score_equivalent=False).assumptions)


def test_the_filter_takes_the_weights_where_there_is_no_confidence():
    assert make_content().filter is None
    weights = 0.5 * np.array(V_SHAPE)
    content = make_content(standardised_weights=weights)
    assert (content.filter["column"], content.filter["max"]) == ("standardised_weight", 0.5)
    assert [edge.strength for edge in content.edges] == [0.5, 0.5]
    assert content.edges[0].shares[0] == 0.5


def test_facts_of_a_variable():
    column = {"name": "c", "kind": "numeric", "mean": 1.0, "sd": 2.0, "min": -1.0, "max": 3.0}
    facts = dict(make_content(preflight={"columns": [column], "findings": []}).column_facts(2))
    assert (facts["causes"], facts["effects"], facts["range"]) == ("a, b", "none", "-1 to 3")


def test_knowledge_in_words():
    known = {"required": [["a", "c"]], "tiers": [["a", "b"], ["c"]], "max_parents": 3, "roots": ["a"]}
    words = dict(make_content(knowledge=known).knowledge)
    assert words["required edges"] == "a → c"
    assert words["max parents"] == "3"
    assert words["roots"] == "a"


def test_figures_are_written_for_people():
    assert COLUMNS["weight"].write(-2.0) == "−2"
    assert Column("x", "").write(float("nan")) == ""
    assert Column("x", "").write(True) == "yes"
    assert Column("x", "").write("a\nb") == "a\\nb"
