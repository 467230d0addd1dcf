"""DrBO, an estimator in the style of scikit-learn: check the table, choose a score, search, prune."""

import hashlib
import platform
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

import drbo
from drbo.choices import Choices
from drbo.claims.findings import claims_of, look_back
from drbo.claims.prune import BY_MOMENTS, PRUNERS, linear_weights, prune
from drbo.claims.refit import TableRefit
from drbo.claims.resampling import Confidence, Kept, bootstrap, check_resampling
from drbo.data.audit import audit, audit_arrows, audit_time
from drbo.data.canonical import Canonical, checked_matrix
from drbo.data.check import check_table
from drbo.data.facts import Audit, Finding
from drbo.data.impute import imputations
from drbo.data.lock import locked
from drbo.data.missing import POLICIES, complete_rows, missing_cells, note, table_policy
from drbo.data.moments import effective_rows
from drbo.data.read import as_frame
from drbo.data.table import Table
from drbo.data.weights import checked_weights, weights_in_words
from drbo.deadline import Deadline, OutOfTimeError, current, finishing
from drbo.errors import DataError, SettingsError
from drbo.graph import check_dag, dag_to_cpdag
from drbo.knowledge import Constraints, Knowledge
from drbo.result.effects import Effects, resampled_effects
from drbo.result.pooling import pooled
from drbo.result.records import Provenance, Scoring, SearchRecord, TableRecord, Trace, was_cut_short
from drbo.result.result import Result
from drbo.scores.base import SCORES, Families, Score, build_score, score_class
from drbo.scores.gp import KernelScore
from drbo.scores.linear import BicNV
from drbo.scores.named import score_label, score_of_file
from drbo.search.bayes.first_design import repaired
from drbo.search.bayes.screen import screened
from drbo.search.checkpoint.saver import Course, Saved, Saver, begin, make_folder
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.exact.proof import check_size
from drbo.search.loop import Callback, Outcome, Progress, Search, run
from drbo.search.orders.search import OrderSearch
from drbo.search.paper.lockstep import group_size, grouped, run_together
from drbo.search.stopping import Asked, Limits, Recorder
from drbo.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

#: Attributes that only a fit sets.
FITTED = ("adjacency_", "graph_", "weights_", "score_", "result_")
#: The last steps of a fit take about as long as the first ones, which are timed: so much of the time limit is kept back
#: for them, and at most this share of it.
MOST_KEPT_BACK = 0.25
#: Tables of more columns or cells are not looked at once more when the time is over.
MANY_COLUMNS, MANY_CELLS = 200, 2 * 10**6
#: What a run leaves out when the time is over.
NO_MARGINS = "margins and alternative equivalence classes were not computed: time ran out"
NO_ORDER = "rows and columns were not sorted, so their order may decide ties: time ran out"
NO_DIGEST = "the table was not hashed, so it cannot be recognised later as the data of this fit: time ran out"
NO_CHECKPOINT = "the search was not saved: time ran out before it began"
NO_TIME_FOR_A_BOUND = "no bound was found before time ran out; raise time_limit"
NO_PRUNING = "weak edges were not removed: time ran out before they were tested"
NO_AUDIT = "the table was not audited: time ran out"
#: What a run says that was asked for a proof and has none.
NO_BOUND = (
    "no bound was found, because too many parent sets can be part of a best graph; lower max_parents in the "
    "knowledge, raise max_memory or time_limit, or raise the penalty of the score"
)


