"""Every knob of the search once: default, range, meaning and, where it has one, the paper's symbol."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
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


@dataclass(frozen=True)
class Settings:
    """How the search is run. Make one with :meth:`preset` and change it with :meth:`with_`.

    Examples
    --------
    >>> Settings.preset("paper").batch_size
    64
    >>> Settings.preset("default").with_(dropout=0.3).dropout
    0.3
    >>> Settings(dropout=1.5)
    Traceback (most recent call last):
        ...
    drbo.errors.SettingsError: dropout must be in [0, 1), got 1.5 (...; default 0.1)
    """

    # Budget and stopping
    max_evals: int = _knob(2_000, "DAG evaluations that may be spent", low=1, symbol="T")
    max_local: int | None = _knob(None, "distinct local scores that may be computed", low=1, optional=True)
    time_limit: float | None = _knob(None, "seconds the search may take", low=0.0, optional=True)
    patience: int | None = _knob(
        None,
        "iterations without a better score before stopping; None: 30 on route surrogate, else no limit",
        low=1,
        optional=True,
    )
    target_score: float | None = _knob(None, "stop as soon as this score is reached", optional=True)
    count_known: bool = _knob(
        False,
        "a DAG whose families are all known counts as an evaluation; the paper counts every DAG it asks for",
    )

    # Search space (Sec. 4.1)
    space: Literal["low-rank", "full-rank"] = _knob(
        "full-rank",
        "low-rank: node embeddings, the paper's; full-rank: one number per pair, can hold every DAG",
        options=("low-rank", "full-rank"),
    )
    rank: int = _knob(8, "dimension of a node's embedding in the low-rank space", low=1, symbol="k")

    # Route
    route: Literal["auto", "orders", "surrogate", "paper"] = _knob(
        "auto",
        "which search runs. orders: climbs over node orders with the true score; surrogate: climbs of functions drawn "
        "from a surrogate of the score, which spends few evaluations; paper: dropout networks rank the candidates of a "
        "trust region; auto: orders where the score declares its local scores cheap, unless max_evals or max_local is "
        "given, else surrogate. The result records the route that was taken",
        options=("auto", "orders", "surrogate", "paper"),
    )

    # Proposals (Sec. 4.2, App. C.1)
    surrogate: Literal["gp", "dropout", "none"] = _knob(
        "gp",
        "what predicts local scores: a Gaussian process over parent sets, the paper's dropout networks, or nothing: "
        "DAGs near the best one are evaluated as they come. Route paper needs dropout",
        options=("gp", "dropout", "none"),
    )
    relative: bool = _knob(True, "surrogate gp learns from a cheap relative of the score, where it has one")
    bounds: bool = _knob(
        True, "known families bound what surrogate gp says of others, where a superset never fits worse"
    )
    first_design: int | None = _knob(
        None,
        "DAGs evaluated before the surrogate is asked, on route surrogate; None: one per variable, or per two with a "
        "cheap relative",
        low=1,
        optional=True,
    )
    batch_size: int = _knob(64, "DAGs evaluated together", low=1, symbol="B")
    n_candidates: int = _knob(10_000, "candidates ranked per iteration", low=1, symbol="C")
    moved_coordinates: float = _knob(20.0, "coordinates of a candidate that leave the centre, on average", low=1.0)
    region_start: float = _knob(1.0, "first length of the trust region", low=1e-6, symbol="L")
    region_min: float = _knob(0.01, "smallest length of the trust region", low=1e-9)
    region_max: float = _knob(2.0, "largest length of the trust region", low=1e-6)
    region_successes: int = _knob(3, "successes in a row before the region doubles", low=1, symbol="n_succ")
    region_failures: int = _knob(5, "failures in a row before the region halves", low=1, symbol="n_fail")
    region_restart: bool = _knob(
        True,
        "a region that falls below its smallest length starts again at its largest, as in the authors' program; "
        "False: it stays at the smallest, as in the paper's text",
    )
    acquisition: Literal["thompson", "ucb"] = _knob(
        "thompson", "how drawn scores rank a candidate", options=("thompson", "ucb"), symbol="AF"
    )
    ucb_beta: float = _knob(2.0, "weight of the standard deviation in UCB", low=0.0, symbol="beta")
    n_draws: int = _knob(16, "functions drawn from the networks per iteration with shared masks or UCB", low=1)
    skip_known: bool = _knob(True, "a DAG whose families are all known is not proposed again: its score is known")
    polish: bool = _knob(
        True, "when the search stalls and at its end, climb the true score by single edges within the same budget"
    )
    recombine: bool = _knob(True, "after each batch, look for the best DAG made of known families; it costs nothing")

    # Proof, and the end of the order search
    exact: Literal["auto", "on", "off"] = _knob(
        "auto",
        "prove the optimum at the end. on: score every family that fits into max_memory, or those that can matter, and "
        "give a bound where that does not suffice; off: never; auto: where compiled kernels do it in seconds (linear, "
        "BGe, discrete) and evaluations are not rationed",
        options=("auto", "on", "off"),
    )
    order_patience: int = _knob(
        8, "rounds of shaken orders, one shake per node each, without a better score before a search ends", low=1
    )

    # Networks (Sec. 4.3 to 4.5)
    candidate_parents: int | None = _knob(
        None,
        "parents that a node may have at all, the most dependent ones, so that networks, candidates and history stay "
        "small with hundreds of variables; None: all",
        low=1,
        optional=True,
    )
    hidden: int = _knob(64, "hidden units of a node's network", low=1, symbol="h")
    dropout: float = _knob(0.1, "probability that a hidden unit is dropped", low=0.0, below=1.0, symbol="p")
    learning_rate: float = _knob(0.1, "step size of Adam", low=1e-9)
    n_grads: int = _knob(10, "training steps per iteration", low=0, symbol="n_grads")
    n_replay: int = _knob(1_024, "past DAGs added to each training step", low=0, symbol="n_replay")
    replay: Literal["uniform", "reservoir"] = _knob(
        "uniform",
        "uniform: a fresh draw for each step, the authors' program; reservoir: one kept sample, the paper's text",
        options=("uniform", "reservoir"),
    )
    masks: Literal["row", "shared"] = _knob(
        "shared",
        "row: a fresh dropout mask for every candidate, the authors' program; shared: a mask is one drawn function",
        options=("row", "shared"),
    )
    batch_norm: Literal["candidates", "training"] = _knob(
        "training",
        "statistics when sampling: over all candidates, the authors' program, or of the last training batch",
        options=("candidates", "training"),
    )
    standardize_targets: bool = _knob(True, "the networks learn local scores with mean 0 and variance 1 per node")

    # Pruning (Sec. 4.6, App. C.3)
    prune_threshold: float | None = _knob(
        None,
        "what an edge must pass when the result is pruned: the weight for 'threshold', the probability for 'odds', the "
        "significance level for tests; None: 0.3, 0.5, 0.01 for 'f-test', 0.001 for 'cam' and 'kci'",
        low=0.0,
        optional=True,
    )

    # Machine
    score_timeout: float | None = _knob(
        None,
        "seconds that a worker may spend on one local score before the search ends with an error; work in this "
        "process cannot be cut off",
        low=0.001,
        optional=True,
    )
    max_memory: float = _knob(4.0, "GiB that the search may hold at once", low=0.01)

    def __post_init__(self) -> None:
        for knob in fields(self):
            problem = _problem(getattr(self, knob.name), knob.metadata)
            if problem:
                raise SettingsError(
                    f"{knob.name} must be {problem}, got {getattr(self, knob.name)!r}",
                    hint=f"{knob.metadata['meaning']}; default {knob.default}",
                )
        if self.region_min > self.region_max:
            raise SettingsError(
                f"region_min must be at most region_max = {self.region_max}, got {self.region_min}",
                hint="lower region_min or raise region_max",
            )
        if self.skip_known and not self.recombine:
            raise SettingsError(
                "skip_known=True needs recombine=True: a DAG made of known families would never be looked at",
                hint="set skip_known=False as well",
            )
        if self.route == "paper" and self.surrogate != "dropout":
            raise SettingsError(
                "route='paper' needs surrogate='dropout'", hint="start from Settings.preset('paper'), which sets both"
            )
        if self.masks == "shared" and self.batch_norm == "candidates":
            raise SettingsError("masks='shared' needs batch_norm='training'", hint="or set masks='row'")

    @classmethod
    def preset(cls, name: str) -> Self:
        """Return the settings of a preset: ``default``, or ``paper``, ``paper-gp``, ``paper-sachs``."""
        if name not in PRESETS:
            raise SettingsError(
                f"preset must be one of {', '.join(PRESETS)}, got {name!r}", hint="the default is 'default'"
            )
        return cls(**PRESETS[name])

    def with_(self, **changes: Any) -> Self:
        """Return a copy with some settings changed; an unknown name is an error."""
        unknown = set(changes) - {knob.name for knob in fields(self)}
        if unknown:
            raise SettingsError(
                f"unknown setting {', '.join(sorted(unknown))}",
                hint="the settings are listed by help(drbo.Settings)",
            )
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return asdict(self)

    def changes(self) -> str:
        """Return the call that makes these settings: only what differs from the default.

        Examples
        --------
        >>> Settings().with_(dropout=0.3).changes()
        'Settings(dropout=0.3)'
        """
        changed = {k.name: getattr(self, k.name) for k in fields(self) if getattr(self, k.name) != k.default}
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in changed.items())})"


def under_present_names(recorded: Mapping[str, Any], reasons: Iterable[str]) -> dict[str, Any]:
    """Return the settings of a saved result, those of version 0.1 under the names that they have now.

    Version 0.1 called the routes surrogate and paper "networks" and told them apart by the setting ``proposals``; which
    route "auto" had taken stood in the reasons of the result alone.

    Examples
    --------
    >>> under_present_names({"route": "auto", "proposals": "climb"}, ["route: climbs over orders, compiled"])
    {'route': 'orders'}
    >>> under_present_names({"route": "networks", "proposals": "region"}, [])
    {'route': 'paper'}
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
    return present


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
    "surrogate": "dropout",
    "max_evals": 10_000,
    "count_known": True,
    "space": "low-rank",
    "rank": 8,
    "batch_size": 64,
    "n_candidates": 100_000,
    "region_restart": True,
    "skip_known": False,
    "recombine": False,
    "polish": False,
    "hidden": 64,
    "dropout": 0.1,
    "learning_rate": 0.1,
    "n_grads": 10,
    "n_replay": 1_024,
    "replay": "uniform",
    "masks": "row",
    "batch_norm": "candidates",
    "standardize_targets": False,
}

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": _PAPER,
    "paper-gp": {**_PAPER, "max_evals": 20_000},
    "paper-sachs": {**_PAPER, "max_evals": 20_000},
}
