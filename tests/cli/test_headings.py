"""Options under headings, and what became of those of earlier versions."""

from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import Result

from drbo.cli import main
from drbo.cli.commands.fit import HEADINGS, fit
from drbo.cli.headings import MOVED

Run = Callable[..., Result]


def test_every_option_of_a_fit_has_a_heading_and_there_are_at_most_37(run: Run) -> None:
    options = [option.name for option in fit.params if isinstance(option, click.Option)]
    assert sorted(options) == sorted(name for names in HEADINGS.values() for name in names)
    assert len(options) <= 37
    told = run("fit", "--help").stdout
    places = [told.index(f"\n{heading}:\n") for heading in HEADINGS]
    assert places == sorted(places)


@pytest.mark.parametrize("old", sorted(MOVED))
def test_an_option_of_an_earlier_version_is_refused_with_the_new_way(run: Run, chain: Path, old: str) -> None:
    done = run("fit", chain, old, "1")
    assert done.exit_code == 2
    assert done.stderr == f"error: no such option {old}\nhint: use {MOVED[old]}\n"


def test_commands_that_never_had_an_option_do_not_explain_it(run: Run) -> None:
    assert "hint: see 'main report --help'" in run("report", "run", "--separator", ";").stderr


def test_no_other_command_has_an_option_that_was_renamed() -> None:
    for command in main.commands.values():
        known = {word for parameter in command.params for word in parameter.opts}
        assert not known & MOVED.keys() - {"--stream"}, command.name
