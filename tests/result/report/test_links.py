"""The links of two runs, by hand."""

import numpy as np

from drbo.knowledge import Knowledge
from drbo.result.report.links import links_of, shared_measures
from tests.hidden import hidden_model
from tests.results import make_result

NAMES = ("rain", "wet", "slip", "sun")


def a_run(edges, names=NAMES, **changes):
    dag = np.zeros((len(names), len(names)), dtype=bool)
    for i, j in edges:
        dag[i, j] = True
    values = {
        "score": -10.0,
        "n_rows": 50,
        "sha256": "ab" * 32,
        "argv": ("drbo", "fit", "table.csv"),
        "score_equivalent": False,
    }
    return make_result(dag, names=names, **(values | changes))


def links(first, second):
    places = (list(range(len(first.names))), [second.names.index(name) for name in first.names])
    return links_of((first, second), places, shared_measures((first, second)))


def kinds(first, second):
    return {(link.a, link.b): link.kind for link in links(first, second)}


def test_every_link_has_its_kind():
    given = Knowledge(required=[("rain", "wet")])
    first = a_run([(0, 1), (1, 2), (0, 3)], knowledge=given)
    second = a_run([(0, 1), (2, 1), (2, 3)])
    assert kinds(first, second) == {
        ("rain", "wet"): "told-1",  # required in the first
        ("wet", "slip"): "turned",
        ("rain", "sun"): "only-0",
        ("slip", "sun"): "only-1",
    }


def test_the_same_open_links_are_the_same():
    first, second = a_run([(0, 1)], score_equivalent=True), a_run([(1, 0)], score_equivalent=True)
    assert list(kinds(first, second).values()) == ["both"]


def test_graphs_with_hidden_causes_are_compared_by_their_marks():
    result = hidden_model().result_
    assert set(kinds(result, result).values()) == {"both"}
    plain = a_run([(0, 1)], names=result.names)
    assert len(kinds(result, plain)) >= 1


def test_links_are_found_whatever_the_order_of_the_columns():
    first, second = a_run([(0, 1), (3, 2)]), a_run([(3, 2), (0, 1)], names=NAMES[::-1])
    assert set(kinds(first, second).values()) == {"both"}


def test_figures_are_those_of_each_run():
    weights = [np.where(np.arange(16).reshape(4, 4) == 1, value, 0.0) for value in (0.5, -0.25)]
    first, second = (a_run([(0, 1)], weights=one, standardised_weights=one) for one in weights)
    (link,) = links(first, second)
    assert [side.figures for side in link.sides] == [("+0.50",), ("−0.25",)]
    assert [side.spoken for side in link.sides] == ["is assumed to cause"] * 2
    (alone,) = links(first, a_run([]))
    assert alone.sides[1].direction == "not linked"
