"""From what a user passes to ``fit`` to a checked table: columns, missing values, weights and groups."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Floats
from drbo.data.checks.advice import complete_error
from drbo.data.checks.audit import audit_time, serial_rows
from drbo.data.checks.check import OnCollinear, OnConstant, check_table, recheck
from drbo.data.checks.experiments import ExperimentColumn, Experiments
from drbo.data.checks.groups import in_larger_groups, split_groups, within_groups
from drbo.data.checks.missing import Policy, complete_rows, missing_cells, note, table_policy
from drbo.data.checks.summed import check_missing, checked_sums
from drbo.data.checks.types import typed
from drbo.data.checks.weights import checked_weights, weights_in_words
from drbo.data.reading.frames import as_frame
from drbo.data.statistics.moments import effective_rows
from drbo.data.statistics.table import Table
from drbo.errors import DataError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd


#: Columns with no more distinct values are counted by a discrete score, which counts whole rows.
FEW_VALUES = 10


@dataclass(frozen=True, eq=False)
class Prepared:
    """A checked table, the names of all columns that were given, and what there is to say about them."""

    columns: list[str]
    table: Table
    notes: tuple[str, ...] = ()
    independent: bool = False  # the user says that the order of the rows means nothing

    def warned_of_time(self) -> "Prepared":
        """Warn of rows that depend on the rows before them; return the same with the notes."""
        found = () if self.independent else audit_time(self.table)
        for finding in found:
            if finding.serious:
                warnings.warn(finding.text, stacklevel=3)
        return replace(self, notes=(*self.notes, *(finding.text for finding in found)))


@dataclass(frozen=True)
class Preparation:
    """How a table is made ready for a fit.

    Parameters
    ----------
    missing : what to do with missing values, one of :data:`drbo.data.checks.missing.Policy`.
    on_constant, on_collinear : what to do with columns that carry no information of their own.
    groups : the column that says which rows belong together, or a label per row: see :mod:`drbo.data.checks.groups`.
        False: the order of the rows means nothing.
    parts : the score can count a row as less than one: rows that depend on the rows before them then count as fewer.
    types : what the columns of these names hold, see :func:`drbo.data.checks.types.typed`.
    experiments : the column that names the experiment of each row; see :mod:`drbo.data.checks.experiments`.
    """

    missing: Policy = "error"
    on_constant: OnConstant = "error"
    on_collinear: OnCollinear = "error"
    groups: Any = None
    parts: bool = False
    types: Mapping[str, str] | None = None
    experiments: ExperimentColumn | None = None

    def _frame(self, X: Any) -> "pd.DataFrame":
        return typed(as_frame(X), self.types)

    def variables(self, X: Any) -> Any:
        """Return what is passed to a fit without the column of groups or of experiments."""
        if self.experiments is not None:
            return self.experiments.split(self._frame(X))[0]
        return split_groups(self._frame(X), self.groups)[0] if isinstance(self.groups, str) else X

    def prepare(self, X: Any, sample_weight: npt.ArrayLike | None = None) -> Prepared:
        """Return the checked table of a fit."""
        if isinstance(X, Table):
            return self._of_statistics(X, sample_weight)
        if self.experiments is not None:
            return self._by_experiment(X, sample_weight)
        if split_groups(self._frame(X), self.groups)[1] is not None:
            return self._grouped(X, sample_weight)
        told = list[str]()
        frame = typed(as_frame(X), self.types, told)
        weights = None if sample_weight is None else self._weights(sample_weight, frame)
        if weights is not None:
            frame, weights = frame.loc[weights > 0], weights[weights > 0]
        policy = table_policy(self.missing)
        policies: dict[str, Any] = {"on_constant": self.on_constant, "on_collinear": self.on_collinear}
        try:
            table, notes = check_table(frame, **policies, missing=policy)
        except DataError as error:
            raise complete_error(error, frame, **policies, missing=policy) from error
        if self.missing == "em" and table.incomplete and "categorical" in table.kinds:
            name = table.names[table.kinds.index("categorical")]
            raise DataError(
                f"column '{name}' is categorical, but missing=\"em\" requires numeric columns",
                hint='use missing="impute" or missing="drop"',
            )
        if policy == "keep" and (missing := missing_cells(frame)).any():
            worth = (
                f"; the effective sample size is {effective_rows(table.values):.1f} rows"
                if self.missing == "em"
                else ""
            )
            notes = (note(frame, missing, self.missing) + worth, *notes)
        if weights is not None:
            weights = weights[complete_rows(frame)] if self.missing == "drop" else weights
            table, notes = replace(table, weights=weights), (*notes, weights_in_words(weights))
        table, notes = self._counted(table, (*told, *notes))
        return Prepared(list(frame.columns), table, notes, independent=self.groups is False)

    def _counted(self, table: Table, notes: tuple[str, ...] = ()) -> tuple[Table, tuple[str, ...]]:
        """Let rows that depend on the rows before them count as fewer, where the score can; say so in the notes."""
        if not self.parts or self.groups is False or "categorical" in table.kinds:
            return table, notes
        found = serial_rows(table)
        if found is None or not found.dependent or all(len(np.unique(c)) <= FEW_VALUES for c in table.values.T):
            return table, notes
        share = found.share(table.n)
        told = f"every row counts as {share:.2g} rows, because neighbouring rows are similar"
        return table.counting_as(share), (*notes, told)

    def _of_statistics(self, given: Table, sample_weight: npt.ArrayLike | None) -> Prepared:
        """Return the checked table of a fit to moments, with the rows that were kept beside them, or to all rows."""
        why = "moments", "the rows behind them are not known"
        if given.whole:
            why = "statistics", "they say how the rows came about"
        for what, other in (
            ("experiments", self.experiments),
            ("groups", self.groups or None),
            ("types", self.types),
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
            notes, data = check_missing(given, self.missing), self.prepare(given.frame())
            return replace(data, notes=(*notes, *data.notes))
        else:
            table, notes = checked_sums(given, self.missing, self.on_constant, self.on_collinear)
        table, notes = self._counted(table, notes)
        return Prepared(list(given.names), table, notes, independent=self.groups is False)

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
        assert self.experiments is not None
        if self.groups is not None and self.groups is not False:
            raise SettingsError(
                "groups cannot be combined with experiments: differences between experiments are what counts",
                hint="omit one of them",
            )
        if self.missing in ("em", "impute"):
            raise SettingsError(
                f"missing='{self.missing}' cannot be combined with experiments, whose moments are computed one by one",
                hint="use missing='drop'",
            )
        return self.experiments.split(as_frame(X))

    @property
    def _plain(self) -> "Preparation":
        """The same for a table without a column of experiments."""
        return replace(self, experiments=None, parts=False)

    def _grouped(self, X: Any, sample_weight: npt.ArrayLike | None) -> Prepared:
        """Return the checked table of a fit without the differences between groups."""
        used = self.used_rows(X, sample_weight)
        frame, codes = split_groups(self._frame(X), self.groups)
        assert codes is not None
        alone = int((np.bincount(codes) == 1).sum())
        kept = frame.loc[used].reset_index(drop=True)
        policy: Policy = "error" if self.missing == "drop" else self.missing
        given = replace(self, groups=None, parts=False, types=None, missing=policy)
        data = given.prepare(kept)
        table, notes = within_groups(
            data.table, codes[used], on_constant=self.on_constant, on_collinear=self.on_collinear
        )
        if self.missing == "drop" and (missing := missing_cells(frame)).any():
            notes = (*notes, note(frame, missing, "drop"))
        if alone:
            notes = (*notes, f"groups of one row were dropped ({alone}): they show no change within a group")
        table, notes = self._counted(table, (*notes, *data.notes))
        return Prepared(list(frame.columns), table, notes)

    def again(self, X: Any, names: "Sequence[str]", sample_weight: npt.ArrayLike | None = None) -> Table:
        """Return the named columns, checked, with missing values, weights and groups treated as in the fit."""
        if self.experiments is not None:
            rest, found = self._split(X)
            table = self._plain.again(rest, names, sample_weight)
            kept = found.take(self._plain.used_rows(rest, sample_weight))
            return self._counted(replace(table, experiments=kept))[0]
        used = self.used_rows(X, sample_weight)
        frame, codes = split_groups(self._frame(X), self.groups)
        policy: Any = "keep" if self.missing == "em" else "error"
        table, _ = check_table(frame.loc[used, list(names)], on_collinear="keep", missing=policy)
        if codes is not None:
            return self._counted(within_groups(table, codes[used], on_collinear="keep")[0])[0]
        weights = None if sample_weight is None else self._weights(sample_weight, frame)
        return self._counted(table if weights is None else replace(table, weights=weights[used]))[0]

    def used_rows(self, X: Any, sample_weight: npt.ArrayLike | None) -> Bools:
        """Return (n,) True for the rows that a fit of this table uses."""
        if self.experiments is not None:
            return self._plain.used_rows(self._split(X)[0], sample_weight)
        frame, codes = split_groups(self._frame(X), self.groups)
        used = np.ones(len(frame), dtype=bool)
        if sample_weight is not None:
            if codes is not None:
                raise SettingsError(
                    "groups cannot be combined with sample weights: a row of a group already counts as less than one",
                    hint="omit the weights, or repeat rows that occurred several times",
                )
            used &= checked_weights(sample_weight, len(frame)) > 0
        if self.missing == "drop":
            used[used] = complete_rows(frame.loc[used])
        if codes is not None:
            used[used] = in_larger_groups(codes[used])
        return used

    def _weights(self, sample_weight: npt.ArrayLike, frame: "pd.DataFrame") -> Floats | None:
        """Return checked weights; None where all rows count once, which is the same as no weights."""
        weights = checked_weights(sample_weight, len(frame))
        return None if (weights == 1).all() else weights
