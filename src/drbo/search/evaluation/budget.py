"""The budget of a search: DAG evaluations, and distinct local scores."""

from dataclasses import dataclass
from typing import Self

from drbo.settings import Settings

#: More families than any search can ask for.
NO_LIMIT = 2**62


@dataclass(frozen=True)
class Budget:
    """The limits of a search, with d local scores counted as one evaluation."""

    n_nodes: int
    max_evals: int | None = None  # None: evaluations are counted, not limited
    max_local: int | None = None
    count_known: bool = False  # a DAG of known families counts as an evaluation

    @classmethod
    def of(cls, settings: Settings, n_nodes: int) -> Self:
        """Return the budget that the settings give."""
        return cls(n_nodes, settings.max_evals, settings.max_local, settings.parts.count_known)

    @property
    def total(self) -> int:
        """Evaluations that may be spent in all."""
        by_local = NO_LIMIT if self.max_local is None else self.max_local // self.n_nodes
        return min(NO_LIMIT if self.max_evals is None else self.max_evals, by_local)

    def evals_left(self, n_evals: int) -> int:
        """Return how many DAGs may still be evaluated."""
        return (NO_LIMIT if self.max_evals is None else self.max_evals) - n_evals

    def local_left(self, n_local: int) -> int:
        """Return how many distinct local scores may still be computed."""
        return (NO_LIMIT if self.max_local is None else self.max_local) - n_local

    def families_left(self, n_evals: int, n_local: int) -> int:
        """Return how many single families may still be scored."""
        return min(self.evals_left(n_evals) * self.n_nodes, self.local_left(n_local))

    def is_spent(self, n_evals: int, n_local: int, reserve: int = 0) -> bool:
        """Tell whether no more than a reserve of evaluations, each of all families, is left."""
        return self.evals_left(n_evals) <= reserve or self.local_left(n_local) <= reserve * self.n_nodes
