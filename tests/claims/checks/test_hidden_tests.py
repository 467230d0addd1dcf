"""Class arrows need tests that allow hidden causes, whatever the columns hold."""

import numpy as np
import pandas as pd
import pytest

from drbo import Design, DrBO
from drbo.claims.checks.hidden_tests import HiddenTests, unconfirmed
from drbo.claims.claim import MAX_EDGES
from drbo.data.statistics.statistics import Statistics
from drbo.independence.set_tests import PartialCorrelations
from drbo.scores.base import Score
from drbo.scores.bge import BGe
from drbo.scores.discrete import BDeu, DiscreteBIC
from drbo.scores.linear import BicEV, BicNV
from drbo.scores.logistic import LogisticBIC
from drbo.scores.mixed import ConditionalGaussian, DegenerateGaussian
from drbo.scores.splines import SplineScore
from tests.claims.contexts import context_of
from tests.hidden import confounded_table

N = 2000
#: a -> b -> c <- d with a -> c: what a DAG makes of a -> b <- H -> c <- d.
DAG = np.zeros((4, 4), dtype=bool)
DAG[0, 1] = DAG[0, 2] = DAG[1, 2] = DAG[3, 2] = True
CLEAN = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)


class OwnScore(Score):
    def local_one(self, node, parents):
        return 0.0


def _confounded(kind):
    values = confounded_table().to_numpy()[:, :4]
    if kind == "numeric":
        return Statistics.from_array(values, list("abcd"))
    codes = (values > np.median(values, axis=0)).astype(float)
    cut = [0, 1, 2, 3] if kind == "categorical" else [0, 3]
    values = values.copy()
    values[:, cut] = codes[:, cut]
    levels = tuple(("low", "high") if j in cut else None for j in range(4))
    return Statistics(values, tuple("abcd"), tuple("categorical" if j in cut else "numeric" for j in range(4)), levels)


@pytest.mark.parametrize(
    ("kind", "score"),
    [
        *(("numeric", one) for one in (BicNV, BicEV, BGe, SplineScore, OwnScore)),
        *(("categorical", one) for one in (DiscreteBIC, BDeu, LogisticBIC, OwnScore)),
        *(("mixed", one) for one in (DegenerateGaussian, ConditionalGaussian, OwnScore)),
    ],
)
def test_tests_remove_the_edge_that_a_hidden_cause_makes(kind, score):
    """Tests find a and c independent; b -> c then has an arrowhead at b."""
    table = _confounded(kind)
    ruling = HiddenTests().run(context_of(score(table), table, DAG))
    denied = {(one.cause, one.effect) for one in ruling.denied}
    assert {("a", "c"), ("b", "c")} <= denied


@pytest.mark.parametrize("kind", ["numeric", "categorical", "mixed"])
def test_tests_confirm_the_colliders_of_clean_tables(kind, rng):
    a, b, noise = rng.normal(size=(3, N))
    values, kinds = np.column_stack([a, b, a + b + 0.5 * noise]), ["numeric"] * 3
    if kind != "numeric":
        values[:, 0], kinds[0] = values[:, 0] > 0, "categorical"
    if kind == "categorical":
        values, kinds = (values > 0).astype(float), ["categorical"] * 3
    levels = tuple(("no", "yes") if one == "categorical" else None for one in kinds)
    table = Statistics(values.astype(float), tuple("abc"), tuple(kinds), levels)
    score = {"numeric": BicNV, "categorical": BDeu, "mixed": DegenerateGaussian}[kind](table)
    assert HiddenTests().run(context_of(score, table, CLEAN)).denied == ()


def test_arrows_outside_the_class_need_no_test():
    correlation = np.eye(3)
    assert not unconfirmed(np.eye(3, k=1, dtype=bool), PartialCorrelations(correlation, 100)).any()


def test_a_common_cause_of_both_ends_leaves_a_class_arrow_unconfirmed(rng):
    X = rng.normal(size=(N, 4)) @ np.linalg.inv(np.eye(4) - DAG)
    assert np.argwhere(unconfirmed(DAG, PartialCorrelations(np.corrcoef(X.T), N))).tolist() == [[0, 2], [1, 2]]


def test_without_rows_or_with_many_edges_it_is_skipped(rng):
    table = Statistics(np.empty((0, 2)), ("a", "b"), ("numeric", "numeric"), (None, None))
    own = OwnScore(Statistics.from_array(rng.normal(size=(20, 2))))
    arrow = np.array([[0, 1], [0, 0]], dtype=bool)
    assert HiddenTests().run(context_of(own, table, arrow)).skipped == "only sums of the rows are known"
    dense = np.triu(np.ones((46, 46), dtype=bool), 1)
    assert dense.sum() > MAX_EDGES
    assert "more than 1,000 edges" in HiddenTests().too_much(context_of(own, table, dense))


def test_the_tests_are_made_with_and_without_a_column_of_categories(rng):
    a, b, c, d = rng.normal(size=(4, 1500))
    frame = pd.DataFrame({"sex": (a > 0).astype(int), "b": b, "c": b + d, "e": b + c})
    frame["g"] = frame["sex"] + frame["e"] + rng.normal(size=1500)
    for table in (frame, frame.assign(sex=np.where(frame["sex"] == 1, "m", "f"))):
        made = {one.name: one.status for one in DrBO(random_state=0).fit(table).result_.claims.made}
        assert made[HiddenTests.name] == "ran"


def _pair(hidden, moved, n=500):
    """Control and experiment of a -> b, or of a <- hidden -> b; the experiment shifts one of the two columns."""
    rng = np.random.default_rng(3)
    run = np.repeat(["plain", "changed"], n)
    shift = 3.0 * (run == "changed")
    common = rng.normal(size=2 * n)
    a = common + (0.5 * rng.normal(size=2 * n) if hidden else 0.0) + shift * (moved == "a")
    b = (common if hidden else a) + rng.normal(size=2 * n) + shift * (moved == "b")
    return pd.DataFrame({"a": a, "b": b, "run": run})


@pytest.mark.parametrize("hidden", [True, False])
def test_an_effect_that_was_changed_alone_does_not_exclude_a_hidden_cause(hidden):
    """The tables of both graphs look alike: a stays where b is changed."""
    model = DrBO(random_state=0, design=Design(experiment="run", control="plain")).fit(_pair(hidden, "b"))
    [one] = model.result_.directions
    assert (one.cause, one.effect, one.direction) == ("a", "b", "assumed")
    assert one.sentence.startswith("No experiment moves 'a' so clearly that 'b' follows")


def test_a_cause_that_was_moved_with_its_effect_excludes_it():
    model = DrBO(random_state=0, design=Design(experiment="run", control="plain")).fit(_pair(False, "a"))
    [one] = model.result_.directions
    assert (one.cause, one.effect, one.ground) == ("a", "b", "experiment")
