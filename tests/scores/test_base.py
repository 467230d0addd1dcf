import importlib
import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from drbo.data.table import Table
from drbo.errors import DataError, ScoreError, SettingsError
from drbo.scores.base import SCORES, Families, Score, build_score, row_groups, score_class
from drbo.scores.linear import BicNV
from drbo.testing import check_score


@pytest.fixture
def table(rng):
    return Table.from_array(rng.normal(size=(30, 3)), ["a", "b", "c"])


@st.composite
def families(draw):
    d = draw(st.integers(2, 20))
    m = draw(st.integers(0, 12))
    nodes = draw(arrays(np.intp, m, elements=st.integers(0, d - 1)))
    parents = draw(arrays(bool, (m, d)))
    parents[np.arange(m), nodes] = False
    return Families(nodes, parents)


# Families.


@given(families())
def test_keys_come_back_as_families(batch):
    again = Families.from_keys(batch.keys(), batch.n_nodes)
    assert again.nodes.tolist() == batch.nodes.tolist()
    assert again.parents.tolist() == batch.parents.tolist()


@given(families())
def test_keys_are_equal_exactly_for_equal_families(batch):
    content = [(node, *row) for node, row in zip(batch.nodes.tolist(), batch.parents.tolist(), strict=True)]
    assert len(set(batch.keys())) == len(set(content))


def test_keys_of_every_family_of_nine_nodes_differ():
    """Nine nodes need two bytes of parents: the border of a byte must not swallow one."""
    sets = [(node, np.flatnonzero([mask >> i & 1 for i in range(9)])) for node in range(9) for mask in range(512)]
    batch = Families.from_sets(9, [(node, parents) for node, parents in sets if node not in parents])
    assert len(set(batch.keys())) == 9 * 256


def test_keys_sort_by_node_first(rng):
    nodes = rng.integers(300, size=50)
    batch = Families(nodes, rng.random((50, 300)) < 0.5)
    assert Families.from_keys(sorted(batch.keys()), 300).nodes.tolist() == sorted(nodes.tolist())


@given(families(), st.integers(0, 4))
def test_padded_lists_the_parents_then_dummies(batch, extra):
    rows = np.arange(len(batch))[::-1].copy()
    width = int(batch.parents.sum(axis=1).max(initial=0)) + extra
    index = batch.padded(rows, width)
    assert index.shape == (len(batch), width)
    for row, places in zip(rows, index.tolist(), strict=True):
        parents = np.flatnonzero(batch.parents[row]).tolist()
        dummies = [batch.n_nodes + place for place in range(len(parents), width)]
        assert places == parents + dummies


@given(st.integers(0, 3), st.integers(1, 4), st.data())
def test_families_of_dags_are_their_columns(count, d, data):
    dags = data.draw(arrays(bool, (count, d, d)))
    batch = Families.from_dags(dags)
    assert batch.nodes.tolist() == list(range(d)) * count
    for b in range(count):
        for node in range(d):
            assert batch.parents[b * d + node].tolist() == dags[b, :, node].tolist()


@pytest.mark.parametrize("order", ["C", "F"])
def test_read_only_graphs_are_copied(order, table):
    """The graphs of a result cannot be written to; a batch of families belongs to whoever made it."""
    dags = np.array(np.triu(np.ones((1, 3, 3), dtype=bool), 1), order=order)
    dags.setflags(write=False)
    batch = Families.from_dags(dags)
    assert batch.parents.flags.writeable
    assert BicNV(table).family_price(batch) == pytest.approx(-np.log(30) * np.arange(3))


def test_slices_and_lengths():
    batch = Families.from_sets(3, [(2, (0, 1)), (0, ()), (1, (2,))])
    assert (len(batch), batch.n_nodes, len(batch[:0])) == (3, 3, 0)
    assert batch[[2, 0]].nodes.tolist() == [1, 2]
    assert batch[np.array([False, True, False])].parents.tolist() == [[False, False, False]]


