import pytest

from drbo import Result
from drbo.errors import ResultError
from drbo.knowledge import Knowledge
from drbo.result.words.arrow_reading import ArrowReading
from drbo.result.words.mark_reading import MarkReading
from drbo.result.words.reading import READINGS, reading_of, tiers_of
from tests.hidden import hidden_model
from tests.results import FULL_DAG, full_result


def test_the_kind_of_graph_decides_how_a_result_is_read():
    plain, hidden = full_result(), hidden_model().result_
    assert type(reading_of(plain)) is ArrowReading
    assert type(reading_of(hidden)) is MarkReading
    for one in (plain, hidden):
        assert one.graph.kind in one.reading.kinds
        assert one.graph.has_member(one.reading.member())
        edges = one.reading.edges
        assert [len(found) for found in (one.directions, one.reading.signs(), one.reading.ends())] == [len(edges)] * 3
        assert list(one.reading.ends()) == list(one.reading.notes()) == edges
    assert len(plain.reading.edges) == FULL_DAG.sum()


class Lagged(ArrowReading):
    """A kind that no other module knows."""

    noun = "a window graph"
    allowed = ", lags allowed"
    way_out = "ask for the summary graph"

    def signs(self):
        return ["-1->" for _ in self.edges]

    def export(self, path, *, as_class):
        path.write_text(f"{as_class} {len(self.edges)}")
        return path


def test_a_new_kind_is_one_class_and_one_line(monkeypatch, tmp_path):
    monkeypatch.setitem(READINGS, "pruner", f"{__name__}:Lagged")
    made = full_result()
    assert isinstance(made.reading, Lagged)
    assert "lags allowed" in made.summary()
    assert "-1->" in made.summary()
    assert made.export(tmp_path / "graph.tigramite", as_class=True).read_text() == f"True {FULL_DAG.sum()}"
    with pytest.raises(ResultError, match=r"to_pgmpy\(\) does not support a window graph"):
        made.to_pgmpy()
    made.save(tmp_path / "run")
    assert isinstance(Result.load(tmp_path / "run").reading, Lagged)


def test_bands_are_tiers_that_hold_every_variable():
    assert tiers_of(Knowledge(tiers=[["a"], ["b", "c"]]), ("c", "a")).tolist() == [1, 0]
    assert tiers_of(Knowledge(tiers=[["a"]]), ("c", "a")) is None
    assert tiers_of(Knowledge(), ()) is None
