import numpy as np
import pytest
import torch

from drbo.data.statistics.statistics import Statistics
from drbo.errors import ScoreError, SettingsError
from drbo.scores.families import Families
from drbo.scores.gp.gp import GpScore
from drbo.scores.gp.kernels import KernelData, ParentSets, quadratic_form, rbf_kernel, solve


@pytest.fixture
def values(rng):
    return rng.normal(size=(90, 4))


def test_parent_sets_hold_every_family(rng):
    nodes = rng.integers(6, size=50)
    parents = rng.random((50, 6)) < 0.3
    parents[np.arange(50), nodes] = False
    sets = ParentSets.of(Families(nodes, parents))
    assert np.array_equal(sets.parents[sets.row], parents)
    assert np.array_equal(sets.children[sets.row, sets.column], nodes)
    assert len(np.unique(sets.parents, axis=0)) == len(sets.parents)


@pytest.mark.parametrize(
    "device",
    [
        "tpu",
        "cuda:7",
        pytest.param("cuda", marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")),
    ],
)
def test_unknown_devices_are_refused(values, device):
    with pytest.raises(SettingsError, match="device must be"):
        GpScore(Statistics.from_array(values), device=device)


def test_columns_that_do_not_fit_are_named(values):
    with pytest.raises(ScoreError, match="'b' is categorical"):
        GpScore(Statistics(values[:, :2], ("a", "b"), ("numeric", "categorical"), (None, ("u", "v"))))
    targets = np.zeros(values.shape, dtype=bool)
    targets[:40, 1] = True
    fixed = values.copy()
    fixed[40:, 1] = 2.0
    with pytest.raises(ScoreError, match="'x1' is constant"):
        GpScore(Statistics.from_array(fixed), targets=targets)


def test_long_tables_are_refused(rng):
    with pytest.raises(ScoreError, match=r"4,?000"):
        GpScore(Statistics.from_array(rng.normal(size=(4001, 2))))


def test_kernels_and_solutions_are_numpys(values):
    parents = np.array([[True, False, True, False], [False, True, False, False]])
    data = KernelData(values, values, "cpu")
    squared = data.squared_distances(parents)
    widths = torch.tensor([0.5, 2.0], dtype=torch.float64)
    kernel = rbf_kernel(squared, widths, data.scratch("kernel", 2))
    targets = data.targets(np.array([[1, 3], [0, 4]]))  # 4: a free place
    log_determinant, weights = solve(kernel, 0.1, targets, data.scratch("work", 2))
    form = quadratic_form(kernel, squared, weights, data.scratch("work", 2))
    for row, members in enumerate(parents):
        apart = ((values[:, None, members] - values[None, :, members]) ** 2).sum(axis=2)
        expected = np.exp(-0.5 * apart * float(widths[row]))
        assert kernel[row].numpy() == pytest.approx(expected, abs=1e-12)
        noisy = expected + 0.1 * np.eye(90)
        assert float(log_determinant[row]) == pytest.approx(np.linalg.slogdet(noisy)[1])
        solved = np.linalg.solve(noisy, targets[row].numpy())
        assert weights[row].numpy() == pytest.approx(solved, abs=1e-9)
        assert form[row].numpy() == pytest.approx(np.einsum("nc,nm,mc->c", solved, expected * apart, solved), abs=1e-8)
