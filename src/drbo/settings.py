"""The settings of the search and the presets.

The module is long because every setting is declared here, with its default, range and meaning.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, Self, get_args

from drbo.checked import Checked, setting, setting_fields
from drbo.errors import SettingsError

Preset = Literal["default", "paper", "paper-gp", "paper-sachs"]
Route = Literal["auto", "orders", "surrogate", "paper"]
Exact = Literal["auto", "on", "off"]


@dataclass(frozen=True)
class PaperSettings(Checked):
    """Settings of route paper alone; defaults are the paper's (Table 4, App. C) and those of its authors' program."""

    # Search space (Sec. 4.1)
    space: Literal["low-rank", "full-rank"] = setting(
        "low-rank",
        "low-rank: node embeddings, as in the paper; full-rank: one number per pair of nodes, which can "
        "represent every DAG",
        options=("low-rank", "full-rank"),
    )
    rank: int = setting(8, "dimension of a node's embedding in the low-rank space", low=1, symbol="k")

    # Trust region (Sec. 4.2, App. C.1)
    batch_size: int = setting(64, "number of DAGs evaluated per batch", low=1, symbol="B")
    n_candidates: int = setting(100_000, "number of candidates ranked per iteration", low=1, symbol="C")
    moved_coordinates: float = setting(
        20.0, "average number of coordinates in which a candidate differs from the centre", low=1.0
    )
    region_start: float = setting(1.0, "initial side length of the trust region", low=1e-6, symbol="L")
    region_min: float = setting(0.01, "smallest side length of the trust region", low=1e-9)
    region_max: float = setting(2.0, "largest side length of the trust region", low=1e-6)
    region_successes: int = setting(3, "consecutive successes before the trust region doubles", low=1, symbol="n_succ")
    region_failures: int = setting(5, "consecutive failures before the trust region halves", low=1, symbol="n_fail")
    region: Literal["restart", "clip"] = setting(
        "restart",
        "what becomes of a trust region that shrinks below its smallest length. restart: it starts again at its "
        "largest, as in the authors' program; clip: it stays at the smallest, as in the paper's text",
        options=("restart", "clip"),
    )
    acquisition: Literal["thompson", "ucb"] = setting(
        "thompson", "acquisition function that ranks the candidates", options=("thompson", "ucb"), symbol="AF"
    )
    ucb_beta: float = setting(2.0, "weight of the standard deviation in UCB", low=0.0, symbol="beta")
    n_draws: int = setting(
        16, "number of functions sampled from the networks per iteration, with shared masks or UCB", low=1
    )

    # Networks (Sec. 4.3 to 4.5)
    hidden: int = setting(64, "number of hidden units in the network of a node", low=1, symbol="h")
    dropout: float = setting(0.1, "probability that a hidden unit is dropped", low=0.0, below=1.0, symbol="p")
    learning_rate: float = setting(0.1, "learning rate of Adam", low=1e-9)
    n_grads: int = setting(10, "number of training steps per iteration", low=0, symbol="n_grads")
    n_replay: int = setting(1_024, "number of past DAGs added to each training step", low=0, symbol="n_replay")
    replay: Literal["uniform", "reservoir"] = setting(
        "uniform",
        "uniform: a fresh sample for each step, as in the authors' program; reservoir: one fixed sample, as in "
        "the paper's text",
        options=("uniform", "reservoir"),
    )
    masks: Literal["row", "shared"] = setting(
        "row",
        "row: a fresh dropout mask for every candidate, as in the authors' program; shared: one mask per "
        "sampled function",
        options=("row", "shared"),
    )
    batch_norm: Literal["candidates", "training"] = setting(
        "candidates",
        "batch-norm statistics when sampling. candidates: over all candidates, as in the authors' program; "
        "training: from the last training batch",
        options=("candidates", "training"),
    )
    standardize_targets: bool = setting(
        False, "standardise the local scores of each node before the networks learn them"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.region_min > self.region_max:
            raise SettingsError(
                f"region_min must be at most region_max = {self.region_max}, got {self.region_min}",
                hint="lower region_min or raise region_max",
            )
        if self.masks == "shared" and self.batch_norm == "candidates":
            raise SettingsError(
                "masks='shared' requires batch_norm='training'", hint="set batch_norm='training', or masks='row'"
            )


@dataclass(frozen=True)
class Parts(Checked):
    """Parts of the search loop that a preset has or has not; ablations switch them off one by one."""

    recombine: bool = setting(
        True, "after each batch, find the best DAG that can be built from scored families, which needs no evaluations"
    )
    polish: bool = setting(
        True,
        "hill-climb the true score by single edge changes when the search stalls and at its end, within the "
        "same budget",
    )
    skip_known: bool = setting(
        True, "do not propose DAGs whose families are all scored already, because their score is known"
    )
    count_known: bool = setting(
        False,
        "count a DAG as an evaluation even if all its families are already scored, as the paper does",
    )
    surrogate: bool = setting(
        True, "let a Gaussian process predict local scores; False: evaluate changes of the best DAG without ranking"
    )
    relative: bool = setting(True, "let the surrogate also learn from a cheap proxy of the score, if the score has one")
    fidelities: bool = setting(
        True,
        "multi-fidelity: score families at lower fidelities first, if the score has some, and promising ones by the "
        "true score",
    )
    bounds: bool = setting(
        True, "bound the predictions of the surrogate by scored families, if a larger parent set never fits worse"
    )
    parent_sets: bool = setting(
        True,
        "score large parent sets that explain a node together, as ranked by a Gaussian process of all columns, and by "
        "forests of randomised trees",
    )
    first_design: int | None = setting(
        None,
        "number of DAGs evaluated before the surrogate is used, on route surrogate; None: one per variable, or one "
        "per two variables with a cheap proxy",
        low=1,
        optional=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.skip_known and not self.recombine:
            raise SettingsError(
                "skip_known=True requires recombine=True, else DAGs of scored families would be ignored",
                hint="set recombine=True, or skip_known=False",
            )


@dataclass(frozen=True)
class Settings(Checked):
    """Settings of the search. Create them with :meth:`preset` and change them with :meth:`with_`.

    Examples
    --------
    >>> Settings.preset("paper").paper.batch_size
    64
    >>> Settings.preset("paper").with_(dropout=0.3).paper.dropout
    0.3
    >>> Settings(max_evals=0)
    Traceback (most recent call last):
        ...
    drbo.errors.SettingsError: max_evals must be at least 1, got 0 (...; default 2000)
    """

    # Route
    route: Route = setting(
        "auto",
        "which search runs. orders: hill climbing over node orders with the true score; surrogate: hill climbing on "
        "functions sampled from a surrogate of the score, which needs few evaluations; paper: dropout networks rank "
        "the candidates in a trust region; auto: orders if the score declares its local scores cheap and neither "
        "max_evals nor max_local is given, else surrogate. The result records the route that was taken",
        options=get_args(Route),
    )

    # Budget and stopping
    max_evals: int = setting(2_000, "maximum number of DAG evaluations", low=1, symbol="T")
    max_local: int | None = setting(None, "maximum number of distinct local scores", low=1, optional=True)
    time_limit: float | None = setting(None, "maximum wall-clock seconds of a run", low=0.0, optional=True)
    patience: int | None = setting(
        None,
        "stop after this many iterations without a better score; None: 30 on route surrogate, no limit otherwise",
        low=1,
        optional=True,
    )
    target_score: float | None = setting(None, "stop as soon as this score is reached", optional=True)
    order_patience: int = setting(
        8,
        "stop an order search after this many rounds of perturbed restarts, one per node each, without a better score",
        low=1,
    )
    climbs: int | None = setting(
        None,
        "number of hill climbs per round on route surrogate, each on a function sampled from the surrogate; None: 4, "
        "or 16 with more than 12 variables and a score with lower fidelities",
        low=1,
        optional=True,
    )

    # Proof, pruning and claims
    exact: Exact = setting(
        "auto",
        "prove optimality after the search. on: score all families if they fit into max_memory, else those that can "
        "be part of a best graph, and give a bound if that is not enough; off: never; auto: if compiled kernels do "
        "it in seconds (linear, BGe, discrete) and the number of evaluations is not limited",
        options=get_args(Exact),
    )
    prune_threshold: float | None = setting(
        None,
        "threshold for keeping an edge: its weight for 'threshold', its probability for 'odds', the significance "
        "level for tests; None: 0.3 for 'threshold', 0.5 for 'odds', 0.01 for 'f-test', 0.001 for 'cam' and 'kci'",
        low=0.0,
        optional=True,
    )
    expected_parents: float | None = setting(
        None,
        "number of parents that a column is expected to have before the data are seen: the prior behind the "
        "probabilities of edges, not of the search; None: averaged over 1/8 to 4 by how well they explain the table",
        low=0.001,
        optional=True,
    )

    claims: bool = setting(
        True,
        "after the search, find margins and other equivalence classes, and make the checks without which no direction "
        "is supported. False: leave them out, so that directions are assumed; the paper's presets do, because they "
        "take as long as the search",
    )

    # Size
    candidate_parents: int | None = setting(
        None,
        "number of candidate parents per node, chosen by dependence, which keeps a surrogate small with hundreds of "
        "variables; None: all",
        low=1,
        optional=True,
    )
    score_timeout: float | None = setting(
        None,
        "seconds that a worker may spend on one local score before the search ends with an error; computations in "
        "the main process cannot be interrupted",
        low=0.001,
        optional=True,
    )
    max_memory: float = setting(4.0, "memory limit of the search in GiB", low=0.01)

    paper: PaperSettings = field(default_factory=PaperSettings)
    parts: Parts = field(default_factory=Parts, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, kind in (("paper", PaperSettings), ("parts", Parts)):
            if not isinstance(getattr(self, name), kind):
                raise SettingsError(
                    f"{name} must be a {kind.__name__}, got {getattr(self, name)!r:.80}",
                    hint="change single settings with Settings().with_(NAME=...)",
                )

    @classmethod
    def preset(cls, name: Preset) -> Self:
        """Return the settings of a preset: ``default``, or ``paper``, ``paper-gp``, ``paper-sachs``."""
        if name not in PRESETS:
            raise SettingsError(
                f"preset must be one of {', '.join(PRESETS)}, got {name!r}", hint="the default is 'default'"
            )
        return cls().with_(**PRESETS[name])

    def with_(self, **changes: Any) -> Self:
        """Return a copy with some settings changed, those of the paper among them; an unknown name is an error."""
        unknown = changes.keys() - {knob.name for knob in fields(self)} - set(PAPER_NAMES) - set(PART_NAMES)
        if unknown:
            raise SettingsError(
                f"unknown setting {', '.join(sorted(unknown))}",
                hint="help(drbo.Settings) lists the settings",
            )
        own = {name: value for name, value in changes.items() if name not in PAPER_NAMES and name not in PART_NAMES}
        paper = {name: changes[name] for name in changes.keys() & set(PAPER_NAMES)}
        parts = {name: changes[name] for name in changes.keys() & set(PART_NAMES)}
        if paper:
            own["paper"] = replace(own.get("paper", self.paper), **paper)
        if parts:
            own["parts"] = replace(own.get("parts", self.parts), **parts)
        return replace(self, **own)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values, those of the paper and the parts of the loop each in a dict."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """Return the settings of :meth:`to_dict`; what is left out has its default.

        Examples
        --------
        >>> Settings.from_dict(Settings(max_evals=7).to_dict()).max_evals
        7
        """
        flat = {name: value for name, value in given.items() if name not in ("paper", "parts")}
        for name in ("paper", "parts"):
            part = given.get(name, {})
            if not isinstance(part, Mapping):
                raise SettingsError(f"settings: {name} must be a table of settings, got {part!r:.80}")
            flat |= part
        return cls().with_(**flat)

    def changes(self) -> str:
        """Return the call that creates these settings, with only the values that differ from the default.

        Examples
        --------
        >>> Settings().with_(dropout=0.3, max_evals=7).changes()
        'Settings(max_evals=7).with_(dropout=0.3)'
        """
        own, nested = _changed(self), _changed(self.paper) | _changed(self.parts)
        words = f"Settings({', '.join(f'{name}={value!r}' for name, value in own.items())})"
        return words + (f".with_({', '.join(f'{k}={v!r}' for k, v in nested.items())})" if nested else "")


def _changed(settings: Checked) -> dict[str, Any]:
    knobs = setting_fields(type(settings))
    return {k.name: getattr(settings, k.name) for k in knobs if getattr(settings, k.name) != k.default}


def public_settings() -> dict[str, Mapping[str, Any]]:
    """Return what there is to say about every setting that a user may want, by name: those of the paper last."""
    return {
        knob.name: knob.metadata | {"default": knob.default}
        for kind in (Settings, PaperSettings)
        for knob in setting_fields(kind)
    }


PAPER_NAMES = tuple(knob.name for knob in setting_fields(PaperSettings))
PART_NAMES = tuple(knob.name for knob in setting_fields(Parts))


#: Algorithm 1: the paper's table of hyperparameters, and what the authors' program does where it differs from the text,
#: or the text is silent (restart of the region, a mask per row, BatchNorm over all candidates, uniform replay, every
#: DAG counted).
_PAPER: dict[str, Any] = {
    "route": "paper",
    "exact": "off",
    "claims": False,
    "max_evals": 10_000,
    "count_known": True,
    "skip_known": False,
    "recombine": False,
    "parent_sets": False,
    "polish": False,
}

PRESETS: dict[Preset, dict[str, Any]] = {
    "default": {},
    "paper": _PAPER,
    "paper-gp": {**_PAPER, "max_evals": 20_000},
    "paper-sachs": {**_PAPER, "max_evals": 20_000},
}
