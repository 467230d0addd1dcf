from drbo.graph.marks import MarkedGraph
from tests.results import FULL_DAG, FULL_NAMES, full_result


def test_files_get_the_dag_with_its_weights_or_the_class():
    result = full_result()
    graph, weights, notes = result.reading.exported(as_class=False)
    assert graph == MarkedGraph.of(FULL_DAG, FULL_NAMES)
    assert weights is result.weights
    assert notes[1, 2] == {"direction": "supported", "ground": "noise-check"}
    assert result.reading.exported(as_class=True) == (result.graph, None, None)


def test_arrowheads_and_signs_say_what_is_known_about_a_direction():
    read = full_result().reading
    assert read.signs() == ["--", "->", "->"]
    assert read.ends() == {(0, 1): ("none", "none"), (1, 2): ("none", "solid"), (3, 2): ("none", "solid")}
    assert ("note", "no arrowhead: the data do not determine the direction") in read.legend()
