"""What the report says."""

import numpy as np

from drbo.claims.confidence import Confidence
from drbo.claims.record import Margins, Proof, RankedClass
from drbo.data.facts import Audit, ColumnFacts
from drbo.knowledge import Knowledge
from drbo.result.report.content import COLUMNS, Column, Content
from tests.results import make_result

V_SHAPE = [[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]


def make_content(dag=V_SHAPE, **changes):
    return Content(make_result(dag, names=tuple("abcd"[: len(dag)]), n_rows=50, **changes))


def test_a_direction_is_settled_open_or_assumed():
    assert make_content().edges[0].facts[0][1].startswith("determined: all graphs")
    assert make_content([[0, 1], [0, 0]]).edges[0].facts[0][1].startswith("undetermined")
    assert "assumptions of the score gp" in make_content(score_equivalent=False, score_name="gp").edges[0].facts[0][1]


def test_the_headline_counts():
    assert make_content().headline == "2 edges among 4 variables, learned from 50 rows"
    assert make_content([[0, 1], [0, 0]]).headline.endswith("do not determine the direction of 1")


def test_assumptions_name_hidden_causes_and_those_of_the_score():
    assert "hidden common cause" in make_content().assumptions[0]
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
    column = ColumnFacts(name="c", kind="numeric", distinct=9, counts=(9,), mean=1.0, sd=2.0, min=-1.0, max=3.0)
    facts = dict(make_content(audit=Audit(columns=(column,))).column_facts(2))
    assert (facts["causes"], facts["effects"], facts["range"]) == ("a, b", "none", "-1 to 3")


def test_knowledge_in_words():
    known = Knowledge(required=["a -> c"], tiers=[["a", "b"], ["c"]], max_parents=3, roots=["a"])
    words = dict(make_content(knowledge=known).knowledge)
    assert words["required edges"] == "a → c"
    assert words["max parents"] == "3"
    assert words["roots"] == "a"


def test_figures_are_written_for_people():
    assert COLUMNS["weight"].write(-2.0) == "−2"
    assert COLUMNS["margin_removed"].write(1012.3) == "1,012"
    assert Column("x", "").write(float("nan")) == ""
    assert Column("x", "").write(True) == "yes"
    assert Column("x", "").write("a\nb") == "a\\nb"


def test_rivals_say_how_they_differ():
    ranked = [(0.0, "ac", "bc"), (1.5, "ca", "bc", "db"), (2.0, "bc")]
    top = tuple(RankedClass(score=-behind, behind=behind, edges=tuple(map(tuple, edges))) for behind, *edges in ranked)
    content = make_content(classes=top, over="all DAGs")
    assert [rival["behind"] for rival in content.rivals] == ["1.5", "2"]
    assert [rival["words"] for rival in content.rivals] == [
        "with b — d; with another direction: a — c, b — c",
        "without a → c; with another direction: b — c",
    ]
    assert make_content(classes=top, score_equivalent=False).rivals[1]["words"] == "without a → c"
    assert make_content().rivals == []


def test_a_proof_is_told():
    content = make_content(proof=Proof(upper_bound=0.0, tolerance=1e-6, valid_for="all DAGs on 4 columns"))
    assert content.proof == "Proved: the graph has the highest score of all DAGs on 4 columns."
    assert make_content().proof == ""


def test_the_columns_come_in_a_fixed_order():
    matrix = np.full((4, 4), 0.5)
    found = Confidence.of([V_SHAPE, V_SHAPE], names=list("abcd"))
    margins = Margins(matrix, matrix, exact=True)
    content = make_content(margins=margins, posterior=matrix, weights=matrix, confidence=found)
    titles = [column.title for column in content.columns]
    assert titles == ["weight", "linked", "as drawn", "posterior", "if removed", "if reversed", "why this direction"]
    assert content.filter["column"] == "link_frequency"
    assert "2 resamples of the rows" in content.resampling


def test_a_search_that_was_cut_short_promises_nothing():
    for stopped in ("time limit of 5 s reached", "interrupted"):
        content = make_content(stopped=stopped)
        assert "another run may find a different graph" in content.cut_short
        assert content.cut_short in content.repeat
    whole = make_content(stopped="budget of 20 evaluations spent")
    assert whole.cut_short == ""
    assert whole.repeat.startswith("This call gives the same graph")
