"""The best graph known is the one returned: nothing that a result holds scores higher, whatever search found it."""

import numpy as np
import pytest

from drbo import DrBO, Knowledge, Settings, load
from drbo.data.files.simulate import simulate

#: Scores closer than this share are the same.
SAME = 1e-9


def _values(score, d, seed):
    values = simulate(f"{d}ER2", n=60, seed=100 + seed).X
    if score in ("bdeu", "bic-discrete", "logistic"):
        return (values > np.median(values, axis=0)).astype(float)
    return values


def _check(result, values):
    """Score every graph of a result anew."""
    slack = SAME * abs(result.score)
    scores = [one.score for one in result.top]
    assert result.top
    assert scores[0] == pytest.approx(result.score, rel=SAME)
    assert (np.diff(scores) <= slack).all()
    assert min(one.behind for one in result.top) >= 0
    place = {name: k for k, name in enumerate(result.names)}
    for number, one in enumerate(result.top):
        graph = np.zeros(result.dag.shape, dtype=int)
        for cause, effect in one.edges:
            graph[place[cause], place[effect]] = 1
        if number == 0:
            assert (graph == result.searched_dag).all()
        assert result.score_of(graph, values) <= result.score + slack
    assert result.gap is None or result.gap >= 0
    for margins in (result.margins.removed, result.margins.reversed):
        # The paper's search does not take a better graph that known families would make.
        assert not (margins < -slack).any() or result.settings["route"] == "paper"


@pytest.mark.parametrize("exact", ["auto", "off"])
@pytest.mark.parametrize("route", ["orders", "surrogate"])
@pytest.mark.parametrize("score", ["bic-nv", "bic-ev", "bge", "bic-ng", "bdeu", "logistic"])
def test_nothing_known_is_better_than_the_answer(score, route, exact):
    values = _values(score, 6 if route == "orders" else 4, 0)
    settings = Settings(route=route, order_patience=1)
    model = DrBO(score=score, settings=settings, max_evals=12, exact=exact, random_state=0)
    _check(model.fit(values).result_, values)


@pytest.mark.parametrize("score", ["bic-nv", "bic-ev", "bdeu"])
def test_nor_where_there_are_too_many_columns_for_tables(score):
    values = _values(score, 17, 2)
    settings = Settings(route="orders", order_patience=1)
    _check(DrBO(score=score, settings=settings, max_evals=6, random_state=0).fit(values).result_, values)


@pytest.mark.parametrize("prune", ["f-test", "threshold"])
def test_nor_where_a_test_prunes_it(prune):
    values = _values("bic-nv", 8, 3)
    result = DrBO(score="bic-nv", prune=prune, random_state=0, score_options={"penalty": 0.2}).fit(values).result_
    assert (result.dag != result.searched_dag).any()
    _check(result, values)


def test_nor_with_knowledge_and_resamples():
    values = _values("bic-nv", 6, 4)
    known = Knowledge(forbidden=["x0 -> x1"], max_parents=2)
    model = DrBO(score="bic-nv", knowledge=known, random_state=0).fit(values)
    model.bootstrap(values, n=3)
    _check(model.result_, values)


@pytest.mark.parametrize("route", ["orders", "surrogate"])
def test_nor_after_a_pause(tmp_path, route):
    values = _values("bge", 7, 5)
    settings = Settings(route=route, order_patience=1)
    model = DrBO(score="bge", settings=settings, max_evals=12, random_state=0).fit(values, checkpoint=tmp_path / "run")
    again = DrBO.resume(tmp_path / "run", max_evals=6).result_
    assert again.score >= model.score_
    _check(again, values)
    _check(load(model.result_.save(tmp_path / "result.json")), values)


def test_nor_beside_the_search_of_the_paper():
    pytest.importorskip("torch")
    values = _values("bic-ev", 5, 6)
    settings = Settings.preset("paper").with_(n_candidates=200, batch_size=8, max_evals=16, claims=True)
    model = DrBO(score="bic-ev", preset="paper", settings=settings, random_state=0, device="cpu")
    _check(model.fit(values).result_, values)
