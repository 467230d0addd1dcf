"""DrBO, an estimator in the style of scikit-learn: parameters, fit, and what can be asked of a fitted model.

The module is long because it holds the reference of all parameters; :mod:`drbo.pipeline` does the work of a fit,
:mod:`drbo.refitting` that of resamples, and :mod:`drbo.fitted` holds what a fit leaves behind.
"""

import time
import warnings
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy.typing as npt

from drbo import pipeline
from drbo.choices import Choices, PruneChoice, ScoreChoice
from drbo.claims.refits.confidence import Confidence
from drbo.claims.refits.resampling import RefitProgress, Resampling, ResamplingKind
from drbo.data.checks.prepare import Preparation, Prepared
from drbo.data.reading.frames import as_frame
from drbo.deadline import Deadline
from drbo.design import DataPolicy, Design, NamedParameters
from drbo.errors import SettingsError
from drbo.fitted import FittedAttributes
from drbo.gathering import all_rows, gathered, unpacked
from drbo.knowledge import Knowledge
from drbo.machine.torch_device import Device, check_device
from drbo.problem import Request, request_of
from drbo.progress import watch_for
from drbo.refitting import FittedModel, n_rows_of, over_seeds, parameters_like
from drbo.result.effects import Effects
from drbo.result.identified_effects import IdentifiedEffects
from drbo.result.responses import Responses
from drbo.result.result import Result
from drbo.scores.named import score_of_file
from drbo.search.checkpoint.saver import Saved
from drbo.search.outcome import Callback
from drbo.settings import Exact, Preset, Settings


