"""A run that is ended at any moment of its life goes on, or starts again, with the same result."""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import pytest

from drbo.search.strategy import ChosenRoute
from tests.faults import moments
from tests.faults.moments import MOMENTS, ROUTES, SIGNALS, attempt, command, tables, uninterrupted
from tests.forked import forked

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
#: What each route is tried at here; all moments and signals are tried by the campaign.
TRIED = {"orders": ["plan", "table", "request", "search", "claims", "result"], "experiments": ["search"],
         "bootstrap": ["bootstrap"], "impute": ["answer"], "surrogate": ["first state"]}  # fmt: skip


def test_every_route_of_the_search_is_tried():
    assert set(get_args(ChosenRoute)) <= set(ROUTES)


@pytest.mark.parametrize("route", TRIED)
def test_a_run_that_is_ended_goes_on_or_starts_again(route, tmp_path):
    whole = uninterrupted(route, tmp_path)
    for k, name in enumerate(TRIED[route]):
        number = SIGNALS[(k + len(route)) % len(SIGNALS)]
        assert not attempt(route, MOMENTS[name], number, tmp_path, whole), f"{name}, {number.name}"


def test_a_moment_that_never_comes_is_noticed(tmp_path):
    """Every moment is reached by some run: a function that was renamed would end no run at all."""
    tables(tmp_path)
    for name, moment in MOMENTS.items():
        route = "bootstrap" if name == "bootstrap" else "surrogate" if name in ("first state", "search") else "orders"
        if name in ("bootstrap", "search", "report"):
            continue  # reached by the trials above, or they would not take so long
        done = command(("fit", *ROUTES[route], "-q", "-o", f"run-{name}"), tmp_path, moment, moments.SIGNALS[-1])
        assert done.code == -9, name


@pytest.fixture
def open_place():
    """A folder that everybody can enter; pytest closes those above its own whenever it starts."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root can become another user")
def test_another_user_of_the_machine_can_neither_read_nor_write_a_run(open_place):
    tables(open_place)

    def fit():
        os.umask(0)
        os.chdir(open_place)
        moments.main(["fit", "numbers.csv", "--score", "bic-nv", "--bootstrap", "3", "-q", "-o", "run"])

    assert forked(fit).code == 0
    paths = [open_place / "run", *(open_place / "run").rglob("*")]

    def spy():
        os.setgid(65534), os.setgroups([]), os.setuid(65534)
        assert (open_place / "numbers.csv").read_text()  # the table itself may be read
        for path in paths:
            assert not any(os.access(path, way) for way in (os.R_OK, os.W_OK, os.X_OK)), path

    done = forked(spy)
    assert done.code == 0, done.err
    modes = {path: path.stat().st_mode & 0o077 for path in paths}
    assert not any(modes.values()), modes  # each by itself, too: a folder may be opened to others later
