"""drbo simulate writes exactly what the simulators draw."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result

from drbo.data.files.simulate import simulate
from drbo.result.files.export import read_graph

Run = Callable[..., Result]


def test_data_and_truth_read_back(run: Run) -> None:
    done = run("simulate", "6ER2", "-n", 50, "--seed", 4, "-o", "data.csv", "--truth", "truth.csv")
    assert done.exit_code == 0
    assert done.stdout == ""
    expected = simulate("6ER2", n=50, seed=4)
    assert Path("data.csv").read_text().splitlines()[0] == ",".join(expected.names)
    np.testing.assert_array_equal(np.loadtxt("data.csv", delimiter=",", skiprows=1), expected.X)
    np.testing.assert_array_equal(read_graph("truth.csv", names=expected.names)[0], expected.dag)


def test_stdout_by_default(run: Run) -> None:
    done = run("simulate", "asia", "-n", 5, "--model", "logistic")
    lines = done.stdout.splitlines()
    assert len(lines) == 6
    assert set(lines[0].split(",")) == {"asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp"}
    assert set(",".join(lines[1:]).split(",")) <= {"0", "1"}


def test_options_reach_the_simulator(run: Run) -> None:
    words = ("--noise", "laplace", "--noise-scale", "0.5,2", "--model", "linear")
    assert run("simulate", "5SF1", "-n", 20, *words, "-o", "data.npz").exit_code == 0
    expected = simulate("5SF1", n=20, seed=0, noise="laplace", noise_scale=(0.5, 2.0))
    np.testing.assert_array_equal(np.load("data.npz")["X"], expected.X)


@pytest.mark.parametrize("model", ["gp", "cos"])
def test_other_models(run: Run, model: str) -> None:
    assert run("simulate", "4ER1", "-n", 20, "--model", model, "-o", "data.csv").exit_code == 0
    np.testing.assert_array_equal(np.loadtxt("data.csv", delimiter=",", skiprows=1), simulate("4ER1", model, n=20).X)  # type: ignore[arg-type]


def test_a_graph_of_ones_own_keeps_its_names(run: Run) -> None:
    Path("graph.csv").write_text("source,target\nrain,wet\nwet,slip\n")
    assert run("simulate", "graph.csv", "-n", 2000, "-o", "data.csv", "--truth", "truth.json").exit_code == 0
    assert read_graph("truth.json")[1] == ("rain", "wet", "slip")
    frame = pd.read_csv("data.csv")
    correlation = frame.corr()
    assert abs(correlation.loc["rain", "wet"]) > 0.3
    inverse = np.linalg.inv(correlation)
    partial = inverse[0, 2] / np.sqrt(inverse[0, 0] * inverse[2, 2])
    assert abs(partial) < 0.1  # rain and slip, given wet


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("nonsense",), 2, "'nonsense' is neither a random graph, nor an included network, nor a file"),
        (("absent.csv",), 2, "absent.csv"),
        (("5ER1", "--model", "gp", "--noise", "laplace"), 2, "unknown option 'noise' for model 'gp'"),
        (("5ER1", "--noise-scale", "a,b"), 2, "one number, or two"),
        (("5ER1", "--noise-scale", "1,2,3"), 2, "one number, or two"),
        (("5ER1", "--noise-scale", "2,1"), 2, "noise_scale"),
        (("5ER1", "-o", "data.xlsx"), 2, ".csv or .npz"),
        (("5ER1", "-o", "absent/data.csv"), 1, "cannot be written"),
        (("5ER1", "-o", "data.csv", "--truth", "absent/t.csv"), 1, "cannot be written"),
    ],
)
def test_what_cannot_be_simulated(run: Run, words: tuple[str, ...], code: int, message: str) -> None:
    done = run("simulate", *words)
    assert done.exit_code == code
    assert message in done.stderr
    assert done.stderr.startswith("error: ")


def test_a_graph_with_a_cycle_is_named(run: Run) -> None:
    Path("graph.csv").write_text("source,target\nrain,wet\nwet,rain\n")
    done = run("simulate", "graph.csv")
    assert done.exit_code == 2
    assert "rain -> wet -> rain" in done.stderr
