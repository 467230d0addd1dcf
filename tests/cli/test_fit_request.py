"""What the options of drbo fit ask for."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from drbo.cli.commands.fit import fit
from drbo.cli.fit_request import (
    check_combinations,
    fit_arguments,
    resampling_of,
    run_settings,
    start_of,
    weights_of,
)
from drbo.errors import SettingsError

TABLE = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [2.0, 1.0, 2.0], "site": ["x", "y", "x"], "times": [1, 2, 1]})


def _options(*words: str) -> dict[str, Any]:
    """Parse the words of a command like the program does."""
    return dict(fit.make_context("fit", ["table.csv", *words]).params)


def test_settings_and_budget_are_merged_before_the_estimator_sees_them() -> None:
    options = _options("--preset", "paper", "--set", "hidden=16", "--max-evals", "12", "--seed", "1")
    arguments = fit_arguments(options)
    settings = arguments["settings"]
    assert (settings.paper.hidden, settings.max_evals, settings.paper.space) == (16, 12, "low-rank")
    assert "max_evals" not in arguments
    assert run_settings(arguments) == settings
    plain = fit_arguments(options | {"changes": ()})
    assert plain["max_evals"] == 12
    assert "settings" not in plain
    assert run_settings(plain).max_evals == 12


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--seeds", "3", "--bootstrap", "10"), "--seeds cannot be combined with --bootstrap"),
        (("--seeds", "3", "--missing", "impute"), "--seeds cannot be combined with --missing impute"),
        (("--imputations", "5"), "--imputations requires --missing impute"),
        (("--bootstrap", "10", "--missing", "impute"), "--bootstrap cannot be combined with --missing impute"),
    ],
)
def test_options_that_contradict_each_other(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        check_combinations(_options(*words))


def test_weights_and_clusters_leave_the_table() -> None:
    rest, weights = weights_of(TABLE, "times")
    assert weights.tolist() == [1, 2, 1]
    rest, wish = resampling_of(rest, _options("--clusters", "site", "--bootstrap", "10"))
    assert wish is not None
    assert (wish["n"], wish["kind"], wish["clusters"].tolist()) == (10, "cluster", ["x", "y", "x"])
    assert list(rest) == ["a", "b"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--clusters", "site"), "--clusters requires --bootstrap"),
        (("--clusters", "sight", "--bootstrap", "10"), "there is no column 'sight'"),
        (("--clusters", "site", "--bootstrap", "10", "--groups", "site"), "both name whole groups"),
    ],
)
def test_clusters_that_cannot_be_resampled(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        resampling_of(TABLE, _options(*words))


def test_an_equivalence_class_starts_from_one_of_its_members(tmp_path: Path) -> None:
    file = tmp_path / "class.csv"
    file.write_text("source,target\na,b\nb,a\n")
    assert np.count_nonzero(start_of(file, ["a", "b"])) == 1
