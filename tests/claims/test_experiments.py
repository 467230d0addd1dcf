from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from drbo import Design, DrBO
from drbo.claims.denial import ClaimRecord
from drbo.claims.directions import edge_directions
from drbo.claims.experiments import (
    Unfollowed,
    class_of,
    describe,
    experiment_record,
    followed_arrows,
    interventional_class,
    shown_arrows,
    unfollowed,
)
from drbo.claims.record import ExperimentRecord, Target
from drbo.constraints import Constraints
from drbo.data.checks.experiments import Experiments, KnownTarget
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import dag_to_cpdag, is_acyclic, skeleton, v_structures
from drbo.knowledge import Knowledge
from drbo.scores.experiments import ExperimentBIC, ExperimentSplines
from drbo.scores.families import Families
from drbo.scores.linear import BicNV

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)


def chain(seed=0, n=(400, 150, 150), known=()):
    """a -> b -> c; 'hot' shifts a, 'loud' multiplies the noise of c."""
    rng, codes = np.random.default_rng(seed), np.repeat([0, 1, 2], n)
    a = rng.normal(size=sum(n)) + 2.0 * (codes == 1)
    b = 3 * a + rng.normal(size=sum(n))
    c = b + rng.normal(size=sum(n)) * np.where(codes == 2, 3.0, 1.0)
    table = Statistics.from_array(np.column_stack([a, b, c]), ["a", "b", "c"])
    return replace(table, experiments=Experiments(codes, ("plain", "hot", "loud"), known, "run"))


def members(dag, changed):
    """Return all DAGs whose union with the roots of the experiments has the same links and colliders."""
    d, told = len(dag), changed[changed.any(axis=1)]

    def whole(graph):
        wide = np.zeros((d + len(told),) * 2, dtype=bool)
        wide[:d, :d], wide[d:, :d] = graph, told
        return wide

    pairs = np.argwhere(np.triu(dag | dag.T)).tolist()
    found, own = [], whole(dag)
    for turns in product([False, True], repeat=len(pairs)):
        graph = np.zeros_like(dag)
        for (i, j), turned in zip(pairs, turns, strict=True):
            graph[(j, i) if turned else (i, j)] = True
        same = is_acyclic(graph) and (skeleton(whole(graph)) == skeleton(own)).all()
        if same and set(v_structures(whole(graph))) == set(v_structures(own)):
            found.append(graph)
    return np.array(found)


