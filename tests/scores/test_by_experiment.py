import numpy as np
import pytest

from drbo.data.checks.experiments import Experiments, KnownTarget
from drbo.data.statistics.statistics import Statistics
from drbo.errors import SettingsError
from drbo.scores.by_experiment import FREE, HARD, SHARED, SOFT, ByExperiment
from drbo.scores.families import Families


def made(rng):
    """Return a table whose first experiment has known targets."""
    known = (KnownTarget("hot", "a", "hard"), KnownTarget("hot", "b", "soft"))
    experiments = Experiments(np.repeat([0, 1, 2], 10), ("control", "hot", "cold"), known)
    return Statistics(rng.normal(size=(30, 3)), ("a", "b", "c"), ("numeric",) * 3, (None,) * 3, experiments=experiments)


@pytest.mark.parametrize(("others", "left"), [("unknown", FREE), ("none", SHARED)])
def test_what_may_change_follows_from_the_targets(others, left, rng):
    score = ByExperiment(made(rng), others=others)
    assert score.labels == ("control", "hot", "cold")
    assert score.states.tolist() == [[SHARED] * 3, [HARD, SOFT, left], [FREE] * 3]
    with pytest.raises(SettingsError, match="others must be 'unknown' or 'none', got 'all'"):
        ByExperiment(made(rng), others="all")


def test_what_a_score_does_not_know_it_does_not_say(rng):
    table = made(rng)
    score, families = ByExperiment(table), Families.from_sets(3, [(0, ())])
    assert score.weights(table, np.zeros((3, 3), dtype=bool)) is None
    assert score.bent(table, families) is None
    assert score.mechanism is None
    for ask in (score.changes, score.charged):
        with pytest.raises(NotImplementedError):
            ask(families)
