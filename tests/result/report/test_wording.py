import pytest

from drbo import Knowledge
from drbo.result.report.content import Content
from drbo.result.report.page import notebook_html, report_html
from tests.hidden import hidden_model, with_hidden
from tests.results import make_result


def test_the_report_says_what_the_marks_mean():
    result = hidden_model().result_
    content = Content(result)
    assert content.wording.ends == ("one end", "other end")
    assert [edge.sign for edge in content.edges] == ["o->", "<->", "-->", "o->"]
    assert "hidden causes allowed; marks: 4 supported, 0 assumed, 0 open" in content.headline
    assert len(content.words.says) == 4
    assert "Gaussian" in content.words.doubt[0]
    page = report_html(result)
    assert "something not in the table is involved" in page
    assert "o-&gt;" in page
    assert "something not in the table is involved" in notebook_html(result)


def test_the_facts_of_a_column_list_its_links_by_kind():
    facts = dict(Content(hidden_model().result_).column_facts(1))
    assert facts["effects"] == "e"
    assert facts["linked by something hidden"] == "c"
    assert facts["linked, unknown how"] == "a"
    assert facts["causes"] == "none"
    assert "mean" in facts


def test_arrows_have_other_words_than_marks():
    plain, marked = make_result([[0, 1], [0, 0]]).reading.wording(), hidden_model().result_.reading.wording()
    assert plain.ends == ("cause", "effect")
    assert all(set(one.kind_words) == set(one.spoken) == {"supported", "assumed", "open"} for one in (plain, marked))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"score_name": "bic-ev", "score_equivalent": False}, "All noise variances are equal"),
        ({"score_name": "mine", "score_equivalent": False}, "the assumptions of the score mine"),
        ({"score_name": "bge"}, "identifies an equivalence class"),
    ],
)
def test_the_words_of_the_score_are_those_of_the_result(given, words):
    assert words in " ".join(make_result([[0, 1], [0, 0]], **given).reading.wording().assumptions)


def test_knowledge_is_not_complete_with_hidden_causes():
    result = with_hidden([[0, 1], [0, 0]], [[0, 0], [0, 0]], knowledge=Knowledge(required=["x0 -> x1"]))
    assert "the orientation rules are not complete" in result.reading.wording().assumptions[-1]
