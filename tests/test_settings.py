import pickle
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest

from drbo.errors import SettingsError
from drbo.settings import PRESETS, PaperSettings, Parts, Settings, public_settings

KNOBS = {knob.name: knob for kind in (Settings, PaperSettings, Parts) for knob in fields(kind) if knob.metadata}


def _value(settings, name):
    """The value of a setting, wherever it belongs."""
    return next(getattr(part, name) for part in (settings, settings.paper, settings.parts) if hasattr(part, name))


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_valid(name):
    assert isinstance(Settings.preset(name), Settings)
    assert set(PRESETS[name]) <= KNOBS.keys()


def test_the_default_preset_is_the_default():
    assert Settings.preset("default") == Settings()


def test_every_setting_says_what_it_means():
    assert all(knob.metadata["meaning"] for knob in KNOBS.values())


def test_with_changes_a_copy():
    first = Settings()
    second = first.with_(dropout=0.3, max_evals=7)
    assert (first.paper.dropout, second.paper.dropout, second.max_evals) == (0.1, 0.3, 7)
    assert second.with_(polish=False).parts == Parts(polish=False)
    assert second.with_(dropout=0.1, max_evals=2_000) == first
    with pytest.raises(FrozenInstanceError):
        first.paper.dropout = 0.3


def test_plain_values_make_the_same_settings_again():
    settings = Settings.preset("paper").with_(time_limit=2.5, rank=3, bounds=False)
    assert Settings.from_dict(settings.to_dict()) == settings
    assert Settings.from_dict({"rank": 3, "paper": {"hidden": 5}}) == Settings().with_(rank=3, hidden=5)
    assert pickle.loads(pickle.dumps(settings)) == settings
    with pytest.raises(SettingsError, match="paper must be a table of settings, got 3"):
        Settings.from_dict({"paper": 3})


def test_a_user_meets_fifteen_settings_and_those_of_the_paper():
    public = public_settings()
    assert len(public) - len(fields(PaperSettings)) == 15
    assert not public.keys() & {knob.name for knob in fields(Parts)}
    assert public["max_evals"]["default"] == 2_000
    assert "recombine" not in repr(Settings())  # parts are for ablations


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (Settings(), "Settings()"),
        (Settings(max_evals=7), "Settings(max_evals=7)"),
        (Settings(max_evals=7).with_(rank=3, polish=False), "Settings(max_evals=7).with_(rank=3, polish=False)"),
    ],
)
def test_changes_are_the_call_that_repeats_them(settings, words):
    assert settings.changes() == words
    assert eval(words, {"Settings": Settings}) == settings


@pytest.mark.parametrize("name", [name for name, knob in KNOBS.items() if knob.metadata["low"] is not None])
def test_the_lower_limit_is_the_limit(name):
    kind, low = KNOBS[name].metadata["kind"], KNOBS[name].metadata["low"]
    settings = (
        Settings().with_(region_min=1e-9, **{name: kind(low)})
        if name != "region_min"
        else Settings().with_(region_min=low)
    )
    assert _value(settings, name) == low
    with pytest.raises(SettingsError, match=f"^{name} must be "):
        Settings().with_(**{name: low - 1 if kind is int else np.nextafter(low, -1.0)})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dropout": 1.5}, "dropout must be in [0, 1), got 1.5"),
        ({"dropout": 1.0}, "dropout must be in [0, 1), got 1.0"),
        ({"max_evals": 0}, "max_evals must be at least 1, got 0"),
        ({"max_evals": 10.5}, "max_evals must be a whole number at least 1, got 10.5"),
        ({"max_evals": True}, "max_evals must be a whole number at least 1, got True"),
        ({"max_evals": None}, "max_evals must be a whole number at least 1, got None"),
        ({"time_limit": -1}, "time_limit must be at least 0, got -1"),
        ({"time_limit": float("inf")}, "time_limit must be a finite number at least 0, got inf"),
        ({"learning_rate": float("nan")}, "learning_rate must be a finite number at least 1e-09, got nan"),
        ({"learning_rate": np.ones(2)}, "learning_rate must be a finite number at least 1e-09, got array([1., 1.])"),
        ({"target_score": "high"}, "target_score must be a finite number, got 'high'"),
        ({"target_score": float("nan")}, "target_score must be a finite number, got nan"),
        ({"space": "lowrank"}, "space must be one of low-rank, full-rank, got 'lowrank'"),
        ({"recombine": 1}, "recombine must be True or False, got 1"),
        ({"route": "networks"}, "route must be one of auto, orders, surrogate, paper, got 'networks'"),
        ({"paper": {"rank": 3}}, "paper must be a PaperSettings, got {'rank': 3}"),
        (
            {"recombine": False},
            "skip_known=True requires recombine=True, else DAGs of scored families would be ignored",
        ),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(changes, message):
    with pytest.raises(SettingsError) as caught:
        Settings().with_(**changes)
    assert caught.value.message == message
    assert caught.value.hint


def test_numbers_of_numpy_and_long_integers_are_numbers():
    settings = Settings(max_evals=np.int64(5), target_score=np.float64(-3)).with_(dropout=np.float32(0.25))
    assert (settings.max_evals, settings.paper.dropout, settings.target_score) == (5, 0.25, -3)
    assert Settings(max_evals=10**400).max_evals == 10**400


def test_unknown_names_are_refused():
    with pytest.raises(SettingsError, match="unknown setting dropuot, hiden"):
        Settings().with_(hiden=3, dropuot=0.3, rank=2)
    with pytest.raises(SettingsError, match=r"preset must be one of default, paper, .*, got 'papre'"):
        Settings.preset("papre")


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
