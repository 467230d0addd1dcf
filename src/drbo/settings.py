"""Every setting of the search once: default, range, meaning and, where it has one, the paper's symbol."""

from collections.abc import Iterable, Mapping
from dataclasses import Field, asdict, dataclass, field, fields, replace
from math import inf
from numbers import Integral, Real
from typing import Any, Literal, Self

from drbo.errors import SettingsError


def _knob(
    default: Any,
    meaning: str,
    *,
    low: float | None = None,
    high: float | None = None,
    below: float | None = None,
    options: tuple[str, ...] = (),
    symbol: str = "",
    optional: bool = False,
) -> Any:
    """Declare one setting; the limits are checked when a Settings is made and printed in the docs."""
    kind = type(default) if default is not None else (int if isinstance(low, int) else float)
    limits = {
        "meaning": meaning,
        "kind": kind,
        "low": low,
        "high": high,
        "below": below,
        "options": options,
        "symbol": symbol,
        "optional": optional,
    }
    return field(default=default, metadata=limits)


class _Checked:
    """Settings whose values are checked when they are made."""

    def __post_init__(self) -> None:
        for knob in _knobs(type(self)):
            problem = _problem(getattr(self, knob.name), knob.metadata)
            if problem:
                raise SettingsError(
                    f"{knob.name} must be {problem}, got {getattr(self, knob.name)!r}",
                    hint=f"{knob.metadata['meaning']}; default {knob.default}",
                )


