"""What the options of ``drbo fit`` ask for: the arguments of the estimator, row weights, resamples, a first graph."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from drbo.cli.experiments import design_of
from drbo.cli.lists import parsed_types
from drbo.cli.messages import say
from drbo.cli.pairs import OTHERS, parse_settings, score_options_of
from drbo.cli.problems import doubts
from drbo.cli.table_options import groups_of, policy_of, read_frame
from drbo.errors import SettingsError, name_hint
from drbo.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

    from drbo.knowledge import Knowledge


class ResamplePlan(NamedTuple):
    """How many resamples a fit is followed by, and what is drawn; as text, the value of --bootstrap."""

    n: int
    kind: str = "bootstrap"
    clusters: str = ""  # the column that names them

    def __str__(self) -> str:
        kind = f"{self.kind}={self.clusters}" if self.clusters else self.kind
        return str(self.n) if kind == "bootstrap" else f"{kind}:{self.n}"


def resamples(word: str) -> ResamplePlan:
    """Return a number of resamples such as 100, subsample:100, block:100 or cluster=COLUMN:100.

    Examples
    --------
    >>> resamples("100"), str(resamples("cluster=clinic:50"))
    (ResamplePlan(n=100, kind='bootstrap', clusters=''), 'cluster=clinic:50')
    """
    kind, _, count = word.rpartition(":")
    kind, _, column = kind.partition("=")
    known = kind in ("", "subsample", "block") if not column else kind == "cluster"
    if not known or not count.isdecimal() or int(count) < 1:
        raise click.BadParameter(
            f"give a number of resamples such as 100, subsample:100, block:100 or cluster=COLUMN:100; got {word!r}"
        )
    return ResamplePlan(int(count), kind or "bootstrap", column)


class FitRequest(NamedTuple):
    """What the options of a fit ask for."""

    arguments: dict[str, Any]  # of the estimator
    start: Path | None  # a graph
    seeds: int | None
    bootstrap: ResamplePlan | None

    @classmethod
    def of(cls, options: dict[str, Any]) -> "FitRequest":
        """Return what is asked for by options that go together."""
        changes = parse_settings(options["changes"])
        others = {name: changes.pop(name) for name in list(changes) if name in OTHERS}
        start, seeds = others.pop("start", None), others.pop("seeds", None)
        _check_combinations(options, others, seeds)
        arguments: dict[str, Any] = {name: others[name] for name in ("preset", "prune", "device") if name in others}
        arguments |= {"score": options["score"], "hidden": options["hidden"], "random_state": options["seed"]}
        arguments |= _budget(options, changes, others.get("preset", "default"))
        arguments["design"] = design_of(options, others.get("targets"))
        arguments["policy"] = policy_of(options, others)
        arguments["score_options"] = score_options_of(options["score_option"]) or None
        if "targets" not in others and (arguments["score_options"] or {}).get("others") == "none":
            raise SettingsError("--score-option others=none requires known targets", hint="add --set targets=FILE")
        arguments["knowledge"] = _knowledge(options)
        return cls(arguments, None if start is None else Path(start), seeds, options["bootstrap"])

    @property
    def settings(self) -> Settings:
        """The settings of the search."""
        given = self.arguments
        settings: Settings = given.get("settings") or Settings.preset(given.get("preset", "default"))
        return settings.with_(**{name: given[name] for name in ("max_evals", "time_limit") if name in given})

    @property
    def one_search(self) -> bool:
        """Whether there is one search, which can be saved and resumed."""
        return self.arguments["policy"].missing != "impute" and self.seeds is None


def _budget(options: dict[str, Any], changes: dict[str, Any], preset: Any) -> dict[str, Any]:
    """Return the settings, and the limits of a search."""
    budget = {name: options[name] for name in ("max_evals", "time_limit") if options[name] is not None}
    for name in budget:
        if name in changes:
            option = f"--{name.replace('_', '-')}"
            raise SettingsError(f"{option} and --set {name}=... set the same value", hint="remove one of them")
    return {"settings": Settings.preset(preset).with_(**changes, **budget)} if changes else budget


def _knowledge(options: dict[str, Any]) -> "Knowledge":
    from drbo.design import DataPolicy
    from drbo.knowledge import Knowledge

    words = ("require", "forbid", "tiers", "roots")
    knowledge = Knowledge.from_strings(**{name: options[name] for name in words})
    types = parsed_types(options["types"] or "")  # which are applied when a table is read
    if times := DataPolicy(types=types).censored:
        knowledge = knowledge.joined(Knowledge(leaves=times))
    if options["knowledge_file"] is None:
        return knowledge
    return Knowledge.from_toml(options["knowledge_file"]).joined(knowledge)


def _check_combinations(options: dict[str, Any], others: dict[str, Any], seeds: Any) -> None:
    """Refuse what does not go together: frequencies over completed tables, seeds and resamples."""
    is_imputed, wish = options["missing"] == "impute", options["bootstrap"]
    if seeds is not None and (not isinstance(seeds, int) or seeds < 2):
        raise SettingsError(f"seeds must be a whole number of at least 2, got {seeds!r}", hint="for example seeds=10")
    if seeds is not None and (wish is not None or is_imputed):
        other = "--bootstrap" if wish is not None else "--missing impute"
        raise SettingsError(
            f"--set seeds={seeds} cannot be combined with {other}: both report edge frequencies",
            hint="remove one of them",
        )
    if "imputations" in others and not is_imputed:
        raise SettingsError("--set imputations=... requires --missing impute", hint="add --missing impute")
    if is_imputed and wish is not None:
        raise SettingsError(
            "--bootstrap cannot be combined with --missing impute",
            hint="use --missing em or drop, or remove the other option",
        )
    if wish is not None and wish.clusters and groups_of(options):
        raise SettingsError(
            f"--bootstrap {wish} and --groups both name whole groups to resample", hint=f"use --bootstrap {wish.n}"
        )


def read_rows(
    path: Path, options: dict[str, Any], request: FitRequest, *, quiet: bool
) -> tuple["pd.DataFrame", dict[str, Any] | None]:
    """Return the table of a file, and the arguments of the bootstrap, if there is to be one."""
    frame = read_frame(path, options, quiet=quiet)
    if not quiet:
        say(f"{path}: {len(frame):,} rows, {frame.shape[1]} columns")
    frame, resampling = resampling_of(frame, request.bootstrap)
    if not quiet:
        doubts(frame, request.arguments["design"])
    return frame, resampling


def resampling_of(frame: "pd.DataFrame", wish: ResamplePlan | None) -> tuple["pd.DataFrame", dict[str, Any] | None]:
    """Return the table without the column of clusters, and the arguments of the bootstrap, if there is to be one."""
    if wish is None:
        return frame, None
    if not wish.clusters:
        return frame, {"n": wish.n, "kind": wish.kind}
    if wish.clusters not in frame:
        raise SettingsError(
            f"--bootstrap {wish}: there is no column '{wish.clusters}'", hint=name_hint(wish.clusters, frame)
        )
    clusters = frame[wish.clusters].astype(str).to_numpy()
    return frame.drop(columns=wish.clusters), {"n": wish.n, "kind": wish.kind, "clusters": clusters}


def start_of(path: Path, columns: list[str]) -> Any:
    """Return the DAG of a file over the columns; of an equivalence class, one member."""
    from drbo.graph.dag import check_dag, cpdag_to_dag
    from drbo.result.files.export import read_graph

    graph, names = read_graph(path, names=columns)
    return cpdag_to_dag(graph) if (graph & graph.T).any() else check_dag(graph, names)
