import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from drbo.data.files import datasets
from drbo.data.files.simulate import (
    linear_weights,
    parse_graph_name,
    random_dag,
    simulate,
    simulate_cos,
    simulate_gp,
    simulate_linear,
    simulate_logistic,
    standardize,
)
from drbo.deadline import Deadline, OutOfTimeError
from drbo.errors import DataError, DrboError, SettingsError

# Mean, variance and distribution of each noise: Exp(1), N(0, 1), Gumbel(0, 1), Laplace(0, 1), U(-1, 1).
NOISES = {
    "exponential": (1.0, 1.0, stats.expon()),
    "gaussian": (0.0, 1.0, stats.norm()),
    "gumbel": (np.euler_gamma, np.pi**2 / 6, stats.gumbel_r()),
    "laplace": (0.0, 2.0, stats.laplace()),
    "uniform": (0.0, 1 / 3, stats.uniform(-1, 2)),
}
WEIGHTS = np.array([[0.0, 1.5, 0.0, -0.7], [0.0, 0.0, 0.0, 2.0], [0.0, -1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
PAIR = np.array([[0, 1], [0, 0]])


@settings(deadline=None, max_examples=60)
@given(
    n_nodes=st.integers(1, 12), degree=st.floats(0, 8), kind=st.sampled_from(["er", "sf"]), seed=st.integers(0, 2**32)
)
def test_random_dags_are_acyclic(n_nodes: int, degree: float, kind: str, seed: int) -> None:
    dag = random_dag(n_nodes, degree, np.random.default_rng(seed), kind)  # type: ignore[arg-type]
    assert dag.shape == (n_nodes, n_nodes)
    assert dag.dtype == bool
    assert nx.is_directed_acyclic_graph(nx.from_numpy_array(dag, create_using=nx.DiGraph))
    if kind == "sf":
        assert dag.sum() == min(round(n_nodes * degree), n_nodes * (n_nodes - 1) // 2)


def test_er_has_the_asked_number_of_edges_on_average() -> None:
    rng = np.random.default_rng(1)
    counts = np.array([random_dag(20, 3, rng).sum() for _ in range(400)])
    probability = 6 / 19
    deviation = np.sqrt(190 * probability * (1 - probability) / 400)
    assert abs(counts.mean() - 60) < 4 * deviation
    assert counts.var() == pytest.approx(190 * probability * (1 - probability), rel=0.3)


@pytest.mark.parametrize("kind", ["er", "sf"])
def test_no_position_and_no_direction_is_favoured(kind: str) -> None:
    rng = np.random.default_rng(2)
    frequency = np.mean([random_dag(6, 1, rng, kind) for _ in range(1500)], axis=0)  # type: ignore[arg-type]
    expected = 6 / 30  # 6 edges on 30 ordered pairs
    off_diagonal = frequency[~np.eye(6, dtype=bool)]
    assert np.abs(off_diagonal - expected).max() < 5 * np.sqrt(expected * (1 - expected) / 1500)


@pytest.mark.parametrize("kind", ["er", "sf"])
def test_more_edges_than_fit_give_a_complete_dag(kind: str) -> None:
    assert random_dag(7, 50, np.random.default_rng(0), kind).sum() == 21  # type: ignore[arg-type]


def test_sf_has_the_hubs_of_preferential_attachment() -> None:
    """The second moment of the degrees is that of networkx's Barabasi-Albert graphs and far above that of ER."""
    rng = np.random.default_rng(3)

    def moment(joined: np.ndarray) -> float:
        return float(((joined | joined.T).sum(axis=0) ** 2).mean())

    ours = np.mean([moment(random_dag(150, 2, rng, "sf")) for _ in range(40)])
    theirs = np.mean([moment(nx.to_numpy_array(nx.barabasi_albert_graph(150, 2, seed=s)) > 0) for s in range(40)])
    flat = np.mean([moment(random_dag(150, 2, rng, "er")) for _ in range(40)])
    assert ours == pytest.approx(theirs, rel=0.15)
    assert ours > 1.5 * flat


@pytest.mark.parametrize(
    ("name", "parts"), [("30ER8", (30, "er", 8)), ("20sf2", (20, "sf", 2)), ("100ER0.5", (100, "er", 0.5))]
)
def test_graph_names(name: str, parts: tuple[int, str, float]) -> None:
    assert parse_graph_name(name) == parts


@pytest.mark.parametrize("name", ["30XX8", "ER8", "30ER", "30ER8x", "", "-3ER2"])
def test_bad_graph_names(name: str) -> None:
    with pytest.raises(SettingsError, match="30ER8"):
        parse_graph_name(name)


def test_weights_are_uniform_on_two_intervals() -> None:
    dag = np.triu(np.ones((120, 120), dtype=bool), k=1)
    weights = linear_weights(dag, np.random.default_rng(4))
    assert ((weights != 0) == dag).all()
    drawn = weights[dag]
    assert stats.kstest(np.abs(drawn), stats.uniform(0.5, 1.5).cdf).pvalue > 0.001
    assert abs((drawn > 0).mean() - 0.5) < 4 * 0.5 / np.sqrt(len(drawn))
    assert stats.ks_2samp(drawn[drawn > 0], -drawn[drawn < 0]).pvalue > 0.001


@pytest.mark.parametrize("noise", NOISES)
def test_linear_data_has_the_moments_of_the_model(noise: str) -> None:
    mean, variance, distribution = NOISES[noise]
    X = simulate_linear(WEIGHTS, 200_000, np.random.default_rng(5), noise=noise)  # type: ignore[arg-type]
    spread = np.linalg.inv(np.eye(4) - WEIGHTS)
    assert np.cov(X.T) == pytest.approx(variance * spread.T @ spread, rel=0.04, abs=0.05)
    assert X.mean(axis=0) == pytest.approx(mean * np.ones(4) @ spread, abs=0.04)
    errors = X @ (np.eye(4) - WEIGHTS)
    for node in range(4):
        assert stats.kstest(errors[:20_000, node], distribution.cdf).pvalue > 0.001


def test_noise_scale_multiplies_the_noise() -> None:
    equal = simulate_linear(WEIGHTS, 50_000, np.random.default_rng(6), noise_scale=3.0)
    errors = equal @ (np.eye(4) - WEIGHTS)
    assert errors.std(axis=0) == pytest.approx(3 * np.ones(4), rel=0.03)


def test_a_pair_gives_every_node_its_own_noise_scale() -> None:
    empty = np.zeros((200, 200))
    X = simulate_linear(empty, 2_000, np.random.default_rng(7), noise_scale=(0.5, 2.0))
    scales = X.std(axis=0)
    assert scales.min() > 0.45
    assert scales.max() < 2.15
    assert stats.kstest(scales, stats.uniform(0.5, 1.5).cdf).pvalue > 0.001


def test_a_dag_gets_weights_drawn_first() -> None:
    dag = WEIGHTS != 0
    drawn = simulate_linear(dag, 50, np.random.default_rng(8))
    rng = np.random.default_rng(8)
    weights = linear_weights(dag, rng)
    assert (simulate_linear(weights, 50, rng) == drawn).all()
    assert (simulate_linear(dag.astype(int), 50, np.random.default_rng(8)) == drawn).all()


@pytest.mark.parametrize("n_parents", [1, 2])
def test_gp_functions_have_the_covariance_of_the_kernel(n_parents: int) -> None:
    """With parents of variance s the values of f in two rows have covariance E exp(-|difference|^2 / 2)."""
    each = np.zeros((n_parents + 1, n_parents + 1), dtype=bool)
    each[:-1, -1] = True
    dag = np.kron(np.eye(100, dtype=bool), each)  # a hundred draws at once
    rng = np.random.default_rng(9)
    variance, noise, scale = 1.3, 0.25, 1.5
    options = {"root_variance": (variance, variance), "noise_variance": (noise, noise), "length_scale": scale}
    draws = [simulate_gp(dag, 2, rng, **options)[:, n_parents :: n_parents + 1].T for _ in range(80)]  # type: ignore[arg-type]
    child = np.concatenate(draws)
    assert child.shape == (8_000, 2)
    expected = (1 + 2 * variance / scale**2) ** (-n_parents / 2)
    assert (child**2).mean() == pytest.approx(1 + noise, rel=0.05)
    assert (child[:, 0] * child[:, 1]).mean() == pytest.approx(expected, abs=0.05)
    assert child.mean() == pytest.approx(0.0, abs=0.04)


def test_gp_noise_variances_are_those_of_the_paper() -> None:
    roots = simulate_gp(np.zeros((300, 300), dtype=bool), 2_000, np.random.default_rng(10))
    assert stats.kstest(roots.var(axis=0), stats.uniform(1, 1).cdf).pvalue > 0.0001
    dag = np.zeros((40, 40), dtype=bool)
    dag[0, 1:] = True  # one parent, rows sorted by it: neighbours differ by noise alone
    X = simulate_gp(dag, 700, np.random.default_rng(11))
    steps = np.diff(X[np.argsort(X[:, 0])][100:-100, 1:], axis=0)
    variances = (steps**2).mean(axis=0) / 2
    assert variances.mean() == pytest.approx(0.6, abs=0.05)
    assert variances.min() > 0.3
    assert variances.max() < 0.95


def test_cos_data_has_the_moments_of_the_model() -> None:
    """For standard normal x: E cos x = exp(-1/2), E cos^2 x = (1 + exp(-2)) / 2."""
    weights = np.array([[0.0, 0.0, 1.7], [0.0, 0.0, -0.6], [0.0, 0.0, 0.0]])
    X = simulate_cos(weights, 200_000, np.random.default_rng(12))
    variance = (1 + np.exp(-2)) / 2 - np.exp(-1)
    assert X[:, :2].var(axis=0) == pytest.approx([1.0, 1.0], rel=0.02)
    assert X[:, 2].mean() == pytest.approx(1.1 * np.exp(-0.5), abs=0.02)
    assert X[:, 2].var() == pytest.approx(1 + (1.7**2 + 0.6**2) * variance, rel=0.02)
    errors = X[:, 2] - np.cos(X) @ weights[:, 2]
    assert stats.kstest(errors[:20_000], stats.norm.cdf).pvalue > 0.001


def test_logistic_data_has_the_probabilities_of_the_model() -> None:
    weights = np.array([[0.0, 1.2, -0.8], [0.0, 0.0, 1.9], [0.0, 0.0, 0.0]])
    X = simulate_logistic(weights, 200_000, np.random.default_rng(13))
    assert set(np.unique(X)) == {0.0, 1.0}
    assert X[:, 0].mean() == pytest.approx(0.5, abs=0.006)
    for first in (0, 1):
        rows = X[X[:, 0] == first]
        assert rows[:, 1].mean() == pytest.approx(1 / (1 + np.exp(-1.2 * first)), abs=0.008)
        for second in (0, 1):
            chance = 1 / (1 + np.exp(0.8 * first - 1.9 * second))
            assert rows[rows[:, 1] == second][:, 2].mean() == pytest.approx(chance, abs=0.012)


def test_strong_logistic_weights_do_not_overflow() -> None:
    X = simulate_logistic(np.array([[0.0, -1e6], [0.0, 0.0]]), 50, np.random.default_rng(0))
    assert (X[X[:, 0] == 1, 1] == 0).all()


def test_standardize_is_that_of_scikit_learn() -> None:
    X = np.random.default_rng(14).exponential(size=(50, 3)) * [1, 10, 1e-3]
    before = X.copy()
    assert standardize(X) == pytest.approx(StandardScaler().fit_transform(X))
    assert (before == X).all()
    with pytest.raises(DataError, match="column 1 is constant"):
        standardize([[1.0, 2.0], [3.0, 2.0]])


def test_simulate_draws_graph_weights_and_noise_in_this_order() -> None:
    data = simulate("12ER2", n=30, seed=5, noise="gumbel", low=1.0, high=1.5)
    rng = np.random.default_rng(5)
    dag = random_dag(12, 2, rng)
    weights = linear_weights(dag, rng, 1.0, 1.5)
    assert (data.dag == dag).all()
    assert data.weights is not None
    assert (data.weights == weights).all()
    assert (simulate_linear(weights, 30, rng, "gumbel") == data.X).all()
    assert data.names == tuple(f"x{j}" for j in range(12))
    assert not (simulate("12ER2", n=30, seed=6).dag == dag).all()


@pytest.mark.parametrize("model", ["linear", "gp", "cos", "logistic"])
def test_simulate_runs_every_model_on_a_given_structure(model: str) -> None:
    dag = WEIGHTS != 0
    data = simulate(dag, model, n=20, seed=1)  # type: ignore[arg-type]
    assert (data.dag == dag).all()
    assert data.X.shape == (20, 4)
    assert (data.weights is None) == (model == "gp")
    assert (simulate(dag, model, n=20, seed=1).X == data.X).all()  # type: ignore[arg-type]


def test_simulate_on_a_shipped_network_keeps_its_names() -> None:
    data = simulate("asia", n=10)
    asia = datasets.load("asia")
    assert data.names == asia.names
    assert (data.dag == asia.dag).all()


def test_global_random_state_is_left_alone() -> None:
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    simulate("8SF2", "gp", n=10)
    simulate("8ER2", n=10)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rng: simulate("10ER2", "quadratic"), "model must be one of linear"),
        (lambda rng: simulate("10ER2", "gp", noise="laplace"), "unknown option 'noise' for model 'gp'"),
        (lambda rng: simulate("10ER2", nosie="laplace"), "unknown option 'nosie'"),
        (lambda rng: simulate("alarmm"), "unknown graph 'alarmm'"),
        (lambda rng: simulate("10ER2", n=0), "n must be a whole number of at least 1, got 0"),
        (lambda rng: simulate("10ER2", n=10.5), "n must be a whole number"),
        (lambda rng: simulate("10ER2", seed=-1), "seed must be a whole number >= 0, got -1"),
        (lambda rng: simulate([[0, 1], [1, 0]]), "cycle"),
        (lambda rng: simulate_linear(np.array([[0.0, 2.0], [1.0, 0.0]]), 5, rng), "cycle"),
        (lambda rng: simulate_linear(np.array([[0.0, np.nan], [0.0, 0.0]]), 5, rng), "finite"),
        (lambda rng: simulate_linear(PAIR, 5, rng, noise="cauchy"), "noise must be one of gaussian"),
        (lambda rng: simulate_linear(PAIR, 5, rng, noise_scale=-1.0), "noise_scale must be positive"),
        (lambda rng: simulate_linear(PAIR, 5, rng, noise_scale=(2.0, 1.0)), "the smaller first"),
        (lambda rng: linear_weights(PAIR, rng, low=2.0, high=1.0), "the smaller first"),
        (lambda rng: simulate_gp(PAIR, 5, rng, length_scale=0.0), "length_scale must be positive"),
        (lambda rng: random_dag(0, 2, rng), "n_nodes must be a whole number of at least 1"),
        (lambda rng: random_dag(5, -1, rng), "degree must be a number >= 0, got -1"),
        (lambda rng: random_dag(5, 1, rng, kind="ws"), "kind must be 'er' or 'sf'"),
    ],
)
def test_bad_options_are_named(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DrboError) as caught:
        call(np.random.default_rng(0))
    assert message in caught.value.message


def test_imports_numpy_alone() -> None:
    heavy = "{'pandas', 'sklearn', 'networkx', 'torch', 'scipy'}"
    code = f"import sys, drbo.data.files.simulate; sys.exit(', '.join(sorted({heavy} & set(sys.modules))) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_number_of_threads_does_not_change_a_bit():
    drawn = []
    for count in (1, 2):
        with threadpool_limits(limits=count):
            drawn.append(simulate("8ER2", "gp", n=600, seed=1).X)
    assert (drawn[0] == drawn[1]).all()


def test_rows_are_drawn_until_the_deadline():
    with Deadline() as deadline:
        deadline.stop()
        with pytest.raises(OutOfTimeError):
            simulate("3ER1", n=10)
