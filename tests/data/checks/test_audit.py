"""The audit of a table: every finding is provoked, and a clean table provokes none."""

import numpy as np
import pytest

from drbo.data.checks.audit import audit, audit_arrows, audit_time
from drbo.data.checks.check import check_table
from drbo.data.statistics import sums
from drbo.data.statistics.statistics import Statistics


def topics(values, names=None):
    return [finding.topic for finding in audit(Statistics.from_array(values, names)).findings]


def clean(rng, n=400, d=4):
    return rng.normal(size=(n, d)) * np.linspace(1, 2, d)


def test_a_clean_table_has_no_findings(rng):
    assert topics(clean(rng)) == []


@pytest.mark.parametrize(
    ("topic", "change"),
    [
        ("rows", lambda x: x[:30]),
        ("duplicates", lambda x: np.vstack([x, x[:50]])),
        ("scale", lambda x: x * [1, 1, 1, 500]),
        ("scale", lambda x: x / x.std(axis=0)),
        ("collinearity", lambda x: np.column_stack([x, x[:, 0] + 1e-3 * x[:, 1]])),
        ("outliers", lambda x: np.vstack([x, [100, 0, 0, 0]])),
        ("serial", lambda x: np.cumsum(x, axis=0)),
        ("time", lambda x: np.column_stack([x, np.arange(len(x))])),
        ("tails", lambda x: np.sign(x) * np.abs(x) ** 3),
    ],
)
def test_what_is_found(rng, topic, change):
    assert topic in topics(change(clean(rng)))


def test_findings_name_the_columns(rng):
    values = clean(rng)
    values[3, 1] = 1e4
    found = audit(Statistics.from_array(values, names=["a", "odd one", "c", "d"])).findings
    text = next(finding.text for finding in found if finding.topic == "outliers")
    assert "'odd one' 1" in text
    assert "'a'" not in text


def test_neither_units_nor_row_order_hide_outliers(rng):
    values = clean(rng)
    values[3, 1] = 1e4
    assert "outliers" in topics((values * 1e100)[rng.permutation(len(values))])


def test_columns_are_described_and_fit_json():
    table, _ = check_table([[1.0, "a"], [2.0, "b"], [4.0, "a"], [5.0, "a"]])
    number, group = audit(table).columns
    assert (number.min, number.max, number.mean, number.distinct) == (1.0, 5.0, 3.0, 4)
    assert sum(number.counts) == 4
    assert (group.kind, group.levels, group.counts) == ("categorical", ("a", "b"), (3, 1))
    assert (number.is_numeric, group.is_numeric) == (True, False)


class TestArrows:
    COLLIDER = np.outer([1, 1, 1, 1, 0], [0, 0, 0, 0, 1])

    def findings(self, values, dag=None, settled=None):
        dag = self.COLLIDER if dag is None else dag
        found = audit_arrows(Statistics.from_array(values), dag, dag if settled is None else settled)
        return {finding.topic: finding for finding in found}

    def collider(self, rng, n=500):
        x = rng.normal(size=(n, 5))
        x[:, 4] += x[:, :4].sum(axis=1)
        return x

    def test_raw_units_that_give_the_order_away_are_named(self, rng):
        found = self.findings(self.collider(rng))
        assert "varsortability 1.00" in found["varsortability"].text
        assert "plausible" in found["equal variances"].text

    def test_units_against_the_arrows_are_serious(self, rng):
        found = self.findings(self.collider(rng) * [1, 1, 1, 1, 0.01])
        assert "varsortability 0.00" in found["varsortability"].text
        assert found["varsortability"].serious
        assert "false assumption" in found["equal variances"].text

    def test_the_test_of_equal_variances_holds_its_level(self):
        wrong = 0
        for seed in range(200):
            values = np.random.default_rng(seed).normal(size=(100, 4))
            chain = np.diag(np.ones(3), 1)
            wrong += "differ" in self.findings(values, chain)["equal variances"].text
        assert wrong <= 3  # at the level 0.001

    def test_without_settled_arrows_nothing_is_said_about_sorting(self, rng):
        found = self.findings(self.collider(rng), settled=np.zeros((5, 5)))
        assert list(found) == ["equal variances"]

    def test_categories_and_few_rows_are_left_alone(self, rng):
        table, _ = check_table([[1.0, "a"], [2.0, "b"], [4.0, "a"], [5.0, "a"]])
        assert audit_arrows(table, np.zeros((2, 2)), np.zeros((2, 2))) == ()
        assert self.findings(rng.normal(size=(5, 5))) == {}

    def test_units_do_not_matter_for_the_range(self, rng):
        assert self.findings(self.collider(rng) * 1e140).keys() == self.findings(self.collider(rng)).keys()


