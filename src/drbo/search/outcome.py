"""What a search reports: evaluated DAGs, its progress after each round, and its outcome."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.deadline import Stop, Stopped
from drbo.search.state import State


@dataclass(frozen=True, eq=False)
class Evaluated:
    """DAGs with their true local scores and scores."""

    dags: Bools  # (B, d, d)
    local: Floats  # (B, d)
    scores: Floats  # (B,)

    def __len__(self) -> int:
        return len(self.dags)

    def best(self) -> "Evaluated":
        """Return the DAG with the highest score; of several, the first."""
        top = [int(np.argmax(self.scores))]
        return Evaluated(self.dags[top], self.local[top], self.scores[top])

    def capture(self) -> State:
        """Return the state of one DAG; an evaluator knows its local scores."""
        return {"dag": self.dags[:1], "score": float(self.scores[0])}


@dataclass(frozen=True)
class Progress:
    """What a callback sees after each round."""

    iteration: int
    n_evals: int
    n_local: int
    best: float
    best_dag: Bools  # (d, d)
    limit: int | None = None  # evaluations that may be spent; None: they are not rationed
    proving: bool = False  # the search is over, and a proof of the optimum is under way
    part: str = ""  # of a run of several searches, such as "imputed table 2 of 10"


#: Called after each round; a returned string stops the search and says why. The package's own rules say more.
Callback = Callable[[Progress], str | Stopped | None]


@dataclass(frozen=True)
class Fidelity:
    """What was spent on a cheaper version of the score."""

    name: str  # of the version
    cost: float  # of one family, as a share of the cost of a local score
    n_local: int  # families


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a search found: the best DAG with its parts, and how it ended."""

    best: Evaluated  # one DAG
    found_by: str
    n_evals: int
    n_local: int
    stop: Stop  # why it ended
    stopped: str  # the same in words
    fidelities: tuple[Fidelity, ...] = ()
    notes: tuple[str, ...] = ()  # what there is to say about the search
    ends: tuple[Evaluated, ...] = ()  # where several searches ended, one of them mostly at the best DAG
