import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from drbo.deadline import Deadline, OutOfTimeError
from drbo.machine.torch_device import has_torch
from drbo.search.bayes import relevance as module
from drbo.search.bayes.relevance import JITTER, RelevanceScreen, negative_evidence


def joint_table(n: int = 300) -> np.ndarray:
    """Column 0 is a product of three others: none of them explains it alone."""
    values = np.random.default_rng(0).normal(size=(n, 8))
    values[:, 0] = values[:, 2] * values[:, 4] * values[:, 7] + 0.1 * values[:, 0]
    return values


def _one(point, inputs, target):
    value, slope = negative_evidence(point[None], inputs[None], target[None])
    return value[0], slope[0]


def test_causes_that_act_only_together_come_first():
    values = joint_table()
    assert np.abs(np.corrcoef(values.T)[0, 1:]).max() < 0.3
    importance = RelevanceScreen(values, seed=0).importance(0, np.arange(8) > 0)
    assert set(np.argsort(-importance)[:3]) == {2, 4, 7}
    assert importance[0] == 0
    assert np.isclose(importance.sum(), 1)


def test_other_columns_than_candidates_count_nothing():
    screen, candidates = RelevanceScreen(joint_table(), seed=0), np.array([0, 1, 1, 0, 0, 0, 0, 0], dtype=bool)
    assert (screen.importance(0, candidates)[~candidates] == 0).all()
    given = np.array([0, 0, 0, 0, 1, 0, 0, 1], dtype=bool)  # beside the two others, column 2 is all that matters
    assert screen.importance(0, candidates, given)[2] > 0.9
    assert not screen.importance(0, np.zeros(8, dtype=bool)).any()


def test_the_evidence_is_that_of_scikit_learn():
    rng = np.random.default_rng(1)
    inputs, target = rng.normal(size=(40, 3)), rng.normal(size=40)
    point = np.log([0.5, 2.0, 0.1, 1.7, 0.3])
    lengths = np.exp(-point[:3] / 2)
    kernel = ConstantKernel(1.7) * RBF(lengths) + WhiteKernel(0.3 + JITTER)
    oracle = GaussianProcessRegressor(kernel, alpha=0, optimizer=None).fit(inputs, target)
    expected = -oracle.log_marginal_likelihood_value_ - 40 / 2 * np.log(2 * np.pi)
    assert _one(point, inputs, target)[0] == pytest.approx(expected, rel=1e-9)


def test_the_gradient_is_that_of_the_evidence():
    rng = np.random.default_rng(2)
    inputs, target = rng.normal(size=(30, 4)), rng.normal(size=30)
    point = rng.normal(size=6) / 2
    error = check_grad(*(lambda x, k=k: _one(x, inputs, target)[k] for k in (0, 1)), point)
    assert error < 1e-4 * np.linalg.norm(_one(point, inputs, target)[1])


def test_processes_side_by_side_are_those_one_by_one():
    rng = np.random.default_rng(3)
    points, inputs, targets = rng.normal(size=(3, 6)) / 2, rng.normal(size=(3, 30, 4)), rng.normal(size=(3, 30))
    values, slopes = negative_evidence(points, inputs, targets)
    for row in range(3):
        value, slope = _one(points[row], inputs[row], targets[row])
        assert (values[row], slopes[row]) == (pytest.approx(value), pytest.approx(slope))


@pytest.mark.torch
@pytest.mark.skipif(not has_torch(), reason="needs torch")
def test_tensors_give_what_arrays_give(monkeypatch):
    """As on a GPU: all processes at the same time."""
    import torch

    rng = np.random.default_rng(4)
    arrays = rng.normal(size=(3, 6)) / 2, rng.normal(size=(3, 30, 4)), rng.normal(size=(3, 30))
    ours, theirs = negative_evidence(*arrays), negative_evidence(*(torch.as_tensor(part) for part in arrays))
    for array, tensor in zip(ours, theirs, strict=True):
        assert tensor.numpy() == pytest.approx(array, rel=1e-9)
    here, there = RelevanceScreen(joint_table(), seed=0), RelevanceScreen(joint_table(), seed=0)
    there._values, there._at_once = torch.as_tensor(there._values), 2
    asked = [(node, np.arange(8) != node) for node in (0, 3, 5)] + [(1, np.zeros(8, dtype=bool))]
    calls = []
    monkeypatch.setattr(module, "relevance", lambda *given, plain=module.relevance: (calls.append(1), plain(*given))[1])
    there.prepare(asked)
    assert len(calls) == 2
    for node, candidates in asked:
        assert there.importance(node, candidates) == pytest.approx(here.importance(node, candidates), abs=1e-4)
    assert len(calls) == 2 + 3  # nothing that was prepared is fitted again


def test_units_do_not_matter():
    values, candidates = joint_table(), np.arange(8) > 0
    scales = np.array([0.03, 700.0, 1.0, 4.2, 1e-6, 3e5, 17.0, 0.2])
    ours, theirs = (RelevanceScreen(x, seed=0).importance(0, candidates) for x in (values, values * scales))
    assert (ours == theirs).all()


def test_the_time_limit_holds():
    with Deadline(0.0), pytest.raises(OutOfTimeError):
        RelevanceScreen(joint_table(), seed=0).importance(0, np.arange(8) > 0)