# What a score has.


class Counted(Score):
    """Local value: a number made of the family; one parameter per parent."""

    evidence_scale = 2.0

    def local_one(self, node, parents):
        return 10.0 * node + sum(parents)

    def parameters(self, families):
        return families.sizes


def test_local_one_is_enough(table):
    batch = Families.from_sets(3, [(2, (0, 1)), (0, ()), (1, (2,))])
    values = Counted(table).local(batch)
    assert values.dtype == np.float64
    assert values.tolist() == [21.0, 0.0, 12.0]
    assert Counted(table).local(batch[:0]).shape == (0,)
    with pytest.raises(NotImplementedError, match=r"local\(\) or local_one\(\)"):
        Score(table).local(batch)


def _few_edges(node, parents):
    """A plain function: it must be importable, because scores are pickled for workers."""
    return 10.0 * node - len(parents)


def test_a_plain_function_is_a_score(table):
    score = check_score(_few_edges, table)
    assert (score.name, score.cheap) == ("_few_edges", False)
    assert score.local(Families.from_sets(3, [(2, (0, 1)), (1, ())])).tolist() == [18.0, 10.0]


def test_a_score_is_cheap_only_if_it_says_so(table):
    class Declared(Counted):
        cheap = True

    class Priced(BicNV):  # what a local score costs is that of BicNV
        edge_price = 3.0

    class Other(BicNV):  # what a local score costs is not known
        def local(self, families):
            return super().local(families)

    class Inner:
        def local_one(self, node, parents):
            return 0.0

    class CheapInner(Inner):
        cheap = True

    for kind in (Declared, BicNV, Priced, CheapInner()):
        assert build_score(kind, table).cheap is True
    for kind in (Counted, Other, Inner()):
        assert build_score(kind, table).cheap is False


def test_price_is_the_penalty_and_the_prior(rng):
    """By hand, family by family, for rows that differ between nodes."""
    values, prior = rng.normal(size=(40, 4)), rng.normal(size=(4, 4))
    targets = rng.random((40, 4)) < [0.5, 0.0, 0.2, 0.1]
    score = Counted(Table.from_array(values), penalty=1.5, edge_prior=prior, targets=targets)
    batch = Families.from_dags(rng.random((6, 4, 4)) < 0.5)
    rows = (~targets).sum(axis=0)
    for node, parents, price in zip(batch.nodes, batch.parents, score.family_price(batch), strict=True):
        expected = -1.5 * parents.sum() * math.log(rows[node]) + 2.0 * prior[parents, node].sum()
        assert price == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("scale", "expected"), [(2.0, 2 * math.log(5)), (1.0, math.log(5)), (None, math.log(5))])
def test_ebic_adds_ln_d_per_edge_on_the_scale_of_the_evidence(scale, expected, rng):
    """Foygel & Drton 2010, gamma = 1/2: BIC + 4 gamma |G| ln d for twice a log evidence, on top of penalty 1."""
    kind = type("Scaled", (Counted,), {"evidence_scale": scale})
    table = Table.from_array(rng.normal(size=(50, 5)))
    batch = Families.from_sets(5, [(0, ()), (1, (0,)), (2, (0, 1, 4))])
    extra = kind(table).family_price(batch) - kind(table, penalty="ebic").family_price(batch)
    assert extra == pytest.approx(expected * np.array([0, 1, 3]))


def test_combine_is_the_sum_of_shares(table, rng):
    score = Counted(table)
    score.gain = np.array([1.0, -2.0, 0.5])
    local, price = rng.normal(size=(2, 4, 3))
    expected = (local * score.gain + price).sum(-1)
    assert score.combine(local, price) == pytest.approx(expected)
    nodes = np.array([2, 0])
    part = score.share(local[:, nodes], price[:, nodes], None, nodes)
    assert part == pytest.approx(score.share(local, price)[:, nodes])
    assert score.level_of(local[0]) is None


