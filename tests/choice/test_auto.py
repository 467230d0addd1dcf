"""The choice of a score, its reasons, and what the estimator makes of both."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from drbo import DrBO, Settings
from drbo.choice.auto import ONE_BY_ONE, UNRELATED, _best_of_none, choose_score, experiment_score
from drbo.choice.noise_model import ModelCheck
from drbo.data.checks.check import check_table
from drbo.data.checks.experiments import Experiments
from drbo.data.files.datasets import load
from drbo.data.files.simulate import linear_weights, random_dag, simulate
from drbo.data.statistics.statistics import Statistics
from drbo.errors import ScoreError, SettingsError
from drbo.scores.base import Score
from drbo.scores.registry import build_score


def bent(n, d, rng):
    """A chain of sines."""
    values = rng.normal(size=(n, d))
    for j in range(1, d):
        values[:, j] = np.sin(2 * values[:, j - 1]) + 0.4 * values[:, j]
    return values


def linear(noise, n, rng, graph="8ER2"):
    dag = random_dag(int(graph[0]), float(graph[3:]), rng, "er")
    draws = {"gaussian": rng.normal, "exponential": rng.exponential, "uniform": rng.uniform}
    size = (n, len(dag))
    errors = rng.standard_t(3, size=size) if noise == "t3" else draws[noise](size=size)
    return errors @ np.linalg.inv(np.eye(len(dag)) - linear_weights(dag, rng))


class TestKinds:
    @pytest.mark.parametrize("shape", [(3, 2), (50, 4), (5, 9)])
    def test_numbers_get_the_score_that_knows_no_units(self, shape, rng):
        table = Statistics.from_array(rng.normal(size=shape))
        name, reasons, _ = choose_score(table)
        assert name == "bic-nv"
        assert build_score(name, table).score_equivalent
        assert reasons[0].startswith("score bic-nv: all columns are numeric")

    @pytest.mark.parametrize(
        "codes",
        [
            lambda rng: rng.integers(2, size=(30, 3)),
            lambda rng: (7 * rng.integers(5, size=(600, 1)) + rng.integers(2, size=(600, 3))) % 5 + 1,
            lambda rng: rng.integers(2, size=(30, 3)) * [0.01, 1.0, 100.0] + 7,  # other units
        ],
        ids=["yes or no", "codes without an order", "other units"],
    )
    def test_numbers_with_two_values_or_without_an_order_are_discrete(self, codes, rng):
        table = Statistics.from_array(codes(rng))
        name, reasons, _ = choose_score(table)
        assert name == "bdeu"
        assert build_score(name, table).name == "bdeu"
        assert "all columns are discrete" in reasons[0]

    @pytest.mark.parametrize("kind", ["grades", "unrelated grades", "counts"])
    def test_counts_and_ordered_codes_get_ranks(self, kind, rng):
        values = linear("gaussian", 400, rng)
        if kind == "unrelated grades":
            values = rng.permuted(values, axis=0)
        if kind == "counts":
            values = rng.poisson(np.exp(0.5 + values / values.std(axis=0)))
        else:
            values = np.clip(np.round(values / values.std(axis=0)), -2, 2)
        chosen = choose_score(Statistics.from_array(values))
        assert chosen.name == "bic-ranks"
        assert "are counted or coded in steps, so only their order is used" in chosen.reasons[0]
        moved = choose_score(Statistics.from_array((values * 0.5 + 3)[rng.permutation(400)]))
        assert moved.name == "bic-ranks" or kind == "counts"

    def test_rows_that_hardly_repeat_are_no_levels(self):
        assert choose_score(Statistics.from_array([[1, 5], [2, 3], [3, 9], [4, 1], [5, 4]]))[0] == "bic-nv"

    def test_categories_and_yes_or_no_are_discrete_together(self, rng):
        frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 40), "ill": rng.integers(2, size=40)})
        name, reasons, _ = choose_score(check_table(frame)[0])
        assert (name, reasons) == ("bdeu", ("score bdeu: all columns are discrete (2 levels each)",))

    def test_numbers_and_categories_are_mixed_and_named(self, rng):
        frame = pd.DataFrame(
            {"age": rng.normal(size=60), "sex": rng.choice(["f", "m"], 60), "grade": rng.integers(1, 6, size=60)}
        )
        table = check_table(frame)[0]
        name, reasons, _ = choose_score(table)
        assert name == "mixed"
        assert build_score(name, table).name == "mixed"
        kinds = "column 'sex' is categorical, the others are numeric"
        assert reasons[0] == f"score mixed: {kinds}, with straight lines between them"
        assert reasons[1].startswith("column 'grade' is treated as numeric")

    def test_a_few_of_many_categorical_columns_are_named(self, rng):
        frame = pd.DataFrame({f"c{j}": rng.choice(["a", "b"], 60) for j in range(5)}).assign(x=rng.normal(size=60))
        assert "columns 'c0', 'c1', 'c2' and 2 more are categorical" in choose_score(check_table(frame)[0])[1][0]

    def test_yes_or_no_beside_numbers_is_a_number(self, rng):
        values = np.column_stack([rng.normal(size=(80, 2)), rng.integers(2, size=80)])
        assert choose_score(Statistics.from_array(values))[0] == "bic-nv"

    @pytest.mark.parametrize("seed", range(8))
    def test_what_assumes_equal_variances_or_logistic_noise_is_never_chosen(self, seed):
        rng = np.random.default_rng(seed)
        columns = [
            rng.choice(["a", "b"], 90) if kind == 0 else rng.integers(2, size=90) if kind == 1 else rng.normal(size=90)
            for kind in rng.integers(3, size=5)
        ]
        name, reasons, _ = choose_score(check_table(pd.DataFrame({f"x{j}": c for j, c in enumerate(columns)}))[0])
        assert name in ("bic-nv", "bdeu", "mixed")
        assert reasons[0].startswith(f"score {name}: ")


class TestChoiceByShape:
    @pytest.mark.torch
    def test_small_bent_tables_get_gaussian_processes(self, rng):
        table = Statistics.from_array(bent(150, 4, rng), names=["a", "b", "c", "d"])
        name, reasons, _ = choose_score(table)
        assert name == "gp"
        assert reasons[0].startswith("score gp: linear effects do not fit")
        assert "150 rows and 4 columns" in reasons[1]

    def test_without_torch_the_reason_says_what_was_left_out(self, rng, monkeypatch):
        monkeypatch.setattr("drbo.choice.auto.has_torch", lambda: False)
        name, reasons, _ = choose_score(Statistics.from_array(bent(150, 4, rng)))
        assert name == "splines"
        assert "gp, which models interactions between causes, was left out: it needs torch" in reasons[1]
        assert "pip install 'drbo[torch]'" in reasons[1]

    def test_large_bent_tables_get_splines_and_say_why(self, rng):
        name, reasons, _ = choose_score(Statistics.from_array(bent(1500, 12, rng)))
        assert name == "splines"
        expected = (
            "splines are used instead of gp, because Gaussian processes would take about 56 minutes for 1500 rows"
        )
        assert reasons[1] == f"{expected} and 12 columns"

    @pytest.mark.parametrize(
        ("shape", "words"), [((40, 3), "needs 50 rows"), ((400, 101), "more than 100"), ((99, 20), "needs 100 rows")]
    )
    def test_what_cannot_be_tested_is_said(self, shape, words, rng):
        name, reasons, _ = choose_score(Statistics.from_array(rng.normal(size=shape)))
        assert name == "bic-nv"
        assert words in reasons[0]

    def test_units_and_order_do_not_change_the_choice(self, rng):
        values = bent(1200, 4, rng)
        rows, columns = rng.permutation(1200), np.array([2, 0, 3, 1])
        names = np.array(["a", "b", "c", "d"])
        first = choose_score(Statistics.from_array(values, names))
        scaled = choose_score(Statistics.from_array(values * [1e-9, 1.0, 1e9, 30.0], names))
        moved = choose_score(Statistics.from_array(values[np.ix_(rows, columns)], names[columns]))
        assert first[0] == scaled[0] == moved[0] == "splines"
        assert first == scaled == moved

    def test_sachs(self):
        sachs = load("sachs")
        chosen = choose_score(Statistics.from_array(sachs.X, sachs.names))
        assert (chosen.name, chosen.noise_fits) == ("splines-ranks", False)
        assert "no noise model passes the residual test (0 of 5 families" in chosen.reasons[0]
        assert chosen.reasons[1] == ONE_BY_ONE

    def test_columns_measured_on_bent_scales_get_ranks(self, rng):
        """Each column is an increasing function of a sum of curves and noise."""
        values = rng.normal(size=(600, 5))
        for j in range(1, 5):
            values[:, j] += 2 * np.sin(1.5 * values[:, j - 1])
        chosen = choose_score(Statistics.from_array(np.exp(values)))
        assert (chosen.name, chosen.noise_fits) == ("splines-ranks", True)
        assert chosen.reasons[0].startswith("score splines-ranks: nonlinear effects fit after every column is replaced")
        assert choose_score(Statistics.from_array(np.exp(3 * values))).name == "splines-ranks"

    def test_ranks_that_are_correlated_by_chance_are_no_relation(self):
        """The linear score of ranks finds an edge; that of the columns and the splines of ranks find none."""
        names = ("bic-nv", "bic-ng", "bic-ranks", "splines", "splines-ranks")
        nothing = {name: ModelCheck(name, 0, 0, explains=False) for name in names}
        assert _best_of_none(nothing) == UNRELATED
        del nothing["splines-ranks"]
        assert _best_of_none(nothing) == UNRELATED
        ranks = ModelCheck("splines-ranks", 0, 1)
        assert _best_of_none(nothing | {"splines-ranks": ranks}).name == "splines-ranks"

    def test_lines_between_ranks_fit_skewed_columns(self, rng):
        values = linear("gaussian", 600, rng)
        chosen = choose_score(Statistics.from_array(np.exp(2 * values / values.std(axis=0))))
        assert (chosen.name, chosen.noise_fits) == ("bic-ranks", True)
        assert chosen.reasons[0].startswith("score bic-ranks: linear effects fit after every column is replaced")

    def test_where_nothing_fits_the_simplest_score_is_taken_that_explains_more_than_simpler_ones(self):
        names = ("bic-nv", "bic-ng", "bic-ranks", "splines", "splines-ranks")
        tried = {name: ModelCheck(name, 0, 9, explains=False) for name in names}
        chosen = _best_of_none(tried)
        assert (chosen.name, chosen.noise_fits, chosen.reasons[1]) == ("bic-nv", False, ONE_BY_ONE)
        assert "no noise model passes the residual test" in chosen.reasons[0]
        assert "nonlinear ones fit no better" in chosen.reasons[0]
        assert _best_of_none(tried | {"bic-ranks": ModelCheck("bic-ranks", 0, 9)}).name == "bic-ranks"
        curved = {name: ModelCheck(name, 0, 9) for name in ("bic-ranks", "splines-ranks")}
        assert _best_of_none(tried | curved).name == "splines-ranks"

    def test_splines_of_ranks_are_too_much_for_a_large_table(self, rng, monkeypatch):
        values = rng.normal(size=(600, 4))
        for j in range(1, 4):
            values[:, j] += 2 * np.sin(1.5 * values[:, j - 1])
        monkeypatch.setattr("drbo.choice.auto.RANKED_CELLS", 1000)
        assert choose_score(Statistics.from_array(np.exp(values))).name in ("bic-nv", "bic-ranks")

    def test_rows_of_a_series_count_as_fewer_for_curves_too(self, rng):
        values = bent(1200, 4, rng)
        chosen = choose_score(replace(Statistics.from_array(values), weights=np.full(1200, 0.6)))
        assert chosen.name == "splines"
        small = replace(Statistics.from_array(values[:200]), weights=np.full(200, 0.8))
        assert choose_score(small)[:2] == (
            "splines",
            (choose_score(small).reasons[0], "splines are used instead of gp, because a row counts as less than one"),
        )
        uneven = replace(Statistics.from_array(values), weights=np.linspace(0.5, 1.5, 1200))
        assert choose_score(uneven).reasons[0].startswith("score bic-nv: all columns are numeric; weighted rows are")


class TestInTheEstimator:
    @pytest.mark.parametrize("kind", ["numbers", "yes or no"])
    def test_independent_columns_give_no_edges(self, kind):
        found, unguarded = [], []
        for seed in range(3 if kind == "numbers" else 2):
            values = np.random.default_rng(seed).normal(size=(100, 20)) * np.logspace(-2, 2, 20)
            values = values if kind == "numbers" else (values > 0) * 1.0
            usual = {"random_state": 0, "exact": False}  # a proof would take most of the time
            found.append(DrBO(**usual).fit(values).adjacency_.sum())
            plain = DrBO(**usual, score_options={"penalty": 1}, prune="none")
            unguarded.append(plain.fit(values).adjacency_.sum())
        assert np.mean(found) <= 0.5
        assert np.mean(unguarded) > 1.5  # what penalty and test are there for

    @pytest.mark.parametrize(
        ("score", "prune", "penalty"),
        [
            ("bic-nv", "f-test", 1.0),
            ("bic-nv", "auto", 1.54),
            ("bge", "auto", 1.0),
            ("splines", "auto", "ebic"),
            ("splines", "cam", 1.0),
            ("gp", "auto", 1.0),
            ("mixed", "auto", "ebic"),
        ],
    )
    def test_the_penalty_is_strict_where_no_test_follows(self, score, prune, penalty, rng):
        result = DrBO(score=score, prune=prune, max_evals=10, random_state=0).fit(rng.normal(size=(60, 3))).result_
        assert result.scoring.options == {"penalty": penalty}
        word = penalty if isinstance(penalty, str) else f"{penalty:g}"
        assert sum(reason.startswith(f"penalty {word}: ") for reason in result.reasons) == 1

    def test_a_penalty_that_is_given_stays(self, rng):
        result = DrBO(random_state=0, score_options={"penalty": 2}).fit(rng.normal(size=(60, 3))).result_
        assert result.scoring.options == {"penalty": 2}
        assert not any("penalty" in reason for reason in result.reasons)

    def test_a_score_of_ones_own_is_left_alone(self, rng):
        class Flat(Score):
            def local_one(self, node, parents):
                return 0.5 * len(parents)

        result = DrBO(score=Flat, max_evals=20, random_state=0).fit(rng.normal(size=(30, 3))).result_
        assert result.scoring.options == {}
        assert result.dag.sum() == 3  # every edge pays

    @pytest.mark.parametrize(
        ("score", "pruner"),
        [("bic-nv", "none"), ("bge", "f-test"), ("splines", "none"), ("gp", "none"), ("mixed", "none")],
    )
    def test_only_bge_needs_a_test_after_the_search(self, score, pruner, rng):
        result = DrBO(score=score, max_evals=10, random_state=0).fit(bent(100, 3, rng)).result_
        assert result.pruner == pruner

    @pytest.mark.parametrize(
        ("frame", "score"),
        [
            (lambda rng: rng.integers(2, size=(100, 4)), "bdeu"),
            pytest.param(lambda rng: bent(300, 3, rng), "gp", marks=pytest.mark.torch),
            (lambda rng: bent(2100, 3, rng), "splines"),
            (lambda rng: np.exp(3 * bent(2100, 3, rng)), "splines-ranks"),
            (lambda rng: pd.DataFrame({"x": rng.normal(size=80), "g": rng.choice(["a", "b"], 80)}), "mixed"),
        ],
        ids=["bdeu", "gp", "splines", "splines-ranks", "mixed"],
    )
    def test_auto_from_table_to_graph(self, frame, score, rng):
        result = DrBO(max_evals=20, random_state=0).fit(frame(rng)).result_
        assert result.score_name == score
        assert result.reasons[0].startswith(f"score {score}: ")

    @pytest.mark.parametrize(
        ("preset", "score", "options", "pruner"),
        [
            ("paper", "bic-ev", {}, "threshold"),
            ("paper-gp", "gp-nv", {"alpha": 1.0}, "none"),
            ("paper-sachs", "gp-nv", {"alpha": 1e-8, "median_scale": True, "standardize": True}, "kci"),
        ],
    )
    def test_presets_of_the_paper_choose_for_themselves(self, preset, score, options, pruner, rng):
        settings = Settings.preset(preset).with_(n_candidates=20, max_evals=4, batch_size=4)
        result = DrBO(preset=preset, settings=settings, random_state=0).fit(bent(40, 3, rng)).result_
        assert (result.score_name, result.scoring.options, result.pruner) == (score, options, pruner)


class TestWrongScore:
    @pytest.mark.parametrize(
        ("score", "values", "message", "hint"),
        [
            (
                "logistic",
                lambda rng: rng.normal(size=(50, 3)),
                "50 distinct values, but logistic requires exactly 2",
                "score='auto'",
            ),
            (
                "bdeu",
                lambda rng: rng.normal(size=(50, 3)),
                "is continuous: it has 50 distinct values in 50 rows",
                "score='auto' or 'mixed'",
            ),
            (
                "bic-discrete",
                lambda rng: rng.normal(size=(50, 3)),
                "is continuous: it has 50 distinct values in 50 rows",
                "bin the column",
            ),
            ("gp", lambda rng: rng.normal(size=(20_000, 3)), "at most 4000 rows, got 20000", "score='splines'"),
            ("gp-nv", lambda rng: rng.normal(size=(20_000, 3)), "at most 4000 rows, got 20000", "score='splines'"),
        ],
    )
    def test_numbers(self, score, values, message, hint, rng):
        with pytest.raises(ScoreError) as caught:
            DrBO(score=score, random_state=0).fit(values(rng))
        assert message in caught.value.message
        assert score in caught.value.message
        assert hint in caught.value.hint

    @pytest.mark.parametrize("score", ["bic-nv", "bic-ev", "bge", "gp", "gp-nv", "splines", "splines-ranks"])
    def test_categories(self, score, rng):
        frame = pd.DataFrame({"x": rng.normal(size=40), "town": rng.choice(["Oslo", "Rom"], 40)})
        with pytest.raises(ScoreError, match="column 'town' is categorical") as caught:
            DrBO(score=score, random_state=0).fit(frame)
        assert "score='auto'" in caught.value.hint

    def test_many_rows_are_no_problem_for_auto(self):
        data = simulate("4ER1", model="cos", n=20_000, seed=1)
        assert DrBO(max_evals=20, random_state=0).fit(data.X).result_.score_name == "splines"


def in_runs(values):
    """Return a table whose last hundred rows come from an experiment."""
    return replace(
        Statistics.from_array(values),
        experiments=Experiments(np.repeat([0, 1], [len(values) - 100, 100]), ("control", "run")),
    )


def test_with_experiments_the_columns_and_the_control_decide():
    rng = np.random.default_rng(0)
    x = rng.normal(size=600)
    assert experiment_score(in_runs(np.column_stack([x, x + rng.normal(size=600)]))).name == "bic-experiments"
    bent = in_runs(np.column_stack([x, np.sin(2 * x) + 0.3 * rng.normal(size=600)]))
    chosen = experiment_score(bent)
    assert chosen.name == "splines-experiments"
    assert "in the control linear effects do not fit" in chosen.reasons[0]
    assert experiment_score(replace(bent, weights=np.full(600, 0.5))).name == "bic-experiments"
    assert experiment_score(in_runs(rng.integers(3, size=(600, 2)))).name == "discrete-experiments"


def test_both_kinds_of_columns_are_refused_with_experiments():
    rng = np.random.default_rng(0)
    table = in_runs(np.column_stack([rng.normal(size=300), rng.integers(2, size=300)]))
    mixed = replace(table, kinds=("numeric", "categorical"), levels=(None, ("no", "yes")))
    with pytest.raises(SettingsError, match="column 'x1' is categorical and others are numeric, but with experiments"):
        experiment_score(mixed)
