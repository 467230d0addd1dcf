"""An edit of the knowledge is searched from the graph that is there, and its price is a difference of scores."""

import numpy as np
import pytest

from drbo import DrBO, Knowledge
from drbo.errors import KnowledgeError
from drbo.result.on_data import score_of
from drbo.studio.edits import EditedSearch, moved, price_words


@pytest.fixture(scope="module")
def fitted() -> tuple[DrBO, np.ndarray]:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 6))
    for j in range(1, 6):
        x[:, j] += 0.8 * x[:, j - 1]
    return DrBO(score="bic-nv", random_state=0).fit(x), x


def test_the_present_graph_has_the_score_of_the_result(fitted):
    model, x = fitted
    assert EditedSearch(model.result_, x).present().score == pytest.approx(model.score_)


def test_a_price_is_the_loss_of_the_best_graph_under_the_knowledge(fitted):
    model, x = fitted
    search = EditedSearch(model.result_, x)
    before = search.present()
    known = Knowledge(forbidden=["x1 -> x2", "x2 -> x1"])
    after = search(known, before.dag)
    cold = DrBO.like(model.result_, knowledge=known).fit(x)
    assert after.score == pytest.approx(cold.score_)
    assert after.score == pytest.approx(score_of(model.result_, after.dag, x, None))
    assert before.score - after.score > 10
    assert not after.dag[1, 2]
    assert not after.dag[2, 1]
    assert search(Knowledge(), after.dag).score == pytest.approx(before.score)


def test_knowledge_directs_a_class_at_no_cost(fitted):
    model, x = fitted
    search = EditedSearch(model.result_, x)
    before = search.present()
    after = search(Knowledge(roots=["x0"]), before.dag)
    assert after.score == pytest.approx(before.score)
    found = moved(before.graph, after.graph, model.result_.names)
    assert {one["kind"] for one in found} == {"directed"}
    assert found[0]["words"] == "x0 → x1 is now directed"


def test_a_contradiction_is_refused(fitted):
    model, x = fitted
    search = EditedSearch(model.result_, x)
    with pytest.raises(KnowledgeError, match="is a root"):
        search(Knowledge(required=["x0 -> x1"], roots=["x1"]), search.present().dag)


def test_every_way_in_which_a_link_moves():
    before = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]], bool)
    after = np.array([[0, 1, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]], bool)
    found = {one["words"]: one["kind"] for one in moved(before, after, ("a", "b", "c", "d"))}
    assert found == {
        "a → b is now directed": "directed",
        "a → c is new": "added",
        "a and d are no longer linked": "removed",
        "c → b was turned round": "turned",
    }
    assert next(one["kind"] for one in moved(after, before, ("a", "b", "c", "d"))) == "opened"


@pytest.mark.parametrize(
    ("price", "words"),
    [(1.5, "hardly"), (2.5, "positive"), (7.0, "strong evidence"), (11.0, "very strong"), (-1.0, "gains 1:")],
)
def test_words_follow_kass_and_raftery(price, words):
    assert words in price_words(price, 2.0)
    assert price_words(price, None).startswith(("costs", "gains"))
