"""What the report says."""

import numpy as np

from drbo.claims.denial import ClaimRecord
from drbo.claims.record import Margins, Proof, RankedClass
from drbo.data.checks.facts import Audit, ColumnFacts
from drbo.deadline import Stop
from drbo.knowledge import Knowledge
from drbo.result.report.content import Content
from tests.results import make_result, shares

MADE = (ClaimRecord(name="colliders", status="ran", grounds=("class",)),)
V_SHAPE = [[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]


def make_content(dag=V_SHAPE, **changes):
    return Content(make_result(dag, names=tuple("abcd"[: len(dag)]), n_rows=50, **changes))


def test_a_direction_is_supported_assumed_or_open():
    margins = Margins(np.full((4, 4), 50.0), np.full((4, 4), 50.0), exact=True)
    supported = make_content(margins=margins, made=MADE).edges[0]
    assert supported.direction == "supported"
    assert supported.facts[0][2].startswith("Every graph of the equivalence class has this direction")
    assert make_content().edges[0].direction == "assumed"
    open_edge = make_content([[0, 1], [0, 0]]).edges[0]
    assert open_edge.facts[0] == ["direction", "open", "Both directions score the same."]


def test_assumed_arrows_name_what_they_rest_on_and_raise_questions():
    content = make_content(score_equivalent=False, score_name="gp", assumption="smooth effects")
    assert "they rest on smooth effects" in content.wording.assumptions[-1]
    assert content.questions[0].startswith("Which of 'a' and 'c' can be a cause of the other?")
    assert make_content(np.zeros((2, 2))).questions == ()


def test_the_closest_alternative_is_told():
    margins = Margins(np.full((4, 4), 50.0), np.full((4, 4), 3.0), exact=True)
    words = make_content(score_equivalent=False, margins=margins).runner_up
    assert words == "The closest alternative is the best graph with a -> c reversed: it scores 3 lower."
    assert make_content().runner_up == ""


def test_the_headline_counts():
    assert make_content(np.zeros((2, 2))).headline == "0 edges among 2 variables, learned from 50 rows"
    assert make_content([[0, 1], [0, 0]]).headline.endswith("; directions: 0 supported, 0 assumed, 1 open")


def test_assumptions_name_hidden_causes_and_those_of_the_score():
    assert "hidden common cause" in make_content().wording.assumptions[0]
    assert any(
        "units" in text for text in make_content(score_name="bic-ev", score_equivalent=False).wording.assumptions
    )
    assert any(
        "own:Score" in t for t in make_content(score_name="own:Score", score_equivalent=False).wording.assumptions
    )


def test_the_filter_takes_the_weights_where_there_is_no_confidence():
    assert make_content().filter is None
    weights = 0.5 * np.array(V_SHAPE)
    content = make_content(standardised_weights=weights)
    assert (content.filter["column"], content.filter["max"]) == ("standardised_weight", 0.5)
    assert [edge.strength for edge in content.edges] == [0.5, 0.5]
    assert content.edges[0].shares[[column.title for column in content.columns].index("standardised")] == 0.5


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
    found = shares([V_SHAPE, V_SHAPE], names=list("abcd"))
    margins = Margins(matrix, matrix, exact=True)
    content = make_content(margins=margins, posterior=matrix, weights=matrix, confidence=found)
    titles = [column.title for column in content.columns]
    assert titles == [
        *("direction", "ground", "weight", "linked", "as drawn", "p link", "p forward", "p backward"),
        *("if removed", "if reversed", "why this direction"),
    ]
    assert content.filter["column"] == "p_link"
    assert "2 resamples of the rows" in content.resampling


def test_a_search_that_was_cut_short_promises_nothing():
    for stop in (Stop.TIME_LIMIT, Stop.INTERRUPTED):
        content = make_content(stop=stop)
        assert "another run may find a different graph" in content.cut_short
        assert content.cut_short in content.repeat
    whole = make_content(stop=Stop.BUDGET)
    assert whole.cut_short == ""
    assert whole.repeat.startswith("This call gives the same graph")
