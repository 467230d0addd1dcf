"""The settings of route paper."""

import pytest

from drbo.errors import SettingsError
from drbo.paper_settings import PaperSettings
from drbo.settings import Settings


def test_the_papers_preset_is_the_papers_table():
    """Hyperparameters of Duong, Gupta & Nguyen (ICLR 2025), and the rules of the authors' program."""
    paper = Settings.preset("paper")
    assert (paper.route, paper.exact) == ("paper", "off")
    assert paper.paper.space == "low-rank"
    assert (paper.paper.rank, paper.paper.batch_size, paper.paper.n_candidates) == (8, 64, 100_000)
    assert (paper.paper.hidden, paper.paper.dropout, paper.paper.learning_rate) == (64, 0.1, 0.1)
    assert (paper.paper.n_grads, paper.paper.n_replay) == (10, 1_024)
    assert (paper.paper.region_start, paper.paper.region_min, paper.paper.region_max) == (1.0, 0.01, 2.0)
    assert (paper.paper.region_successes, paper.paper.region_failures, paper.paper.moved_coordinates) == (3, 5, 20.0)
    assert paper.paper.acquisition == "thompson"
    assert paper.paper.region == "restart"
    assert (paper.paper.masks, paper.paper.batch_norm, paper.paper.replay) == ("row", "candidates", "uniform")
    assert paper.parts.count_known
    assert not paper.parts.recombine
    assert not paper.parts.skip_known
    assert not paper.parts.polish
    assert not paper.paper.standardize_targets
    assert paper.paper == PaperSettings()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"region_min": 3.0}, "region_min must be at most region_max = 2.0, got 3.0"),
        ({"masks": "shared"}, "masks='shared' requires batch_norm='training'"),
    ],
    ids=["region_min", "masks"],
)
def test_settings_that_contradict_each_other_are_refused(changes, message):
    with pytest.raises(SettingsError) as caught:
        PaperSettings(**changes)
    assert caught.value.message == message
    assert caught.value.hint
