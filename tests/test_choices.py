from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from drbo.choices import Choices
from drbo.data.checks.check import check_table
from drbo.data.statistics.statistics import Statistics
from drbo.errors import SettingsError
from drbo.knowledge import Knowledge
from drbo.scores.families import Families
from drbo.scores.linear import BicNV
from drbo.scores.penalties.categories import chance_gamma
from drbo.scores.penalties.chance import chance_parents, chance_penalty
from drbo.scores.registry import score_class
from drbo.settings import Settings


def _table(n=50):
    return Statistics.from_array(np.random.default_rng(0).normal(size=(n, 3)))


@pytest.mark.parametrize(
    ("score", "pruner", "penalty"),
    [
        ("bic-nv", "none", chance_penalty(_table().values)),
        ("bic-ev", "odds", 1.0),
        ("bge", "f-test", 1.0),
        ("splines", "none", "ebic"),
        ("gp", "none", 1.0),
        ("bdeu", "none", "ebic"),
        ("mixed", "none", "ebic"),
    ],
)
def test_every_score_has_a_pruner_and_a_penalty_that_go_together(score, pruner, penalty):
    kind = score_class(score)
    assert Choices().pruner(kind) == pruner
    assert Choices().penalty(kind, _table())[0] == penalty


@pytest.mark.parametrize(("score", "few"), [("bic-nv", "ebic"), ("bic-ev", "ebic"), ("bge", 1.0)])
def test_with_few_rows_a_linear_bic_that_is_tested_pays_for_the_choice_among_pairs(score, few):
    kind, choices = score_class(score), Choices(prune="f-test")
    assert choices.penalty(kind, _table(5))[0] == few  # 3 columns
    assert choices.penalty(kind, _table(6))[0] == 1.0


def test_no_test_follows_the_search_so_that_the_optimum_is_shown():
    penalty, reason = Choices().penalty(BicNV, _table())
    assert penalty > 1.0
    assert reason == f"penalty {penalty:g}: calibrated on shuffled columns"
    weighted = replace(_table(), weights=np.linspace(0.5, 1.5, 50))
    assert Choices().penalty(BicNV, weighted)[0] == chance_penalty(weighted.values, weighted.weights)
    holes = _table().values.copy()
    holes[0, 0] = np.nan
    assert Choices().penalty(BicNV, replace(_table(), values=holes))[0] == "ebic"  # columns cannot be shuffled


def test_few_rows_of_many_categories_pay_more_for_the_choice_among_pairs(rng):
    table = Statistics.from_array(rng.integers(2, size=(60, 40)))
    gamma = chance_gamma(score_class("bdeu"), table)
    choice = Choices(score="bdeu").of_score(table)
    assert choice.options == {"penalty": "ebic", "gamma": gamma}
    expected = f"penalty ebic with gamma {gamma:g}: calibrated on shuffled columns"
    assert choice.reasons == (expected,)
    assert Choices(score="bdeu", score_options={"gamma": 0.7}).of_score(table).options["gamma"] == 0.7
    many = Statistics.from_array(rng.integers(2, size=(500, 5)))
    assert Choices(score="bdeu").of_score(many).options == {"penalty": "ebic"}


def test_among_many_columns_a_linear_bic_pays_for_the_choice_among_pairs(rng):
    """As many as 20 independent columns of 100 rows have, 0.6 parents each at penalty 1: counted, and expected."""
    table, wide = (Statistics.from_array(rng.normal(size=(100, d))) for d in (20, 50))
    score = BicNV(table)
    alone = score.local(Families.from_sets(20, [(node, ()) for node in range(20)]))
    pairs = [(node, other) for node in range(20) for other in range(20) if node != other]
    joined = score.local(Families.from_sets(20, [(node, (other,)) for node, other in pairs]))
    gains = 100 * (joined - alone[[node for node, _ in pairs]])
    assert np.mean(gains > np.log(100)) * 19 == pytest.approx(chance_parents(100, 20), abs=0.35)
    tested = Choices(prune="f-test")
    assert tested.penalty(BicNV, table)[0] == 1.0
    assert chance_parents(100, 50) > 1
    choice, reason = tested.penalty(BicNV, wide)
    assert choice == "ebic"
    assert "1.6 parents by chance" in reason


def test_presets_of_the_paper_choose_as_the_paper_did():
    name, options, reasons = Choices(preset="paper-gp").of_score(_table())
    assert (name, options) == ("gp-nv", {"alpha": 1.0})
    assert "preset" in reasons[0]
    assert Choices(preset="paper").pruner(BicNV) == "threshold"


def test_what_was_given_stands():
    name, options, reasons = Choices(score="bic-nv", score_options={"penalty": 3}).of_score(_table())
    assert (name, options, reasons) == ("bic-nv", {"penalty": 3}, ())
    assert Choices(prune="cam").pruner(BicNV) == "cam"


def test_a_kernel_test_of_a_long_table_is_refused():
    with pytest.raises(SettingsError, match="kci"):
        Choices(prune="kci").check_pruner(_table(6_000))


def test_keywords_override_the_settings_and_settings_the_preset():
    assert Choices(preset="paper").merged_settings() == (Settings.preset("paper"), [])
    assert Choices(preset="paper", settings=Settings(max_evals=5)).merged_settings()[0] == Settings(max_evals=5)
    chosen, clashes = Choices(settings=Settings(max_evals=5), max_evals=7, exact=True).merged_settings()
    assert chosen == Settings(max_evals=7, exact="on")
    assert clashes == ["max_evals=7 overrides max_evals=5 from the settings"]
    with pytest.raises(SettingsError, match="settings must be a Settings object, got dict"):
        Choices(settings={"max_evals": 5}).merged_settings()


def test_evaluations_are_rationed_where_somebody_gave_a_number():
    assert not Choices().rationed(Settings())
    assert Choices(max_evals=2_000).rationed(Settings())
    assert Choices().rationed(Settings(max_evals=20))
    assert Choices().rationed(Settings(max_local=100))


def test_hidden_causes_need_numbers():
    table = check_table(pd.DataFrame({"a": [0.5, 1.5, 2.5, 4.0], "b": ["x", "y", "x", "y"]}))[0]
    for score in ("auto", "bic-nv"):
        with pytest.raises(SettingsError, match="'b' is a category") as found:
            Choices(score=score, hidden=True).of_score(table)
        assert "without hidden causes" in found.value.hint


def test_knowledge_may_be_a_dict():
    assert Choices.of({"knowledge": {"roots": ["a"]}}).knowledge == Knowledge(roots=["a"])
