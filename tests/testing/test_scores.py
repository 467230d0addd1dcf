from dataclasses import replace

import numpy as np
import pytest

from drbo.data.statistics.statistics import Statistics
from drbo.errors import ScoreError, SettingsError
from drbo.graph.dag import dag_to_cpdag, is_acyclic
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.scores.linear import BicEV, BicNV
from drbo.testing.scores import check_score, covered_reversal


@pytest.fixture
def table(rng):
    mixing = np.eye(5) + np.triu(rng.normal(size=(5, 5)), 1)
    return Statistics.from_array(rng.normal(size=(80, 5)) @ mixing)


@pytest.fixture
def options(rng):
    return {"penalty": 1.5, "edge_prior": rng.normal(size=(5, 5)), "targets": rng.random((80, 5)) < 0.2}


@pytest.mark.parametrize("score", ["bic-nv", "bic-ev", BicNV, "bge"])
def test_good_scores_pass(score, table, options):
    assert isinstance(check_score(score, table), Score)
    symmetric = {**options, "edge_prior": np.ones((5, 5)), "targets": None}  # leaves equivalent DAGs equal
    assert check_score(score, table, symmetric).penalty == 1.5


@pytest.mark.parametrize("score", ["bic-nv", "bic-ev", "bge", "splines", "mixed", "mixed-cg"])
@pytest.mark.parametrize("shape", [(3, 4), (6, 8), (5, 20), (20, 25)])
def test_good_scores_pass_with_fewer_rows_than_columns(score, shape, rng):
    check_score(score, Statistics.from_array(rng.normal(size=shape)))


def test_every_option_is_put_in_the_order_of_the_table(table, options):
    assert check_score("bic-ev", table, options).penalty == 1.5


def test_an_object_is_returned_as_it_is(table):
    ready = BicEV(table)
    assert check_score(ready, table) is ready


class Stranger:
    """Not even a Score."""

    def __init__(self, table):
        self.spread = table.values.std(axis=0)

    def local_one(self, node, parents):
        return float(self.spread[node] + self.spread[list(parents)].sum())


def test_a_stranger_can_pass(table):
    assert check_score(Stranger, table).name == "Stranger"
    assert check_score(Stranger(table), table).name == "Stranger"


class Endless(BicNV):
    def local(self, families):
        return np.where(families.parents.sum(axis=1) == 2, np.inf, super().local(families))


class Short(BicNV):
    def local(self, families):
        return super().local(families)[:-1]


class Forgetful(BicNV):
    """Depends on how often it was asked."""

    calls = 0

    def local(self, families):
        self.calls += 1
        return super().local(families) + self.calls


class Crowded(BicNV):
    """Depends on the batch a family comes in."""

    def local(self, families):
        local = super().local(families)
        return local - local.mean()


class Greedy(BicNV):
    """Changes the data it is given."""

    def __init__(self, table):
        super().__init__(table)
        table.values[:] += 1.0


class Positional(BicNV):
    """Prefers the columns that come first."""

    def local(self, families):
        return super().local(families) + 0.1 * families.nodes


class FirstRow(BicNV):
    """Depends on the order of the rows."""

    def __init__(self, table):
        super().__init__(table)
        self.first = table.values[0]

    def local(self, families):
        return super().local(families) + self.first[families.nodes]


class Boastful(BicEV):
    score_equivalent = True


class Asked(BicNV):
    def cheap(self):
        return False


class Unnested(BicNV):
    """Says that more parents fit no worse, and lets them fit worse."""

    def local(self, families):
        return super().local(families) - families.parents.sum(axis=1)


class LowerIsBetter(BicNV):
    def __init__(self, table, **options):
        super().__init__(table, **options)
        self.gain = -self.n_rows


class Unshared(BicNV):
    def combine(self, local, price):
        return super().combine(local, price) + local.prod(-1)


class Shapeless(BicNV):
    def combine(self, local, price):
        return super().combine(local, price).sum()


class Unpicklable(BicNV):
    def __init__(self, table):
        super().__init__(table)
        self.helper = lambda value: value


class Changeable(BicNV):
    """Comes back from a worker as another score."""

    shift = 0.0

    def local(self, families):
        return super().local(families) + self.shift

    def __setstate__(self, state):
        self.__dict__.update(state, shift=1.0)


class Miscompiled(BicNV):
    """Is climbed as if parents were worth half as much."""

    def compiled(self):
        return replace(super().compiled(), rows=self.n_rows / 2)


