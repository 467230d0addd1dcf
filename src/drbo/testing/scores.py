"""The conformance tests for scores: run it on your own score before you use it in a search."""

import pickle
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.errors import ScoreError
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.scores.forms import CountForm
from drbo.scores.registry import build_score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.evaluation.local_scores import family_words
from drbo.search.orders.gains import steps_of
from drbo.settings import Settings

#: Relative difference under which two scores count as equal.
TOLERANCE = 1e-7
WEIGHT_TOLERANCE = 1e-6  # columns are rounded to nine digits where they are standardised


def check_score(
    score: Any, table: Statistics, options: dict[str, Any] | None = None, *, n_dags: int = 20, seed: int = 0
) -> Score:
    """Check that a score follows the Score interface on a table; return the built score, or raise a ScoreError.

    The suite checks that the score returns finite numbers of the right shape, is deterministic and independent of the
    batch, leaves the data unchanged, does not depend on the order of columns (for a name or class), has shares that add
    up to the score, survives pickling (it is sent to workers), and declares the truth: ``nested``,
    ``score_equivalent`` among DAGs with fewer parents than rows (:meth:`~drbo.scores.base.Score.credited`), a ``gain``
    above 0, the form of :meth:`~drbo.scores.base.Score.compiled`, and ``row_weights`` (weights act like repeated rows).
    ``cheap`` must be a bool, but nothing is timed.
    A score that depends on the order of rows, as cross-validation with folds does, gets a warning: a fit sorts the
    rows, so its result does not depend on their order, but other folds may give another graph.

    Examples
    --------
    >>> table = Statistics.from_array(np.random.default_rng(0).normal(size=(60, 4)))
    >>> check_score("bic-nv", table).name
    'bic-nv'
    >>> class Noisy(Score):
    ...     calls = 0
    ...     def local_one(self, node, parents):
    ...         self.calls += 1
    ...         return float(self.calls)
    >>> check_score(Noisy, table)
    Traceback (most recent call last):
        ...
    drbo.errors.ScoreError: score 'custom' returned two different values for the same family: node 'x0' with parents []
    """
    rng = np.random.default_rng(seed)
    before = table.values.copy()
    built = build_score(score, table, options)
    dags = _random_dags(table.n_columns, n_dags, rng)
    families = Families.from_dags(dags)
    local = _check_values(built, families)
    _check_repeatable(built, families, local, rng)
    _check_shares(built, dags, local.reshape(n_dags, -1))
    _check_declared(built, dags, rng)
    _check_pickle(built, families, local)
    _check_form(built, families, local)
    if isinstance(score, (str, type)):
        _check_order(lambda t, o: build_score(score, t, o), table, dict(options or {}), families, local, rng)
        if built.row_weights in ("counts", "any") and table.weights is None:
            _check_weights(score, table, dict(options or {}), families, rng)
    if not np.array_equal(before, table.values):
        raise ScoreError(f"score '{built.name}' changed the data")
    return built


def covered_reversal(dag: Bools, rng: np.random.Generator) -> Bools | None:
    """Return a Markov-equivalent DAG with one covered edge reversed, or None where there is no such edge.

    An edge i -> j is covered if j has exactly the parents of i and i itself (Chickering 1995).
    """
    edges = np.argwhere(dag)
    for i, j in rng.permutation(edges):
        with_i = dag[:, i].copy()
        with_i[i] = True
        if np.array_equal(dag[:, j], with_i):
            turned = dag.copy()
            turned[i, j], turned[j, i] = False, True
            return turned
    return None


def _random_dags(d: int, count: int, rng: np.random.Generator) -> Bools:
    dags = np.triu(rng.random((count, d, d)) < min(0.5, 3 / d), 1)
    for b in range(1, count):  # the first keeps the order of the columns
        order = rng.permutation(d)
        dags[b] = dags[b][np.ix_(order, order)]
    dags[0] = False
    return dags


