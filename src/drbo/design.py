"""How the rows of a table came about, and what is done about its columns and cells: two parameters of a fit."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from inspect import Parameter, signature
from typing import Any, Literal, Self, get_args

import numpy as np

from drbo.errors import ParameterError, SettingsError, name_hint

#: What is done about missing values, and about columns that never change or that other columns determine.
#: How a type begins that names the column which says whether the event of a time happened.
CENSORED = "censored:"
Missing = Literal["error", "drop", "em", "impute"]
OnConstant = Literal["error", "drop"]
OnCollinear = Literal["error", "drop", "keep"]
#: What is taken to change with time in every column, beside a season: a line, or nothing; None: what shows.
Trend = Literal["line", "none"]


class NamedParameters:
    """A class whose objects are made from named parameters; an unknown one is refused with the place that it has.

    It has the methods by which scikit-learn reads and copies estimators and what they are made of, without loading it.
    It works by ``__new__``, so that the signature of ``__init__``, which scikit-learn reads, stays as it is.
    """

    def __new__(cls, *_places: Any, **given: Any) -> Self:
        """Refuse unknown parameters before Python does, with a hint."""
        cls._check_names(given)
        return super().__new__(cls)

    @classmethod
    def _check_names(cls, given: Iterable[str]) -> None:
        parameters = signature(cls.__init__).parameters
        if any(one.kind is Parameter.VAR_KEYWORD for one in parameters.values()):
            return
        for name in given:
            if name not in parameters:
                hint = f"use {MOVED[name]}" if name in MOVED else name_hint(name, list(parameters)[1:], "parameters")
                raise ParameterError(f"{cls.__name__} has no parameter '{name}'", hint=hint)

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        parameters = list(signature(cls.__init__).parameters.values())[1:]
        return {one.name: one.default for one in parameters if one.kind is not Parameter.VAR_KEYWORD}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with ``deep`` also those inside, as in ``design__groups``."""
        found = {name: getattr(self, name) for name in self._defaults()}
        inner = {name: value for name, value in found.items() if deep and isinstance(value, NamedParameters)}
        return found | {
            f"{name}__{word}": one for name, part in inner.items() for word, one in part.get_params().items()
        }

    def __repr__(self) -> str:
        """Return the call that makes it, without defaults; arrays and tables are shown by their name."""
        given = {name: (getattr(self, name), default) for name, default in self._defaults().items()}
        shown = {
            name: name if np.ndim(value) and not isinstance(value, tuple) else repr(value)
            for name, (value, default) in given.items()
            if (np.ndim(value) and not isinstance(value, tuple)) or value != default
        }
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in shown.items())})"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Design(NamedParameters):
    """How the rows of a table came about.

    Parameters
    ----------
    experiment : a column (not a variable) that names the experiment of each row: what each experiment changes is found
        together with the graph. See docs/guide/experiments.md.
    control : the label of rows in which no experiment changed anything.
    targets : known targets, such as ``{"heated": "heat"}``, or ``{"heated": {"heat": "hard"}}`` if causes are cut off;
        or a table with the columns experiment, target and, optionally, kind.
    groups : a column (not a variable), or an array of labels, that says which rows belong together, such as those of a
        patient: only changes within groups count. False: rows are independent. See docs/guide/rows.md.
    weights : a column (not a variable), or an array of numbers: a row of weight w counts as w equal rows, as with
        ``sample_weight`` of a fit.
    time : a column (not a variable) with the time of each row, numbers or dates. Causes are then searched for in the
        present and in the past of every row. See docs/guide/time.md.
    unit : a column (not a variable) that names the series of each row, such as a patient. The mean of every unit is
        removed from its rows.
    max_lag : how many steps back causes may lie; None: up to 5, fewer for short series. Without ``time``, rows are
        taken in their order.
    season : a pattern that repeats after so many steps is removed from every column.
    trend : ``"line"``: a straight line of time is removed from every column. None: so is what one series clearly shows
        beside the own past of a column: a line, changes of level, seasons. ``"none"``: these are not looked for.
    randomised : columns that chance alone decided, such as the arm of a trial: nothing in the table causes them, and
        their arms are compared in every other column. See docs/guide/trials.md.
    outcome : the column that matters: summary and report open with its likely causes and the sizes of their effects.
    neighbourhood : only the columns around the outcome are searched. See docs/guide/trials.md.

    Examples
    --------
    >>> Design(time="day", max_lag=2)
    Design(time='day', max_lag=2)
    >>> Design(groups="patient")
    Design(groups='patient')
    >>> Design(targets={"heated": "heat"})
    Traceback (most recent call last):
        ...
    drbo.errors.SettingsError: targets needs the column that names the experiment of each row (...)
    """

    experiment: str | None = None
    control: str = "observational"
    targets: Any = None
    groups: Any = None
    weights: Any = None
    time: str | None = None
    unit: str | None = None
    max_lag: int | None = None
    season: int | None = None
    trend: Trend | None = None
    randomised: Sequence[str] = ()
    outcome: str | None = None
    neighbourhood: bool = False

    def __post_init__(self) -> None:
        self._check_randomised()
        words: dict[str, tuple[Any, str]] = {
            "experiment": (self.experiment or "", "the name of a column"),
            "control": (self.control, "a label"),
        }
        for name, (value, what) in words.items():
            if not isinstance(value, str):
                raise SettingsError(f"{name} must be {what}, got {value!r:.80}", hint="give it as text")
        if self.experiment is None and self.targets is not None:
            raise SettingsError(
                "targets needs the column that names the experiment of each row",
                hint="give experiment='COLUMN' (--experiment)",
            )
        if self.weights is not None and not isinstance(self.weights, str) and np.ndim(self.weights) != 1:
            raise SettingsError(
                f"weights must be the name of a column or one number per row, got {self.weights!r:.80}",
                hint="omit it if all rows count once",
            )
        if problems := self._problems_of_time():
            raise SettingsError("; ".join(problems), hint="see docs/guide/time.md")

    def _check_randomised(self) -> None:
        """Refuse what is no list of columns, or does not go together with arms."""
        given: Any = [self.randomised] if isinstance(self.randomised, str) else self.randomised
        if not isinstance(given, list | tuple) or not all(isinstance(name, str) and name for name in given):
            raise SettingsError(
                f"randomised must be a list of names of columns, got {given!r:.80}", hint='for example ["arm"]'
            )
        object.__setattr__(self, "randomised", tuple(dict.fromkeys(given)))
        if not isinstance(self.outcome, str | None) or self.outcome == "":
            raise SettingsError(
                f"outcome must be the name of a column, got {self.outcome!r:.80}", hint='for example "pain"'
            )
        if self.outcome is not None and self.has_time:
            raise SettingsError(
                "outcome cannot be combined with time: effects in a series are responses over several steps",
                hint="omit it; 'drbo effects RUN DATA --to COLUMN' prints the responses",
            )
        if self.outcome in self.randomised:
            raise SettingsError(
                f"the outcome '{self.outcome}' is randomised, so nothing in the table causes it",
                hint="name the column that the arms may change as the outcome",
            )
        if self.neighbourhood and (self.outcome is None or self.experiment is not None):
            what, hint = "neighbourhood needs an outcome, and no experiment", 'outcome="pain", neighbourhood=True'
            raise SettingsError(what, hint=hint)
        others = ("experiment", "groups", "time", "max_lag")
        if given and (other := [name for name in others if getattr(self, name) not in (None, False)]):
            raise SettingsError(
                f"randomised cannot be combined with {other[0]}: arms are compared between independent rows",
                hint="omit one of them",
            )

    def _problems_of_time(self) -> list[str]:
        """Return what is wrong with the parameters of series."""
        problems = list[str]()
        for name, least in (("max_lag", 1), ("season", 2)):
            value = getattr(self, name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least
            ):
                problems.append(f"{name} must be a whole number of at least {least}, got {value!r:.80}")
        for name in ("time", "unit"):
            if not isinstance(getattr(self, name), str | None):
                problems.append(f"{name} must be the name of a column, got {getattr(self, name)!r:.80}")
        if self.trend not in (None, *get_args(Trend)):
            problems.append(f"trend must be 'line', 'none' or None, got {self.trend!r:.80}")
        given = [name for name in ("unit", "season", "trend") if getattr(self, name) is not None]
        if given and not self.has_time:
            problems.append(f"{given[0]} needs the column with the time of each row: give time='COLUMN' (--time)")
        for name in ("experiment", "groups", "weights"):
            if self.has_time and getattr(self, name) is not None:
                problems.append(f"{name} cannot be combined with {'time' if self.time else 'max_lag'}")
        if self.time is not None and self.time == self.unit:
            problems.append(f"time and unit name the same column '{self.time}'")
        return problems

    @property
    def has_time(self) -> bool:
        """Whether rows follow each other in time, so that their past is looked at."""
        return self.time is not None or self.max_lag is not None

    @property
    def group_column(self) -> str:
        """The column that says which rows belong together; empty: none does."""
        return self.groups if isinstance(self.groups, str) else ""

    @property
    def labels(self) -> list[str]:
        """The columns that are no variables."""
        return [
            name for name in (self.experiment, self.groups, self.weights, self.time, self.unit) if isinstance(name, str)
        ]


