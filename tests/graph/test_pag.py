from collections import defaultdict

import numpy as np
import pytest

from drbo.graph.mag import Mag, projection
from drbo.graph.marks import ARROW, CIRCLE, TAIL
from drbo.graph.pag import is_legal, member_of, pag_of, visible
from tests.search.ancestral.graphs import all_mags, random_mag, separations


@pytest.fixture(scope="module")
def classes():
    found = defaultdict(list)
    for graph in all_mags():
        found[separations(graph)].append(graph.marks())
    return list(found.values())


def test_the_rules_find_exactly_the_marks_that_a_class_has_in_common(classes):
    assert len(classes) == 248
    for members in classes:
        common = np.where((np.array(members) == members[0]).all(axis=0), members[0], CIRCLE)
        for marks in members:
            np.testing.assert_array_equal(pag_of(Mag.of_marks(marks)), common)


def test_the_pag_of_a_class_is_legal_and_other_marks_are_not(classes, rng):
    pags = {pag_of(Mag.of_marks(members[0])).tobytes() for members in classes}
    for members in classes[::5]:
        assert is_legal(pag_of(Mag.of_marks(members[0])))
    for _ in range(100):
        marks = np.zeros((4, 4), dtype=np.int8)
        for i, j in zip(*np.triu_indices(4, 1), strict=True):
            if rng.random() < 0.6:
                marks[i, j], marks[j, i] = rng.integers(1, 4, size=2)
        assert is_legal(marks) == (marks.tobytes() in pags)


def test_knowledge_marks_what_the_members_that_obey_it_have_in_common(classes):
    """The rules are sound with knowledge; they need not find everything."""
    never = np.zeros((4, 4), dtype=bool)
    never[3, :3] = True  # 3 causes nothing
    for members in classes[::3]:
        obeying = [marks for marks in members if not (never & (marks == ARROW) & (marks.T == TAIL)).any()]
        if obeying:
            found = pag_of(Mag.of_marks(obeying[0]), never)
            for marks in obeying:
                assert ((found == CIRCLE) | (found == marks)).all()
            assert (found[:3, 3][found[:3, 3] > 0] == ARROW).all()


def test_required_arrows_are_marked():
    chain = Mag.of([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    always = np.zeros((3, 3), dtype=bool)
    always[0, 1] = True
    assert (pag_of(chain, always=always) == chain.marks()).all()


def test_larger_graphs_come_back_from_their_pag(rng):
    for _ in range(40):
        graph = random_mag(rng, 9, 3)
        pag = pag_of(graph)
        member = member_of(pag)
        assert member.is_ancestral()
        assert member.is_maximal()
        assert (pag_of(member) == pag).all()


def test_an_arrow_is_visible_where_a_hidden_cause_would_show_in_every_member_of_the_class(classes):
    for members in classes[::9]:
        pag, model = pag_of(Mag.of_marks(members[0])), separations(Mag.of_marks(members[0]))
        arrows = (pag == ARROW) & (pag.T == TAIL)
        assert not (visible(pag) & ~arrows).any()
        for i, j in np.argwhere(arrows):
            assert visible(pag)[i, j] == all(_shows(Mag.of_marks(marks), i, j, model) for marks in members)


def _shows(graph, i, j, model):
    """Tell whether i <-> j beside i -> j changes what the graph separates."""
    both = graph.bidirected.copy()
    both[i, j] = both[j, i] = True
    return separations(projection(Mag(graph.directed, both))) != model