def _differs(a: Floats, b: Floats) -> Bools:
    return np.abs(a - b) > TOLERANCE * (1 + np.abs(a))


def _check_values(score: Score, families: Families) -> Floats:
    local = score.local(families)
    if not isinstance(local, np.ndarray) or local.shape != (len(families),):
        raise ScoreError(f"score '{score.name}' must return ({len(families)},) numbers, got {np.shape(local)}")
    for row in np.flatnonzero(~np.isfinite(local)):
        raise ScoreError(f"score '{score.name}' is {local[row]} for {family_words(score, families, int(row))}")
    return local


def _check_repeatable(score: Score, families: Families, local: Floats, rng: np.random.Generator) -> None:
    order = rng.permutation(len(families))
    again = np.empty_like(local)
    again[order] = score.local(families[order])
    half = len(families) // 2
    split = np.concatenate([score.local(families[:half]), score.local(families[half:])])
    for other in (again, split):
        for row in np.flatnonzero(_differs(local, other)):
            raise ScoreError(
                f"score '{score.name}' returned two different values for the same family: "
                f"{family_words(score, families, int(row))}"
            )


def _dag_scores(score: Score, dags: Bools, local: Floats) -> Floats:
    return score.combine(local, score.family_price(Families.from_dags(dags)).reshape(local.shape))


def _check_shares(score: Score, dags: Bools, local: Floats) -> None:
    """At its own level, the additive form of a DAG's score differs from that of another by no more than allowed."""
    price = score.family_price(Families.from_dags(dags)).reshape(local.shape)
    total = score.combine(local, price)
    if not isinstance(total, np.ndarray) or total.shape != (len(dags),):
        raise ScoreError(f"score '{score.name}': combine must return one number per DAG, got {np.shape(total)}")
    for b in range(len(dags)):
        level = score.level_of(local[b])
        bound = score.share(local, price, level).sum(axis=-1)
        slack = (total - total[b]) - (bound - bound[b])  # 0 if additive, never negative for a lower bound
        worst = float(np.abs(slack).max() if level is None else (-slack).max())
        if worst > TOLERANCE * (1 + float(np.abs(total).max())):
            raise ScoreError(f"score '{score.name}': the shares of the families do not add up to the score")


def _check_declared(score: Score, dags: Bools, rng: np.random.Generator) -> None:
    if not isinstance(score.cheap, bool):  # a method would count as True
        raise ScoreError(
            f"score '{score.name}': cheap must be True or False, got {score.cheap!r:.80}",
            hint="set it in the class, or in __init__ if it depends on the table",
        )
    if not np.all(np.asarray(score.gain) > 0):
        raise ScoreError(
            f"score '{score.name}': gain must be above 0, got {np.min(score.gain):g}",
            hint="local values must be higher for better fits as well: return minus an error",
        )
    for dag in dags:
        turned = covered_reversal(dag, rng)
        if score.score_equivalent and turned is not None:
            pair = np.stack([dag, turned])
            if not score.credited(Families.from_dags(pair)).all():
                continue
            local = score.local(Families.from_dags(pair)).reshape(2, -1)
            first, second = _dag_scores(score, pair, local)
            if _differs(first, second):
                raise ScoreError(
                    f"score '{score.name}' declares score_equivalent, but equivalent DAGs have different scores"
                )
    if score.nested:
        families = Families.from_dags(dags)
        grown = families.parents.copy()
        free = rng.integers(grown.shape[1], size=len(grown))
        grown[np.arange(len(grown)), free] = free != families.nodes
        grown |= families.parents
        less = score.local(Families(families.nodes, grown)) - score.local(families) < -TOLERANCE
        if less.any():
            raise ScoreError(f"score '{score.name}' declares nested, but a larger parent set fits worse")


