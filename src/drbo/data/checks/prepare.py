"""From what a user passes to ``fit`` to a checked table: columns, missing values, weights and groups.

The module is long because every way in which rows came about has a method of its own.
"""

import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Floats
from drbo.data.checks.advice import complete_error
from drbo.data.checks.audit import audit_time, serial_rows
from drbo.data.checks.check import check_table, recheck
from drbo.data.checks.experiments import Experiments, split_experiments
from drbo.data.checks.groups import in_larger_groups, split_groups, within_groups
from drbo.data.checks.missing import complete_rows, missing_cells, note, table_policy
from drbo.data.checks.summed import check_missing, checked_sums
from drbo.data.checks.types import declared
from drbo.data.checks.weights import checked_weights, weights_in_words
from drbo.data.reading.frames import as_frame
from drbo.data.series.clock import split_time
from drbo.data.series.windows import lagged_name, windows
from drbo.data.statistics.moments import effective_rows
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import OutOfTimeError
from drbo.design import DataPolicy, Design, Missing
from drbo.errors import DataError, SettingsError, name_hint

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd


#: Columns with no more distinct values are counted by a discrete score, which counts whole rows.
FEW_VALUES = 10
NOT_COMPARED = "neighbouring rows were not compared: time ran out"


@dataclass(frozen=True, eq=False)
class Prepared:
    """A checked table, the names of all columns that were given, and what there is to say about them."""

    columns: list[str]
    table: Statistics
    notes: tuple[str, ...] = ()
    independent: bool = False  # the order of the rows means nothing, or is accounted for
    variables: list[str] | None = None  # of a series: the columns that were given; None: those of the table

    def warned_of_time(self) -> "Prepared":
        """Warn of rows that depend on the rows before them; return the same with the notes."""
        try:
            found = () if self.independent else audit_time(self.table)
        except OutOfTimeError:  # the audit says so
            return self
        for finding in found:
            if finding.serious:
                warnings.warn(finding.text, stacklevel=3)
        return replace(self, notes=(*self.notes, *(finding.text for finding in found)))