@dataclass(frozen=True, kw_only=True, repr=False)
class DataPolicy(NamedParameters):
    """What to do about columns and cells that a score cannot use as they are.

    Parameters
    ----------
    missing : ``"error"``: refuse missing values; ``"drop"``: drop their rows; ``"em"``: estimate the covariance by EM,
        for linear scores; ``"impute"``: search ``imputations`` imputed tables and count edges; see
        docs/guide/rows.md.
    imputations : number of imputed tables for ``missing="impute"``.
    on_constant, on_collinear : what to do with columns that are constant, or determined by other columns.
    types : what columns hold, where that is not plain: ``{"sex": "category", "dose": "number", "grade": "low<high"}``.
        A name with ``*`` or ``?`` stands for all columns that it matches: ``{"A*": "ordered"}``.
        ``{"time": "censored:status"}``: a time until an event, which status tells of; it has no effects in the table.
    na : cells that mean that a value is missing, such as ``["*", "-99"]``, in all columns.

    Examples
    --------
    >>> DataPolicy(missing="impute", imputations=20)
    DataPolicy(missing='impute', imputations=20)
    >>> DataPolicy(missing="guess")
    Traceback (most recent call last):
        ...
    drbo.errors.SettingsError: missing must be one of error, drop, em, impute, got 'guess' (the default is 'error')
    """

    missing: Missing = "error"
    imputations: int = 10
    on_constant: OnConstant = "error"
    on_collinear: OnCollinear = "error"
    types: Mapping[str, str] | None = None
    na: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name, kind in (("missing", Missing), ("on_constant", OnConstant), ("on_collinear", OnCollinear)):
            if (value := getattr(self, name)) not in get_args(kind):
                allowed = ", ".join(get_args(kind))
                raise SettingsError(
                    f"{name} must be one of {allowed}, got {value!r:.80}", hint="the default is 'error'"
                )
        if isinstance(self.imputations, bool) or not isinstance(self.imputations, int) or self.imputations < 2:
            raise SettingsError(
                f"imputations must be a whole number of at least 2, got {self.imputations!r:.80}",
                hint="the default is 10",
            )
        types: Any = {} if self.types is None else self.types
        if not isinstance(types, Mapping) or not all(isinstance(word, str) for pair in types.items() for word in pair):
            raise SettingsError(
                f"types must be a mapping of columns to types, got {self.types!r:.80}",
                hint='for example {"sex": "category"}',
            )
        given: Any = self.na
        if not isinstance(given, list | tuple) or not all(isinstance(cell, str) and cell.strip() for cell in given):
            raise SettingsError(f"na must be a list of texts, got {given!r:.80}", hint='for example ["*", "-99"]')
        object.__setattr__(self, "na", tuple(dict.fromkeys(cell.strip() for cell in given)))

    @property
    def censored(self) -> tuple[str, ...]:
        """Columns that are declared as times until an event: they have no effects in the table."""
        return tuple(name for name, kind in (self.types or {}).items() if kind.startswith(CENSORED))


