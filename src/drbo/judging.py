"""Judge a saved result: as it is on new rows; on its own rows, after learning the graph again from half of them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from drbo.arrays import Indices
from drbo.choices import Choices, ScoreChoice
from drbo.data.checks.experiments import control_rows
from drbo.data.checks.groups import split_groups
from drbo.data.checks.missing import complete_rows, missing_cells, note
from drbo.data.checks.prepare import Preparation
from drbo.data.reading.frames import as_frame
from drbo.deadline import Deadline, current
from drbo.design import DataPolicy, Design
from drbo.errors import SettingsError
from drbo.estimator import DrBO
from drbo.progress import Tell, tell_stderr, under_way
from drbo.result.forecasts import Forecasts
from drbo.result.judge import judge
from drbo.result.judgement import Judgement
from drbo.result.on_data import columns_of
from drbo.result.result import Result
from drbo.scores.named import is_built_in, score_of_file

if TYPE_CHECKING:
    import pandas as pd

#: With fewer groups, rows are split instead of groups.
MIN_GROUPS = 4


@dataclass(frozen=True, kw_only=True)
class Judging:
    """How graphs are judged; its methods take a graph or a result, and rows.

    Parameters
    ----------
    score, score_options : as in :class:`~drbo.DrBO`; ``"auto"``: that of the result, or what a fit would choose.
    policy : what to do about missing cells: refuse them, or drop their rows.
    groups : the column of groups; None: that of the result.
    as_is : judge a result on its own rows without learning it again.
    seed : draws the halves of the rows, and what :func:`~drbo.result.judge.judge` draws.
    options : others of :func:`~drbo.result.judge.judge`: ``test``, ``n_random``, ``n_permutations``, ``path``.
    tell : is called with every line about what is done.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(200, 3)).cumsum(axis=1)
    >>> result = DrBO(score="bic-nv", random_state=0).fit(rows).result_
    >>> Judging(tell=lambda line: None).of_result(result, rows, "result").n_rows
    100
    """

    score: str = "auto"
    score_options: dict[str, Any] = field(default_factory=dict)
    policy: DataPolicy = field(default_factory=DataPolicy)
    groups: str | None = None
    as_is: bool = False
    seed: int = 0
    options: dict[str, Any] = field(default_factory=dict)
    tell: Tell = tell_stderr

    def of_graph(self, read: Callable[[list[str]], tuple[npt.ArrayLike, tuple[str, ...]]], X: Any) -> Judgement:
        """Judge the graph that ``read`` returns, with its names, for the names of the columns."""
        frame = self._complete(as_frame(X))
        dag, names = read([str(name) for name in frame if name != self.groups])
        self.tell(
            "note: this file does not record which rows the graph was learned from; make sure that it was not these"
        )
        return self._judged(dag, names, frame, self._choice(frame, self.groups), self.groups)

    def of_result(self, result: Result, X: Any, what: str) -> Judgement | Forecasts:
        """Judge a result; ``what`` names it in messages."""
        frame, groups = self._complete(as_frame(X)), self.groups or result.table.groups or None
        if result.has_seen(X):
            result, frame = self._unseen(result, frame)
        if result.reading.judged_by_own_score:
            return self._by_own_score(result, frame, groups)
        if self.score != "auto" or self.score_options:
            choice = self._choice(frame[[*result.names, *([groups] if groups else [])]], groups)
        else:
            choice = ScoreChoice(score_of_file(result.score_name, None, what), result.scoring.plain_options, ())
        if (found := result.claims.experiments) is not None:
            frame = control_rows(frame, found.design)  # its independences hold in the control
        return self._judged(result.dag, result.names, frame, choice, groups)

    def _judged(self, dag: Any, names: Any, frame: "pd.DataFrame", choice: ScoreChoice, groups: Any) -> Judgement:
        with under_way("judging", tell=self.tell):
            return judge(
                dag, frame, names=names, score=choice.name, score_options=choice.options, seed=self.seed,
                groups=groups, **self.options,
            )  # fmt: skip

    def _by_own_score(self, result: Result, frame: "pd.DataFrame", groups: str | None) -> Judgement | Forecasts:
        """Judge a graph of a kind that only its own score fits."""
        if self.score not in ("auto", result.score_name):
            raise SettingsError(f"--score {self.score} cannot judge {result.reading.noun}", hint="omit --score")
        given = {name: value for name, value in self.options.items() if name != "path"}
        own = result.scoring.plain_options | self.score_options
        return result.reading.judge(frame, given | {"seed": self.seed, "score_options": own, "groups": groups})

    def _complete(self, frame: "pd.DataFrame") -> "pd.DataFrame":
        """Return the rows that can be judged by."""
        if self.policy.missing in ("em", "impute"):
            raise SettingsError(
                f"--missing {self.policy.missing} works only for a fit: a graph is judged on complete rows",
                hint="use --missing drop",
            )
        missing = missing_cells(frame)
        if self.policy.missing == "drop" and missing.any():
            self.tell(f"note: {note(frame, missing, 'drop')}")
            frame = frame.loc[complete_rows(frame)].reset_index(drop=True)
        return frame

    def _choice(self, frame: "pd.DataFrame", groups: str | None) -> ScoreChoice:
        """Return the score that a fit of this table would use, and its options."""
        policy = DataPolicy(on_constant=self.policy.on_constant, on_collinear="keep")
        data = Preparation(Design(groups=groups), policy).prepare(frame)
        for told in data.notes:
            self.tell(f"note: {told}")
        return Choices(score=self.score, score_options=self.score_options or None).of_score(data.table)

    def _unseen(self, result: Result, frame: "pd.DataFrame") -> tuple[Result, "pd.DataFrame"]:
        """Return a result that was fitted again on one half of the rows, and the other half."""
        score = self._own_score(result)
        if self.as_is:
            self.tell("warning: the graph was learned from these rows, so everything below is too favourable")
            return result, frame
        if (series := result.series) is not None:
            train, held = first_half(frame, series.design.unit)
        else:
            train, held = halves(frame, result.table.groups, np.random.default_rng(self.seed))
        self.tell(
            f"note: the graph was learned from these rows, so they are split: a new graph is learned from {len(train)} "
            f"rows with the same settings and judged on the other {len(held)}. Use --as-is to judge the original graph "
            "on the rows that it was learned from"
        )
        return self._fitted_again(result, frame.iloc[train], score), frame.iloc[held].reset_index(drop=True)

    def _own_score(self, result: Result) -> dict[str, str]:
        """Return the score to learn the graph again with, where it is not one of drbo's: the person must name it."""
        if is_built_in(result.score_name):
            return {}
        given = None if self.score == "auto" else self.score
        return {"score": score_of_file(result.score_name, given, "the result")}

    def _fitted_again(self, result: Result, frame: "pd.DataFrame", score: dict[str, str]) -> Result:
        left = current().left()
        with Deadline(None if left == float("inf") else left / 2):  # the other half is for the judgement
            found = result.claims.experiments
            columns = [*columns_of(result), *([] if found is None else [found.column])]
            with under_way("fitting half of the rows", tell=self.tell):
                again: Result = DrBO.like(result, exact=False, **score).fit(frame[columns]).result_
        self.tell(
            f"note: the graph learned from half of the rows has {len(again.directions)} edges, the original graph "
            f"{len(result.directions)}"
        )
        return again


def first_half(frame: "pd.DataFrame", unit: str | None) -> tuple[Indices, Indices]:
    """Return the rows of the first and of the second half of every series of a table.

    Examples
    --------
    >>> import pandas as pd
    >>> [part.tolist() for part in first_half(pd.DataFrame({"who": list("aabab")}), "who")]
    [[0, 2], [1, 3, 4]]
    """
    whose = np.zeros(len(frame)) if unit is None else frame[unit].to_numpy()
    first = np.zeros(len(frame), dtype=bool)
    for one in dict.fromkeys(whose.tolist()):
        rows = np.flatnonzero(whose == one)
        first[rows[: len(rows) // 2]] = True
    return np.flatnonzero(first), np.flatnonzero(~first)


def halves(frame: "pd.DataFrame", groups: str, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Return the rows of two halves of a table, which do not share a group if there are some in both."""
    _, codes = split_groups(frame, groups or None)
    parts = np.arange(len(frame)) if codes is None or codes.max() + 1 < MIN_GROUPS else codes
    order = rng.permutation(parts.max() + 1)
    first = np.isin(parts, order[: len(order) // 2])
    return np.flatnonzero(first), np.flatnonzero(~first)
