"""Ranked experiments as figures and in words."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from drbo.errors import first_of

if TYPE_CHECKING:
    import pandas as pd

NamedEdge = tuple[str, str]

#: Less information than this, in bits, and chances this close to 1 are rounding.
ROUNDING = 1e-9
#: Experiments that a summary shows.
SHOWN = 10
#: Edges that are named in one line.
NAMED = 6


@dataclass(frozen=True, kw_only=True)
class NextExperiment:
    """One experiment: what it is expected to tell, what it settles, and what stays open after it.

    ``information`` is in bits, with the planned number of rows; ``settles`` are the edges at the column. ``open_after``
    has the edges that may still be open after an experiment with enough rows, with the probability of that.
    """

    column: str
    cost: float
    information: float
    settles: tuple[NamedEdge, ...]
    settled_in_all: float  # expected number of edges that are settled, with those that follow
    rows_needed: int | None  # to settle all of ``settles`` with probability 0.8; None: unknown, or more than a million
    open_after: tuple[tuple[str, str, float], ...]
    done: tuple[str, ...] = ()  # experiments of the table that change this column already

    @property
    def per_cost(self) -> float:
        """Bits per unit of cost."""
        return self.information / self.cost


@dataclass(frozen=True, kw_only=True)
class NextExperiments:
    """Experiments by expected information per cost, the best first; see :meth:`drbo.Result.next_experiments`.

    Examples
    --------
    >>> from drbo.result.records import Scoring, SearchRecord
    >>> from drbo.result.result import Result
    >>> chain = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> result = Result(names=("rain", "wet", "slippery"), dag=chain, pruned_score=0.0,
    ...     search=SearchRecord(dag=chain, score=0.0), scoring=Scoring(name="bic-nv", equivalent=True))
    >>> found = result.next_experiments()
    >>> found.experiments[0].column, round(found.experiments[0].information, 2), found.experiments[0].open_after
    ('wet', 1.58, ())
    """

    goal: str  # what is asked, in words
    rows: int | None  # planned for each experiment; None: enough
    unknown: float = 0.0  # bits: the entropy of the answer over the graphs that are left
    open: tuple[NamedEdge, ...] = ()  # edges whose direction is open
    assumed: tuple[NamedEdge, ...] = ()  # and assumed
    experiments: tuple[NextExperiment, ...] = ()
    batch: tuple[str, ...] = ()  # the experiments to make at the same time
    batch_information: float = 0.0
    basis: str = ""  # the graphs that the information is averaged over, in words
    assumptions: tuple[str, ...] = ()
    left_out: str = ""  # what there was no time for, in words

    def table(self) -> "pd.DataFrame":
        """Return one row per experiment, the best first."""
        import pandas as pd

        rows = [
            {
                "column": one.column,
                "information": one.information,
                "cost": one.cost,
                "per_cost": one.per_cost,
                "settled": one.settled_in_all,
                "rows_needed": one.rows_needed,
            }
            for one in self.experiments
        ]
        return pd.DataFrame(rows, columns=["column", "information", "cost", "per_cost", "settled", "rows_needed"])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        listed = [asdict(one) | {"per_cost": one.per_cost} for one in self.experiments]
        return asdict(self) | {"experiments": listed}

    def summary(self) -> str:
        """Return the ranking in plain words."""
        if not self.open and not self.assumed:
            return "Nothing is open: every arrow of the graph is supported, so no experiment is needed to direct it."
        lines = [
            f"{len(self.open)} open and {len(self.assumed)} assumed directions leave {self.unknown:.2f} bits unknown "
            f"about {self.goal} ({self.basis})."
        ]
        if not self.experiments:
            why = "all remaining graphs agree" if self.unknown < ROUNDING else "no column that can be changed helps"
            lines.append(f"No experiment would help: {why}.")
        else:
            rows = "with enough rows" if self.rows is None else f"{self.rows:,} rows each"
            lines.append(f"Experiments by expected information per cost, {rows}:")
        for place, one in enumerate(self.experiments[:SHOWN], start=1):
            lines += ["", *_words(place, one)]
        if len(self.experiments) > SHOWN:
            lines += ["", f"{len(self.experiments) - SHOWN} more are less informative."]
        if len(self.batch) > 1:
            lines += [
                "",
                f"Best {len(self.batch)} at the same time: {', '.join(self.batch)} "
                f"({self.batch_information:.2f} bits together).",
            ]
        lines += ["", f"Left out: {self.left_out}."] * bool(self.left_out)
        return "\n".join([*lines, "", "Assumed:", *(f"  - {one}" for one in self.assumptions)])


def _words(place: int, one: NextExperiment) -> list[str]:
    price = "" if one.cost == 1 else f", {one.per_cost:.3g} per cost ({one.cost:g})"
    lines = [
        f"{place}. {one.column}: {one.information:.2f} bits{price}",
        f"  settles     {first_of([f'{a} - {b}' for a, b in one.settles], NAMED)}; "
        f"{one.settled_in_all:.1f} edges on average, implications included",
    ]
    if one.rows_needed is not None:
        lines.append(f"  rows        {one.rows_needed:,} to settle them with probability 0.8")
    left = [f"{a} - {b}" + (f" ({chance:.2f})" if chance < 1 - ROUNDING else "") for a, b, chance in one.open_after]
    lines.append(f"  stays open  {first_of(left, NAMED) or 'nothing'}")
    if one.done:
        lines.append(f"  note        {first_of(one.done, NAMED)} changes this column already and left these edges open")
    return lines
