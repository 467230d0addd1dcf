import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(20250)


@pytest.fixture(scope="session")
def data_dir():
    folder = os.environ.get("DRBO_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("DRBO_DATA does not name a data folder")
    return Path(folder)


@pytest.fixture(autouse=True)
def _global_random_state_is_left_alone():
    """No test may find the global generators moved by the package."""
    import torch

    numpy_before, torch_before = np.random.get_state()[1].copy(), torch.random.get_rng_state()  # noqa: NPY002
    yield
    assert np.array_equal(numpy_before, np.random.get_state()[1])  # noqa: NPY002
    assert torch.equal(torch_before, torch.random.get_rng_state())
