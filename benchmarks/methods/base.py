"""What a method is: a name, how it is made ready, its settings with their source, and what its answer is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

import drbo
from drbo.data.statistics.statistics import Statistics

Graph = npt.NDArray[np.bool_]
#: Called by sequential methods with the number of the step and the graph they would return there.
Record = Callable[[int, Graph], None]
#: A method that is ready to learn a graph, or for ours a ``Found``: only this call is timed.
Learn = Callable[[], Any]


@dataclass(frozen=True)
class Task:
    """A table and the score that a method with the same score maximises."""

    table: Statistics
    score: str
    options: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    prune: str = "none"  # drbo's pruner for methods that leave pruning to others
    device: str = "cpu"
    record: Record | None = None  # set in the process that learns

    @property
    def scoring(self) -> dict[str, Any]:
        """The options of the score: its penalty, the device where it factorises kernels, and those of the data set."""
        device = {"device": self.device} if self.score.split("-")[0] == "gp" else {}
        return {"penalty": self.options.get("penalty", 1.0), **device, **self.options.get("score_options", {})}

    @property
    def follow(self) -> Record | None:
        """The record, where pruning a graph on the way costs less than the way."""
        return self.record if self.prune in ("none", "threshold") else None


class Found(NamedTuple):
    """A graph of ours with the search behind it: the DAG before pruning, and what was spent on it."""

    graph: Graph
    searched: Graph
    n_evals: int
    n_local: int


class Step(NamedTuple):
    """A graph on the way: after how many steps, and after how many seconds."""

    step: int
    seconds: float
    graph: Graph


@dataclass(frozen=True)
class Answer:
    """The graph of a method, a DAG or a PDAG, or in ``note`` why there is none."""

    graph: Graph | None
    seconds: float
    cpu_seconds: float  # says more than seconds where other work shares the machine
    note: str = ""
    steps: tuple[Step, ...] = ()
    found: Found | None = None  # of ours


@dataclass(frozen=True)
class Method:
    """A method with its settings.

    Attributes
    ----------
    make : imports what it needs and returns the call that learns; gets the task and the settings.
    settings : everything that is not left at a default, in one place.
    source : where the settings come from.
    same_score : it maximises the score of the task.
    kind : what it returns.
    package : its distribution on PyPI; empty for one of our own.
    anytime : it stops when told to, and is given the seconds of the task.
    seeded : the same seed gives the same answer; else it is run several times.
    """

    make: Callable[..., Learn]
    settings: Mapping[str, Any] = field(default_factory=dict)
    source: str = "defaults of the library"
    same_score: bool = False
    kind: Literal["DAG", "CPDAG"] = "DAG"
    package: str = ""
    anytime: bool = False
    seeded: bool = True

    def ready(self, task: Task) -> Learn:
        """Return the call that learns, with the library imported."""
        return self.make(task, **self.settings)

    @property
    def library(self) -> str:
        """The package with its installed version; empty for one of our own."""
        return installed(self.package) if self.package else ""


def installed(package: str) -> str:
    """Return a package with its installed version."""
    if package == "drbo":  # also where it is not installed, but on the path
        return f"drbo {drbo.__version__}"
    try:
        return f"{package} {installed_version(package)}"
    except PackageNotFoundError:
        return f"{package} not installed"
