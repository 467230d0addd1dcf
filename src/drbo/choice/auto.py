"""Which score fits a table, with the reasons in words."""

from typing import NamedTuple

import numpy as np

from drbo.choice.noise_model import ModelCheck, model_checks
from drbo.choice.ordered import codes_are_ordered, has_few_values, stepped
from drbo.data.statistics.statistics import Statistics
from drbo.errors import SettingsError
from drbo.machine.torch_device import INSTALL, has_torch

#: Noise models are checked with at most so many columns, and at least so many rows per column and in all.
MOST_COLUMNS = 100
ROWS_PER_COLUMN = 5
LEAST_ROWS = 50

#: Seconds of one Gaussian-process family on one core, per squared row.
GP_SECONDS = 5e-7
#: Local scores that a search of default length asks for, per column.
LOCAL_PER_COLUMN = 250
#: Seconds of Gaussian processes that are worth it, and the rows that they take.
GP_BUDGET = 120.0
GP_ROWS = 1_000

#: Cells of the largest table that gets splines of ranks, because they take memory.
RANKED_CELLS = 2 * 10**6

#: Models with straight lines on the scales of the columns, and models between ranks, with the shape of their effects.
LINEAR = ("bic-nv", "bic-ng")
RANKED = {"bic-ranks": "linear", "splines-ranks": "nonlinear"}
#: A table whose columns are in steps, but for less than this share, is not tested: noise is not additive there.
MOST = 0.5

RANKS = "after every column is replaced by the normal scores of its ranks"
ONE_BY_ONE = "directions come from the equivalence class or from residual tests of single arrows"


class ChosenScore(NamedTuple):
    """The score that ``score="auto"`` takes.

    Examples
    --------
    >>> ChosenScore("bdeu", ("all columns are discrete",)).noise_fits
    True
    """

    name: str
    reasons: tuple[str, ...]
    noise_fits: bool = True  # False: every noise model at hand was rejected


UNRELATED = ChosenScore("bic-nv", ("score bic-nv: all columns are numeric, and hardly related to each other",))


def choose_score(table: Statistics) -> ChosenScore:
    """Return the score that ``score="auto"`` takes, and why.

    Discrete columns alone (categories, or numbers with few distinct values) get ``bdeu``, numeric and categorical
    ones together ``mixed``. Counts and ordered codes get ``bic-ranks`` (:mod:`drbo.choice.ordered`). Of other numeric
    tables it is the simplest score with families that pass a
    test of their residuals (:func:`~drbo.choice.noise_model.model_checks`): ``bic-nv``, ``bic-ng``, ``bic-ranks``,
    ``splines`` (``gp`` for small tables) or ``splines-ranks``. If none passes it is the last of ``bic-nv``,
    ``bic-ranks`` and ``splines-ranks`` that explains more than the one before it. An
    equal-variance score is never chosen: equal variances are an assumption about units. The choice depends neither on
    units nor on the order of rows and columns.

    Examples
    --------
    >>> choose_score(Statistics.from_array([[0.5, 1.0], [1.2, 0.1], [2.0, 2.2]])).name
    'bic-nv'
    >>> choose_score(Statistics.from_array([[0, 1], [1, 1], [0, 0], [1, 0]])).name
    'bdeu'
    """
    if not table.whole and "categorical" not in table.kinds:
        why = "only moments of all rows are known, so relations are assumed to be linear"
        return ChosenScore("bic-nv", (f"score bic-nv: {why}",))
    discrete = [_is_discrete(table, column) for column in range(table.n_columns)]
    whole = table.complete and table.groups is None
    if whole and all(discrete) and not codes_are_ordered(table):
        return ChosenScore("bdeu", (f"score bdeu: all columns are discrete ({_levels_in_words(table)})",))
    if whole and "categorical" not in table.kinds and len(steps := stepped(table)) > table.n_columns * MOST:
        why = f"{_named(table, steps)} counted or coded in steps, so only their order is used"
        return ChosenScore("bic-ranks", (f"score bic-ranks: {why}; use text or a categorical type for categories",))
    categorical = [column for column, levels in enumerate(table.levels) if levels is not None]
    if categorical:
        kinds = f"{_named(table, categorical)} categorical, the others are numeric"
        reasons = [f"score mixed: {kinds}, with straight lines between them"]
        return ChosenScore("mixed", (*reasons, *_about_codes(table, discrete)))
    if not (whole and table.equal_rows):
        what = "weighted rows are summarised by a covariance"
        if table.incomplete:
            what = "with missing values, only a covariance is available"
        elif table.groups is not None:
            what = "only linear relations keep their shape when group means are removed"
        return ChosenScore(
            "bic-nv", (f"score bic-nv: all columns are numeric; {what}, so relations are assumed to be linear",)
        )
    if untested := _untested(table, discrete):
        chosen = ChosenScore(
            "bic-nv",
            (f"score bic-nv: all columns are numeric; other noise models were not tried, because {untested}",),
        )
    else:
        chosen = _fitting(table)
    return chosen._replace(reasons=(*chosen.reasons, *_about_codes(table, discrete)))


