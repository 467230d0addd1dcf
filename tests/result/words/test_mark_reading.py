"""Results with hidden causes, from the fit to pictures, resamples and files."""

from dataclasses import replace

import numpy as np
import pytest

from drbo import DataPolicy, DrBO, Knowledge, Result
from drbo.errors import SettingsError
from drbo.graph.pag import is_legal
from tests.hidden import confounded_table, hidden_model, with_hidden
from tests.results import make_result


@pytest.fixture
def result():
    return hidden_model().result_


def _marks(result):
    return {
        (row.source, row.target): (row.mark_source, row.mark_target, row.visible) for row in result.edges().itertuples()
    }


def test_the_answer_is_the_pag_of_the_truth(result):
    assert result.graph.kind == "pag"
    assert is_legal(result.graph.marks)
    assert _marks(result) == {
        ("a", "b"): ("circle", "arrow", False),
        ("b", "c"): ("arrow", "arrow", False),
        ("d", "c"): ("circle", "arrow", False),
        ("b", "e"): ("tail", "arrow", True),
    }
    assert set(result.edges()["direction"]) == {"supported"}


def test_only_a_supported_arrow_is_visible(result):
    disagrees = replace(result.hidden, second=np.where(result.hidden.second > 0, 3, 0).astype(np.int8))
    doubted = replace(result, hidden=disagrees)
    assert set(doubted.edges()["direction"]) == {"assumed"}
    assert not doubted.edges()["visible"].any()
    assert any("something not in the table may cause both" in one.sentence for one in doubted.directions)


def test_the_graph_of_networkx_has_both_marks():
    edges = hidden_model().graph_.edges(data=True)
    assert {(a, b): (data["mark_source"], data["mark_target"]) for a, b, data in edges}["b", "c"] == ("arrow", "arrow")
    assert set(hidden_model().graph_.nodes) == set("abcde")


def test_it_comes_back_from_files(result, tmp_path):
    back = Result.load(result.save(tmp_path))
    assert back.graph == result.graph
    assert back.edges().equals(result.edges())
    assert "mark_source" in (tmp_path / "edges.csv").read_text().splitlines()[0]
    assert back.summary() == result.summary()


def test_a_copy_of_the_estimator_allows_hidden_causes_too(result):
    assert DrBO.like(result).hidden
    assert not DrBO.like(make_result([[0, 1], [0, 0]])).hidden


def test_a_saved_search_is_resumed_with_hidden_causes(tmp_path, result):
    DrBO(hidden=True, random_state=0).fit(confounded_table(), checkpoint=tmp_path)
    assert DrBO.resume(tmp_path).result_.graph == result.graph


def test_the_order_of_columns_does_not_matter(result):
    columns = ["d", "b", "e", "a", "c"]
    other = DrBO(hidden=True, random_state=0).fit(confounded_table()[columns]).result_
    order = [columns.index(name) for name in result.names]
    assert other.graph.take(order) == result.graph


def test_knowledge_marks_edges_and_is_called_given():
    known = Knowledge(tiers=[["a", "d"], ["b", "c", "e"]], forbidden=["c -> b"])
    result = DrBO(hidden=True, random_state=0, knowledge=known).fit(confounded_table()).result_
    assert _marks(result)["a", "b"][1] == "arrow"
    grounds = {(row.source, row.target): row.ground for row in result.edges().itertuples()}
    assert grounds["a", "b"] == grounds["b", "c"] == "given"
    assert "not complete" in result.summary()


