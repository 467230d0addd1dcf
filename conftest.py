"""What pytest leaves out where an optional package is missing.

In an environment without torch or matplotlib, all that does not need them is tested.
"""

import gc
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from drbo.errors import SettingsError

NEEDS = {
    "torch": [
        "src/drbo/scores/gp/*.py", "src/drbo/search/paper/*.py", "tests/scores/gp/*.py", "tests/search/paper/*.py",
        "tests/core/test_paper_*.py", "tests/benchmarks/*",
    ],
    "matplotlib": [
        "src/drbo/result/pictures/plot.py", "src/drbo/result/pictures/canvas.py", "tests/result/pictures/test_plot.py",
        "tests/result/pictures/test_canvas.py", "tests/test_docs.py", "tests/test_examples.py",
    ],
}  # fmt: skip
collect_ignore_glob = [pattern for name, patterns in NEEDS.items() if not find_spec(name) for pattern in patterns]


HAS_TORCH = find_spec("torch") is not None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage among modules and tests that stay to the end; that would take a fifth of the collection."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that are marked ``torch`` where it is not installed."""
    for item in items:
        if not HAS_TORCH and item.get_closest_marker("torch"):
            item.add_marker(pytest.mark.skip(reason="needs torch"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Skip a test that ends with the error that says what to install; any other use of torch is a failure."""
    try:
        yield
    except SettingsError as error:
        if HAS_TORCH or not error.message.endswith("needs torch, which is not installed"):
            raise
        pytest.skip(error.message)