def experiment_score(table: Statistics) -> ChosenScore:
    """Return the score that ``score="auto"`` takes for a table from several experiments, and why.

    Discrete columns alone get ``discrete-experiments``. Numeric tables get ``bic-experiments``, or
    ``splines-experiments`` if :func:`choose_score` prefers curved effects in the rows of the control. There is no such
    score for both kinds of columns together.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from drbo.data.checks.experiments import Experiments
    >>> runs = Experiments(np.repeat([0, 1], 10), ("control", "heated"))
    >>> coins = Statistics.from_array(np.random.default_rng(0).integers(2, size=(20, 2)))
    >>> experiment_score(replace(coins, experiments=runs)).name
    'discrete-experiments'
    """
    why = "it finds which mechanisms each experiment changes"
    counted = table.weights is None or (table.weights == np.round(table.weights)).all()
    if counted and all(_is_discrete(table, column) for column in range(table.n_columns)):
        reason = f"score discrete-experiments: {why}; all columns are discrete ({_levels_in_words(table)})"
        return ChosenScore("discrete-experiments", (reason,))
    if categorical := [column for column, levels in enumerate(table.levels) if levels is not None]:
        raise SettingsError(
            f"{_named(table, categorical)} categorical and others are numeric, but with experiments all columns must "
            "be of one kind",
            hint="drop columns, encode categories as numbers, or cut the numbers into classes; score='mixed' takes "
            "both if hard targets are known for every experiment",
        )
    control = choose_score(table.control_rows)
    if control.name not in ("splines", "gp") or table.weights is not None:
        return ChosenScore("bic-experiments", (f"score bic-experiments: {why}",), control.noise_fits)
    effects = control.reasons[0].partition(": ")[2]
    return ChosenScore("splines-experiments", (f"score splines-experiments: {why}; in the control {effects}",))


def _fitting(table: Statistics) -> ChosenScore:
    """Return the simplest score that fits the residuals."""
    tried = dict[str, ModelCheck]()
    large = table.values.size > RANKED_CELLS
    for check in model_checks(table):
        if large and check.score == "splines-ranks":
            break
        if check.score not in tried or check.share > tried[check.score].share:
            tried[check.score] = check
        if check.fits:
            return _fits(tried, check, table)
    return _best_of_none(tried)


def _fits(tried: dict[str, ModelCheck], last: ModelCheck, table: Statistics) -> ChosenScore:
    """Return the score of the first model that fits."""
    if last.score == "bic-nv" and not last.n_tested:
        return UNRELATED
    passes = f"{_passed(last)} families pass the residual test"
    linear = max((tried[name] for name in LINEAR if name in tried), key=lambda one: one.share)
    if last.score == "bic-nv":
        noise = " with Gaussian noise" if len(tried) == 1 else ""
        return ChosenScore("bic-nv", (f"score bic-nv: linear effects{noise} fit ({passes})",))
    if last.score == "bic-ng":
        return ChosenScore("bic-ng", (f"score bic-ng: linear effects fit ({passes}), with noise that is not Gaussian",))
    failed = _failed(tried, linear)
    if last.score in RANKED:
        why = f"{RANKED[last.score]} effects fit {RANKS} ({_passed(last)} families; without that, {failed})"
        return ChosenScore(last.score, (f"score {last.score}: {why}",))
    name, size = _by_size(table)
    why = f"score {name}: linear effects do not fit ({_passed(linear)} families pass the residual test)"
    return ChosenScore(name, (f"{why}, nonlinear ones do ({_passed(last)})", size))