#: The fields of :class:`drbo.Knowledge`.
STATEMENTS = ("forbidden", "required", "tiers", "forbid_within_tiers", "roots", "context", "leaves", "max_parents")
#: Where parameters that an estimator had in earlier versions, or that others have, are to be given.
MOVED = {
    "seed": "random_state=...",
    "seeds": "stability(X, seeds=...)",
    "n_jobs": "executor=...",
    "penalty": "score_options={'penalty': ...}",
    **dict.fromkeys(("timeout", "max_time", "time"), "time_limit=..."),
    **dict.fromkeys(("max_iter", "n_iter"), "max_evals=..."),
    **dict.fromkeys(("method", "algorithm", "model"), "score=..."),
    "alpha": "score_options={'penalty': ...}, or prune=...",
    "n_bootstrap": "bootstrap(X, n) after fit",
    **{name: f"knowledge={{'{name}': ...}}" for name in STATEMENTS},
    "sample_weight": "fit(X, sample_weight=...), or design=Design(weights=...)",
    **{one.name: f"design=Design({one.name}=...)" for one in fields(Design)},
    **{one.name: f"policy=DataPolicy({one.name}=...)" for one in fields(DataPolicy)},
    **{name: f"fit(X, {name}=...)" for name in ("start", "checkpoint", "callbacks")},
}
