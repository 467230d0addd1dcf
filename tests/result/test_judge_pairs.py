import numpy as np
import pytest

from drbo.data.statistics.statistics import Statistics
from drbo.errors import SettingsError
from drbo.graph.generalised_adjustment import m_separated
from drbo.graph.mag import Mag
from drbo.result.independence import independence_test
from drbo.result.judge_pairs import judge_mag, pair_p_values, separator
from tests.hidden import confounded_table, hidden_model
from tests.search.ancestral.graphs import all_mags, random_mag


def _fresh(n=800, seed=5):
    rng = np.random.default_rng(seed)
    a, d, hidden, *noise = rng.normal(size=(6, n))
    b, c = a + hidden + noise[0], d + hidden + noise[1]
    return confounded_table().iloc[:0].reindex(range(n)).assign(a=a, b=b, c=c, d=d, e=b + noise[2])


def test_the_named_set_separates_every_pair_without_an_edge(rng):
    for graph in [*all_mags()[::15], *(random_mag(rng, 9, 3) for _ in range(10))]:
        for i, j in np.argwhere(np.triu(~graph.adjacent, 1)).tolist():
            assert m_separated(graph, i, j, separator(graph, i, j))


def test_the_right_graph_is_not_contradicted_and_a_wrong_one_is():
    result, rows = hidden_model().result_, _fresh()
    found = result.judge(rows, n_random=19, n_permutations=19)
    assert found.n_claims == 6
    assert found.n_discoveries == 0
    assert found.beats_random
    assert "each two columns without an edge" in found.summary()
    order = [4, 0, 3, 1, 2]
    moved = Mag(result.hidden.mag.directed[np.ix_(order, order)], result.hidden.mag.bidirected[np.ix_(order, order)])
    wrong = judge_mag(moved, rows, names=result.names, n_random=19, n_permutations=19)
    assert wrong.n_discoveries > 2
    assert wrong.score < found.score
    assert "given" in wrong.summary()


def test_the_score_is_that_of_the_table_and_its_own_rows_are_warned_of():
    result = hidden_model().result_
    with pytest.warns(UserWarning, match="too favourable"):
        found = result.judge(confounded_table(), n_random=19, n_permutations=19)
    assert found.score == pytest.approx(result.score + result.hidden.gain, abs=0.1)


def test_claims_are_about_pairs_without_an_edge(rng):
    chain = Mag.of(np.eye(3, k=1))
    x = rng.normal(size=(300, 3)) @ np.array([[1, 1, 1], [0, 1, 1], [0, 0, 1]])
    found = pair_p_values(independence_test("gaussian", Statistics.from_array(x)), chain)
    assert np.argwhere(~np.isnan(found)).tolist() == [[0, 2]]
    assert 0 < found[0, 2] <= 1


def test_what_cannot_be_judged_is_refused():
    with pytest.raises(SettingsError, match="numeric columns only"):
        hidden_model().result_.judge(_fresh(), test="g-test")
    late = hidden_model().result_.judge(_fresh(), time_limit=1e-9)
    assert not late.tested
    assert any("time ran out" in note for note in late.notes)


def test_groups_are_judged_within():
    rows = _fresh().assign(site=np.repeat(np.arange(100), 8))
    result = hidden_model().result_
    found = judge_mag(result.hidden.mag, rows, names=result.names, groups="site", n_random=19, n_permutations=19)
    assert found.n_rows == 700