def _best_of_none(tried: dict[str, ModelCheck]) -> ChosenScore:
    """Return the score of a table that no model fits."""
    linear = max((tried[name] for name in LINEAR if name in tried), key=lambda one: one.share)
    ranked = [tried[name] for name in RANKED if name in tried and tried[name].explains]
    if not ranked and not any(one.n_tested for one in tried.values() if one.score not in RANKED):
        return UNRELATED
    failed = _failed(tried, linear)
    if not ranked:
        return ChosenScore(
            "bic-nv", (f"score bic-nv: no noise model passes the residual test ({failed})", ONE_BY_ONE), False
        )
    best = ranked[-1]
    why = f"score {best.score}: no noise model passes the residual test ({failed}, {_passed(best)} {RANKS})"
    return ChosenScore(best.score, (why, ONE_BY_ONE), False)


def _failed(tried: dict[str, ModelCheck], linear: ModelCheck) -> str:
    """Say how many families fit without ranks."""
    failed = f"{_passed(linear)} families pass the residual test with linear effects"
    if (curved := tried.get("splines")) is None:
        return failed
    return failed + (
        f", {_passed(curved)} with nonlinear ones" if curved.explains else "; nonlinear ones fit no better"
    )


def _untested(table: Statistics, discrete: list[bool]) -> str:
    """Return why the noise models of a table are not checked; empty if they are."""
    columns, most = discrete.count(False), f"there are more than {MOST_COLUMNS} columns"
    least = max(LEAST_ROWS, ROWS_PER_COLUMN * table.n_columns)
    reasons = {
        "fewer than two columns have many distinct values": columns < 2,
        most: table.n_columns > MOST_COLUMNS,
        f"that needs {least} rows": table.n_rows < least,
        "time ran out": table.is_hurried,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _passed(check: ModelCheck) -> str:
    return f"{check.n_passed} of {check.n_tested}"


def _by_size(table: Statistics) -> tuple[str, str]:
    """Choose the nonlinear score by what it costs."""
    families = min(table.n_columns * 2.0 ** (table.n_columns - 1), LOCAL_PER_COLUMN * table.n_columns)
    seconds = families * GP_SECONDS * table.n_rows**2
    size = f"{table.n_rows} rows and {table.n_columns} columns"
    if table.lags:
        return "splines", "splines are used instead of gp, because windows of time have many columns"
    if table.weights is not None:
        return "splines", "splines are used instead of gp, because a row counts as less than one"
    if seconds <= GP_BUDGET and table.n_rows <= GP_ROWS and not has_torch():
        return "splines", f"gp, which models interactions between causes, was left out: it needs torch; {INSTALL}"
    if seconds <= GP_BUDGET and table.n_rows <= GP_ROWS:
        return "gp", f"gp models interactions between causes, and {size} are few enough for it"
    return (
        "splines",
        f"splines are used instead of gp, because Gaussian processes would take {_duration(seconds)} for {size}",
    )


def _is_discrete(table: Statistics, column: int) -> bool:
    """Return whether a column is categorical or has few distinct values, whatever its units."""
    return table.levels[column] is not None or has_few_values(table.values[:, column])


def _levels_in_words(table: Statistics) -> str:
    counts = [len(np.unique(table.values[:, column])) for column in range(table.n_columns)]
    low, high = min(counts), max(counts)
    return f"{low} levels each" if low == high else f"{low} to {high} levels"


def _about_codes(table: Statistics, discrete: list[bool]) -> tuple[str, ...]:
    """Say which numbers look like codes of groups: a two-valued one makes no difference."""
    codes = [
        column
        for column, levels in enumerate(table.levels)
        if levels is None and discrete[column] and len(np.unique(table.values[:, column])) > 2
    ]
    if not codes:
        return ()
    return (
        f"{_named(table, codes)} treated as numeric despite few distinct values; use text or a categorical type "
        "for categories",
    )


def _named(table: Statistics, columns: list[int], most: int = 3) -> str:
    names = ", ".join(f"'{table.names[column]}'" for column in columns[:most])
    more = f" and {len(columns) - most} more" if len(columns) > most else ""
    return f"column {names} is" if len(columns) == 1 else f"columns {names}{more} are"


def _duration(seconds: float) -> str:
    if seconds < 5400:
        return f"about {seconds / 60:.0f} minutes"
    return f"about {seconds / 3600:.0f} hours" if seconds < 2e5 else "days"
