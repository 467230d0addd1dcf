from drbo.result.words.arrow_reading import ArrowReading
from drbo.result.words.mark_reading import MarkReading
from drbo.result.words.reading import reading_of
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
