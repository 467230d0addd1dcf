"""drbo fit --dry-run: the estimate beside what a fit then takes."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result as CommandResult

from drbo.cli.estimate import ENDED, SKIPPED, TRIAL_ITERATIONS, Trial
from drbo.search.outcome import Progress
from drbo.settings import Settings

Run = Callable[..., CommandResult]
NETWORKS = ("--preset", "paper", "--set", "n_candidates=2000", "--set", "batch_size=16", "--set", "n_replay=64")


def _progress(iteration: int, evals: int, limit: int | None = 1_000) -> Progress:
    return Progress(iteration, evals, 10 * evals, -1.0, np.zeros((5, 5), dtype=bool), limit)


def test_a_trial_ends_the_search_and_leaves_out_its_first_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(start=0.0)
    for iteration in range(1, TRIAL_ITERATIONS + 1):
        # 100 s of compilation in the first iteration, then 2 s for 64 evaluations each
        monkeypatch.setattr("time.monotonic", lambda k=iteration: 0.1 * k if k < SKIPPED else 0.1 * SKIPPED + 0.2 * k)
        told = trial(_progress(iteration, 64 * iteration))
        assert told == (ENDED if iteration == TRIAL_ITERATIONS else None)
    per_eval, local, per_iteration = trial.pace
    assert per_eval == pytest.approx(0.2 / 64)
    assert per_iteration == pytest.approx(0.2)
    assert local == pytest.approx(10)


def test_two_slow_iterations_tell_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(start=0.0)
    for number, seconds in ((1, 50.0), (2, 80.0)):
        monkeypatch.setattr("time.monotonic", lambda seconds=seconds: seconds)
        assert trial(_progress(number, 64 * number)) is None
    assert trial.pace[0] == pytest.approx(30 / 64)


@pytest.mark.torch
def test_a_dry_run_tells_time_and_memory_and_saves_nothing(run: Run, chain: Path, folder: Path) -> None:
    done = run("fit", chain, *NETWORKS, "--max-evals", 5_000, "--dry-run", "-o", "out")
    assert done.exit_code == 0, done.stderr
    assert "5,000 evaluations in about 31" in done.stdout  # 5,000 / 16 = 312.5 iterations
    assert "memory  about" in done.stdout
    assert not (folder / "out").exists()


def test_the_order_search_says_at_least(run: Run, chain: Path) -> None:
    content = json.loads(run("fit", chain, "--dry-run", "--json").stdout)
    assert content["at_least"]
    assert content["evaluations"] is None
    assert content["iterations"] == Settings().order_patience + 1  # of two searches side by side


@pytest.mark.torch
def test_a_time_limit_cuts_the_estimate(run: Run, chain: Path) -> None:
    words = ("--max-evals", 10**7, "--time-limit", "7s", "--dry-run", "--json")
    assert json.loads(run("fit", chain, *NETWORKS, *words).stdout)["seconds"] == 7


@pytest.mark.torch
def test_the_memory_is_within_a_factor_of_two(folder: Path) -> None:
    """Against the peak of a fit in a process of its own."""
    values = np.random.default_rng(0).normal(size=(300, 12))
    np.savetxt(folder / "t.csv", values, delimiter=",", header=",".join("abcdefghijkl"), comments="")
    words = [sys.executable, "-m", "drbo", "fit", "t.csv", *NETWORKS, "--max-evals", "200", "--json", "-q"]
    dry = json.loads(subprocess.run([*words, "--dry-run"], capture_output=True, check=True, text=True).stdout)
    measured = (
        "import json, resource, subprocess, sys; done = subprocess.run(sys.argv[1:], capture_output=True, text=True); "
        "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20; "
        "print(json.dumps([json.loads(done.stdout)['seconds'], peak]))"
    )
    words = [sys.executable, "-c", measured, *words]
    seconds, peak = json.loads(subprocess.run(words, capture_output=True, check=True, text=True).stdout)
    assert dry["memory_gib"] / 2 < peak < 2 * dry["memory_gib"]
    assert dry["seconds"] > 0 < seconds  # how near they are is for the benchmarks: the machine may be busy