class Unscaled(BicNV):
    """Is climbed rightly, but proved as if all columns had variance 1."""

    def compiled(self):
        form = super().compiled()
        return replace(form, log_scales=0 * form.log_scales)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (Endless, r"score 'bic-nv' is inf for node 'x\d' with parents \['x\d', 'x\d'\]"),
        (Short, r"must return \(100,\) numbers, got \(99,\)"),
        (Forgetful, "returned two different values for the same family: node 'x0' with parents"),
        (Crowded, "returned two different values for the same family"),
        (Greedy, "changed the data"),
        (
            Positional,
            r"depends on the order of columns: \d+ of 100 local scores change, most of all .* for node 'x\d' with",
        ),
        (Boastful, "declares score_equivalent, but equivalent DAGs have different scores"),
        (Asked, "cheap must be True or False, got <bound method"),
        (LowerIsBetter, "gain must be above 0, got -"),
        (Unnested, "declares nested, but a larger parent set fits worse"),
        (Unshared, "the shares of the families do not add up to the score"),
        (Shapeless, r"combine must return one number per DAG, got \(\)"),
        (Unpicklable, "cannot be pickled"),
        (Changeable, "returns other values after pickling"),
        (Miscompiled, r"the compiled form disagrees with local\(\) for node 'x\d' with parents"),
        (Unscaled, r"the compiled form disagrees with local\(\) for node 'x\d' with parents"),
    ],
)
def test_a_broken_promise_is_named(score, message, table):
    with pytest.raises(ScoreError, match=message):
        check_score(score, table)


def test_a_class_that_no_worker_could_import_need_not_be_pickled(table):
    class Local(BicNV):
        pass

    assert check_score(Local, table).name == "bic-nv"


def test_depending_on_the_order_of_rows_is_a_warning_with_its_size(table):
    with pytest.warns(UserWarning, match=r"depends on the order of rows: \d+ of 100 local scores change, most of all"):
        assert isinstance(check_score(FirstRow, table), Score)


def test_options_are_checked_too(table):
    with pytest.raises(SettingsError, match="has no option penality"):
        check_score("bic-nv", table, {"penality": 2})


def test_the_seed_decides_what_is_tried(table):
    tried = []

    class Watched(BicNV):
        def local(self, families):
            tried.append(frozenset(families.keys()))
            return super().local(families)

    for seed in (0, 0, 1):
        tried.append("start")
        check_score(Watched, table, seed=seed, n_dags=4)
    starts = [place for place, what in enumerate(tried) if what == "start"]
    first, second, third = (tried[a + 1 : b] for a, b in zip(starts, [*starts[1:], None], strict=True))
    assert first == second != third
    assert len(first[0]) <= 4 * 5


def test_a_covered_reversal_stays_in_the_class(rng):
    turned = 0
    for _ in range(60):
        order = rng.permutation(5)
        dag = np.triu(rng.random((5, 5)) < 0.5, 1)[np.ix_(order, order)]
        other = covered_reversal(dag, rng)
        if other is None:
            continue
        turned += 1
        assert is_acyclic(other)
        assert (dag != other).sum() == 2
        assert (dag_to_cpdag(dag) == dag_to_cpdag(other)).all()
    assert turned > 30


def test_no_edge_of_a_collider_is_covered(rng):
    collider = np.zeros((3, 3), dtype=bool)
    collider[[0, 1], 2] = True
    assert covered_reversal(collider, rng) is None
    assert covered_reversal(np.zeros((2, 2), dtype=bool), rng) is None


def test_families_are_those_of_random_dags(table):
    """Half of what is tried has at least one parent: an empty graph would test nothing."""
    sizes = []

    class Watched(BicNV):
        def local(self, families: Families):
            sizes.extend(families.parents.sum(axis=1).tolist())
            return super().local(families)

    check_score(Watched, table)
    assert np.mean(np.array(sizes) > 0) > 0.5
    assert max(sizes) >= 3


class Careless(BicNV):
    """Says that it can use weights, and does not look at them."""

    name = "careless"

    def __init__(self, table, **options):
        super().__init__(Statistics(table.values, table.names, table.kinds, table.levels), **options)


def test_weights_must_be_repeated_rows(rng):
    table = Statistics.from_array(rng.normal(size=(60, 4)))
    check_score("bge", table)
    with pytest.raises(ScoreError, match="a row of weight w does not count as w equal rows"):
        check_score(Careless, table)
