"""Pairs NAME=VALUE become values, or an error that says how they are written."""

import pytest

from drbo.cli.pairs import OTHERS, parse_settings, score_options_of, split_pairs, truth
from drbo.errors import SettingsError
from drbo.settings import Settings


def test_settings_become_what_their_knob_asks_for() -> None:
    words = ["max-evals=7", "dropout = 0.25", "space=low-rank", "claims=No", "patience=none", "target_score=-3"]
    changes = parse_settings(words)
    assert changes == {
        "max_evals": 7,
        "dropout": 0.25,
        "space": "low-rank",
        "claims": False,
        "patience": None,
        "target_score": -3.0,
    }
    assert Settings().with_(**changes).max_evals == 7


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["dropuot=0.3"], "unknown setting 'dropuot'", "did you mean dropout"),
        (["zzz=1"], "unknown setting 'zzz'", "batch_size, n_candidates"),
        (["dropout"], "--set must have the form name=value, got 'dropout'", "route=..."),
        (["rank=1", "rank=2"], "'rank' is given twice", "remove one"),
    ],
)
def test_settings_that_cannot_be_read(words: list[str], message: str, hint: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_settings(words)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("word", ["rank=two", "rank=2.5", "dropout=high", "recombine=maybe", "space=flat", "dropout="])
def test_settings_that_do_not_fit_are_refused_by_name(word: str) -> None:
    with pytest.raises(SettingsError, match=word.partition("=")[0]):
        Settings().with_(**parse_settings([word]))


def test_other_settings_stand_beside_those_of_the_search() -> None:
    assert parse_settings(["prune=none", "seeds=3", "max_evals=4"]) == {"prune": "none", "seeds": 3, "max_evals": 4}
    assert not OTHERS.keys() & Settings().to_dict().keys()
    with pytest.raises(SettingsError, match="unknown setting 'prune' of --set"):
        parse_settings(["prune=none"], {"on_constant": OTHERS["on_constant"]})


def test_values_stay_as_they_are_typed() -> None:
    assert split_pairs("--read", ["separator= ", "sheet=a=b"]) == {"separator": " ", "sheet": "a=b"}
    assert score_options_of(["penalty=ebic", "ess=10"]) == {"penalty": "ebic", "ess": 10.0}


def test_what_is_neither_true_nor_false() -> None:
    with pytest.raises(SettingsError, match="--read header must be true or false, got 'maybe'"):
        truth("--read header", "maybe")
