import numpy as np
import pytest

from drbo.choices import Choices, chance_parents
from drbo.data.table import Table
from drbo.errors import SettingsError
from drbo.scores.base import Families, score_class
from drbo.scores.linear import BicNV
from drbo.settings import Settings


def _choices(**changes):
    return Choices(
        **{"score": "auto", "score_options": None, "preset": "default", "prune": "auto", "max_evals": None} | changes
    )


def _table(n=50):
    return Table.from_array(np.random.default_rng(0).normal(size=(n, 3)))


@pytest.mark.parametrize(
    ("score", "pruner", "penalty"),
    [
        ("bic-nv", "f-test", 1.0),
        ("bic-ev", "odds", 1.0),
        ("bge", "f-test", 1.0),
        ("splines", "cam-sequential", 1.0),
        ("gp", "none", 1.0),
        ("bdeu", "none", "ebic"),
        ("mixed", "none", "ebic"),
    ],
)
def test_every_score_has_a_pruner_and_a_penalty_that_go_together(score, pruner, penalty):
    kind = score_class(score)
    assert _choices().pruner(kind) == pruner
    assert _choices().penalty(kind, _table())[0] == penalty


@pytest.mark.parametrize(("score", "few"), [("bic-nv", "ebic"), ("bic-ev", "ebic"), ("bge", 1.0)])
def test_with_few_rows_a_linear_bic_pays_for_the_choice_among_pairs(score, few):
    kind = score_class(score)
    assert _choices().penalty(kind, _table(5))[0] == few  # 3 columns
    assert _choices().penalty(kind, _table(6))[0] == 1.0


def test_among_many_columns_a_linear_bic_pays_for_the_choice_among_pairs(rng):
    """As many as 20 independent columns of 100 rows have, 0.6 parents each at penalty 1: counted, and expected."""
    table, wide = (Table.from_array(rng.normal(size=(100, d))) for d in (20, 50))
    score = BicNV(table)
    alone = score.local(Families.from_sets(20, [(node, ()) for node in range(20)]))
    pairs = [(node, other) for node in range(20) for other in range(20) if node != other]
    joined = score.local(Families.from_sets(20, [(node, (other,)) for node, other in pairs]))
    gains = 100 * (alone[[node for node, _ in pairs]] - joined)
    assert np.mean(gains > np.log(100)) * 19 == pytest.approx(chance_parents(table), abs=0.35)
    assert _choices().penalty(BicNV, table)[0] == 1.0
    assert chance_parents(wide) > 1
    choice, reason = _choices().penalty(BicNV, wide)
    assert choice == "ebic"
    assert "1.6 parents by chance" in reason


def test_presets_of_the_paper_choose_as_the_paper_did():
    name, options, reasons = _choices(preset="paper-gp").of_score(_table())
    assert (name, options) == ("gp-nv", {"alpha": 1.0})
    assert "preset" in reasons[0]
    assert _choices(preset="paper").pruner(BicNV) == "threshold"


def test_what_was_given_stands():
    name, options, reasons = _choices(score="bic-nv", score_options={"penalty": 3}).of_score(_table())
    assert (name, options, reasons) == ("bic-nv", {"penalty": 3}, ())
    assert _choices(prune="cam").pruner(BicNV) == "cam"


def test_cheap_scores_climb_over_orders_unless_evaluations_are_rationed():
    score = BicNV(_table())
    assert _choices().route(score, Settings())[0] == "orders"
    route, why = _choices(max_evals=20).route(score, Settings(max_evals=20))
    assert route == "surrogate"
    assert "limited" in why
    assert _choices().route(score, Settings(max_local=100))[0] == "surrogate"


@pytest.mark.parametrize("route", ["orders", "surrogate", "paper"])
def test_a_given_route_is_taken(route):
    settings = Settings(route=route, surrogate="dropout", max_evals=20)
    assert _choices().route(BicNV(_table()), settings)[0] == route


def test_a_score_that_is_not_declared_cheap_takes_the_surrogate():
    route, why = _choices().route(score_class("gp")(_table()), Settings())
    assert route == "surrogate"
    assert "gp does not declare" in why


def test_a_kernel_test_of_a_long_table_is_refused():
    with pytest.raises(SettingsError, match="kci"):
        _choices(prune="kci").check_pruner(_table(6_000))
