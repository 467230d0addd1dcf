"""What the options of drbo fit ask for."""

from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import pytest

from drbo.cli.commands.fit import fit
from drbo.cli.fit_request import FitRequest, ResamplePlan, resamples, resampling_of, start_of
from drbo.errors import SettingsError

TABLE = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [2.0, 1.0, 2.0], "site": ["x", "y", "x"], "times": [1, 2, 1]})


def _options(*words: str) -> dict[str, Any]:
    """Parse the words of a command like the program does."""
    return dict(fit.make_context("fit", ["table.csv", *words]).params)


def test_settings_and_budget_are_merged_before_the_estimator_sees_them() -> None:
    options = _options("--set", "preset=paper", "--set", "hidden=16", "--max-evals", "12", "--seed", "1")
    request = FitRequest.of(options)
    settings = request.arguments["settings"]
    assert (settings.paper.hidden, settings.max_evals, settings.paper.space) == (16, 12, "low-rank")
    assert "max_evals" not in request.arguments
    assert request.settings == settings
    plain = FitRequest.of(options | {"changes": ()})
    assert plain.arguments["max_evals"] == 12
    assert "settings" not in plain.arguments
    assert plain.settings.max_evals == 12


def test_design_and_policy_are_those_of_the_options() -> None:
    words = ("--groups", "none", "--weights", "times", "--missing", "em", "--set", "on_constant=drop")
    request = FitRequest.of(_options(*words, "--set", "start=g.csv", "--set", "prune=none"))
    assert repr(request.arguments["design"]) == "Design(groups=False, weights='times')"
    assert repr(request.arguments["policy"]) == "DataPolicy(missing='em', on_constant='drop')"
    assert (request.arguments["prune"], request.start, request.one_search) == ("none", Path("g.csv"), True)
    assert not FitRequest.of(_options("--set", "seeds=2")).one_search


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--set", "seeds=3", "--bootstrap", "10"), "--set seeds=3 cannot be combined with --bootstrap"),
        (("--set", "seeds=3", "--missing", "impute"), "--set seeds=3 cannot be combined with --missing impute"),
        (("--set", "imputations=5"), "--set imputations=... requires --missing impute"),
        (("--bootstrap", "10", "--missing", "impute"), "--bootstrap cannot be combined with --missing impute"),
        (("--bootstrap", "cluster=site:10", "--groups", "site"), "both name whole groups"),
        (("--set", "seeds=1"), "seeds must be a whole number of at least 2, got 1"),
        (("--set", "max_evals=3", "--max-evals", "4"), "--max-evals and --set max_evals=... set the same value"),
    ],
)
def test_options_that_contradict_each_other(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        FitRequest.of(_options(*words))


def test_clusters_leave_the_table() -> None:
    rest, wish = resampling_of(TABLE, resamples("cluster=site:10"))
    assert wish is not None
    assert (wish["n"], wish["kind"], wish["clusters"].tolist()) == (10, "cluster", ["x", "y", "x"])
    assert list(rest) == ["a", "b", "times"]
    with pytest.raises(SettingsError, match="there is no column 'sight'"):
        resampling_of(TABLE, ResamplePlan(10, "cluster", "sight"))


@pytest.mark.parametrize("word", ["100", "subsample:7", "block:7", "cluster=a:b=c:7"])
def test_resamples_are_written_as_they_are_read(word: str) -> None:
    assert str(resamples(word)) == word


@pytest.mark.parametrize("word", ["0", "many", "halves:5", "cluster:5", "block=a:5", "5:block", "-3", ""])
def test_what_is_no_number_of_resamples(word: str) -> None:
    with pytest.raises(click.BadParameter, match="give a number of resamples such as 100"):
        resamples(word)


def test_an_equivalence_class_starts_from_one_of_its_members(tmp_path: Path) -> None:
    file = tmp_path / "class.csv"
    file.write_text("source,target\na,b\nb,a\n")
    assert np.count_nonzero(start_of(file, ["a", "b"])) == 1