@pytest.mark.parametrize("name", ["gp", "gp-ev", "gp-nv"])
def test_without_torch_a_kernel_score_says_what_to_install(name, table, monkeypatch):
    def missing(module):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr("drbo.torch_device.has_torch", lambda: False)
    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(SettingsError, match=f"score '{name}' needs torch, which is not installed") as caught:
        build_score(name, table)
    assert caught.value.hint == "install it with: pip install 'drbo[torch]'"


@given(st.data())
@settings(deadline=None)
def test_row_groups_split_the_nodes_by_their_rows(data):
    n, d = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 5))
    targets = data.draw(arrays(bool, (n, d)))
    groups = row_groups(targets, n, d)
    assert sorted(node for members, _ in groups for node in members.tolist()) == list(range(d))
    for members, rows in groups:
        for node in members:
            assert rows.tolist() == np.flatnonzero(~targets[:, node]).tolist()
    (members, rows) = row_groups(None, n, d)[0]
    assert (members.tolist(), rows.tolist()) == (list(range(d)), list(range(n)))


def test_targets_without_a_single_intervention_change_nothing(table):
    assert Counted(table, targets=np.zeros((30, 3))).targets is None
    assert Counted(table, targets=np.eye(30, 3, dtype=int)).n_rows.tolist() == [29, 29, 29]


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"penalty": -1}, SettingsError, "penalty must be a number >= 0 or 'ebic', got -1"),
        ({"penalty": "bic"}, SettingsError, "penalty must be a number >= 0 or 'ebic', got 'bic'"),
        ({"penalty": None}, SettingsError, "penalty must be a number >= 0 or 'ebic', got None"),
        ({"penalty": math.inf}, SettingsError, "penalty must be a number >= 0 or 'ebic', got inf"),
        (
            {"edge_prior": np.zeros((2, 2))},
            SettingsError,
            r"finite \(3, 3\) matrix of log-odds of size at most .*, got shape \(2, 2\)",
        ),
        ({"penalty": 1e308}, SettingsError, r"penalty must be at most 1e\+100, got 1e\+308"),
        ({"edge_prior": np.full((3, 3), -np.inf)}, SettingsError, "edge_prior must be a finite"),
        ({"edge_prior": np.full((3, 3), 1e308)}, SettingsError, r"log-odds of size at most 1e\+100"),
        (
            {"targets": np.zeros((30, 2))},
            SettingsError,
            r"targets must be a boolean \(30, 3\) array, got shape \(30, 2\)",
        ),
        ({"targets": np.full((30, 3), 2)}, SettingsError, "boolean"),
        ({"targets": np.arange(90).reshape(30, 3) > 6}, ScoreError, "node 'b' has only 2 rows without intervention"),
    ],
)
def test_bad_options_are_refused(table, options, kind, message):
    with pytest.raises(kind, match=message):
        Counted(table, **options)


# Building by any name.


class Own:
    """A score that knows nothing of this package."""

    def __init__(self, table, power=1):
        self.power = power
        self.columns = table.n_columns

    def local_one(self, node, parents):
        return float(node - len(parents)) ** self.power


