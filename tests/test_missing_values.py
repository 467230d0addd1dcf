"""Missing values from the outside: every policy does what it promises."""

import numpy as np
import pandas as pd
import pytest

from drbo import DataPolicy, DrBO, Knowledge
from drbo.data.statistics.moments import moments
from drbo.data.statistics.regressions import edge_weights
from drbo.errors import DataError, SettingsError
from drbo.scores.families import Families
from drbo.scores.linear import BicNV


def _holed(seed=0, n=400, share=0.1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    x[:, 2] += x[:, 0] + x[:, 1]
    x[:, 3] += x[:, 2]
    frame = pd.DataFrame(x, columns=list("abcd"))
    return frame.mask(rng.random(frame.shape) < share)


def test_error_is_the_default():
    with pytest.raises(DataError, match="missing values in column 'a'"):
        DrBO().fit(_holed())


def test_drop_is_the_fit_of_complete_rows():
    holed = _holed()
    dropped = DrBO(score="bic-nv", policy=DataPolicy(missing="drop"), random_state=0).fit(holed)
    alone = DrBO(score="bic-nv", random_state=0).fit(holed.dropna())
    assert dropped.result_.table.sha256 == alone.result_.table.sha256
    assert dropped.score_ == alone.score_
    assert (dropped.adjacency_ == alone.adjacency_).all()
    assert any("MCAR" in reason for reason in dropped.result_.reasons)
    assert dropped.score_on(holed) == pytest.approx(dropped.result_.pruned_score)


@pytest.mark.parametrize("score", ["bic-nv", "bic-ev", "bge"])
def test_em_finds_the_graph_and_says_what_it_is_worth(score):
    holed = _holed(share=0.15)
    model = DrBO(score=score, policy=DataPolicy(missing="em"), random_state=0).fit(holed)
    skeleton = model.adjacency_ | model.adjacency_.T
    assert np.argwhere(np.triu(skeleton)).tolist() == [[0, 2], [1, 2], [2, 3]]
    assert any("the effective sample size is" in reason for reason in model.result_.reasons)
    assert model.score_on(holed) == pytest.approx(model.result_.pruned_score)


def test_em_is_the_covariance_mode_of_the_score():
    holed = _holed()
    model = DrBO(score="bic-nv", policy=DataPolicy(missing="em"), score_options={"penalty": 1}, prune="none").fit(holed)
    found = moments(holed.to_numpy())
    score = BicNV.from_covariance(found.covariance, found.n)
    local = score.local(Families.from_dags(model.result_.dag[None]))
    price = score.family_price(Families.from_dags(model.result_.dag[None]))
    assert model.score_ == pytest.approx(float((found.n * local + price).sum()))


def test_em_without_holes_is_the_usual_fit():
    whole = _holed(share=0.0)
    usual, em = (
        DrBO(score="bic-nv", policy=DataPolicy(missing=way), random_state=0).fit(whole) for way in ("error", "em")
    )
    assert usual.score_ == em.score_
    assert usual.result_.reasons == em.result_.reasons


def test_em_uses_more_of_the_table_than_dropping():
    dag, errors = np.zeros((4, 4)), []
    dag[[0, 1, 2], [2, 2, 3]] = 1
    for seed in range(40):
        holed = _holed(seed, n=120, share=0.25)
        found = [edge_weights(rows, dag)[0] for rows in (holed.dropna(), moments(holed.to_numpy()))]
        errors.append([np.abs(weights[[0, 1, 2], [2, 2, 3]] - 1).mean() for weights in found])
    dropped, em = np.mean(errors, axis=0)
    assert em < 0.85 * dropped


def test_em_can_be_resampled():
    holed = _holed()
    found = DrBO(score="bic-nv", policy=DataPolicy(missing="em"), random_state=0).fit(holed).bootstrap(holed, n=5)
    assert found.adjacent[2, 3] == 1.0


def test_dropped_rows_leave_their_clusters():
    holed = _holed()
    groups = np.arange(len(holed)) // 10
    model = DrBO(score="bic-nv", policy=DataPolicy(missing="drop"), random_state=0).fit(holed)
    found = model.bootstrap(holed, n=3, kind="cluster", clusters=groups)
    assert found.adjacent[2, 3] == 1.0


def test_imputed_fits_are_pooled():
    holed = _holed()
    holed["g"] = np.where(holed["d"] > 0, "high", "low")
    holed.loc[::7, "g"] = None
    parts = []
    model = DrBO(policy=DataPolicy(missing="impute", imputations=4), random_state=0)
    model.fit(holed, callbacks=[lambda progress: parts.append(progress.part)])
    found = model.result_.confidence
    assert (found.n, found.kind) == (4, "imputation")
    assert found.adjacent[2, 3] == 1.0
    assert set(np.unique(found.adjacent * 4)) <= {0, 1, 2, 3, 4}
    assert "4 imputed tables" in model.result_.summary()
    assert list(dict.fromkeys(parts)) == [f"imputed table {k} of 4" for k in range(1, 5)]
    again = DrBO(policy=DataPolicy(missing="impute", imputations=4), random_state=0).fit(holed)
    assert (again.result_.confidence.directed == found.directed).all()


def test_imputed_tables_without_holes_are_fitted_once():
    model = DrBO(score="bic-nv", policy=DataPolicy(missing="impute"), random_state=0).fit(_holed(share=0.0))
    assert model.result_.confidence is None


def test_under_mar_imputation_and_em_are_less_biased_than_dropping():
    errors = {"drop": [], "em": [], "impute": []}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(2_000, 2))
        y = x[:, 0] + x[:, 1]
        z = y + rng.normal(size=2_000)  # given y, x says nothing about z
        # Rows with a large z lose x: in complete rows z is cut off, which flattens its slope on y.
        x[z > 0.5, 0] = np.nan
        frame = pd.DataFrame({"x": x[:, 0], "y": y, "z": z})
        knowledge = Knowledge(required=[("x", "y"), ("y", "z")])
        for way, found in errors.items():
            model = DrBO(
                score="bic-nv", policy=DataPolicy(missing=way, imputations=3), knowledge=knowledge, random_state=0
            ).fit(frame)
            found.append(abs(model.weights_[1, 2] - _slope(frame)))
    mean = {way: np.mean(found) for way, found in errors.items()}
    assert mean["em"] < 0.25 * mean["drop"]
    assert mean["impute"] < 0.25 * mean["drop"]