class DrBO(BaseEstimator):
    """Find the highest-scoring causal graph (DAG) of a table by Bayesian optimisation.

    Parameters
    ----------
    score : ``"auto"``, a score name, ``"module:Class"``, a score class, or a score object. All but an object are built
        on the data; an object uses its own data and must number the columns in the order of the table.
    preset : ``"default"``, or ``"paper"`` for Algorithm 1 of Duong, Gupta & Nguyen (2025), unchanged.
    max_evals : maximum number of DAG evaluations; only DAGs with at least one new family count.
    time_limit : maximum wall-clock seconds.
    prune : method that removes weak edges: ``"auto"``, ``"none"``, ``"f-test"``, ``"odds"``, ``"threshold"``, ...
    knowledge : edges, tiers and limits that every evaluated graph satisfies.
    random_state : an int makes the result reproducible.
    device : ``"auto"``, ``"cpu"`` or ``"cuda"``.
    executor : a ``concurrent.futures.Executor`` that computes local scores; None: this process.
    settings : all other settings. Keyword arguments override them, and they override the preset.
    exact : True: prove optimality, or bound the gap, as far as ``time_limit`` and ``max_memory`` allow (by default 20
        columns with any score; up to 64 with linear and discrete scores if few parents are possible); False: never;
        ``"auto"``: if compiled kernels do it in seconds; None: as in the settings, whose default is ``"auto"``.
    score_options : options of the score: ``penalty``, ``edge_prior``, ``targets``, and those of the particular score.
    on_constant, on_collinear : what to do with columns that are constant, or determined by other columns.
    missing : what to do with missing values. ``"error"``: refuse them; ``"drop"``: drop their rows; ``"em"``: estimate
        the covariance by EM, for linear scores; ``"impute"``: impute them ``imputations`` times, run one search on each
        table, and count edges. See docs/missing.md.
    imputations : number of imputed tables for ``missing="impute"``.
    callbacks : functions called with the progress after each iteration; returning a string ends the search.
    start : (d, d) adjacency matrix of a DAG over the columns to start from, such as an edited earlier result; edges
        that contradict the knowledge are dropped.
    checkpoint : a folder in which the search is saved at regular intervals and at its end; :meth:`resume` continues it.

    Attributes
    ----------
    adjacency_ : (d, d) 0/1 array; ``adjacency_[i, j] == 1`` means column i causes column j.
    graph_ : the same as a networkx DiGraph with names.
    weights_ : (d, d) linear weights, or None for a score that is not linear.
    score_ : score of the best DAG, before pruning.
    result_ : the full :class:`Result`, with the CPDAG, the trace, the settings and the reasons for each choice.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.normal(size=300)
    >>> wet = 2 * rain + rng.normal(size=300)
    >>> model = DrBO(score="bic-ev", max_evals=20, random_state=0).fit(np.column_stack([rain, wet]))
    >>> model.adjacency_.tolist()
    [[0, 1], [0, 0]]
    """

    def __init__(
        self,
        score: Any = "auto",
        preset: str = "default",
        max_evals: int | None = None,
        time_limit: float | None = None,
        prune: str = "auto",
        knowledge: Knowledge | None = None,
        random_state: Any = None,
        device: str = "auto",
        executor: Any = None,
        settings: Settings | None = None,
        exact: bool | str | None = None,
        score_options: dict[str, Any] | None = None,
        on_constant: str = "error",
        on_collinear: str = "error",
        missing: str = "error",
        imputations: int = 10,
        callbacks: Iterable[Callback] = (),
        start: npt.ArrayLike | None = None,
        checkpoint: str | Path | None = None,
    ) -> None:
        self.score = score
        self.preset = preset
        self.max_evals = max_evals
        self.time_limit = time_limit
        self.prune = prune
        self.knowledge = knowledge
        self.random_state = random_state
        self.device = device
        self.executor = executor
        self.settings = settings
        self.exact = exact
        self.score_options = score_options
        self.on_constant = on_constant
        self.on_collinear = on_collinear
        self.missing = missing
        self.imputations = imputations
        self.callbacks = callbacks
        self.start = start
        self.checkpoint = checkpoint

    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Learn the graph of a table: a data frame (pandas, polars, arrow) or an array.

        Parameters
        ----------
        X : (n, d) table.
        y : ignored.
        sample_weight : (n,) a row of weight w counts as w equal rows, for linear scores and BGe and, with integer
            weights, for discrete scores. Rows of weight 0 are ignored.
        """
        settings, clashes = self._settings()
        self._check_parameters()
        saved: Saved | None = vars(self).pop("_saved", None)
        spent = 0.0 if saved is None else float(saved.about["seconds"])
        with Deadline(settings.time_limit, start=time.monotonic() - spent):
            columns, table, notes = self._checked(X, sample_weight) if saved is None else saved.data()
            if saved is None:
                notes = (*notes, *_warned_of_time(table))
            self.result_ = self._fit_checked(columns, table, notes, settings, clashes, saved)
            self._set_fitted(columns, X)
        return self

    def _fit_checked(
        self,
        columns: list[str],
        table: Table,
        notes: tuple[str, ...],
        settings: Settings,
        clashes: list[str],
        saved: Saved | None = None,
    ) -> Result:
        """Search a checked table, or completed copies of it."""
        if self.missing == "impute" and table.incomplete:
            return self._fit_completed(columns, table, notes, settings, clashes)
        return self._fit_table(columns, table, notes, settings, clashes, saved)

    def _check_parameters(self) -> None:
        """Refuse what does not depend on the data."""
        if self.prune != "auto" and self.prune not in PRUNERS:
            raise SettingsError(
                f"prune must be one of auto, {', '.join(PRUNERS)}, got {self.prune!r}", hint="the default is 'auto'"
            )
        if not isinstance(self.knowledge, Knowledge | None):
            raise SettingsError(
                f"knowledge must be a Knowledge object, got {type(self.knowledge).__name__}",
                hint="create one with Knowledge(...) or Knowledge.from_mapping(...)",
            )
        if self.missing not in POLICIES:
            raise SettingsError(
                f"missing must be one of {', '.join(POLICIES)}, got {self.missing!r}", hint="the default is 'error'"
            )
        if self.missing == "impute" and (not isinstance(self.imputations, int) or self.imputations < 2):
            raise SettingsError(
                f"imputations must be a whole number of at least 2, got {self.imputations!r}", hint="the default is 10"
            )
        if self.missing == "drop" and (self.score_options or {}).get("targets") is not None:
            raise SettingsError(
                "targets has one row per row of the table, but missing='drop' removes rows",
                hint="drop the rows with missing values from both the table and targets yourself",
            )
        if self.missing == "impute" and self.checkpoint is not None:
            raise SettingsError(
                "checkpoint saves a single search, but missing='impute' runs several", hint="omit checkpoint"
            )

    def _fit_completed(
        self, columns: list[str], table: Table, notes: tuple[str, ...], settings: Settings, clashes: list[str]
    ) -> Result:
        """Fit completed copies of a table; keep the most typical result, with the shares of all."""
        m, seed, results, choice = self.imputations, _seed(self.random_state), list[Result](), None
        for k, copy in enumerate(imputations(table, m, seed)):
            choice = choice or self.score_choice(copy)  # one score for all copies
            with Deadline(_share_of_time(m - k)):
                results.append(self._fit_table(columns, copy, notes, settings, clashes, None, seed, choice))
            if current().over():
                break
        result = pooled(results, "imputation", seed, asked=m)
        return replace(result, table=replace(result.table, sha256=table.digest()))

    def _fit_table(
        self,
        columns: list[str],
        table: Table,
        notes: tuple[str, ...],
        settings: Settings,
        clashes: list[str],
        saved: Saved | None,
        seed: int | None = None,
        choice: tuple[Any, dict[str, Any], tuple[str, ...]] | None = None,
    ) -> Result:
        """Search a checked table; what was asked for is saved first, if there is a folder for it."""
        seed = _seed(self.random_state) if seed is None else seed
        about = {"columns": columns, "notes": list(notes), "versions": _versions()}
        with self._kept(about, table, settings, seed, saved):
            case = self._case(columns, table, notes, settings, saved, seed, choice)
            deadline = current()
            prepared = time.monotonic() - deadline.began
            deadline.keep_back(min(prepared, MOST_KEPT_BACK * (prepared + deadline.left())))
            return self._result(case, self._searched(case, about), clashes)

    @contextmanager
    def _kept(
        self, about: dict[str, Any], table: Table, settings: Settings, seed: int, saved: Saved | None
    ) -> Iterator[None]:
        """Hold the lock of the checkpoint's folder; save a new search there before it starts."""
        if self.checkpoint is None or (saved is None and table.is_hurried):  # no time to write it
            yield
            return
        folder = Path(self.checkpoint)
        about["parameters"] = self._parameters(settings, seed)
        make_folder(folder)
        with locked(folder):
            about |= begin(folder, table, about) if saved is None else saved.data_about
            yield

    def _case(
        self,
        columns: list[str],
        table: Table,
        notes: tuple[str, ...],
        settings: Settings,
        saved: Saved | None = None,
        seed: int | None = None,
        choice: tuple[Any, dict[str, Any], tuple[str, ...]] | None = None,
    ) -> "_Case":
        """Return a search that is ready to run, with what the result will tell about it."""
        device = _device(self.device)
        name, options, reasons = choice or self.score_choice(table)
        seed = _seed(self.random_state) if seed is None else seed
        self._choices.check_pruner(table)
        hurried = saved is None and table.is_hurried
        job = Canonical(table, columns, seed, movable=isinstance(name, (str, type)) and not hurried)
        constraints = (self.knowledge or Knowledge()).compile(table.names)
        where = _where(name, device, settings)
        score = build_score(name, job.table, {**where, **job.ordered_options(options)})
        if settings.exact == "on":
            check_size(score, settings.max_memory)
        current().promise()
        limits = constraints.permuted(job.columns)
        start = self._start(columns, job, limits)
        state: Search | OrderSearch
        route, why = self._choices.route(score, settings)
        settings = settings.with_(route=route)  # resamples, resumed searches and fits like this one take it again
        if route == "orders":
            state = OrderSearch(score, settings, constraints=limits, seed=seed, start=start)
        else:
            if settings.candidate_parents is not None:
                limits = screened(job.table.complete_rows.values, settings.candidate_parents, limits)
                start = None if start is None else repaired(start, limits)
            run_on = {"device": device, "executor": self.executor}
            state = Search(score, settings, constraints=limits, seed=seed, start=start, **run_on)
        course = Course(state, Recorder(), Limits(settings))
        if saved is not None:
            course = saved.course(course)
        return _Case(
            columns=columns,
            table=table,
            notes=notes,
            settings=settings,
            seed=seed,
            name=name,
            options=options,
            reasons=(*reasons, why, *([NO_ORDER] if hurried else [])),
            job=job,
            constraints=constraints,
            limits=limits,
            score=score,
            course=course,
        )

    def _result(self, case: "_Case", outcome: Outcome, clashes: list[str]) -> Result:
        """Look back on a search that is over, prune what it found, and tell all about it."""
        table, settings, notes, job = case.table, case.settings, case.notes, case.job
        score, options, state, recorder = case.score, case.options, case.course.state, case.course.recorder
        with suppress(OutOfTimeError), finishing():
            if (doubt := state.evaluator.doubt(outcome.best)) is not None:
                warnings.warn(doubt, stacklevel=2)
                notes = (*notes, doubt)
        exact, rationed = _exactness(settings, outcome), self._choices.rationed(settings)
        best = float(outcome.best.scores[0]), outcome.best.dags[0].copy()
        progress = Progress(len(recorder), outcome.n_evals, outcome.n_local, *best, proving=True)
        asked = Asked(self.callbacks, progress)
        outcome, findings = look_back(outcome, state.evaluator, case.limits, exact, rationed, current().left(), asked)
        late = current().over()
        if late and findings.margins is None:
            notes = (*notes, NO_MARGINS)
        if exact == "on" and findings.certificate is None:
            words = NO_TIME_FOR_A_BOUND if late else NO_BOUND
            warnings.warn(words, stacklevel=2)
            notes = (*notes, words)
        pruner = self._choices.pruner(type(score))
        try:
            with finishing():
                pruned, pruned_score = _pruned(pruner, job, outcome, state, case.constraints)
        except OutOfTimeError:
            pruned, pruned_score = job.restored(outcome.best.dags[0]), float(outcome.best.scores[0])
            notes, pruner = (*notes, NO_PRUNING), "none"
        local, price = outcome.best.local[0], score.family_price(Families.from_dags(outcome.best.dags))
        unhashed = table.large and (late or NO_ORDER in case.reasons)
        notes = (*notes, NO_DIGEST) if unhashed else notes
        course: dict[str, Any] = dict(recorder.columns())
        linear = isinstance(score, BicNV)
        weights, standardised = linear_weights(table.rows_or_moments, pruned) if linear else (None, None)
        self._scored_with = (case.name, {key: value for key, value in options.items() if key != "targets"})
        return Result(
            names=table.names,
            dag=pruned,
            pruned_score=pruned_score,
            pruner=pruner,
            weights=weights,
            standardised_weights=standardised,
            scoring=Scoring(
                name=score.name,
                equivalent=score.score_equivalent,
                options=_plain_options(options),
                assumption=_assumption(score),
            ),
            search=SearchRecord(
                dag=job.restored(outcome.best.dags[0]),
                score=float(outcome.best.scores[0]),
                local=job.restored_vector(local),
                price=job.restored_vector(price),
                found_by=outcome.found_by,
                stopped=_stopped(outcome.stopped, current().reason),
                n_evals=outcome.n_evals,
                n_local=outcome.n_local,
                seconds=recorder.seconds,
                trace=Trace(**course),
            ),
            proof=findings.proof,
            claims=claims_of(findings, job.columns, table.names),
            knowledge=self.knowledge or Knowledge(),
            table=TableRecord(
                n_rows=table.n_rows,
                sha256="" if unhashed else job.digest(),
                audit=_audited(table, pruned, score.score_equivalent, late),
            ),
            provenance=Provenance(settings=settings.to_dict(), seed=case.seed, versions=_versions()),
            call=self._call(case.seed),
            reasons=(*case.reasons, *notes, *clashes),
        )

    @classmethod
    def resume(
        cls,
        path: str | Path,
        X: Any = None,
        *,
        max_evals: int | None = None,
        time_limit: float | None = None,
        score: Any = None,
        executor: Any = None,
        callbacks: Iterable[Callback] = (),
    ) -> Self:
        """Continue a search that was saved with ``checkpoint=path``.

        On the same machine with the same versions, the result is bit-identical to that of an uninterrupted search.

        Parameters
        ----------
        path : the folder of the checkpoint, which contains the data.
        X : optionally the table again, as a check: a different table is refused.
        max_evals : number of further evaluations; by default what is left of the original budget.
        time_limit : seconds in total, including those before the interruption.
        score : the score of the search, if it is not built in, as ``"module:Class"`` or as a class; drbo does not load
            code that only a file names.
        executor, callbacks : as in the constructor; they are not saved.

        Examples
        --------
        >>> import tempfile
        >>> table = np.random.default_rng(0).normal(size=(50, 5))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     first = DrBO(score="bge", max_evals=10, random_state=0, checkpoint=folder).fit(table)
        ...     longer = DrBO.resume(folder, max_evals=5)
        >>> longer.result_.n_evals > first.result_.n_evals
        True
        """
        saved = Saved.load(Path(path))
        saved.check_versions(_versions())
        arguments = saved.arguments(max_evals, time_limit)
        arguments["score"] = score_of_file(arguments["score"], score, f"the saved search in {path}")
        model = cls(**arguments, executor=executor, callbacks=callbacks, checkpoint=path)
        if X is not None:
            saved.check_data(model._checked(X)[1])
        vars(model)["_saved"] = saved
        return model.fit(X)

    @classmethod
    def like(cls, result: Result, **changes: Any) -> Self:
        """Return an unfitted estimator with the score, settings, pruning, knowledge and seed of a result.

        ``changes`` are parameters to replace.

        Examples
        --------
        >>> table = np.random.default_rng(0).normal(size=(50, 3))
        >>> result = DrBO(score="bge", random_state=3).fit(table).result_
        >>> DrBO.like(result).fit(table).result_.score == result.score
        True
        """
        given: dict[str, Any] = {
            "score": changes["score"] if "score" in changes else score_of_file(result.score_name, None, "the result"),
            # A preset of the paper leaves the penalty at the score's default; left out here, one would be chosen.
            "score_options": ({"penalty": 1.0} if result.score_name in SCORES else {}) | result.scoring.plain_options,
            "settings": Settings().with_(**result.settings),
            "prune": result.pruner,
            "knowledge": result.knowledge,
            "random_state": result.seed,
            "on_constant": "drop",
            "on_collinear": "keep",
        }
        return cls(**given | changes)

    def effects(
        self,
        X: Any,
        source: str,
        target: str,
        n: int = 100,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> Effects:
        """Fit the table, then estimate a linear effect over the graphs of n bootstrap resamples.

        A graph is learned from each resample, so the interval accounts for the selection of the graph; see
        :func:`drbo.result.effects.resampled_effects`.

        Examples
        --------
        >>> x = np.random.default_rng(0).normal(size=(300, 3))
        >>> x[:, 2] += x[:, 0] + x[:, 1]
        >>> found = DrBO(score="bic-nv", random_state=0).effects(x, "x0", "x2", n=10).effects[0]
        >>> found.low < 1 < found.high
        True
        """
        self._check_resampled()
        check_resampling(n, "bootstrap", None, None, n_rows=len(as_frame(X)))
        frame = as_frame(X)
        with Deadline(self._seconds):
            self.fit(X)
            table = self._table_of(frame)
            refit = self._refit(table, list(frame.columns), warm=True)
            pairs = [(source, target)]
            return resampled_effects(refit, table, pairs, n=n, seed=self.result_.seed, progress=progress)

    def _checked(self, X: Any, sample_weight: npt.ArrayLike | None = None) -> tuple[list[str], Table, tuple[str, ...]]:
        frame = as_frame(X)
        weights = None if sample_weight is None else self._weights(sample_weight, frame)
        if weights is not None:
            frame, weights = frame.loc[weights > 0], weights[weights > 0]
        missing = missing_cells(frame)
        policy = table_policy(self.missing)
        policies: dict[str, Any] = {"on_constant": self.on_constant, "on_collinear": self.on_collinear}
        table, notes = check_table(frame, **policies, missing=policy)
        if self.missing == "em" and table.incomplete and "categorical" in table.kinds:
            name = table.names[table.kinds.index("categorical")]
            raise DataError(
                f"column '{name}' is categorical, but missing=\"em\" requires numeric columns",
                hint='use missing="impute" or missing="drop"',
            )
        if missing.any() and policy == "keep":
            notes = (note(frame, missing, self.missing) + self._effective(table), *notes)
        if weights is not None:
            weights = weights[complete_rows(frame)] if self.missing == "drop" else weights
            table, notes = replace(table, weights=weights), (*notes, weights_in_words(weights))
        return list(frame.columns), table, notes

    def _weights(self, sample_weight: npt.ArrayLike, frame: "pd.DataFrame") -> npt.NDArray[np.float64] | None:
        """Return checked weights; None where all rows count once, which is the same as no weights."""
        weights = checked_weights(sample_weight, len(frame))
        if (weights == 0).any() and (self.score_options or {}).get("targets") is not None:
            raise SettingsError(
                "targets has one row per row of the table, but rows of weight 0 are dropped",
                hint="drop these rows from the table, the weights and targets yourself",
            )
        return None if (weights == 1).all() else weights

    def _effective(self, table: Table) -> str:
        """Return how many complete rows an incomplete table is worth, in words; nothing for imputed ones."""
        if self.missing != "em":
            return ""
        return f"; the effective sample size is {effective_rows(table.values):.1f} rows"

    def _searched(self, case: "_Case", about: dict[str, Any]) -> Outcome:
        """Run a search, saved every so often, with what is known about it, if there is a folder for it."""
        state, saver, callbacks = case.course.state, None, self._watching(case)
        if self.checkpoint is not None and "table_sha256" not in about:
            warnings.warn(NO_CHECKPOINT, stacklevel=2)
        elif self.checkpoint is not None:
            about = about | {"parameters": self._parameters(case.settings, case.seed)}
            saver = Saver(Path(self.checkpoint), case.course, case.table, about)
            callbacks.append(saver)
        outcome = state.run(callbacks) if isinstance(state, OrderSearch) else run(state, callbacks)
        if saver is not None and state.whole:
            saver.try_to_save()
        return outcome

    def _watching(self, case: "_Case") -> list[Callback]:
        return [case.course.recorder, case.course.limits, *self.callbacks]

    def _parameters(self, settings: Settings, seed: int) -> dict[str, Any]:
        """Return the parameters as JSON knows them, for :meth:`resume`."""
        names = ("preset", "prune", "device", "on_constant", "on_collinear", "missing")
        options = {name: np.asarray(value).tolist() for name, value in (self.score_options or {}).items()}
        return {
            **{name: getattr(self, name) for name in names},
            "score": score_label(vars(self)["score"]),
            "score_options": options or None,
            "knowledge": (self.knowledge or Knowledge()).to_mapping(),
            "settings": settings.to_dict(),
            "random_state": seed,
            "start": None if self.start is None else np.argwhere(np.asarray(self.start)).tolist(),
        }

    def bootstrap(
        self,
        X: Any,
        n: int = 100,
        kind: str = "bootstrap",
        *,
        block: int | None = None,
        clusters: npt.ArrayLike | None = None,
        warm: bool = True,
        executor: Executor | None = None,
        progress: Callable[[int, int], None] | None = None,
        keep: str | Path | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Confidence:
        """Fit the table, then resamples of its rows, and return the frequency of each edge and path.

        The frequencies are also stored in ``result_``; see :attr:`Result.confidence`.

        Parameters
        ----------
        X : (n, d) table.
        n, kind, block, clusters, progress : see :func:`drbo.claims.resampling.bootstrap`.
        warm : whether resamples on route orders use a warm start. True: start from the graph of the full table and stop
            early (docs/confidence.md describes the effect); False: a full search from scratch. On other routes, warm
            starts overstate the confidence, so resamples always start from scratch.
        executor : an executor that fits resamples in parallel, such as a ``ProcessPoolExecutor``.
        keep : a file for finished resamples; the same bootstrap, or one with more resamples, continues from it.
        sample_weight : as in :meth:`fit`; a row keeps its weight in every resample.

        Examples
        --------
        >>> x = np.random.default_rng(0).normal(size=(200, 2))
        >>> x[:, 1] += 2 * x[:, 0]
        >>> found = DrBO(score="bic-nv", random_state=0).bootstrap(x, n=10)
        >>> float(found.adjacent[0, 1])
        1.0
        """
        check_resampling(n, kind, block, clusters, n_rows=len(as_frame(X)))
        self._check_resampled()
        with Deadline(self._seconds):
            return self.fit(X, sample_weight=sample_weight).resample(
                X, n, kind, block=block, clusters=clusters, warm=warm, executor=executor, progress=progress, keep=keep,
                sample_weight=sample_weight,
            )  # fmt: skip

    def resample(
        self,
        X: Any,
        n: int = 100,
        kind: str = "bootstrap",
        *,
        block: int | None = None,
        clusters: npt.ArrayLike | None = None,
        warm: bool = True,
        executor: Executor | None = None,
        progress: Callable[[int, int], None] | None = None,
        keep: str | Path | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Confidence:
        """Bootstrap like :meth:`bootstrap`, but on the table that was just fitted, without fitting it again.

        X may also be the checked :class:`~drbo.data.table.Table` of the fit, which includes the weights; clusters then
        refer to its rows.
        """
        check_is_fitted(self)
        self._check_resampled()
        with Deadline(Settings().with_(**self.result_.settings).time_limit):
            found = self._resampled(X, n, kind, block, clusters, warm, executor, progress, keep, sample_weight)
        self.result_ = replace(self.result_, confidence=found)
        return found

    def _resampled(
        self,
        X: Any,
        n: int,
        kind: str,
        block: int | None,
        clusters: npt.ArrayLike | None,
        warm: bool,
        executor: Executor | None,
        progress: Callable[[int, int], None] | None,
        keep: str | Path | None,
        sample_weight: npt.ArrayLike | None,
    ) -> Confidence:
        if isinstance(X, Table):
            refit = self._refit(X, self._columns, warm)
        else:
            frame = as_frame(X)
            refit = self._refit(self._table_of(frame, sample_weight), list(frame.columns), warm)
            if clusters is not None:
                clusters = np.asarray(clusters)[self._used_rows(frame, sample_weight)]
        plan = self._plan(kind, block, clusters, warm, refit.table.weights)
        kept = None if keep is None else Kept(Path(keep), plan)
        return bootstrap(
            refit, refit.table.n_rows, self.result_.names, n=n, kind=kind, block=block, clusters=clusters,
            seed=self.result_.seed, executor=executor, progress=progress, kept=kept,
        )  # fmt: skip

    def fit_many(self, tables: Iterable[Any]) -> list[Result]:
        """Fit each of several tables and return their results, without changing the estimator.

        On a GPU, searches on route paper (``preset="paper"``) over tables with the same number of columns run together
        and take little longer than one. All other searches run one after the other, as with :meth:`fit`. Table k uses
        the seed of this estimator plus k, and its result equals that of a fit with this seed, up to rounding for
        searches that run together. ``time_limit`` applies to each search; searches that run together share it.

        Parameters
        ----------
        tables : as for :meth:`fit`; they need not have the same columns.

        Examples
        --------
        >>> tables = [np.random.default_rng(seed).normal(size=(50, 3)) for seed in range(2)]
        >>> first, second = DrBO(score="bge", random_state=0).fit_many(tables)
        >>> second.score == DrBO(score="bge", random_state=1).fit(tables[1]).result_.score
        True
        """
        if self.checkpoint is not None:
            raise SettingsError("checkpoint saves a single search, but fit_many runs several", hint="omit checkpoint")
        settings, clashes = self._settings()
        self._check_parameters()
        first, given = _seed(self.random_state), self.get_params(deep=False)
        kept = list(tables)
        models = [type(self)(**{**given, "random_state": first + k}) for k in range(len(kept))]
        checked = [model._checked(table) for model, table in zip(models, kept, strict=True)]
        checked = [(columns, table, (*notes, *_warned_of_time(table))) for columns, table, notes in checked]
        device, results = _device(self.device), dict[int, Result]()

        def size(k: int) -> tuple[tuple[int, bool], int]:
            n_columns, completed = checked[k][1].n_columns, self.missing == "impute" and checked[k][1].incomplete
            return (n_columns, completed), 1 if completed else group_size(n_columns, settings, device)

        for group in grouped(range(len(kept)), size):
            found = _fitted_together([models[k] for k in group], [checked[k] for k in group], settings, clashes)
            results |= dict(zip(group, found, strict=True))
            if any(result.stopped == "interrupted" for result in found):
                break
        return [results[k] for k in sorted(results)]

    def stability(self, X: Any, seeds: int = 10, *, sample_weight: npt.ArrayLike | None = None) -> Confidence:
        """Fit the table with several seeds, and return the frequency of each edge and path.

        An edge that depends on the seed is a result of the search or of nearly equal scores, not of the data. The
        frequencies are also stored in ``result_``, which is the most typical of the results.

        Parameters
        ----------
        X : (n, d) table.
        seeds : number of seeds; the first is that of this estimator, and the others follow it.
        sample_weight : as in :meth:`fit`.

        Examples
        --------
        >>> x = np.random.default_rng(0).normal(size=(200, 2))
        >>> x[:, 1] += 2 * x[:, 0]
        >>> found = DrBO(score="bic-nv", random_state=0).stability(x, seeds=3)
        >>> float(found.adjacent[0, 1]), found.kind
        (1.0, 'seeds')
        """
        if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 2:
            raise SettingsError(f"seeds must be a whole number of at least 2, got {seeds!r}", hint="the default is 10")
        if self.missing == "impute":
            raise SettingsError(
                "stability over seeds cannot be combined with missing='impute': both report edge frequencies",
                hint="use missing='em' or 'drop'",
            )
        first, models = _seed(self.random_state), list[DrBO]()
        with Deadline(self._seconds) as deadline:
            for seed in range(first, first + seeds):
                given = {**self.get_params(deep=False), "random_state": seed, "checkpoint": None}
                with Deadline(_share_of_time(seeds - len(models))):
                    models.append(type(self)(**given).fit(X, sample_weight=sample_weight))
                if models[-1].result_.stopped == "interrupted" or deadline.over():
                    break
        result = pooled([model.result_ for model in models], "seeds", first, asked=seeds)
        typical = models[result.seed - first]
        self._scored_with, self.result_ = typical._scored_with, result
        self._set_fitted(typical._columns, X)
        found = result.confidence
        assert found is not None  # pooled results have one
        return found

    def _check_resampled(self) -> None:
        if self.missing == "impute":
            raise SettingsError(
                "a bootstrap cannot be combined with missing='impute', which reports edge frequencies itself",
                hint="use missing='em' or 'drop' with a bootstrap",
            )

    def _plan(
        self,
        kind: str,
        block: int | None,
        clusters: npt.ArrayLike | None,
        warm: bool,
        weights: npt.NDArray[np.float64] | None,
    ) -> str:
        """Return a digest of all that decides the graphs of resamples."""
        result = self.result_
        settings = {**result.settings, "time_limit": None}  # a longer limit does not make finished resamples invalid
        groups = None if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1].tolist()
        parts = (
            *(result.table.sha256, result.names, result.seed, result.score_name, result.scoring.options, settings),
            *(result.knowledge.to_mapping(), result.pruner, result.provenance.versions, kind, block, groups, warm),
            *(() if weights is None else weights.tolist()),
        )
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def _refit(self, table: Table, columns: list[str], warm: bool) -> TableRefit:
        """Return what fits a resample of a table that was just fitted; columns are those that were passed in."""
        name, options = self._scored_with
        if not isinstance(name, (str, type)):
            raise SettingsError("a score object is bound to its own data", hint="give the score by name or as a class")
        names, settings = self.result_.names, Settings().with_(**self.result_.settings)
        job = Canonical(table, columns, self.result_.seed, movable=True, sort_rows=False)
        targets = (self.score_options or {}).get("targets")
        device = _device(self.device)
        ordered = job.ordered_options(options if targets is None else {**options, "targets": targets})
        ordered = {**_where(name, device, settings), **ordered}
        return TableRefit(
            name=name,
            options=ordered,
            table=job.table,
            constraints=(self.knowledge or Knowledge()).compile(names).permuted(job.columns),
            settings=settings,
            pruner=self.result_.pruner,
            columns=job.columns,
            start=self.result_.searched_dag[np.ix_(job.columns, job.columns)] if warm else None,
            device=device,
        )

    @property
    def score(self) -> Callable[..., float]:
        """The method ``score(X, y=None, sample_weight=None)``: score of the learned graph on another table.

        The table has the same columns.

        scikit-learn asks for a method of this name, so the parameter of the same name is read with
        ``get_params()["score"]``. Rows set by intervention (``targets``) are those of the table that was fitted and do
        not count here.

        Examples
        --------
        >>> table = np.random.default_rng(0).normal(size=(50, 3))
        >>> model = DrBO(score="bic-nv", max_evals=20, random_state=0).fit(table)
        >>> bool(np.isclose(model.score(table), model.result_.pruned_score))
        True
        """
        return self._score_of

    @score.setter
    def score(self, choice: Any) -> None:
        vars(self)["score"] = choice

    if not TYPE_CHECKING:  # a type checker should still find misspelled attributes

        def __getattr__(self, name: str) -> Any:
            """Raise scikit-learn's error for the attributes of a fit before there is one."""
            if name in FITTED:
                raise NotFittedError(f"This DrBO instance is not fitted yet: call fit before reading {name}.")
            raise AttributeError(f"'DrBO' object has no attribute {name!r}", name=name, obj=self)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; scikit-learn's way to read them."""
        return {**super().get_params(deep), "score": vars(self)["score"]}  # type: ignore[no-untyped-call]

    def _score_of(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> float:
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True)  # names and number of columns
        name, options = self._scored_with
        if not isinstance(name, (str, type)):
            raise SettingsError("a score object is bound to its own data", hint="give the score by name or as a class")
        table = self._table_of(as_frame(X).set_axis(self._columns, axis=1), sample_weight)
        job = Canonical(table, self._columns, self.result_.seed, movable=True)
        score = build_score(name, job.table, job.ordered_options(options))
        dag = self.result_.dag[np.ix_(job.columns, job.columns)]
        return float(Evaluator(score, Settings()).evaluate(dag[None]).scores[0])

    def _table_of(self, frame: "pd.DataFrame", sample_weight: npt.ArrayLike | None = None) -> Table:
        """Return the columns of the result, checked, with missing values and weights treated as in the fit."""
        used = self._used_rows(frame, sample_weight)
        policy: Any = "keep" if self.missing == "em" else "error"
        table, _ = check_table(frame.loc[used, list(self.result_.names)], on_collinear="keep", missing=policy)
        weights = None if sample_weight is None else self._weights(sample_weight, frame)
        return table if weights is None else replace(table, weights=weights[used])

    def _used_rows(self, frame: "pd.DataFrame", sample_weight: npt.ArrayLike | None) -> npt.NDArray[np.bool_]:
        """Return (n,) True for the rows that a fit of this table uses."""
        used = np.ones(len(frame), dtype=bool)
        if sample_weight is not None:
            used &= checked_weights(sample_weight, len(frame)) > 0
        if self.missing == "drop":
            used[used] = complete_rows(frame.loc[used])
        return used

    def _set_fitted(self, columns: Any, X: Any) -> None:
        self._columns = list(columns)
        self.n_features_in_ = len(columns)
        labels = getattr(X, "column_names", getattr(X, "columns", [0]))  # of pyarrow; of pandas and polars; none
        if all(isinstance(name, str) for name in labels):
            self.feature_names_in_ = np.array(columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.adjacency_ = self.result_.dag.astype(np.int8)
        self.weights_ = self.result_.weights
        self.score_ = self.result_.score
        self.graph_ = self.result_.to_networkx()

    def _start(self, columns: Any, job: Canonical, limits: Constraints) -> npt.NDArray[np.bool_] | None:
        """Return the given start over the canonical columns, within the knowledge."""
        if self.start is None:
            return None
        given = checked_matrix("start", self.start, (len(columns), len(columns)))
        try:
            dag = check_dag(given, list(columns))
        except DataError as error:
            raise SettingsError(f"start: {error.message}", hint=error.hint) from error
        places = job.kept[job.columns]
        return repaired(dag[np.ix_(places, places)], limits)

    def _call(self, seed: int) -> str:
        """Return the line of Python that repeats this fit; what only watches or speeds it up is left out."""
        blank = type(self)().get_params()
        given = {**self.get_params(deep=False), "random_state": seed}
        words = []
        for name, value in given.items():
            if name in ("callbacks", "executor", "device", "checkpoint") or value is blank[name]:
                continue
            if name != "random_state" and isinstance(value, (str, int, float)) and value == blank[name]:
                continue
            shown = value.changes() if isinstance(value, Settings) else repr(value)
            shown = "start" if name == "start" else shown  # a matrix: the reader knows which
            words.append(f"{name}={shown}")
        return f"DrBO({', '.join(words)}).fit(table)"

    @property
    def _choices(self) -> Choices:
        return Choices(vars(self)["score"], self.score_options, self.preset, self.prune, self.max_evals)

    def score_choice(self, table: Table) -> tuple[Any, dict[str, Any], tuple[str, ...]]:
        """Return the score, its options and why it was chosen."""
        return self._choices.of_score(table)

    @property
    def _seconds(self) -> float | None:
        """The time limit as it was given; :meth:`fit` checks it."""
        given = getattr(self.settings, "time_limit", None) if self.time_limit is None else self.time_limit
        return given if isinstance(given, int | float) else None

    def _settings(self) -> tuple[Settings, list[str]]:
        """Merge preset, settings and keywords; return the clashes in words, and warn about them."""
        if not isinstance(self.settings, Settings | None):
            raise SettingsError(
                f"settings must be a Settings object, got {type(self.settings).__name__}",
                hint="create one with Settings(...) or Settings.preset(...).with_(...)",
            )
        preset = Settings.preset(self.preset)
        chosen = preset if self.settings is None else self.settings
        clashes = []
        for name in ("max_evals", "time_limit"):
            value = getattr(self, name)
            if value is None:
                continue
            given = getattr(self.settings, name, value)
            if given not in (value, getattr(Settings(), name)):
                clashes.append(f"{name}={value} overrides {name}={given} from the settings")
            chosen = chosen.with_(**{name: value})
        if self.exact is not None:
            words = {True: "on", False: "off"}
            chosen = chosen.with_(exact=words[self.exact] if isinstance(self.exact, bool) else self.exact)
        for clash in clashes:
            warnings.warn(clash, stacklevel=3)
        return chosen, clashes


@dataclass(eq=False, kw_only=True)
class _Case:
    """A search of a checked table, and what its result will tell."""

    columns: list[str]
    table: Table
    notes: tuple[str, ...]
    settings: Settings
    seed: int
    name: Any  # of the score, or its class, or the score itself
    options: dict[str, Any]
    reasons: tuple[str, ...]  # of the choice of the score and of the route
    job: Canonical
    constraints: Constraints  # over the columns of the table
    limits: Constraints  # over the canonical columns, with the screening
    score: Score
    course: Course


def _fitted_together(
    models: list[DrBO], checked: list[tuple[list[str], Table, tuple[str, ...]]], settings: Settings, clashes: list[str]
) -> list[Result]:
    """Fit checked tables, in one program where there are several: they take route paper."""
    if len(models) == 1:
        return [models[0]._fit_checked(*checked[0], settings, clashes)]
    cases = [model._case(*each, settings) for model, each in zip(models, checked, strict=True)]
    watching = [model._watching(case) for model, case in zip(models, cases, strict=True)]
    outcomes = run_together([case.course.state for case in cases], watching)
    done = zip(models, cases, outcomes, strict=True)
    return [model._result(case, outcome, clashes) for model, case, outcome in done]


def _pruned(
    pruner: str, job: Canonical, outcome: Outcome, state: Search | OrderSearch, constraints: Constraints
) -> tuple[npt.NDArray[np.bool_], float]:
    """Prune the best DAG; return the result over the given columns and its score."""
    dag = outcome.best.dags[0]
    required = constraints.permuted(job.columns).required
    threshold = state.settings.prune_threshold
    kept = dag
    if pruner != "none":
        data = job.table.rows_or_moments if pruner in BY_MOMENTS else job.table.values
        kept, _ = prune(pruner, data, dag, required=required, threshold=threshold)
    local = state.evaluator.families(Families.from_dags(kept[None]))[None]
    return job.restored(kept), float(state.evaluator.scores(kept[None], local)[0])


def _share_of_time(count: int) -> float | None:
    """Return the seconds for one of several searches that are still to be made; None: there is no limit."""
    left = current().left()
    return None if left == np.inf else left / count


def _exactness(settings: Settings, outcome: Outcome) -> str:
    """Return whether to prove the optimum: not when the user or the clock ended the search."""
    return "off" if was_cut_short(outcome.stopped) else settings.exact


def _stopped(search: str, run: str | None) -> str:
    """Return why the search ended, and, where the run had to end before all was said about it, why that was."""
    return search if run is None or was_cut_short(search) else f"{search}; {run} afterwards"


def _assumption(score: Score) -> str:
    return "rows with interventions" if score.targets is not None else score.assumption


def _warned_of_time(table: Table) -> list[str]:
    """Warn of rows in the order of time, which no score takes into account; return the words."""
    found = audit_time(table)
    for finding in found:
        if finding.serious:
            warnings.warn(finding.text, stacklevel=3)
    return [finding.text for finding in found]


def _audited(table: Table, dag: npt.NDArray[np.bool_], is_class: bool, late: bool) -> Audit:
    """Return what the table looks like, and what that means for the arrows of a graph."""
    if late and (table.n_columns > MANY_COLUMNS or table.values.size > MANY_CELLS):
        return Audit(findings=(Finding("time limit", NO_AUDIT, serious=False),))
    found = audit(table)
    settled = dag_to_cpdag(dag) if is_class else dag
    return replace(found, findings=(*found.findings, *audit_arrows(table, dag, settled & ~settled.T)))


def _device(name: str) -> str:
    if name not in ("auto", "cpu", "cuda"):
        raise SettingsError(f"device must be auto, cpu or cuda, got {name!r}", hint="the default is 'auto'")
    if name == "cuda" and not torch.cuda.is_available():
        raise SettingsError("device 'cuda' is not available here", hint="use device='auto' or 'cpu'")
    return ("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name


def _where(name: Any, device: str, settings: Settings) -> dict[str, Any]:
    """Return the options of scores that factorise kernels: the device, which is worth a GPU, and the memory."""
    kind = score_class(name) if isinstance(name, str) else name
    if not (isinstance(kind, type) and issubclass(kind, KernelScore)):
        return {}
    return {"device": device, "max_memory": settings.max_memory}


def _seed(random_state: Any) -> int:
    """Return the seed of a run: the given int, or one drawn from the given source."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise SettingsError(f"random_state must be at least 0, got {random_state}", hint="use 0, 1, 2, ...")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise SettingsError(
            f"random_state must be a whole number, a numpy generator or None, got {random_state!r}",
            hint="an int makes the result reproducible",
        ) from error


def _plain_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the score's options for the record: arrays as their shape."""
    return {
        name: value if isinstance(value, (str, int, float, bool, type(None))) else f"array {np.shape(value)}"
        for name, value in options.items()
    }


def _versions() -> dict[str, str]:
    return {
        "drbo": drbo.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": torch.__version__,
    }
