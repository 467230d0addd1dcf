"""Rows from several experiments: which experiment each row comes from, and which columns an experiment is known to set.

The labels travel with the table, row by row, so that no sorting of rows or columns can separate them. The control, in
which nothing was changed, is experiment 0; the others follow by name.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Floats, Indices
from drbo.design import Design
from drbo.errors import DataError, SettingsError, name_hint

if TYPE_CHECKING:
    import pandas as pd

#: ``soft``: the mechanism of the column changes; ``hard``: it is replaced, so that its causes no longer act on it.
TargetKind = Literal["soft", "hard"]
KINDS: tuple[str, ...] = get_args(TargetKind)

#: Rows that an experiment needs, and experiments that one column may name.
MIN_ROWS, MAX_EXPERIMENTS = 5, 200


@dataclass(frozen=True)
class KnownTarget:
    """A column that an experiment is known to change."""

    experiment: str
    column: str
    kind: TargetKind = "soft"


@dataclass(frozen=True, eq=False)
class Experiments:
    """The experiment of every row, and what is known about the targets."""

    codes: Indices  # (n,) place of each row's experiment in labels
    labels: tuple[str, ...]  # the control first
    known: tuple[KnownTarget, ...] = ()
    column: str = ""  # that named the experiments

    @property
    def counts(self) -> Indices:
        """The number of rows (E,) of each experiment."""
        return np.bincount(self.codes, minlength=len(self.labels)).astype(np.intp)

    @property
    def control(self) -> Bools:
        """(n,) True for the rows of the control."""
        found: Bools = self.codes == 0
        return found

    def centred(self, values: Floats) -> Floats:
        """Return columns (n, k) without their mean in each experiment."""
        found = np.array(values)
        for code in np.unique(self.codes):
            found[self.codes == code] -= values[self.codes == code].mean(axis=0)
        return found

    def take(self, rows: npt.NDArray[Any]) -> "Experiments":
        """Return the same for some rows, in this order."""
        return replace(self, codes=self.codes[rows])

    def kinds(self, names: tuple[str, ...]) -> npt.NDArray[np.str_]:
        """Return (E, d) soft, hard, or an empty string where no target is known."""
        found = np.full((len(self.labels), len(names)), "", dtype="U4")
        for one in self.known:
            if one.column in names:  # a column that was dropped has no mechanism to change
                found[self.labels.index(one.experiment), names.index(one.column)] = one.kind
        return found

    def cut(self, names: tuple[str, ...]) -> Bools:
        """Return (n, d) True where a known hard target was set, so that its causes do not explain the cell."""
        return np.asarray((self.kinds(names) == "hard")[self.codes], dtype=np.bool_)

    def check_rows(self) -> None:
        """Refuse experiments that are too small to say anything."""
        counts = self.counts
        if (counts < MIN_ROWS).any():
            few = int(np.argmin(counts))
            raise DataError(
                f"experiment '{self.labels[few]}' has {counts[few]} rows, but at least {MIN_ROWS} are needed",
                hint="drop these rows, or give them the label of an experiment that did the same",
            )


def split_experiments(frame: "pd.DataFrame", design: Design) -> tuple["pd.DataFrame", Experiments]:
    """Return the table without the column of experiments, and the experiments.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"run": ["hot", "plain"] * 5, "speed": np.arange(10.0)})
    >>> rest, found = split_experiments(frame, Design(experiment="run", control="plain", targets={"hot": "speed"}))
    >>> list(rest), found.labels, found.known[0].kind
    (['speed'], ('plain', 'hot'), 'soft')
    """
    column, control, targets = design.experiment, design.control, design.targets
    if column is None or column not in frame:
        raise SettingsError(f"there is no column {column!r} that names experiments", hint=name_hint(column, frame))
    given, rest = frame[column], frame.drop(columns=column)
    if (missing := given.isna().to_numpy()).any():
        raise DataError(
            f"column '{column}' names no experiment in {int(missing.sum())} of {len(frame)} rows, first in row "
            f"{int(np.argmax(missing))}",
            hint="drop these rows, or name their experiment",
        )
    words = given.astype(str).to_numpy(dtype=str)
    labels = _labels(np.unique(words).tolist(), column, control)
    place = {label: code for code, label in enumerate(labels)}
    codes = np.array([place[word] for word in words.tolist()], dtype=np.intp)
    known = known_targets(targets, labels, [str(name) for name in rest])
    found = Experiments(codes, labels, known, column)
    found.check_rows()
    return rest, found


def control_rows(frame: "pd.DataFrame", design: Design) -> "pd.DataFrame":
    """Return the rows of the control without the column of experiments; all rows of a table that does not have it."""
    if design.experiment not in frame:
        return frame
    rows = (frame[design.experiment].astype(str) == design.control).to_numpy()
    if not rows.any():
        raise DataError(
            f"no row of column '{design.experiment}' is the control '{design.control}'",
            hint="give rows of the control, or a table without this column",
        )
    return frame.loc[rows].drop(columns=design.experiment)


def _labels(found: list[str], column: str, control: str) -> tuple[str, ...]:
    """Return the labels with the control first, or say why they cannot be labels of experiments."""
    if len(found) > MAX_EXPERIMENTS:
        raise DataError(
            f"column '{column}' has {len(found)} different values, but at most {MAX_EXPERIMENTS} experiments are "
            "possible",
            hint="name the column that says which experiment a row comes from, not a measured variable",
        )
    if control not in found:
        raise SettingsError(
            f"no row of column '{column}' is the control '{control}', with which experiments are compared",
            hint=f"name the control with control=... (--control); the experiments are {', '.join(found)}"[:300],
        )
    return (control, *(label for label in found if label != control))


def known_targets(targets: Any, labels: Iterable[str], names: list[str]) -> tuple[KnownTarget, ...]:
    """Return known targets, given as a mapping of experiments to columns, or to kinds by column, or as a data frame."""
    control, *others = labels
    found = [KnownTarget(str(e), str(column), kind) for e, column, kind in _listed(targets)]
    for one in found:
        if one.experiment == control:
            raise SettingsError(
                f"the control '{control}' cannot have targets", hint="name another control, or drop its targets"
            )
        if one.experiment not in others:
            raise SettingsError(
                f"targets names the experiment '{one.experiment}', which no row has",
                hint=name_hint(one.experiment, others, "experiments"),
            )
        if one.column not in names:
            raise SettingsError(
                f"'{one.column}', a target of experiment '{one.experiment}', is not a column of the table",
                hint=name_hint(one.column, names),
            )
        if one.kind not in KINDS:
            raise SettingsError(
                f"the kind of target '{one.column}' of experiment '{one.experiment}' must be soft or hard, got "
                f"{one.kind!r}",
                hint="hard: the mechanism is replaced and its causes are cut off; soft: it changes",
            )
    pairs = [(one.experiment, one.column) for one in found]
    if len(set(pairs)) < len(pairs):
        twice = next(pair for pair in pairs if pairs.count(pair) > 1)
        raise SettingsError(f"target '{twice[1]}' of experiment '{twice[0]}' is given twice", hint="remove one of them")
    return tuple(sorted(found, key=lambda one: (one.experiment, one.column)))


def _listed(targets: Any) -> list[tuple[Any, Any, Any]]:
    """Return the (experiment, column, kind) of targets in any of the accepted forms."""
    if targets is None:
        return []
    if isinstance(targets, Mapping):
        listed = []
        for label, given in targets.items():
            columns = {given: "soft"} if isinstance(given, str) else given
            kinds = columns if isinstance(columns, Mapping) else dict.fromkeys(columns, "soft")
            listed += [(label, column, kind) for column, kind in kinds.items()]
        return listed
    if not {"experiment", "target"} <= set(getattr(targets, "columns", ())):
        raise SettingsError(
            "targets must be a mapping, or a table with the columns experiment and target, got "
            f"{type(targets).__name__}",
            hint='for example {"heated": "temperature"}; a third column, kind, may say soft or hard',
        )
    given = targets["kind"].fillna("soft") if "kind" in targets else ["soft"] * len(targets)
    return list(zip(targets["experiment"].astype(str), targets["target"].astype(str), given, strict=True))


def plain_targets(targets: Any) -> dict[str, dict[str, str]] | None:
    """Return targets in one of the accepted forms as a mapping that JSON knows."""
    if targets is None:
        return None
    return plain_known(KnownTarget(str(label), str(column), kind) for label, column, kind in _listed(targets))


def plain_known(known: Iterable[KnownTarget]) -> dict[str, dict[str, str]]:
    """Return known targets as a mapping that JSON knows, and that :func:`known_targets` takes."""
    found: dict[str, dict[str, str]] = {}
    for one in known:
        found.setdefault(one.experiment, {})[one.column] = one.kind
    return found