def _slope(frame):
    return float(np.polyfit(frame["y"], frame["z"], 1)[0])  # neither y nor z is ever missing


def test_what_does_not_go_together_is_refused(tmp_path):
    holed = _holed()
    with pytest.raises(SettingsError, match="a bootstrap cannot be combined"):
        DrBO(policy=DataPolicy(missing="impute")).bootstrap(holed, n=3)
    with pytest.raises(SettingsError, match="checkpoint saves a single search"):
        DrBO(policy=DataPolicy(missing="impute")).fit(holed, checkpoint=tmp_path)


def test_a_search_with_holes_can_be_resumed(tmp_path):
    holed = _holed()
    first = DrBO(score="bge", policy=DataPolicy(missing="em"), max_evals=10, random_state=0).fit(
        holed, checkpoint=tmp_path
    )
    longer = DrBO.resume(tmp_path, max_evals=5)
    assert longer.result_.n_evals > first.result_.n_evals
    assert longer.result_.table.sha256 == first.result_.table.sha256


def test_the_order_of_rows_and_columns_does_not_matter():
    holed = _holed()
    moved = holed.sample(frac=1, random_state=1)[list("dbca")]
    one, other = (
        DrBO(score="bic-nv", policy=DataPolicy(missing="em"), random_state=0).fit(table) for table in (holed, moved)
    )
    assert one.score_ == pytest.approx(other.score_, rel=1e-9)
    assert one.result_.table.sha256 == other.result_.table.sha256
