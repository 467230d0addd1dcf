"""Find the highest-scoring causal graph (DAG) for a table of data.

>>> from drbo import DrBO  # doctest: +SKIP
>>> DrBO().fit(frame).graph_  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drbo.claims.refits.confidence import Confidence as Confidence
    from drbo.data.reading.read import read_table as read_table
    from drbo.data.statistics.statistics import Statistics as Statistics
    from drbo.design import DataPolicy as DataPolicy
    from drbo.design import Design as Design
    from drbo.errors import DrboError as DrboError
    from drbo.estimator import DrBO as DrBO
    from drbo.knowledge import Knowledge as Knowledge
    from drbo.result.files.storage import load as load
    from drbo.result.result import Result as Result
    from drbo.scores.base import Score as Score
    from drbo.scores.families import Families as Families
    from drbo.settings import Settings as Settings
    from drbo.table_check import check as check
    from drbo.testing import check_score as check_score

__version__ = "0.2.0.dev0"

#: The module of each public name.
_HOMES = {
    "Confidence": "drbo.claims.refits.confidence",
    "DataPolicy": "drbo.design",
    "Design": "drbo.design",
    "DrBO": "drbo.estimator",
    "DrboError": "drbo.errors",
    "Families": "drbo.scores.families",
    "Knowledge": "drbo.knowledge",
    "Result": "drbo.result.result",
    "Score": "drbo.scores.base",
    "Settings": "drbo.settings",
    "Statistics": "drbo.data.statistics.statistics",
    "check": "drbo.table_check",
    "check_score": "drbo.testing",
    "load": "drbo.result.files.storage",
    "read_table": "drbo.data.reading.read",
}
__all__ = [  # noqa: RUF022 - DrBO comes first in the docs
    "DrBO", "Design", "DataPolicy", "Settings", "Knowledge", "Result", "Confidence", "Score", "Families", "Statistics",
    "check", "check_score", "read_table", "DrboError", "load", "__version__",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import public names when they are first used, so that the command line starts without the rest."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'drbo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
