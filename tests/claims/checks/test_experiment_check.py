from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from drbo import Design, DrBO
from drbo.claims.checks.experiment_check import UNSTABLE, checked_mechanisms, form_remarks
from drbo.claims.experiments import experiment_record
from drbo.data.checks.experiments import Experiments, KnownTarget
from drbo.data.statistics.statistics import Statistics
from drbo.scores import experiments
from drbo.scores.experiment_counts import ExperimentCounts
from drbo.scores.experiments import ExperimentBIC, ExperimentSplines

ARROW = np.array([[0, 1], [0, 0]], dtype=bool)


def far(shape, known=()):
    """'far' moves the cause, 'shifted' the effect."""
    rng, codes = np.random.default_rng(0), np.repeat([0, 1, 2], [300, 100, 100])
    cause = rng.normal(size=500) + 2.0 * (codes == 1)
    effect = shape(cause) + rng.normal(size=500) + 2.0 * (codes == 2)
    table = Statistics.from_array(np.column_stack([cause, effect]), ["cause", "effect"])
    return replace(table, experiments=Experiments(codes, ("control", "far", "shifted"), known))


def checked(table, kind=ExperimentBIC):
    score = kind(table)
    return checked_mechanisms(experiment_record(score, table, ARROW), score, table, ARROW)


def bent(record):
    return {(one.experiment, one.column): one.bent for one in record.targets}


def test_a_bend_that_looks_like_a_target_is_told():
    record = checked(far(lambda x: 3 * np.tanh(x)))
    assert bent(record) == {("far", "cause"): False, ("far", "effect"): True, ("shifted", "effect"): False}
    assert {one.column for one in record.misfits} == {"effect"}
    assert "control" in {one.experiment for one in record.misfits}
    words = form_remarks(record, None)
    assert words[0].startswith("1 of the targets may be nonlinear effects instead, which explain 'effect' in 'far'")
    assert words[1].startswith("straight lines do not fit everywhere: within ")


def test_straight_lines_leave_nothing_to_say():
    record = checked(far(lambda x: 2 * x))
    assert bent(record) == {("far", "cause"): False, ("shifted", "effect"): False}
    assert not form_remarks(record, None)


def test_splines_fit_where_lines_do_not():
    record = checked(far(lambda x: 3 * np.tanh(x)), ExperimentSplines)
    assert bent(record) == {("far", "cause"): False, ("shifted", "effect"): False}
    assert not form_remarks(record, "splines")


def test_a_known_target_is_no_bend_and_a_mechanism_that_was_replaced_is_not_tested():
    table = far(lambda x: 3 * np.tanh(x), (KnownTarget("far", "effect", "hard"),))
    record = checked(table)
    assert not any(bent(record).values())
    assert "far" not in {one.experiment for one in record.misfits}


def test_categories_have_no_form_to_check():
    coins = Statistics.from_array(np.random.default_rng(0).integers(2, size=(300, 2)), ["cause", "effect"])
    table = replace(coins, experiments=far(lambda x: x).experiments.take(np.arange(200, 500)))
    record = checked(table, ExperimentCounts)
    assert not form_remarks(record, None)


def test_large_tables_are_not_searched_for_bends(monkeypatch):
    monkeypatch.setattr(experiments, "MOST_PRODUCTS", 100)
    record = checked(far(lambda x: 3 * np.tanh(x)))
    assert not any(bent(record).values())
    assert record.misfits


@pytest.mark.parametrize(("moved", "grounds"), [(1, {"experiment"}), (4, set())])
def test_where_most_mechanisms_change_no_experiment_supports_an_arrow(moved, grounds):
    """a -> b -> c -> d: an experiment changes the mechanisms of the first columns."""
    rng, codes = np.random.default_rng(1), np.repeat([0, 1], 600)
    values = np.zeros((1200, 4))
    for j in range(4):
        before = values[:, j - 1] if j else 0.0
        is_changed = (codes == 1) * (j < moved)
        values[:, j] = before * (1 - 2 * is_changed) + (3.0, 5.0, 4.0, 6.0)[j] * is_changed + rng.normal(size=1200)
    frame = pd.DataFrame(values, columns=list("abcd")).assign(run=np.where(codes == 1, "shifted", "control"))
    result = DrBO(design=Design(experiment="run", control="control"), random_state=0).fit(frame).result_
    assert {one.ground for one in result.directions} & {"experiment"} == grounds
    if not grounds:
        sentences = {one.sentence for one in result.claims.denials if one.claim == "mechanisms"}
        assert sentences == {UNSTABLE.format(3, 4)}
