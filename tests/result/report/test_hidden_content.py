from drbo.result.report.content import Content
from drbo.result.report.hidden_content import HiddenContent, content_of
from drbo.result.report.page import notebook_html, report_html
from tests.hidden import hidden_model
from tests.results import make_result


def test_the_report_says_what_the_marks_mean():
    result = hidden_model().result_
    content = content_of(result)
    assert isinstance(content, HiddenContent)
    assert [edge.sign for edge in content.edges] == ["o->", "<->", "-->", "o->"]
    assert "hidden causes allowed; marks: 4 supported, 0 assumed, 0 open" in content.headline
    assert len(content.words.says) == 4
    assert "Gaussian" in content.words.doubt[0]
    page = report_html(result)
    assert "something not in the table is involved" in page
    assert "o-&gt;" in page
    assert "something not in the table is involved" in notebook_html(result)


def test_the_facts_of_a_column_list_its_links_by_kind():
    facts = dict(content_of(hidden_model().result_).column_facts(1))
    assert facts["effects"] == "e"
    assert facts["linked by something hidden"] == "c"
    assert facts["linked, unknown how"] == "a"
    assert facts["causes"] == "none"
    assert "mean" in facts


def test_other_results_have_the_usual_content():
    assert type(content_of(make_result([[0, 1], [0, 0]]))) is Content