class Batched:
    score_equivalent = True
    evidence_scale = 1.0

    def local(self, families):
        return families.parents.sum(axis=1)


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    """A module on disk, as a user has it."""
    (tmp_path / "own_score_on_disk.py").write_text(
        "from drbo.scores.linear import BicNV\n\n\n"
        "class Mine(BicNV):\n    name = 'mine'\n\n\n"
        "class Broken:\n    def __init__(self, table):\n        raise RuntimeError('no licence')\n"
    )
    (tmp_path / "own_score_with_a_typo.py").write_text("def local(\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "own_score_on_disk"
    for name in ("own_score_on_disk", "own_score_with_a_typo"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", sorted(SCORES))
def test_every_listed_score_is_there(name):
    kind = score_class(name)
    assert issubclass(kind, Score)
    assert kind.name == name
    with pytest.raises(SettingsError) as caught:  # every score takes these
        build_score(name, Table.from_array(np.eye(4)), {"no such option": 1})
    assert {"penalty", "edge_prior", "targets"} <= set(caught.value.hint.removeprefix("its options are ").split(", "))


def test_built_by_name_class_path_and_object(table, own_module):
    by_name = build_score("bic-nv", table, {"penalty": 2})
    assert (type(by_name), by_name.penalty) == (BicNV, 2.0)
    assert type(build_score(BicNV, table)) is BicNV
    assert build_score(f"{own_module}:Mine", table).name == "mine"
    ready = BicNV(table)
    assert build_score(ready, table) is ready


def test_a_stranger_is_wrapped(table):
    batch = Families.from_sets(3, [(2, (0, 1)), (1, ())])
    wrapped = build_score(Own(table, power=2), table)
    assert isinstance(wrapped, Score)
    assert wrapped.local(batch).tolist() == [0.0, 1.0]
    assert (wrapped.name, wrapped.score_equivalent, wrapped.evidence_scale) == ("Own", False, None)
    by_class = build_score(Own, table, {"power": 3})
    assert by_class.local(batch).tolist() == [0.0, 1.0]
    assert by_class.inner.power == 3
    many = build_score(Batched(), table)
    assert many.local(batch).tolist() == [2.0, 0.0]
    assert many.local(batch).dtype == np.float64
    assert (many.score_equivalent, many.evidence_scale) == (True, 1.0)
    assert many.family_price(batch).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("spec", "options", "kind", "message"),
    [
        ("bic", {}, SettingsError, "score must be one of bdeu, .*, auto, or module:Class, got 'bic'"),
        ("no_such_module:Mine", {}, SettingsError, "cannot be imported: ModuleNotFoundError"),
        ("own_score_on_disk:Yours", {}, SettingsError, "cannot be imported: AttributeError: .*Yours"),
        ("own_score_with_a_typo:Mine", {}, SettingsError, "cannot be imported: SyntaxError"),
        (":Mine", {}, SettingsError, "cannot be imported"),
        (".relative:Mine", {}, SettingsError, "cannot be imported"),
        ("own_score_on_disk:Broken", {}, ScoreError, "could not be built: RuntimeError: no licence"),
        ("bic-nv", {"penality": 2}, SettingsError, "score 'bic-nv' has no option penality"),
        (Own, {"penalty": 2}, SettingsError, "has no option penalty"),
        (Batched, {}, ScoreError, "could not be built: TypeError"),
        (
            object(),
            {},
            SettingsError,
            r"a function or a class with local\(\) or local_one\(\), got object",
        ),
        (3.5, {}, SettingsError, r"local_one\(\), got float"),
        (Batched(), {"penalty": 2}, SettingsError, "score_options require a score given by name or as a class"),
        ("bic-nv", {"penalty": -2}, SettingsError, "penalty must be"),
    ],
)
def test_what_is_no_score_is_refused(table, own_module, spec, options, kind, message):
    with pytest.raises(kind, match=message):
        build_score(spec, table, options)


def test_an_unknown_option_is_answered_with_the_known_ones(table):
    with pytest.raises(SettingsError) as caught:
        build_score("bic-ev", table, {"alpha": 1})
    assert caught.value.hint == "its options are penalty, edge_prior, targets"
    with pytest.raises(SettingsError) as caught:
        build_score(Own, table, {"alpha": 1})
    assert caught.value.hint == "its options are power"


def test_an_object_for_other_columns_is_refused(table, rng):
    other = BicNV(Table.from_array(rng.normal(size=(30, 4))))
    with pytest.raises(ScoreError, match="built for 4 columns, but the table has 3"):
        build_score(other, table)


def test_errors_of_a_score_about_data_pass_unchanged(table):
    class Picky(Score):
        def __init__(self, table):
            raise DataError("not this table", hint="another one")

    with pytest.raises(DataError, match="not this table"):
        build_score(Picky, table)
