"""Scores by name, and scores of the user: a class, an object or a plain function."""

import importlib
import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.metadata import entry_points
from typing import Any

import numpy as np

from drbo.arrays import Bools, Floats, Indices
from drbo.data.checks.experiments import Experiments
from drbo.data.statistics.statistics import Statistic, Statistics
from drbo.errors import DataError, DrboError, ScoreError, SettingsError
from drbo.machine.torch_device import need_torch
from drbo.scores.base import Score
from drbo.scores.families import Families

#: Score names and where they live; imported when asked for.
SCORES: dict[str, str] = {
    "bdeu": "drbo.scores.discrete:BDeu",
    "bge": "drbo.scores.bge:BGe",
    "bic-discrete": "drbo.scores.discrete:DiscreteBIC",
    "bic-ev": "drbo.scores.linear:BicEV",
    "bic-experiments": "drbo.scores.experiments:ExperimentBIC",
    "bic-ng": "drbo.scores.nongaussian:BicNG",
    "bic-nv": "drbo.scores.linear:BicNV",
    "bic-ranks": "drbo.scores.ranks:BicRanks",
    "discrete-experiments": "drbo.scores.experiment_counts:ExperimentCounts",
    "gp": "drbo.scores.gp.gp:GpScore",
    "gp-ev": "drbo.scores.gp.paper:GpEV",
    "gp-nv": "drbo.scores.gp.paper:GpNV",
    "logistic": "drbo.scores.logistic:LogisticBIC",
    "mixed": "drbo.scores.mixed:DegenerateGaussian",
    "mixed-cg": "drbo.scores.mixed:ConditionalGaussian",
    "splines": "drbo.scores.splines:SplineScore",
    "splines-experiments": "drbo.scores.experiments:ExperimentSplines",
    "splines-ranks": "drbo.scores.splines:RankSplines",
}


#: The entry points by which an installed package adds scores: a name, and ``module:Class``.
GROUP = "drbo.scores"


@cache
def installed_scores() -> dict[str, str]:
    """Return the scores that installed packages add; the names of drbo stay its own."""
    return {one.name: one.value for one in entry_points(group=GROUP) if one.name not in SCORES}


class _Wrapped(Score):
    """A function, or an object that only knows ``local_one`` or ``local``, seen as a Score."""

    def __init__(self, inner: Any, table: Statistics) -> None:
        super().__init__(table)
        self.inner = inner
        self.name = getattr(inner, "__name__", type(inner).__name__)
        self.score_equivalent = bool(getattr(inner, "score_equivalent", False))
        self.evidence_scale = getattr(inner, "evidence_scale", None)
        self.cheap = getattr(inner, "cheap", False)

    def local(self, families: Families) -> Floats:
        if hasattr(self.inner, "local"):
            return np.asarray(self.inner.local(families), dtype=np.float64)
        return super().local(families)

    def local_one(self, node: int, parents: tuple[int, ...], **rows: Indices) -> float:
        return float(self._one(node, parents, **rows))

    @property
    def _one(self) -> Callable[..., Any]:
        one: Callable[..., Any] = getattr(self.inner, "local_one", self.inner)
        return one

    @property
    def takes_rows(self) -> bool:
        if hasattr(self.inner, "local"):
            return False
        try:
            return "rows" in inspect.signature(self._one).parameters
        except (TypeError, ValueError):  # some compiled functions do not tell
            return False