def _check_pickle(score: Score, families: Families, local: Floats) -> None:
    try:
        copy = pickle.loads(pickle.dumps(score))
    except Exception as error:
        if "<locals>" in type(score).__qualname__ or type(score).__module__ in ("__main__", "builtins"):
            return  # a class that no worker could import anyway
        raise ScoreError(f"score '{score.name}' cannot be pickled: {error}") from error
    if _differs(local, copy.local(families)).any():
        raise ScoreError(f"score '{score.name}' returns other values after pickling")


def _check_form(score: Score, families: Families, local: Floats) -> None:
    """What compiled code makes of a score is what the score says."""
    form, level, nodes = score.compiled(), score.level_of(local[: score.n_nodes]), families.nodes
    if form is None:
        return
    steps = steps_of(Evaluator(score, Settings()), Constraints.none(score.n_nodes), level)
    shares = score.share(local, score.family_price(families), level, nodes)
    rows, sizes = np.arange(len(families)), families.sizes.astype(np.int64)
    values = steps.expand(nodes.astype(np.int64), families.padded(rows, max(1, sizes.max())), sizes)[0]
    if not isinstance(form, CountForm) and form.has_logs and level is None:  # a climb leaves out the variances
        values = values - (form.rows * form.own_scales)[nodes]
    apart = _differs(shares, values)
    for row in np.flatnonzero(apart & score.credited(families)):
        raise ScoreError(
            f"score '{score.name}': the compiled form disagrees with local() for "
            f"{family_words(score, families, int(row))}",
            hint="return None from compiled() unless the form is that of this score",
        )


def _check_weights(
    score: Any, table: Statistics, options: dict[str, Any], families: Families, rng: np.random.Generator
) -> None:
    """Rows of weight 1 and 2 are the same as rows that occur once and twice."""
    times = rng.integers(1, 3, size=table.n_rows)
    rows = np.repeat(np.arange(table.n_rows), times)
    again = dict(options)
    if options.get("targets") is not None:
        again["targets"] = np.asarray(options["targets"])[rows]
    weighted = build_score(score, replace(table, weights=times.astype(np.float64)), options)
    repeated = build_score(score, table.take(rows, np.arange(table.n_columns)), again)
    few = weighted.credited(families) & repeated.credited(families)
    apart = np.abs(weighted.local(families) - repeated.local(families))[few]
    if (apart > WEIGHT_TOLERANCE * (1 + np.abs(repeated.local(families)[few]))).any():
        raise ScoreError(
            f"score '{weighted.name}' declares row_weights, but a row of weight w does not count as w equal rows"
        )


def _check_order(
    build: Callable[[Statistics, dict[str, Any]], Score],
    table: Statistics,
    options: dict[str, Any],
    families: Families,
    local: Floats,
    rng: np.random.Generator,
) -> None:
    """Refuse a score that depends on the order of columns; tell how far one depends on the order of rows."""
    rows, columns = rng.permutation(table.n_rows), rng.permutation(table.n_columns)
    for what in ("columns", "rows"):
        by_rows = rows if what == "rows" else np.arange(table.n_rows)
        by_columns = columns if what == "columns" else np.arange(table.n_columns)
        moved = dict(options)
        if options.get("edge_prior") is not None:
            moved["edge_prior"] = np.asarray(options["edge_prior"])[np.ix_(by_columns, by_columns)]
        if options.get("targets") is not None:
            moved["targets"] = np.asarray(options["targets"])[np.ix_(by_rows, by_columns)]
        score = build(table.take(by_rows, by_columns), moved)
        place = np.argsort(by_columns)
        other = score.local(Families(place[families.nodes], families.parents[:, by_columns]))
        if not (apart := _differs(local, other)).any():
            continue
        worst = int(np.argmax(np.abs(local - other)))
        words = (
            f"score '{score.name}' depends on the order of {what}: {int(apart.sum())} of {len(families)} local scores "
            f"change, most of all {abs(local[worst] - other[worst]):.3g} for {family_words(score, families, worst)}"
        )
        if what == "columns":
            raise ScoreError(words, hint="treat all parents alike, and draw random numbers from a seed of the family")
        warnings.warn(words, stacklevel=3)
