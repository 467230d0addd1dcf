"""Tables whose rows depend on the rows before them, from the outside."""

import warnings

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from drbo import Design, DrBO, Knowledge, Result
from drbo.cli import main

pytestmark = pytest.mark.filterwarnings("ignore:neighbouring rows")


def series(n=300, rho=0.8, seed=0):
    """Return four series; a and b act on c."""
    rng = np.random.default_rng(seed)
    x = np.zeros((n, 4))
    for t in range(1, n):
        x[t] = rho * x[t - 1] + rng.normal(size=4)
    x[:, 2] += 2 * x[:, 0] + 2 * x[:, 1]
    return pd.DataFrame(x, columns=list("abcd"))


def test_rows_count_as_fewer_and_arrows_are_assumed():
    with pytest.warns(UserWarning, match=r"300 rows are worth about \d\d independent ones"):
        model = DrBO(random_state=0).fit(series())
    result = model.result_
    assert 30 < result.table.n_effective < 150
    assert result.dag[0, 2]
    assert result.dag[1, 2]
    assert {one.direction for one in result.directions} <= {"assumed", "open"}
    assert any("neighbouring rows depend on each other" in one.sentence for one in result.directions)
    assert any("every row counts as" in reason for reason in result.reasons)
    assert result.score_of(result.dag, series()) == pytest.approx(result.pruned_score)
    assert model.score_on(series()) == pytest.approx(result.pruned_score)


def test_the_user_may_know_better():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = DrBO(design=Design(groups=False), random_state=0).fit(series()).result_
    shuffled = DrBO(random_state=0).fit(series().sample(frac=1, random_state=0)).result_
    assert result.score == shuffled.score
    assert not result.table.audit.is_serial
    assert not any("neighbouring rows" in one.sentence for one in result.directions)


def test_knowledge_is_not_doubted(tmp_path):
    known = Knowledge(required=["a -> c"])
    result = DrBO(knowledge=known, random_state=0).fit(series(), checkpoint=tmp_path).result_
    grounds = {(one.cause, one.effect): one.ground for one in result.directions}
    assert grounds["a", "c"] == "given"
    again = DrBO.resume(tmp_path).result_
    assert (again.score, again.table.n_effective) == (result.score, result.table.n_effective)
    assert again.table.audit.is_serial


def test_scores_that_take_no_weights_are_left_alone():
    result = DrBO(score="bdeu", random_state=0).fit(series() > 0).result_
    assert result.table.n_effective == 0


def test_splines_count_dependent_rows_as_fewer():
    result = DrBO(score="splines", random_state=0).fit(series()).result_
    assert 0 < result.table.n_effective < 300
    assert result.table.audit.is_serial
    assert "supported" not in {one.direction for one in result.directions}


def test_on_the_command_line(tmp_path):
    series().to_csv(tmp_path / "series.csv", index=False)
    words = [str(tmp_path / "series.csv"), "--groups", "none"]
    assert "neighbouring rows" not in CliRunner().invoke(main, ["check", *words]).output
    assert "neighbouring rows" in CliRunner().invoke(main, ["check", words[0]]).output
    found = CliRunner().invoke(main, ["fit", *words, "-q", "-o", str(tmp_path / "run")])
    assert found.exit_code == 0
    assert not Result.load(tmp_path / "run").table.audit.is_serial
    assert CliRunner().invoke(main, ["resume", str(tmp_path / "run"), "-q"]).exit_code == 0