def score_class(name: str) -> Any:
    """Return the class behind a score name or a ``module:Class``."""
    path = name if ":" in name else SCORES.get(name) or installed_scores().get(name, name)
    module, _, attribute = path.partition(":")
    if not attribute:
        known = sorted({*SCORES, *installed_scores()})
        close = get_close_matches(name, [*known, "auto"], n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "name your own score as package.module:ClassName"
        raise SettingsError(f"score must be one of {', '.join(known)}, auto, or module:Class, got {name!r}", hint=hint)
    try:
        return getattr(importlib.import_module(module), attribute)
    except (Exception, SystemExit) as error:  # the module is the user's: it may fail in any way, or exit
        if name in SCORES and isinstance(error, ModuleNotFoundError):
            need_torch(f"score '{name}'")
        raise SettingsError(
            f"score {name!r} cannot be imported: {type(error).__name__}: {error}",
            hint="check the name, and that Python can import the module from the current folder",
        ) from error


def needs_of(made: Any) -> frozenset[Statistic]:
    """Return what a score needs to know of a table: the rows, unless its class says otherwise."""
    needs: frozenset[Statistic] = getattr(made, "needs", Score.needs) if isinstance(made, type) else Score.needs
    return needs


def build_score(spec: Any, table: Statistics, options: Mapping[str, Any] | None = None) -> Score:
    """Return the score of a table, given its name, ``module:Class``, a class, an object or a function.

    A function ``f(node, parents)`` takes the column of a node and the columns of its parents, by their place in the
    table, and returns the local score as a number. With a third argument, ``f(node, parents, rows)``, it is also told
    which rows of the table to use: a search then tries families on a part of them first.

    Examples
    --------
    >>> few_edges = build_score(lambda node, parents: -len(parents), Statistics.from_array(np.eye(3)))
    >>> few_edges.local(Families.from_sets(3, [(0, ()), (2, (0, 1))])).tolist()
    [0.0, -2.0]
    >>> table = Statistics.from_array([[0.0, 1.0], [1.0, 0.5], [2.0, 2.5], [3.0, 1.0]])
    >>> build_score("bic-nv", table, {"penalty": 2}).penalty
    2.0
    """
    options = dict(options or {})
    made: Any = score_class(spec) if isinstance(spec, str) else spec
    _check_rows(made, table)
    if table.from_experiments and not getattr(made, "by_experiment", False):
        options["targets"] = _set_cells(made, table.names, table.runs)
    if isinstance(made, type):
        unknown = set(options) - set(_option_names(made))
        if unknown:
            raise SettingsError(
                f"score {spec!r} has no option {', '.join(sorted(unknown))}",
                hint=f"its options are {', '.join(_asked_for(made)) or 'none'}",
            )
        try:
            made = made(table, **options)
        except DrboError:
            raise
        except (Exception, SystemExit) as error:
            raise ScoreError(f"score {spec!r} could not be built: {type(error).__name__}: {error}") from error
    elif options:
        raise SettingsError(
            "score_options require a score given by name or as a class",
            hint="set the options on the score object itself",
        )
    if isinstance(made, Score):
        if made.n_nodes != table.n_columns:
            raise ScoreError(f"the score was built for {made.n_nodes} columns, but the table has {table.n_columns}")
        return made
    if not (callable(made) or hasattr(made, "local_one") or hasattr(made, "local")):
        raise SettingsError(
            f"score must be a name, a function or a class with local() or local_one(), got {type(made).__name__}",
            hint="a function takes a node and its parents, and returns a number: higher is better",
        )
    return _Wrapped(made, table)


def _check_rows(made: Any, table: Statistics) -> None:
    """Refuse a table that lacks what a score needs, and weights of rows that it has no use for."""
    name = getattr(made, "name", getattr(made, "__name__", type(made).__name__))
    lacks = not needs_of(made) <= table.offers
    if lacks and not table.whole:
        raise DataError(
            f"score '{name}' needs the rows of the table, but only their moments are known",
            hint="use bic-nv, bic-ev or bge, which need no more, or splines or mixed with files of rows; or fit a "
            "sample of the rows, or raise max_memory so that all rows are read into memory",
        )
    if lacks:
        raise DataError(
            f"score '{name}' requires complete rows; missing=\"em\" works only with bic-nv, bic-ev and bge",
            hint='use score="bic-nv", or missing="impute", which works with any score',
        )
    if table.weights is None:
        return
    takes = getattr(made, "row_weights", "none") if isinstance(made, type) else "none"
    if table.groups is not None and takes != "any":
        raise DataError(
            f"score '{name}' cannot be combined with groups: only linear relations keep their shape when group means "
            "are removed",
            hint="use bic-nv, bic-ev or bge",
        )
    if takes == "none" or (takes == "equal" and not table.equal_rows):
        raise DataError(
            f"score '{name}' does not support sample weights",
            hint="use bic-nv, bic-ng, bic-ev or bge for numeric columns, or bdeu or bic-discrete for categories with "
            "integer weights",
        )
    if takes == "counts" and (table.weights != np.round(table.weights)).any():
        row = int(np.argmax(table.weights != np.round(table.weights)))
        raise DataError(
            f"score '{name}' counts rows, so sample weights must be whole numbers, got {table.weights[row]:g}",
            hint="give the number of times that each row occurred",
        )


def _set_cells(made: Any, names: tuple[str, ...], experiments: Experiments) -> Bools:
    """Return the cells (n, d) that experiments set, for a score that leaves them out; others cannot be told apart."""
    name = getattr(made, "name", getattr(made, "__name__", type(made).__name__))
    hint = "use score='auto', which finds out what experiments change, or give hard targets for every experiment"
    if not isinstance(made, type):
        raise SettingsError("a score given as a function or an object cannot take experiments", hint=hint)
    kinds = experiments.kinds(names)[1:]
    wrong = (kinds == "soft").any(axis=1) | (kinds == "").all(axis=1)
    if wrong.any():
        label = experiments.labels[1 + int(np.argmax(wrong))]
        raise SettingsError(
            f"score '{name}' requires known hard targets for every experiment, but '{label}' has no such targets",
            hint=hint,
        )
    return experiments.cut(names)


def _asked_for(cls: type) -> list[str]:
    """Return the options that a user may give; the cells that experiments set come from the table."""
    return [name for name in _option_names(cls) if name != "targets"]


def _option_names(cls: type) -> list[str]:
    names: list[str] = []
    for base in cls.__mro__:
        if "__init__" in vars(base) and base is not object:
            parameters = list(inspect.signature(base.__init__).parameters.values())[2:]  # type: ignore[misc]
            names += [p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.name not in names]
            if not any(p.kind is p.VAR_KEYWORD for p in parameters):
                break
    return names
