"""Find the highest-scoring causal graph (DAG) for a table of data.

>>> from drbo import DrBO  # doctest: +SKIP
>>> DrBO().fit(frame).graph_  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drbo.estimator import DrBO as DrBO
    from drbo.knowledge import Knowledge as Knowledge
    from drbo.result.judge import judge as judge
    from drbo.result.result import Result as Result
    from drbo.search.evaluation.workers import WorkerPool as WorkerPool
    from drbo.settings import Settings as Settings

__version__ = "0.2.0.dev0"

_HOMES = {
    "DrBO": "drbo.estimator",
    "Knowledge": "drbo.knowledge",
    "Result": "drbo.result.result",
    "Settings": "drbo.settings",
    "WorkerPool": "drbo.search.evaluation.workers",
    "judge": "drbo.result.judge",
}
__all__ = ["DrBO", "Knowledge", "Result", "Settings", "WorkerPool", "__version__", "judge"]


def __getattr__(name: str) -> Any:
    """Import public names when first used: the command line and the search core start without the rest."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'drbo' has no attribute {name!r}")
