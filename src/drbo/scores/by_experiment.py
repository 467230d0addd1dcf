"""What scores of a table from several experiments have in common: which mechanisms change is part of the score."""

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Floats, Ints
from drbo.data.statistics.statistics import Statistics
from drbo.errors import SettingsError
from drbo.scores.base import EBIC_GAMMA, Score
from drbo.scores.families import Families

#: What may happen to a node in an experiment, as the compiled kernel takes it.
SHARED, FREE, SOFT, HARD = range(4)
KINDS: dict[int, Literal["found", "soft", "hard"]] = {SOFT: "soft", HARD: "hard"}


class Changes(NamedTuple):
    """What families are worth, and which experiments change the mechanism of their node."""

    worth: Floats  # (m,)
    changed: Bools  # (m, E)


class FoundChange(NamedTuple):
    """A mechanism that an experiment changes; known changes are soft or hard."""

    experiment: str
    column: str
    margin: float  # what the score loses if the experiment shares the mechanism of the others
    kind: Literal["found", "soft", "hard"]


class ByExperiment(Score):
    """A score whose families say which experiments change the mechanism of their node.

    Parameters
    ----------
    table : with its experiments; without any, all rows are those of the control.
    others : ``"unknown"``: an experiment with known targets may change other columns, too; ``"none"``: it does not.
    penalty, edge_prior, gamma : as in :class:`~drbo.scores.base.Score`.
    """

    score_equivalent = False
    assumption = "the experiments"
    evidence_scale = 2.0
    by_experiment = True

    def __init__(
        self,
        table: Statistics,
        *,
        penalty: float | Literal["ebic"] = 1.0,
        edge_prior: npt.ArrayLike | None = None,
        gamma: float = EBIC_GAMMA,
        others: Literal["unknown", "none"] = "unknown",
    ) -> None:
        super().__init__(table, penalty=penalty, edge_prior=edge_prior, gamma=gamma)
        if others not in ("unknown", "none"):
            raise SettingsError(
                f"others must be 'unknown' or 'none', got {others!r}",
                hint="'none': an experiment with known targets changes nothing else",
            )
        self.charge = 1.0 if isinstance(self.penalty, str) else self.penalty
        self.labels = table.runs.labels
        self.states = _states(table, others)  # (E, d)

    def changes(self, families: Families, fixed: Ints | None = None) -> Changes:
        """Return the worth of families and the sets S; ``fixed`` (E, d) replaces what may change."""
        raise NotImplementedError

    def charged(self, families: Families) -> npt.NDArray[Any]:
        """Return how many parameters (m,) a mechanism has, with those that all families of a node share."""
        raise NotImplementedError

    def changes_in(self, table: Statistics, dag: Bools) -> tuple[FoundChange, ...] | None:
        """Return what each experiment changes in a graph over the columns of the score, the clearest first."""
        if not table.from_experiments:
            return None
        families, found = Families.from_dags(dag[None]), list[FoundChange]()
        whole = self.changes(families)
        for node, experiment in np.argwhere(whole.changed).tolist():
            fixed = self.states.copy()
            fixed[experiment, node] = SHARED
            margin = float(whole.worth[node] - self.changes(families[np.array([node])], fixed).worth[0])
            state = int(self.states[experiment, node])
            found.append(FoundChange(self.labels[experiment], self.names[node], margin, KINDS.get(state, "found")))
        return tuple(sorted(found, key=lambda one: (-one.margin, one.experiment, one.column)))

    def local(self, families: Families) -> Floats:
        """Return the worth of each family without the price of its parameters, in units of the gain."""
        kept = self.charge * self.charged(families) * np.log(self.n_rows[families.nodes])
        gain = self.gain if isinstance(self.gain, float) else self.gain[families.nodes]
        found: Floats = (self.changes(families).worth + kept) / gain
        return found


def _states(table: Statistics, others: str) -> Ints:
    """Return what may happen to each column in each experiment (E, d)."""
    kinds = table.runs.kinds(table.names)
    states = np.select([kinds == "soft", kinds == "hard"], [SOFT, HARD], FREE).astype(np.int64)
    if others == "none":
        listed = (kinds != "").any(axis=1)
        states[listed[:, None] & (states == FREE)] = SHARED
    states[0] = SHARED
    return states
