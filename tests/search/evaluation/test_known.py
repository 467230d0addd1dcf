import io
import zipfile

import numpy as np
import pytest

from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.errors import CheckpointError
from drbo.knowledge import Knowledge
from drbo.scores.families import Families
from drbo.scores.linear import BicNV
from drbo.search.evaluation.known import KnownFamilies
from drbo.search.state import Fields, pack

FAMILIES = Families.from_sets(3, [(2, (0, 1)), (0, ()), (1, (0,))])


@pytest.fixture
def score(rng):
    return BicNV(Statistics.from_array(rng.normal(size=(30, 3))))


def saved(known):
    file = io.BytesIO()
    np.savez(file, **pack(known.capture()))
    return Fields.of(zipfile.ZipFile(file), "search.npz")


def test_values_are_those_of_the_score_whoever_asked_first(score):
    known = KnownFamilies(score)
    known.compute(set(FAMILIES[:1].keys()))
    known.compute(set(FAMILIES[1:].keys()))
    assert known.of(FAMILIES.keys()) == pytest.approx(score.local(FAMILIES))
    families, values = known.since(1)
    assert families.keys() == sorted(FAMILIES[1:].keys())
    assert values == pytest.approx(score.local(families))


def test_a_state_is_restored_in_the_same_order(score):
    known, other = KnownFamilies(score), KnownFamilies(score)
    known.compute(set(FAMILIES.keys()))
    other.restore(saved(known), Constraints.none(3))
    assert other.since(0)[0].keys() == known.since(0)[0].keys()
    assert other.since(0)[1].tolist() == known.since(0)[1].tolist()


def test_a_state_against_the_knowledge_is_refused(score):
    known = KnownFamilies(score)
    known.compute(set(FAMILIES.keys()))
    limits = Constraints.of(Knowledge(forbidden=["x0 -> x1"]), ["x0", "x1", "x2"])
    with pytest.raises(CheckpointError, match="families that the knowledge allows"):
        KnownFamilies(score).restore(saved(known), limits)