@dataclass(frozen=True)
class PaperSettings(_Checked):
    """Settings of route paper alone; the defaults are those of the paper (Table 4, App. C) and of the authors' program.

    Examples
    --------
    >>> PaperSettings().batch_size
    64
    """

    # Search space (Sec. 4.1)
    space: Literal["low-rank", "full-rank"] = _knob(
        "low-rank",
        "low-rank: node embeddings, as in the paper; full-rank: one number per pair of nodes, which can "
        "represent every DAG",
        options=("low-rank", "full-rank"),
    )
    rank: int = _knob(8, "dimension of a node's embedding in the low-rank space", low=1, symbol="k")

    # Trust region (Sec. 4.2, App. C.1)
    batch_size: int = _knob(64, "number of DAGs evaluated per batch", low=1, symbol="B")
    n_candidates: int = _knob(100_000, "number of candidates ranked per iteration", low=1, symbol="C")
    moved_coordinates: float = _knob(
        20.0, "average number of coordinates in which a candidate differs from the centre", low=1.0
    )
    region_start: float = _knob(1.0, "initial side length of the trust region", low=1e-6, symbol="L")
    region_min: float = _knob(0.01, "smallest side length of the trust region", low=1e-9)
    region_max: float = _knob(2.0, "largest side length of the trust region", low=1e-6)
    region_successes: int = _knob(3, "consecutive successes before the trust region doubles", low=1, symbol="n_succ")
    region_failures: int = _knob(5, "consecutive failures before the trust region halves", low=1, symbol="n_fail")
    region_restart: bool = _knob(
        True,
        "restart a trust region that shrinks below its smallest length at its largest, as in the authors' program; "
        "False: keep it at the smallest, as in the paper's text",
    )
    acquisition: Literal["thompson", "ucb"] = _knob(
        "thompson", "acquisition function that ranks the candidates", options=("thompson", "ucb"), symbol="AF"
    )
    ucb_beta: float = _knob(2.0, "weight of the standard deviation in UCB", low=0.0, symbol="beta")
    n_draws: int = _knob(
        16, "number of functions sampled from the networks per iteration, with shared masks or UCB", low=1
    )

    # Networks (Sec. 4.3 to 4.5)
    hidden: int = _knob(64, "number of hidden units in the network of a node", low=1, symbol="h")
    dropout: float = _knob(0.1, "probability that a hidden unit is dropped", low=0.0, below=1.0, symbol="p")
    learning_rate: float = _knob(0.1, "learning rate of Adam", low=1e-9)
    n_grads: int = _knob(10, "number of training steps per iteration", low=0, symbol="n_grads")
    n_replay: int = _knob(1_024, "number of past DAGs added to each training step", low=0, symbol="n_replay")
    replay: Literal["uniform", "reservoir"] = _knob(
        "uniform",
        "uniform: a fresh sample for each step, as in the authors' program; reservoir: one fixed sample, as in "
        "the paper's text",
        options=("uniform", "reservoir"),
    )
    masks: Literal["row", "shared"] = _knob(
        "row",
        "row: a fresh dropout mask for every candidate, as in the authors' program; shared: one mask per "
        "sampled function",
        options=("row", "shared"),
    )
    batch_norm: Literal["candidates", "training"] = _knob(
        "candidates",
        "batch-norm statistics when sampling. candidates: over all candidates, as in the authors' program; "
        "training: from the last training batch",
        options=("candidates", "training"),
    )
    standardize_targets: bool = _knob(False, "standardise the local scores of each node before the networks learn them")

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
class Parts(_Checked):
    """Parts of the search loop that a preset has or has not; ablations switch them off one by one."""

    recombine: bool = _knob(
        True, "after each batch, find the best DAG that can be built from scored families, which needs no evaluations"
    )
    polish: bool = _knob(
        True,
        "hill-climb the true score by single edge changes when the search stalls and at its end, within the "
        "same budget",
    )
    skip_known: bool = _knob(
        True, "do not propose DAGs whose families are all scored already, because their score is known"
    )
    count_known: bool = _knob(
        False,
        "count a DAG as an evaluation even if all its families are already scored, as the paper does",
    )
    surrogate: bool = _knob(
        True, "let a Gaussian process predict local scores; False: evaluate changes of the best DAG without ranking"
    )
    relative: bool = _knob(True, "let the surrogate also learn from a cheap proxy of the score, if the score has one")
    bounds: bool = _knob(
        True, "bound the predictions of the surrogate by scored families, if a larger parent set never fits worse"
    )
    first_design: int | None = _knob(
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
class Settings(_Checked):
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
    route: Literal["auto", "orders", "surrogate", "paper"] = _knob(
        "auto",
        "which search runs. orders: hill climbing over node orders with the true score; surrogate: hill climbing on "
        "functions sampled from a surrogate of the score, which needs few evaluations; paper: dropout networks rank "
        "the candidates in a trust region; auto: orders if the score declares its local scores cheap and neither "
        "max_evals nor max_local is given, else surrogate. The result records the route that was taken",
        options=("auto", "orders", "surrogate", "paper"),
    )

    # Budget and stopping
    max_evals: int = _knob(2_000, "maximum number of DAG evaluations", low=1, symbol="T")
    max_local: int | None = _knob(None, "maximum number of distinct local scores", low=1, optional=True)
    time_limit: float | None = _knob(None, "maximum wall-clock seconds of a run", low=0.0, optional=True)
    patience: int | None = _knob(
        None,
        "stop after this many iterations without a better score; None: 30 on route surrogate, no limit otherwise",
        low=1,
        optional=True,
    )
    target_score: float | None = _knob(None, "stop as soon as this score is reached", optional=True)
    order_patience: int = _knob(
        8,
        "stop an order search after this many rounds of perturbed restarts, one per node each, without a better score",
        low=1,
    )
    climbs: int = _knob(
        16, "number of hill climbs per round on route surrogate, each on a function sampled from the surrogate", low=1
    )

    # Proof and pruning
    exact: Literal["auto", "on", "off"] = _knob(
        "auto",
        "prove optimality after the search. on: score all families if they fit into max_memory, else those that can "
        "be part of a best graph, and give a bound if that is not enough; off: never; auto: if compiled kernels do "
        "it in seconds (linear, BGe, discrete) and the number of evaluations is not limited",
        options=("auto", "on", "off"),
    )
    prune_threshold: float | None = _knob(
        None,
        "threshold for keeping an edge: its weight for 'threshold', its probability for 'odds', the significance "
        "level for tests; None: 0.3 for 'threshold', 0.5 for 'odds', 0.01 for 'f-test', 0.001 for 'cam' and 'kci'",
        low=0.0,
        optional=True,
    )

    # Size
    candidate_parents: int | None = _knob(
        None,
        "number of candidate parents per node, chosen by dependence, which keeps a surrogate small with hundreds of "
        "variables; None: all",
        low=1,
        optional=True,
    )
    score_timeout: float | None = _knob(
        None,
        "seconds that a worker may spend on one local score before the search ends with an error; computations in "
        "the main process cannot be interrupted",
        low=0.001,
        optional=True,
    )
    max_memory: float = _knob(4.0, "memory limit of the search in GiB", low=0.01)

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
    def preset(cls, name: str) -> Self:
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


def _knobs(kind: type[_Checked]) -> list["Field[Any]"]:
    """Return the settings of a class; those of the paper and the parts of the loop have classes of their own."""
    return [knob for knob in fields(kind) if knob.metadata]  # type: ignore[arg-type]


def _changed(settings: _Checked) -> dict[str, Any]:
    knobs = _knobs(type(settings))
    return {k.name: getattr(settings, k.name) for k in knobs if getattr(settings, k.name) != k.default}


def public_settings() -> dict[str, Mapping[str, Any]]:
    """Return what there is to say about every setting that a user may want, by name: those of the paper last."""
    return {
        knob.name: knob.metadata | {"default": knob.default}
        for kind in (Settings, PaperSettings)
        for knob in _knobs(kind)
    }


PAPER_NAMES = tuple(knob.name for knob in _knobs(PaperSettings))
PART_NAMES = tuple(knob.name for knob in _knobs(Parts))


def under_present_names(recorded: Mapping[str, Any], reasons: Iterable[str]) -> dict[str, Any]:
    """Return the settings of a saved result, those of version 0.1 under the names that they have now.

    Version 0.1 had all settings side by side, and a surrogate by name. It called the routes surrogate and paper
    "networks" and told them apart by the setting ``proposals``; which route "auto" had taken stood in the reasons of
    the result alone.

    Examples
    --------
    >>> under_present_names({"route": "auto", "proposals": "climb"}, ["route: climbs over orders, compiled"])
    {'route': 'orders', 'paper': {}, 'parts': {}}
    >>> under_present_names({"route": "networks", "proposals": "region"}, [])
    {'route': 'paper', 'paper': {}, 'parts': {}}
    """
    present = dict(recorded)
    if "proposals" not in present:
        return present
    proposals = present.pop("proposals")
    reason = next((words for words in reasons if words.startswith("route: ")), "")
    if reason.startswith("route: climbs over orders"):
        present["route"] = "orders"
    elif reason or present.get("route") == "networks":
        present["route"] = "paper" if proposals == "region" else "surrogate"
    if "surrogate" in present:
        present["surrogate"] = present["surrogate"] != "none"
    if "n_draws" in present:
        present["climbs"] = present["n_draws"]
    paper = {name: present.pop(name) for name in PAPER_NAMES if name in present}
    return present | {"paper": paper, "parts": {name: present.pop(name) for name in PART_NAMES if name in present}}


def _problem(value: Any, limits: Mapping[str, Any]) -> str | None:
    """Return what a value must be, in words, or None where it is fine."""
    kind, low, high, below = limits["kind"], limits["low"], limits["high"], limits["below"]
    if value is None and limits["optional"]:
        return None
    if limits["options"]:
        return None if value in limits["options"] else f"one of {', '.join(limits['options'])}"
    if kind is bool:
        return None if isinstance(value, bool) else "True or False"
    words = _range_words(low, high, below)
    noun = "a whole number" if kind is int else "a finite number"
    allowed = Integral if kind is int else Real
    is_number = isinstance(value, allowed) and not isinstance(value, bool)
    if not is_number or value != value or value in (inf, -inf):
        return f"{noun} {words}".rstrip()
    inside = (low is None or value >= low) and (high is None or value <= high) and (below is None or value < below)
    return None if inside else words


def _range_words(low: float | None, high: float | None, below: float | None) -> str:
    if low is not None and below is not None:
        return f"in [{low:g}, {below:g})"
    if low is not None and high is not None:
        return f"in [{low:g}, {high:g}]"
    return f"at least {low:g}" if low is not None else ""


#: Algorithm 1 unchanged: the paper's table of hyperparameters, and what the authors' program does where the text is
#: silent (restart of the region, a mask per row, BatchNorm over all candidates, uniform replay, every DAG counted).
_PAPER: dict[str, Any] = {
    "route": "paper",
    "exact": "off",
    "max_evals": 10_000,
    "count_known": True,
    "skip_known": False,
    "recombine": False,
    "polish": False,
}

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": _PAPER,
    "paper-gp": {**_PAPER, "max_evals": 20_000},
    "paper-sachs": {**_PAPER, "max_evals": 20_000},
}