class TestTime:
    def test_random_rows_are_no_series(self, rng):
        assert audit_time(Statistics.from_array(rng.normal(size=(300, 4)))) == ()

    def test_a_counter_and_a_walk_are(self, rng):
        walk = np.cumsum(rng.normal(size=(300, 2)), axis=0)
        found = audit_time(Statistics.from_array(np.column_stack([np.arange(300), walk])))
        assert [finding.topic for finding in found] == ["time", "serial"]
        assert "like a counter or a clock" in found[0].text
        assert "time (--time) names the column" in found[1].text

    def test_a_lagged_table_is_no_reason_to_worry(self, rng):
        walk = np.cumsum(rng.normal(size=(301, 2)), axis=0)
        found = audit_time(Statistics.from_array(np.hstack([walk[1:], walk[:-1]])))
        assert [(finding.topic, finding.serious) for finding in found] == [("lags", False)]

    def test_categories_alone_tell_nothing(self):
        table = Statistics(np.repeat([[0.0], [1.0]], 50, axis=0), ("g",), ("categorical",), (("a", "b"),))
        assert audit_time(table) == ()


@pytest.fixture
def _short(monkeypatch):
    """Tables of more than 200 rows are long."""
    for name, value in (("DESCRIBED_CELLS", 0), ("DESCRIBED_ROWS", 200), ("DESCRIBED_PER_COLUMN", 1)):
        monkeypatch.setattr(sums, name, value)


@pytest.mark.usefixtures("_short")
def test_a_long_table_is_described_by_some_of_its_rows_and_says_so(rng):
    values = clean(rng, n=1000)
    found = audit(Statistics.from_array(values))
    assert [finding.topic for finding in found.findings] == ["sample"]
    assert found.findings[0].text.startswith("the audit is based on 200 of 1,000 rows")
    rows = np.linspace(0, 999, 200).astype(int)
    assert found.columns[2].mean == pytest.approx(values[rows, 2].mean())
    assert sum(found.columns[0].counts) == 200
    assert "sample" not in topics(values[:200])


@pytest.mark.usefixtures("_short")
def test_time_is_looked_for_among_neighbours(rng):
    walk = np.cumsum(rng.normal(size=(1000, 3)), axis=0)
    assert "serial" in topics(walk)
    assert [finding.topic for finding in audit_time(Statistics.from_array(walk))] == ["serial"]
    walk[:200] = rng.normal(size=(200, 3))  # the first rows are what is looked at
    assert audit_time(Statistics.from_array(walk)) == ()


@pytest.mark.usefixtures("_short")
def test_arrows_of_a_long_table_are_judged_by_some_rows(rng):
    values, graph = clean(rng, n=1000), np.zeros((4, 4))
    graph[0, 1] = 1
    words = audit_arrows(Statistics.from_array(values), graph, graph)[-1].text
    some = values[np.linspace(0, 999, 200).astype(int)]
    assert words == audit_arrows(Statistics.from_array(some), graph, graph)[-1].text


def test_a_long_incomplete_table(rng):
    values = clean(rng, n=1500)
    values[::7, 0] = np.nan
    table = check_table(values, missing="keep")[0]
    assert [finding.topic for finding in audit(table).findings] == ["missing"]