@pytest.mark.parametrize("seed", range(25))
def test_the_class_is_the_union_of_its_members(seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(5)
    dag = np.triu(rng.random((5, 5)) < 0.6, 1)[np.ix_(order, order)]
    changed = rng.random((3, 5)) < rng.choice([0.0, 0.2, 0.5])
    assert (interventional_class(dag, Constraints.none(5), changed) == members(dag, changed).any(axis=0)).all()


def test_knowledge_refines_the_class():
    none = np.zeros((1, 3), dtype=bool)
    assert (interventional_class(CHAIN, Constraints.none(3), none) == dag_to_cpdag(CHAIN)).all()
    rooted = Constraints.of(Knowledge(roots=["x0"]), ["x0", "x1", "x2"])
    both = np.array([[True, True, True]])  # an experiment that changes everything tells nothing
    assert (interventional_class(CHAIN, Constraints.none(3), both) == dag_to_cpdag(CHAIN)).all()
    assert (interventional_class(CHAIN, rooted, both) == CHAIN).all()
    assert (class_of(CHAIN, rooted, None) == CHAIN).all()


def record(*targets, labels=("plain", "hot", "loud")):
    made = tuple(Target(experiment=label, column=column, margin=margin) for label, column, margin in targets)
    return ExperimentRecord(column="run", labels=labels, rows=(9,) * len(labels), targets=made)


def test_arrows_say_which_experiment_shows_them():
    names = ("a", "b", "c")
    found = record(("hot", "a", 9.0), ("loud", "c", 50.0))
    assert (class_of(CHAIN, Constraints.of(Knowledge(), names), found) == CHAIN).all()
    assert shown_arrows(CHAIN, names, CHAIN, found) == {
        ("a", "b"): "Experiment 'hot' changes 'a', and 'b' follows.",
        ("b", "c"): "Experiment 'loud' changes 'c', and 'b' stays as it is.",
    }
    only = record(("hot", "a", 9.0))
    assert shown_arrows(CHAIN, names, CHAIN, only)["b", "c"] == (
        "This direction follows from arrows that experiments show."
    )
    assert shown_arrows(CHAIN, names, dag_to_cpdag(CHAIN), record()) == {}
    assert shown_arrows(CHAIN, names, CHAIN, None) == {}


def test_targets_are_found_with_their_margins():
    known = (KnownTarget("loud", "c"),)
    table = chain(known=known)
    score = ExperimentBIC(table, penalty="ebic")
    found = experiment_record(score, table, CHAIN)
    assert [(one.experiment, one.column, one.kind) for one in found.targets] == [
        ("hot", "a", "found"),
        ("loud", "c", "soft"),
    ]
    assert found.rows == (400, 150, 150)
    assert found.changed(("a", "b", "c")).tolist() == [[True, False, False], [False, False, True]]
    assert repr(found.design) == "Design(experiment='run', control='plain', targets={'loud': {'c': 'soft'}})"
    pooled = replace(table, experiments=Experiments(np.repeat([0, 0, 1], [400, 150, 150]), ("plain", "loud"), known))
    less = ExperimentBIC(pooled, penalty="ebic")  # 'hot' as a part of the control
    parts = Families.from_dags(CHAIN[None])
    apart, together = (made.combine(made.local(parts), made.family_price(parts)) for made in (score, less))
    assert found.targets[0].margin == pytest.approx(float(apart - together), rel=1e-9)
    assert experiment_record(score, replace(table, experiments=None), CHAIN) is None
    assert experiment_record(BicNV(table), table, CHAIN) is None


def test_weights_come_from_experiments_that_do_not_change_the_column():
    table = chain(1)
    values = table.values.copy()
    values[table.experiments.codes == 2, 2] *= -1.0  # another mechanism of c in 'loud'
    table = replace(table, values=values)
    raw, standardised = ExperimentBIC(table).weights(table, CHAIN)
    rest = table.experiments.codes != 2
    slope, _ = np.polyfit(values[rest, 1], values[rest, 2], 1)
    assert raw[1, 2] == pytest.approx(slope)
    assert standardised[1, 2] == pytest.approx(slope * values[:, 1].std() / values[:, 2].std())
    assert raw[0, 1] == pytest.approx(np.polyfit(values[:, 0], values[:, 1], 1)[0])
    assert not raw[~CHAIN].any()
    order = np.array([2, 0, 1])  # of the columns that the score was built with
    other = ExperimentBIC(table.take(np.arange(table.n_rows), order))
    for one, two in zip(other.weights(table, CHAIN), (raw, standardised), strict=True):
        np.testing.assert_allclose(one, two)
    assert ExperimentSplines(table).weights(table, CHAIN) is None


def test_experiments_are_described():
    hot, loud = describe(chain(2))
    assert (hot.label, hot.rows, hot.suspected) == ("hot", 150, ("a",))
    assert set(hot.moved) == {"a", "b", "c"}
    assert loud.suspected == ("c",)


def twins(seed=0, n=400):
    """Two sensors of one hidden source; 'first' and 'second' shift one sensor each."""
    rng, codes = np.random.default_rng(seed), np.repeat([0, 1, 2], n)
    source = rng.normal(size=3 * n)
    sensors = source[:, None] + 0.5 * rng.normal(size=(3 * n, 2))
    sensors[codes == 1, 0] += 3.0
    sensors[codes == 2, 1] += 3.0
    table = Statistics.from_array(sensors, ["one", "two"])
    return replace(table, experiments=Experiments(codes, ("plain", "first", "second"), (), "run"))


def test_an_effect_that_does_not_follow_speaks_against_the_arrow():
    arrow = np.array([[0, 1], [0, 0]], dtype=bool)
    table = twins()
    found = unfollowed(ExperimentBIC(table), table, arrow)
    assert found == {("one", "two"): "first"}
    context = SimpleNamespace(score=ExperimentBIC(table), table=table, answer=SimpleNamespace(dag=arrow))
    (denial,) = Unfollowed().run(context).denied
    assert denial.sentence.startswith("Experiment 'first' changes 'one', but 'two' stays as it is")
    shown = {("one", "two"): "Experiment 'second' changes 'two', and 'one' stays as it is."}
    told = {"score_equivalent": True, "experiments": shown, "known_class": arrow}
    made = [ClaimRecord(name=Unfollowed.name, status="ran", grounds=Unfollowed.denies)]
    for denials, direction in (((denial,), "assumed"), ((), "supported")):
        limits = Constraints.of(Knowledge(), ["one", "two"])
        (one,) = edge_directions(arrow, limits, denials=denials, made=made, **told)
        assert one.direction == direction


def test_effects_that_follow_and_other_scores_raise_no_doubt():
    table = chain()
    assert unfollowed(ExperimentBIC(table), table, CHAIN) == {}
    assert unfollowed(BicNV(table), table, CHAIN) == {}


def test_twin_sensors_have_no_supported_arrow():
    table = twins(seed=1)
    frame = pd.DataFrame(table.values, columns=list(table.names))
    frame["run"] = [table.experiments.labels[code] for code in table.experiments.codes]
    result = DrBO(design=Design(experiment="run", control="plain"), random_state=0).fit(frame).result_
    (one,) = result.directions
    assert one.direction == "assumed"
    assert "something else, such as a hidden cause, links them" in one.sentence


@pytest.mark.parametrize(("goes", "follows"), [(1.0, True), (0.6, True), (0.4, False), (0.0, False)])
def test_an_effect_follows_if_it_goes_more_than_half_of_the_way(goes, follows):
    """The control has the slope 1; the experiment moves a by 3, and b by less."""
    codes, rng = np.repeat([0, 1], (4_000, 400)), np.random.default_rng(0)
    a, noise = rng.normal(size=(2, 4_400))
    values = np.column_stack([a + 3 * codes, a + noise + 3 * goes * codes])
    table = replace(Statistics.from_array(values, ["a", "b"]), experiments=Experiments(codes, ("plain", "e")))
    arrow, score = np.array([[False, True], [False, False]]), ExperimentBIC(table)
    assert followed_arrows(score, table, arrow, experiment_record(score, table, arrow)).any() == follows


def test_without_an_experiment_that_moves_a_cause_nothing_follows():
    table = chain()
    score = ExperimentBIC(table)
    assert (followed_arrows(score, table, CHAIN, experiment_record(score, table, CHAIN)) == CHAIN).all()
    without = chain(n=(400, 0, 150))
    codes = np.where(without.runs.codes == 2, 1, 0)
    without = replace(without, experiments=Experiments(codes, ("plain", "loud"), (), "run"))
    score = ExperimentBIC(without)
    assert not followed_arrows(score, without, CHAIN, experiment_record(score, without, CHAIN)).any()


def test_the_cause_moves_by_six_standard_errors_of_what_follows():
    """Recomputed for a -> b by least squares, with shifts on both sides of the limit."""
    codes, rng = np.repeat([0, 1], (400, 100)), np.random.default_rng(0)
    a, noise = rng.normal(size=(2, 500))
    arrow, found, expected = np.array([[False, True], [False, False]]), [], []
    for shift in (0.2, 0.4, 0.6, 0.8, 1.0):
        moved = a + shift * codes
        values = np.column_stack([moved, 0.8 * moved + noise])
        table = replace(Statistics.from_array(values, ["a", "b"]), experiments=Experiments(codes, ("plain", "e")))
        score = ExperimentBIC(table)
        record = experiment_record(score, table, arrow)
        slope = np.polyfit(*values.T, 1)[0]
        rest, by = values[:, 1] - slope * moved, [codes == 0, codes == 1]
        error = sum(rest[rows].var() / rows.sum() for rows in by) ** 0.5
        expected.append(abs(slope * (moved[by[1]].mean() - moved[by[0]].mean())) >= 6 * error)
        found.append(bool(followed_arrows(score, table, arrow, record).any()))
    assert found == expected
    assert len(set(found)) == 2