class DrBO(NamedParameters, FittedAttributes):
    """Find the highest-scoring causal graph (DAG) of a table by Bayesian optimisation.

    Parameters
    ----------
    score : ``"auto"``, a score name, ``"module:Class"``, a score class, a function ``f(node, parents)`` that returns a
        local score (higher is better), or a score object. The last two number the columns in the order of the table.
    score_options : options of the score: ``penalty``, ``edge_prior``, and those of the particular score.
    preset : ``"default"``, or ``"paper"`` for Algorithm 1 of Duong, Gupta & Nguyen (2025).
    knowledge : edges, tiers and limits that every evaluated graph satisfies, also as a dict.
    design : how the rows came about: experiments, groups, weights; see :class:`Design`.
    policy : what to do about missing values, types, constant and collinear columns; see :class:`DataPolicy`.
    hidden : True: allow hidden common causes, for numbers with linear relations; see docs/guide/hidden.md.
    max_evals : maximum number of DAG evaluations; only DAGs with at least one new family count.
    time_limit : maximum wall-clock seconds.
    exact : True: prove optimality, or bound the gap, as far as ``time_limit`` and ``max_memory`` allow; False: never;
        ``"auto"``: within a budget; None: as in the settings (``"auto"``). See docs/reference/proofs.md.
    prune : method that removes weak edges: ``"auto"``, ``"none"``, ``"f-test"``, ``"odds"``, ``"threshold"``, ...
    random_state : an int makes the result reproducible.
    device : ``"auto"``, ``"cpu"`` or ``"cuda"``.
    executor : a ``concurrent.futures.Executor`` that computes local scores; None: this process.
    settings : all other settings. Keyword arguments override them, and they override the preset.
    verbose : True: show the progress of the search on stderr, or as a bar in a notebook.

    Attributes
    ----------
    adjacency_ : (d, d) 0/1 array; ``adjacency_[i, j] == 1`` means column i causes column j.
    graph_ : the same as a networkx DiGraph with names.
    weights_ : (d, d) linear weights, or None for a score that is not linear.
    score_ : score of the best DAG, before pruning.
    result_ : the full :class:`Result`, with the CPDAG, the trace, the settings and the reasons for each choice.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.normal(size=300)
    >>> wet = 2 * rain + rng.normal(size=300)
    >>> model = DrBO(score="bic-ev", max_evals=20, random_state=0).fit(np.column_stack([rain, wet]))
    >>> model.adjacency_.tolist()
    [[0, 1], [0, 0]]
    """

    _choice: ScoreChoice  # the score of the fit

    def __init__(
        self,
        *,
        score: Any = "auto",
        score_options: dict[str, Any] | None = None,
        preset: Preset = "default",
        knowledge: Knowledge | Mapping[str, Any] | None = None,
        design: Design | None = None,
        policy: DataPolicy | None = None,
        hidden: bool = False,
        max_evals: int | None = None,
        time_limit: float | None = None,
        exact: bool | Exact | None = None,
        prune: PruneChoice = "auto",
        random_state: Any = None,
        device: Device = "auto",
        executor: Executor | None = None,
        settings: Settings | None = None,
        verbose: bool = False,
    ) -> None:
        self.score, self.score_options = score, score_options
        self.preset = preset
        self.knowledge = knowledge
        self.design, self.policy = design, policy
        self.hidden = hidden
        self.max_evals, self.time_limit = max_evals, time_limit
        self.exact = exact
        self.prune = prune
        self.random_state = random_state
        self.device = device
        self.executor = executor
        self.settings = settings
        self.verbose = verbose

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        return dict(sorted(super()._defaults().items()))  # as scikit-learn shows them

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the design and of the policy among them, as in ``design__groups="patient"``."""
        for name, kind in (("design", Design), ("policy", DataPolicy)):
            inside = {word: params.pop(word) for word in list(params) if word.startswith(f"{name}__")}
            if inside:  # objects that others may share are replaced, not changed
                before = params.get(name, getattr(self, name)) or kind()
                changed = before.get_params() | {word.removeprefix(f"{name}__"): inside[word] for word in inside}
                params[name] = kind(**changed)
        self._check_names(params)
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn wants to know of an estimator; only it asks."""
        from sklearn.base import BaseEstimator  # takes longer to load than a fit

        return BaseEstimator().__sklearn_tags__()

    def fit(
        self,
        X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None, start: npt.ArrayLike | None = None,
        checkpoint: str | Path | None = None, callbacks: Iterable[Callback] = (),
    ) -> Self:  # fmt: skip
        """Learn the graph of a table: a data frame (pandas, polars, arrow), an array or a file.

        Parameters
        ----------
        X : (n, d) table, the path of a file or of a folder of Parquet files, a
            :class:`~drbo.data.reading.source.Source`, what is known of a table
            (:class:`~drbo.data.statistics.statistics.Statistics`) or, for linear scores, the
            :class:`~drbo.data.statistics.sums.Sums` over its rows. A file whose fit would take more than the setting
            ``max_memory`` is read piece by piece (docs/guide/big-tables.md).
        y : ignored.
        sample_weight : (n,) a row of weight w counts as w equal rows, for linear scores and BGe and, with integer
            weights, for discrete scores. Rows of weight 0 are ignored.
        start : (d, d) adjacency matrix of a DAG to start from; edges that contradict the knowledge are dropped.
        checkpoint : a folder in which the search is saved at regular intervals and at its end; :meth:`resume`
            continues it.
        callbacks : functions called with the progress after each iteration; returning a string ends the search.
        """
        asked: dict[str, Any] = {"start": start, "checkpoint": checkpoint, "callbacks": callbacks}
        request = self._request(asked)
        for clash in request.notes:
            warnings.warn(clash, stacklevel=2)
        with Deadline(request.settings.time_limit):
            kept = gathered(X, request.choices, request.seed, executor=self.executor)
            rows = unpacked(kept, sample_weight, self._preparation)
            if rows.is_counted:  # they have no order
                design = replace(request.choices.design, groups=False)
                request = self._request(asked, design=design, random_state=request.seed)
            return self._search(request, request.around(rows.prepared()).warned_of_time(), rows.table)

    def _request(self, asked: dict[str, Any], **changes: Any) -> Request:
        """Return what was asked for by the parameters, some of them changed, and by arguments of a fit."""
        return request_of(self._given() | changes, type(self)()._given(), **asked)

    def _search(self, request: Request, data: Prepared, X: Any, saved: Saved | None = None) -> Self:
        """Search a checked table, or go on with a saved search of it; X is the table as it was given."""
        with watch_for(request.settings, quiet=not self.verbose) as watch:
            shown: list[Callback] = [*request.callbacks, watch] if self.verbose else [*request.callbacks]
            fitted = pipeline.fit(replace(request, callbacks=shown), data, saved)
        self._choice = fitted.choice
        self._set_fitted(fitted.result, list(data.columns if data.variables is None else data.variables), X)
        return self

    @classmethod
    def resume(
        cls,
        path: str | Path, X: Any = None, *, max_evals: int | None = None, time_limit: float | None = None,
        score: Any = None, executor: Executor | None = None, callbacks: Iterable[Callback] = (),
    ) -> Self:  # fmt: skip
        """Continue a search that was saved with ``fit(X, checkpoint=path)``.

        On the same machine with the same versions, the result is bit-identical to that of an uninterrupted search.

        Parameters
        ----------
        path : the folder of the checkpoint, which contains the data.
        X : optionally the table again, as a check: a different table is refused.
        max_evals : number of further evaluations; by default what is left of the original budget.
        time_limit : seconds in total, including those before the interruption.
        score : the score of the search, if it is not built in, as ``"module:Class"`` or as a class; drbo does not load
            code that only a file names.
        executor, callbacks : as in the constructor and in :meth:`fit`; they are not saved.

        Examples
        --------
        >>> import numpy as np
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model = DrBO(score="bge", max_evals=10, random_state=0)
        ...     table = np.random.default_rng(0).normal(size=(50, 5))
        ...     spent = model.fit(table, checkpoint=folder).result_.n_evals
        ...     DrBO.resume(folder, max_evals=5).result_.n_evals > spent
        True
        """
        saved = Saved.load(Path(path))
        saved.check_versions(pipeline.versions())
        arguments = saved.arguments(max_evals, time_limit)
        arguments["score"] = score_of_file(arguments["score"], score, f"the saved search in {path}")
        model = cls(**arguments, executor=executor)
        request = model._request({"start": saved.start, "checkpoint": path, "callbacks": callbacks})
        if X is not None:
            rows = unpacked(gathered(X, request.choices, request.seed), None, model._preparation)
            saved.check_data(request.around(rows.prepared()).table)
            X = rows.table
        with Deadline(request.settings.time_limit, start=time.monotonic() - float(saved.about["seconds"])):
            return model._search(request, saved.data(), X, saved)

    @classmethod
    def like(cls, result: Result, **changes: Any) -> Self:
        """Return an unfitted estimator with the score, settings, pruning, knowledge and seed of a result, with changes.

        Constant columns are dropped and collinear ones kept, unless ``policy`` is among the changes.

        Examples
        --------
        >>> import numpy as np
        >>> table = np.random.default_rng(0).normal(size=(50, 3))
        >>> result = DrBO(score="bge", random_state=3).fit(table).result_
        >>> DrBO.like(result).fit(table).result_.score == result.score
        True
        """
        return cls(**parameters_like(result, changes))

    def bootstrap(
        self,
        X: Any, n: int = 100, kind: ResamplingKind = "bootstrap", *, block: int | None = None,
        clusters: npt.ArrayLike | None = None, warm: bool = True, executor: Executor | None = None,
        progress: RefitProgress | None = None, keep: str | Path | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Confidence:  # fmt: skip
        """Fit resamples of the rows of the fitted table, and return the frequency of each edge and path.

        The frequencies are also stored in ``result_``, see :attr:`Result.confidence`; the graph stays as it is.
        ``time_limit`` applies to the resamples alone.

        Parameters
        ----------
        X : what was fitted, or its checked :class:`~drbo.data.statistics.statistics.Statistics`, with weights and rows.
            A file is read again.
        n, kind, block, clusters, progress : see :class:`drbo.claims.refits.resampling.Resampling`.
        warm : whether resamples on route orders start from the graph of the full table and stop early
            (docs/reference/resampling.md). On other routes, warm starts overstate the confidence, so they start from
            scratch.
        executor : an executor that fits resamples in parallel, such as a ``ProcessPoolExecutor``.
        keep : a file for finished resamples; the same bootstrap, or one with more resamples, continues from it.
        sample_weight : as in :meth:`fit`; a row keeps its weight in every resample.

        Examples
        --------
        >>> import numpy as np
        >>> x = np.random.default_rng(0).normal(size=(200, 2))
        >>> x[:, 1] += 2 * x[:, 0]
        >>> found = DrBO(score="bic-nv", random_state=0).fit(x).bootstrap(x, n=10)
        >>> float(found.adjacent[0, 1])
        1.0
        """
        self._choices.refuse_imputed("a bootstrap")
        seed = self.result_.seed if hasattr(self, "result_") else 0
        kept = gathered(X, self._choices, seed, resamples=n, executor=self.executor)
        rows = unpacked(kept, sample_weight, self._preparation)
        plan = Resampling(n, "counted" if rows.is_counted and kind == "bootstrap" else kind, block, clusters)
        plan.check(n_rows_of(rows.table))
        model = replace(self._fitted_model(), preparation=rows.preparation)
        with Deadline(Settings.from_dict(self.result_.settings).time_limit):
            found = model.bootstrap(
                rows.table, plan, warm=warm, executor=executor, progress=progress, keep=keep, sample_weight=rows.weights
            )
        self.result_ = replace(self.result_, confidence=found)
        return found

    def effects(
        self, X: Any, source: str, target: str, n: int = 100, *, progress: RefitProgress | None = None
    ) -> Effects | IdentifiedEffects | Responses:
        """Estimate a linear effect over the graphs of n bootstrap resamples of the table that was fitted.

        A graph is learned from each resample, so the interval accounts for the selection of the graph; the model stays
        as it is. See :func:`drbo.result.effects.resampled_effects`. ``time_limit`` applies to the resamples alone.

        Examples
        --------
        >>> import numpy as np
        >>> x = np.random.default_rng(0).normal(size=(300, 3))
        >>> x[:, 2] += x[:, 0] + x[:, 1]
        >>> model = DrBO(score="bic-nv", random_state=0).fit(x)
        >>> found = model.effects(x, "x0", "x2", n=10).effects[0]
        >>> found.low < 1 < found.high
        True
        """
        self._choices.refuse_imputed("a bootstrap")
        X = all_rows(X, self._choices)
        Resampling(n).check(len(as_frame(X)))
        model = self._fitted_model()
        with Deadline(self._choices.seconds):
            return model.effects(X, source, target, n, progress)

    def stability(
        self,
        X: Any, seeds: int = 10, *, sample_weight: npt.ArrayLike | None = None, start: npt.ArrayLike | None = None,
        callbacks: Iterable[Callback] = (),
    ) -> Confidence:  # fmt: skip
        """Fit copies of this model with other seeds, and return the frequency of each edge and path.

        An edge that depends on the seed is a result of the search or of nearly equal scores, not of the data. The model
        becomes the most typical of all, and its ``result_`` holds the frequencies. ``time_limit`` applies to the copies
        together.

        Parameters
        ----------
        X : the (n, d) table that was fitted.
        seeds : number of seeds, including that of the fit; the others follow it.
        sample_weight, start, callbacks : as in :meth:`fit`.

        Examples
        --------
        >>> import numpy as np
        >>> x = np.random.default_rng(0).normal(size=(200, 2))
        >>> x[:, 1] += 2 * x[:, 0]
        >>> found = DrBO(score="bic-nv", random_state=0).fit(x).stability(x, seeds=3)
        >>> float(found.adjacent[0, 1]), found.kind
        (1.0, 'seeds')
        """
        if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 2:
            raise SettingsError(f"seeds must be a whole number of at least 2, got {seeds!r}", hint="the default is 10")
        self._choices.refuse_imputed("stability over seeds")
        self._check_fitted()
        X = gathered(X, self._choices, self.result_.seed, executor=self.executor)

        def fitted_with(seed: int) -> Result:
            again = type(self)(**self._given() | {"random_state": seed})
            return again.fit(X, sample_weight=sample_weight, start=start, callbacks=callbacks).result_

        with Deadline(self._choices.seconds):
            typical, found = over_seeds(self.result_, seeds, fitted_with)
        self._set_fitted(typical, self._columns, X)
        return found

    def score_on(self, X: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the score of the learned graph on another table with the same columns; the model does not change.

        Examples
        --------
        >>> import numpy as np
        >>> table = np.random.default_rng(0).normal(size=(50, 3))
        >>> model = DrBO(score="bic-nv", max_evals=20, random_state=0).fit(table)
        >>> bool(np.isclose(model.score_on(table), model.result_.pruned_score))
        True
        """
        from sklearn.utils.validation import validate_data  # takes longer to load than a fit

        model, X = self._fitted_model(), all_rows(X, self._choices)
        validate_data(self, model.preparation.variables(X), reset=False, skip_check_array=True)  # names of columns
        return model.score_on(X, sample_weight)

    def _fitted_model(self) -> FittedModel:
        self._check_fitted()
        return FittedModel(
            result=self.result_, choice=self._choice, preparation=self._preparation, columns=self._columns,
            device=check_device(self.device),
        )  # fmt: skip

    def _given(self) -> dict[str, Any]:
        """Return the parameters."""
        return self.get_params(deep=False)

    @property
    def _choices(self) -> Choices:
        return Choices.of(self._given())

    @property
    def _preparation(self) -> Preparation:
        return self._choices.preparation
