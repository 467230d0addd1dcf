import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from tests.ids import readable

# The same examples in every run; a draw of new ones that fails belongs into a test of its own.
settings.register_profile("seeded", derandomize=True, deadline=None, max_examples=40)
settings.load_profile("seeded")


def pytest_make_parametrize_id(config, val, argname):
    return readable(val, argname)


@pytest.fixture(scope="session", autouse=True)
def _unwatched() -> Iterator[None]:
    """Commands that run inside of a test do not end its process, however slow the machine is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("drbo.cli.interrupts._watched", lambda _run: nullcontext())
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(20250)


@pytest.fixture(scope="session")
def data_dir():
    folder = os.environ.get("DRBO_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("DRBO_DATA does not name a data folder")
    return Path(folder)


@pytest.fixture(scope="session", autouse=True)
def _files_are_read_here():
    """Read binary files in this process, because a guarded one takes time to start; see ``guarded``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("drbo.data.reading.guard.can_start", lambda: False)
        yield


@pytest.fixture
def guarded(monkeypatch):
    """Read binary files in a guarded process, as users do."""
    monkeypatch.setattr("drbo.data.reading.guard.can_start", lambda: True)


@pytest.fixture
def gpu():
    """Skip the test where there is no GPU."""
    if not pytest.importorskip("torch").cuda.is_available():
        pytest.skip("needs a GPU")


@pytest.fixture
def use(monkeypatch):
    """Return what sets the number of threads, for the rest of the test."""
    return lambda count: monkeypatch.setattr("drbo.machine.threads._asked", count)


@pytest.fixture(autouse=True)
def _global_random_state_is_left_alone():
    """No test may find the global generators moved by the package."""
    torch = sys.modules.get("torch")
    numpy_before = np.random.get_state()[1].copy()  # noqa: NPY002
    torch_before = torch and torch.random.get_rng_state()
    yield
    assert np.array_equal(numpy_before, np.random.get_state()[1])  # noqa: NPY002
    assert torch is None or torch.equal(torch_before, torch.random.get_rng_state())


@pytest.fixture(scope="session")
def every_dag():
    """All 543 DAGs on 4 nodes (543, 4, 4)."""
    pairs = np.triu_indices(4, 1)
    found = {}
    for order in permutations(range(4)):
        for code in range(64):
            upper = np.zeros((4, 4), dtype=bool)
            upper[pairs] = [code >> k & 1 for k in range(6)]
            dag = upper[np.ix_(order, order)]
            found[dag.tobytes()] = dag
    assert len(found) == 543
    return np.array(list(found.values()))


@pytest.fixture
def weigh(every_dag):
    """Return the sum of the entries of a table (4, 8) over the families of each DAG."""

    def sums(table):
        columns = [np.delete(every_dag[:, :, node], node, axis=1) @ [1, 2, 4] for node in range(4)]
        return sum(table[node, column] for node, column in enumerate(columns))

    return sums
