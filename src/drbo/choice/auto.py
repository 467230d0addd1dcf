"""Which score fits a table, with the reasons in words."""

from itertools import islice
from typing import NamedTuple

import numpy as np

from drbo.choice.noise_model import ModelCheck, model_checks
from drbo.data.statistics.statistics import Statistics
from drbo.errors import SettingsError
from drbo.machine.torch_device import INSTALL, has_torch

#: A numeric column with so few distinct values is discrete: ten grades, or a 0/1 answer.
FEW_LEVELS = 10
#: And a value must be repeated: on average so many rows per distinct value.
ROWS_PER_LEVEL = 5

#: Rows that are looked at first: most columns of numbers show in them that they are not discrete.
FIRST_ROWS = 1_000

#: Noise models are checked with at most so many columns, and at least so many rows per column and in all.
MOST_COLUMNS = 100
ROWS_PER_COLUMN = 5
LEAST_ROWS = 50

#: Seconds of one Gaussian-process family on one core, per squared row: 0.02 s for 200 rows, 0.3 s for 800.
GP_SECONDS = 5e-7
#: Local scores that a search of default length asks for, per column.
LOCAL_PER_COLUMN = 250
#: Seconds of Gaussian processes that are worth it, and the rows that they take; splines need a thousandth of the time.
GP_BUDGET = 120.0
GP_ROWS = 1_000

#: Cells of the largest table that gets splines of ranks, because they take memory, and the models before them.
RANKED_CELLS, UNRANKED = 2 * 10**6, 4

RANKS = "after every column is replaced by the normal scores of its ranks"
ONE_BY_ONE = "directions rest on the equivalence class, or on the residuals of single arrows that pass every test"


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
    ones together ``mixed``. Of numeric tables it is the simplest score with families that pass a
    test of their residuals (:func:`~drbo.choice.noise_model.model_checks`): ``bic-nv``, ``bic-ng``, ``splines``
    (``gp`` for small tables) or ``splines-ranks``. If none passes it is ``splines-ranks`` as well, which then finds the
    better graphs (docs/scores.md); but ``bic-nv`` if curves explain no more, or the table is very large. An
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
    if table.complete and all(discrete) and table.groups is None:
        return ChosenScore("bdeu", (f"score bdeu: all columns are discrete ({_levels_in_words(table)})",))
    categorical = [column for column, levels in enumerate(table.levels) if levels is not None]
    if categorical:
        reasons = [f"score mixed: {_named(table, categorical)} categorical, the others are numeric"]
        return ChosenScore("mixed", (*reasons, *_about_codes(table, discrete)))
    if table.by_moments:
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
    tried = list[ModelCheck]()
    most = None if table.values.size <= RANKED_CELLS else UNRANKED
    for check in islice(model_checks(table), most):
        tried.append(check)
        if check.fits:
            break
    linear, last = max(tried[:3], key=lambda one: one.share), tried[-1]
    if not last.fits or last.score == "splines-ranks":
        return _on_other_scales(linear, *tried[3:])
    if last.score == "bic-nv" and not last.n_tested:
        return UNRELATED
    passes = f"{_passed(last)} families pass a test of their residuals"
    if last.score == "bic-nv":
        noise = " with Gaussian noise" if len(tried) == 1 else ""
        return ChosenScore("bic-nv", (f"score bic-nv: linear effects{noise} fit ({passes})",))
    if last.score == "bic-ng":
        return ChosenScore("bic-ng", (f"score bic-ng: linear effects fit ({passes}), with noise that is not Gaussian",))
    name, size = _by_size(table)
    why = f"score {name}: linear effects do not fit ({_passed(linear)} families pass a test of their residuals)"
    return ChosenScore(name, (f"{why}, curved ones do ({_passed(last)})", size))


def _on_other_scales(linear: ModelCheck, curved: ModelCheck, ranks: ModelCheck | None = None) -> ChosenScore:
    """Return the score of a table that no model fits on the scales of its columns."""
    if not (linear.n_tested or curved.n_tested or (ranks is not None and ranks.explains)):
        return UNRELATED
    failed = f"{_passed(linear)} families pass a test of their residuals with linear effects"
    failed += f", {_passed(curved)} with curved ones" if curved.explains else ", and curved ones explain no more"
    if ranks is None or not ranks.explains:
        return ChosenScore("bic-nv", (f"score bic-nv: no noise model at hand fits ({failed})", ONE_BY_ONE), False)
    if ranks.fits:
        why = f"curved effects fit {RANKS} ({_passed(ranks)} families; without that, {failed})"
        return ChosenScore(ranks.score, (f"score {ranks.score}: {why}",))
    why = f"score {ranks.score}: no noise model at hand fits ({failed}, {_passed(ranks)} {RANKS})"
    return ChosenScore(ranks.score, (why, ONE_BY_ONE), False)


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
    if table.levels[column] is not None:
        return True
    values = table.values[:, column]
    if len(np.unique(values[:FIRST_ROWS])) > FEW_LEVELS:  # so do all rows
        return False
    count = len(np.unique(values))
    return count <= FEW_LEVELS and (count <= 2 or count * ROWS_PER_LEVEL <= table.n_rows)


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
