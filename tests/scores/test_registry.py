import importlib
import sys

import numpy as np
import pytest

from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.sums import Sums
from drbo.errors import DataError, ScoreError, SettingsError
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.scores.linear import BicNV
from drbo.scores.registry import SCORES, build_score, score_class
from drbo.testing import check_score


@pytest.fixture
def table(rng):
    return Statistics.from_array(rng.normal(size=(30, 3)), ["a", "b", "c"])


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
        build_score(name, Statistics.from_array(np.eye(4)), {"no such option": 1})
    assert {"penalty", "edge_prior"} <= set(caught.value.hint.removeprefix("its options are ").split(", "))


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
    assert caught.value.hint == "its options are penalty, edge_prior, gamma, min_strength"
    with pytest.raises(SettingsError) as caught:
        build_score(Own, table, {"alpha": 1})
    assert caught.value.hint == "its options are power"


def test_an_object_for_other_columns_is_refused(table, rng):
    other = BicNV(Statistics.from_array(rng.normal(size=(30, 4))))
    with pytest.raises(ScoreError, match="built for 4 columns, but the table has 3"):
        build_score(other, table)


def test_errors_of_a_score_about_data_pass_unchanged(table):
    class Picky(Score):
        def __init__(self, table):
            raise DataError("not this table", hint="another one")

    with pytest.raises(DataError, match="not this table"):
        build_score(Picky, table)


def _few_edges(node, parents):
    """A plain function: it must be importable, because scores are pickled for workers."""
    return 10.0 * node - len(parents)


def test_a_plain_function_is_a_score(table):
    score = check_score(_few_edges, table)
    assert (score.name, score.cheap) == ("_few_edges", False)
    assert score.local(Families.from_sets(3, [(2, (0, 1)), (1, ())])).tolist() == [18.0, 10.0]


@pytest.mark.parametrize("name", ["gp", "gp-ev", "gp-nv"])
def test_without_torch_a_kernel_score_says_what_to_install(name, table, monkeypatch):
    def missing(module):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr("drbo.machine.torch_device.has_torch", lambda: False)
    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(SettingsError, match=f"score '{name}' needs torch, which is not installed") as caught:
        build_score(name, table)
    assert caught.value.hint == "install it with: pip install 'drbo[torch]'"


def test_a_function_of_rows_is_told_which(rng):
    values = rng.normal(size=(80, 2))

    def mean_of(node, parents, rows):
        return float(values[rows, node].mean())

    score, families = build_score(mean_of, Statistics.from_array(values)), Families.from_sets(2, [(0, ()), (1, (0,))])
    assert score.local(families) == pytest.approx(values.mean(axis=0))
    (relative,) = score.relatives()
    assert relative.score.local(families) == pytest.approx(values[relative.score._rows].mean(axis=0))
    assert build_score(lambda node, parents: 0.0, Statistics.from_array(values)).relatives() == ()
    assert build_score(max, Statistics.from_array(values)).relatives() == ()  # it does not tell its parameters


class Covariances(Score):
    """A score of one's own that needs no rows."""

    needs = frozenset({"moments"})

    def __init__(self, table, **options):
        super().__init__(table, **options)
        self.covariance = table.moments_of_all.covariance

    def local_one(self, node, parents):
        return float(np.abs(self.covariance[node, list(parents)]).sum())


def test_a_table_that_lacks_what_a_score_needs_is_refused(table):
    sums = Statistics.from_sums(Sums.of_rows(table.names, table.values))
    families = Families.from_sets(3, [(2, (0, 1)), (1, (0,))])
    assert np.allclose(build_score(Covariances, sums).local(families), Covariances(table).local(families))
    for kind in (lambda node, parents: 0.0, Own, "bdeu", "splines", "mixed", "bic-ng", "bic-experiments", "gp"):
        with pytest.raises(DataError, match="needs the rows of the table, but only their moments are known"):
            build_score(kind, sums)
    holes = Statistics.from_array(np.where(table.values > 1.5, np.nan, table.values))
    assert build_score("bge", holes).n_nodes == 3
    with pytest.raises(DataError, match="requires complete rows"):
        build_score("splines", holes)


@pytest.mark.parametrize("name", sorted(SCORES))
def test_scores_say_in_sentences_what_they_assume(name):
    if name.startswith("gp"):
        pytest.importorskip("torch")
    assert all(text.endswith(".") for text in score_class(name).words)


def test_what_a_score_assumes_is_not_said_of_one_that_counts_differently():
    class Halved(BicNV):
        def local(self, families):
            return super().local(families) / 2

    class Renamed(BicNV):
        name = "renamed"

    assert (Halved.words, Renamed.words) == ((), BicNV.words)