@dataclass(frozen=True)
class Preparation:
    """How a table is made ready for a fit.

    Parameters
    ----------
    design : how the rows came about: groups, experiments, weights.
    policy : what to do about columns and cells.
    parts : the score can count a row as less than one: rows that depend on the rows before them then count as fewer.
    """

    design: Design = field(default_factory=Design)
    policy: DataPolicy = field(default_factory=DataPolicy)
    parts: bool = False

    def _frame(self, X: Any) -> "pd.DataFrame":
        return declared(as_frame(X), self.policy)

    def variables(self, X: Any) -> Any:
        """Return what is passed to a fit without the columns of weights, of groups or of experiments."""
        if isinstance(self.design.weights, str):
            return self._unweighted.variables(self._split_weights(X, None)[0])
        if self.design.experiment is not None:
            return split_experiments(self._frame(X), self.design)[0]
        if self.design.has_time:
            return as_frame(X).drop(columns=self.design.labels)
        return split_groups(self._frame(X), self.design.groups)[0] if self.design.group_column else X

    def _split_weights(self, X: Any, sample_weight: npt.ArrayLike | None) -> tuple[Any, Any]:
        """Return the table without the column of weights, and the weights."""
        weights = self.design.weights
        if sample_weight is not None:
            raise SettingsError("weights of rows are given twice", hint="omit sample_weight, or weights of the design")
        if not isinstance(weights, str) or isinstance(X, Statistics):
            return X, weights
        frame = as_frame(X)
        if weights not in frame:
            raise SettingsError(f"there is no column '{weights}' with weights of rows", hint=name_hint(weights, frame))
        return frame.drop(columns=weights), frame[weights].to_numpy()

    @property
    def _columns_policy(self) -> dict[str, Any]:
        return {"on_constant": self.policy.on_constant, "on_collinear": self.policy.on_collinear}

    @property
    def of_independent_rows(self) -> "Preparation":
        """The same for rows without an order."""
        return replace(self, design=replace(self.design, groups=False))

    @property
    def _unweighted(self) -> "Preparation":
        """The same for a table whose weights are given beside it."""
        return replace(self, design=replace(self.design, weights=None))

    def prepare(self, X: Any, sample_weight: npt.ArrayLike | None = None) -> Prepared:
        """Return the checked table of a fit."""
        if self.design.weights is not None:
            return self._unweighted.prepare(*self._split_weights(X, sample_weight))
        if isinstance(X, Statistics):
            return self._of_statistics(X, sample_weight)
        if self.design.experiment is not None:
            return self._by_experiment(X, sample_weight)
        if self.design.has_time:
            return self._of_series(X, sample_weight)
        if split_groups(self._frame(X), self.design.groups)[1] is not None:
            return self._grouped(X, sample_weight)
        told = list[str]()
        frame = declared(as_frame(X), self.policy, told)
        weights = None if sample_weight is None else self._weights(sample_weight, frame)
        if weights is not None:
            frame, weights = frame.loc[weights > 0], weights[weights > 0]
        policy = table_policy(self.policy.missing)
        policies = self._columns_policy
        try:
            table, notes = check_table(frame, **policies, missing=policy)
        except DataError as error:
            raise complete_error(error, frame, **policies, missing=policy) from error
        if self.policy.missing == "em" and table.incomplete and "categorical" in table.kinds:
            name = table.names[table.kinds.index("categorical")]
            raise DataError(
                f"column '{name}' is categorical, but missing=\"em\" requires numeric columns",
                hint='use missing="impute" or missing="drop"',
            )
        if policy == "keep" and (missing := missing_cells(frame)).any():
            worth = (
                f"; the effective sample size is {effective_rows(table.values):.1f} rows"
                if self.policy.missing == "em"
                else ""
            )
            notes = (note(frame, missing, self.policy.missing) + worth, *notes)
        if weights is not None:
            weights = weights[complete_rows(frame)] if self.policy.missing == "drop" else weights
            table, notes = replace(table, weights=weights), (*notes, weights_in_words(weights))
        table, notes = self._counted(table, (*told, *notes))
        return Prepared(list(frame.columns), table, notes, independent=self.design.groups is False)

    def _counted(self, table: Statistics, notes: tuple[str, ...] = ()) -> tuple[Statistics, tuple[str, ...]]:
        """Let rows that depend on the rows before them count as fewer, where the score can; say so in the notes."""
        if not self.parts or self.design.groups is False or "categorical" in table.kinds:
            return table, notes
        try:
            found = serial_rows(table)
        except OutOfTimeError:
            return table, (*notes, NOT_COMPARED)
        if found is None or not found.dependent or all(len(np.unique(c)) <= FEW_VALUES for c in table.values.T):
            return table, notes
        share = found.share(table.n)
        told = f"every row counts as {share:.2g} rows, because neighbouring rows are similar"
        return table.counting_as(share), (*notes, told)

    def _of_statistics(self, given: Statistics, sample_weight: npt.ArrayLike | None) -> Prepared:
        """Return the checked table of a fit to moments, with the rows that were kept beside them, or to all rows."""
        why = "moments", "the rows behind them are not known"
        if given.whole:
            why = "statistics", "they say how the rows came about"
        for what, other in (
            ("experiments", self.design.experiment),
            ("groups", self.design.groups or None),
            ("types", self.policy.types),
            ("markers of missing values", self.policy.na or None),
            ("sample weights", sample_weight),
        ):
            if other is not None:
                raise SettingsError(
                    f"{why[0]} cannot be combined with {what}: {why[1]}",
                    hint=f"fit the table itself, or omit {what}",
                )
        table, notes = given, tuple[str, ...]()
        if given.whole:
            recheck(given)
        elif given.all_kept:
            notes, data = check_missing(given, self.policy.missing), self.prepare(given.frame())
            return replace(data, notes=(*notes, *data.notes))
        else:
            table, notes = checked_sums(given, self.policy.missing, self.policy.on_constant, self.policy.on_collinear)
        table, notes = self._counted(table, notes)
        return Prepared(list(given.names), table, notes, independent=self.design.groups is False)

    def _by_experiment(self, X: Any, sample_weight: npt.ArrayLike | None) -> Prepared:
        """Return the checked table of a fit with the experiment of every row."""
        rest, found = self._split(X)
        used = self._plain.used_rows(rest, sample_weight)
        data = self._plain.prepare(rest, sample_weight)
        kept = found.take(used)
        kept.check_rows()
        count = len(kept.labels) - 1
        others = f"{count} experiment{'s' * (count != 1)} beside the control '{kept.labels[0]}'"
        table, notes = self._counted(replace(data.table, experiments=kept), (others, *data.notes))
        return replace(data, table=table, notes=notes)

    def _split(self, X: Any) -> tuple["pd.DataFrame", Experiments]:
        """Return the variables and the experiments, and refuse what does not go together with these."""
        if self.design.groups is not None and self.design.groups is not False:
            raise SettingsError(
                "groups cannot be combined with experiments: differences between experiments are what counts",
                hint="omit one of them",
            )
        if self.policy.missing in ("em", "impute"):
            raise SettingsError(
                f"missing='{self.policy.missing}' cannot be combined with experiments, whose moments are computed one "
                "by one",
                hint="use missing='drop'",
            )
        return split_experiments(as_frame(X), self.design)

    @property
    def _plain(self) -> "Preparation":
        """The same for a table without a column of experiments."""
        return replace(self, design=replace(self.design, experiment=None, targets=None), parts=False)

    def _grouped(self, X: Any, sample_weight: npt.ArrayLike | None) -> Prepared:
        """Return the checked table of a fit without the differences between groups."""
        used = self.used_rows(X, sample_weight)
        frame, codes = split_groups(self._frame(X), self.design.groups)
        assert codes is not None
        alone = int((np.bincount(codes) == 1).sum())
        kept = frame.loc[used].reset_index(drop=True)
        missing_left: Missing = "error" if self.policy.missing == "drop" else self.policy.missing
        policy = replace(self.policy, types=None, na=(), missing=missing_left)
        data = Preparation(replace(self.design, groups=None), policy).prepare(kept)
        table, notes = within_groups(data.table, codes[used], **self._columns_policy)
        if self.policy.missing == "drop" and (missing := missing_cells(frame)).any():
            notes = (*notes, note(frame, missing, "drop"))
        if alone:
            notes = (*notes, f"groups of one row were dropped ({alone}): they show no change within a group")
        table, notes = self._counted(table, (*notes, *data.notes))
        return Prepared(list(frame.columns), table, notes)

    def _of_series(self, X: Any, sample_weight: npt.ArrayLike | None) -> Prepared:
        """Return the checked table of a fit whose rows have a past."""
        if sample_weight is not None:
            raise SettingsError("sample weights cannot be combined with rows that have a past", hint="omit the weights")
        told = list[str]()
        frame, clock = split_time(declared(as_frame(X), self.policy, told), self.design)
        policy: Any = "error" if self.policy.missing == "error" else "keep"
        try:
            table, notes = check_table(frame, **self._columns_policy, missing=policy)
        except DataError as error:
            raise complete_error(error, frame, **self._columns_policy, missing=policy) from error
        table, more = windows(table, clock, self.design, self.policy)
        now = [str(name) for name in frame.columns]
        given = [lagged_name(name, lag) for lag in range(clock.max_lag + 1) for name in now]
        return Prepared(given, table, (*clock.notes, *told, *notes, *more), independent=True, variables=now)

    def again(self, X: Any, names: "Sequence[str]", sample_weight: npt.ArrayLike | None = None) -> Statistics:
        """Return the named columns, checked, with missing values, weights and groups treated as in the fit."""
        if self.design.weights is not None:
            rest, weights = self._split_weights(X, sample_weight)
            return self._unweighted.again(rest, names, weights)
        if self.design.experiment is not None:
            rest, found = self._split(X)
            table = self._plain.again(rest, names, sample_weight)
            kept = found.take(self._plain.used_rows(rest, sample_weight))
            return self._counted(replace(table, experiments=kept))[0]
        if self.design.has_time:
            table = replace(self, policy=replace(self.policy, on_collinear="keep"))._of_series(X, sample_weight).table
            return table.take(np.arange(table.n_rows), np.array([table.index(name) for name in names]))
        used = self.used_rows(X, sample_weight)
        frame, codes = split_groups(self._frame(X), self.design.groups)
        policy: Any = "keep" if self.policy.missing == "em" else "error"
        table, _ = check_table(frame.loc[used, list(names)], on_collinear="keep", missing=policy)
        if codes is not None:
            return self._counted(within_groups(table, codes[used], on_collinear="keep")[0])[0]
        weights = None if sample_weight is None else self._weights(sample_weight, frame)
        return self._counted(table if weights is None else replace(table, weights=weights[used]))[0]

    def used_rows(self, X: Any, sample_weight: npt.ArrayLike | None) -> Bools:
        """Return (n,) True for the rows that a fit of this table uses."""
        if self.design.weights is not None:
            return self._unweighted.used_rows(*self._split_weights(X, sample_weight))
        if self.design.experiment is not None:
            return self._plain.used_rows(self._split(X)[0], sample_weight)
        if self.design.has_time:
            return np.ones(len(as_frame(X)), dtype=bool)
        frame, codes = split_groups(self._frame(X), self.design.groups)
        used = np.ones(len(frame), dtype=bool)
        if sample_weight is not None:
            if codes is not None:
                raise SettingsError(
                    "groups cannot be combined with sample weights: a row of a group already counts as less than one",
                    hint="omit the weights, or repeat rows that occurred several times",
                )
            used &= checked_weights(sample_weight, len(frame)) > 0
        if self.policy.missing == "drop":
            used[used] = complete_rows(frame.loc[used])
        if codes is not None:
            used[used] = in_larger_groups(codes[used])
        return used

    def _weights(self, sample_weight: npt.ArrayLike, frame: "pd.DataFrame") -> Floats | None:
        """Return checked weights; None where all rows count once, which is the same as no weights."""
        weights = checked_weights(sample_weight, len(frame))
        return None if (weights == 1).all() else weights
