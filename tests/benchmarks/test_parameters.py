"""A signature is a command line."""

import argparse
from typing import Annotated, Literal

import pytest

from benchmarks.parameters import Names, Numbers, Seeds, add_options, numbers


def asked(
    graphs: Annotated[Names, "which graphs"] = ("20ER4",),
    seeds: Seeds = range(3),
    limit: Annotated[float | None, "seconds"] = None,
    sizes: Annotated[Numbers | None, "rows"] = None,
    device: Annotated[Literal["cpu", "cuda"], "where"] = "cpu",
    every_family: Annotated[bool, "100% of them"] = False,
):
    """Never called."""


def parsed(*words, **quick):
    parser = argparse.ArgumentParser()
    add_options(parser, asked, quick)
    return vars(parser.parse_args(words))


def test_defaults_are_those_of_the_signature():
    expected = {"graphs": ("20ER4",), "seeds": range(3), "limit": None, "sizes": None, "device": "cpu"}
    assert parsed() == {**expected, "every_family": False}


def test_options_are_read_by_their_types():
    found = parsed("--graphs", "5ER1, 6ER1", "--seeds", "0-2,7", "--limit", "2", "--sizes", "100", "--every-family")
    assert found["graphs"] == ("5ER1", "6ER1")
    assert found["seeds"] == [0, 1, 2, 7]
    assert (found["limit"], found["sizes"], found["every_family"]) == (2.0, [100], True)


def test_quick_values_are_defaults_that_an_option_overrides():
    assert parsed(graphs=("5ER1",))["graphs"] == ("5ER1",)
    assert parsed("--graphs", "6ER1", graphs=("5ER1",))["graphs"] == ("6ER1",)


def test_only_what_is_allowed_is_read(capsys):
    for words in (("--device", "tpu"), ("--seeds", "many"), ("--speed", "1")):
        with pytest.raises(SystemExit):
            parsed(*words)
    assert "invalid choice: 'tpu'" in capsys.readouterr().err


def test_the_help_shows_words_and_defaults(capsys):
    with pytest.raises(SystemExit):
        parsed("--help")
    text = " ".join(capsys.readouterr().out.split())
    assert "which graphs; default: 20ER4" in text
    assert "seeds of the data sets; default: 0-2" in text
    assert "100% of them" in text


def test_numbers_are_read_as_ranges():
    assert numbers("0-2,7") == [0, 1, 2, 7]