def test_marks_that_tests_do_not_find_are_assumed_and_circles_are_open():
    collider, none = [[0, 0, 1], [0, 0, 1], [0, 0, 0]], np.zeros((3, 3))
    assert {one.direction for one in with_hidden(collider, none).directions} == {"assumed"}
    found = with_hidden([[0, 1], [0, 0]], np.zeros((2, 2)))
    assert [one.direction for one in found.directions] == ["open"]
    assert found.undirected.sum() == 2
    assert with_hidden(collider, none).assumed.sum() == 2
    assert with_hidden(collider, none).reading.ends() == {(0, 2): ("circle", "hollow"), (1, 2): ("circle", "hollow")}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"score": "splines"}, "linear score"),
        ({"score": "bic-ev"}, "linear score"),
        ({"prune": "f-test"}, "prune"),
        ({"preset": "paper"}, "preset"),
        ({"score_options": {"targets": np.eye(5)}}, "targets"),
    ],
)
def test_choices_that_cannot_be_combined_with_it_are_refused(given, words):
    with pytest.raises(SettingsError, match=words):
        DrBO(hidden=True, **given).fit(confounded_table())


def test_a_bootstrap_counts_the_marks_of_both_ends(tmp_path):
    model = DrBO(hidden=True, random_state=0).fit(confounded_table())
    found = model.bootstrap(confounded_table(), n=4, keep=tmp_path / "kept.json")
    assert found.n == 4
    again = model.bootstrap(confounded_table(), n=4, keep=tmp_path / "kept.json")
    np.testing.assert_array_equal(again.marks.arrow, found.marks.arrow)
    table = model.result_.edges()
    for end in ("source", "target"):
        total = table[[f"{end}_tail", f"{end}_arrow", f"{end}_circle"]].sum(axis=1)
        np.testing.assert_allclose(total, table["link_frequency"])
    row = table[(table["source"] == "b") & (table["target"] == "c")].iloc[0]
    assert row["source_arrow"] >= 0.5
    assert row["link_frequency"] == 1.0
    assert "% (" in model.result_.summary()
    assert not model.result_.weak.any()
    back = Result.load(model.result_.save(tmp_path / "saved"))
    assert back.edges().equals(table)
    assert "arrow at one end" in model.result_.report(tmp_path / "report.html").read_text()


def test_a_resample_is_fitted_as_the_table_is(result):
    model = DrBO(hidden=True, random_state=0).fit(confounded_table())
    refit = model._fitted_model()._refit(
        model._preparation.again(confounded_table(), result.names), list("abcde"), True
    )
    found = refit(np.arange(1500), 0)
    assert found.graph == result.graph
    assert found.graph.has_member(found.member)


def test_seeds_and_imputed_tables_count_marks():
    seeds = DrBO(hidden=True, random_state=0).fit(confounded_table()).stability(confounded_table(), seeds=2)
    assert seeds.marks.arrow.max() == 1.0
    table = confounded_table().copy()
    table.iloc[:10, 0] = np.nan
    result = DrBO(hidden=True, random_state=0, policy=DataPolicy(missing="impute", imputations=2)).fit(table).result_
    assert result.confidence.kind == "imputation"
    assert result.confidence.marks is not None
    assert "imputed tables" in result.summary()


def test_few_columns_are_compared_with_all_graphs(result):
    assert result.hidden.lead > 0
    assert "every other class scores at least" in result.summary()
    behind = replace(result, hidden=replace(result.hidden, lead=-1.0))
    assert "another class scores 1 higher" in behind.summary()
    assert "proof" not in replace(result, hidden=replace(result.hidden, lead=None)).summary()


def test_pictures_show_circles_and_two_heads(result, tmp_path):
    result.plot(tmp_path / "graph.svg")
    text = (tmp_path / "graph.svg").read_text()
    assert text.count("<circle") == 2
    assert text.count("<polygon") == 5  # a o-> b, b <-> c, d o-> c, b -> e
    assert "neither causes the other; something not in the table is involved" in text
    pytest.importorskip("matplotlib")
    result.plot(tmp_path / "graph.png")
    assert (tmp_path / "graph.png").stat().st_size > 1000


def test_it_can_be_copied_and_described(result):
    assert repr(replace(result, line="again")) == "<Result: 5 nodes, 4 edges, bic-nv, hidden causes allowed>"
    assert result.why()["b", "c"].startswith("Neither")
    assert not result.weak.any()
