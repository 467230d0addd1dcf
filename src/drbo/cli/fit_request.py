"""What the options of ``drbo fit`` ask for: the arguments of the estimator, row weights, resamples, a first graph."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from drbo.cli.experiments import experiments_of
from drbo.cli.messages import say
from drbo.cli.options import parse_settings
from drbo.cli.problems import doubts
from drbo.cli.table_options import groups_of, read_frame
from drbo.errors import SettingsError, name_hint
from drbo.settings import Settings

if TYPE_CHECKING:
    import pandas as pd


def fit_arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of the estimator that the options of the command stand for."""
    from drbo.knowledge import Knowledge

    changes = parse_settings(options["changes"])
    budget = {name: options[name] for name in ("max_evals", "time_limit") if options[name] is not None}
    for name in budget:
        if name in changes:
            option = f"--{name.replace('_', '-')}"
            raise SettingsError(f"{option} and --set {name}=... set the same value", hint="remove one of them")
    arguments: dict[str, Any] = {
        name: options[name] for name in ("score", "preset", "prune", "device", "on_constant", "on_collinear", "missing")
    } | {"groups": groups_of(options), **experiments_of(options)}
    if changes:
        arguments["settings"] = Settings.preset(options["preset"]).with_(**changes, **budget)
    else:
        arguments |= budget
    if options["penalty"] is not None:
        arguments["score_options"] = {"penalty": options["penalty"]}
    if options["min_strength"] is not None:
        arguments["score_options"] = arguments.get("score_options", {}) | {"min_strength": options["min_strength"]}
    if options["no_other_targets"]:
        if options["targets"] is None:
            raise SettingsError("--no-other-targets requires --targets", hint="add --targets FILE")
        arguments["score_options"] = arguments.get("score_options", {}) | {"others": "none"}
    if options["drift"]:
        if options["experiment"] is None:
            raise SettingsError("--drift requires --experiment", hint="add --experiment COLUMN")
        arguments["score_options"] = arguments.get("score_options", {}) | {"drift": True}
    if options["imputations"] is not None:
        arguments["imputations"] = options["imputations"]
    if options["hidden"]:
        arguments["hidden"] = True
    if options["exact"] is not None:
        arguments["exact"] = options["exact"]
    words = ("require", "forbid", "tiers", "forbid_within_tiers", "roots", "leaves", "max_parents", "context")
    knowledge = Knowledge.from_strings(**{name: options[name] for name in words})
    if options["knowledge_file"] is not None:
        knowledge = Knowledge.from_toml(options["knowledge_file"]).joined(knowledge)
    return arguments | {"random_state": options["seed"], "knowledge": knowledge}


def check_combinations(options: dict[str, Any]) -> None:
    """Refuse what does not go together: frequencies over completed tables, seeds and resamples."""
    if options["seeds"] is not None and (options["bootstrap"] is not None or options["missing"] == "impute"):
        other = "--bootstrap" if options["bootstrap"] is not None else "--missing impute"
        raise SettingsError(
            f"--seeds cannot be combined with {other}: both report edge frequencies", hint="remove one of them"
        )
    if options["missing"] != "impute":
        if options["imputations"] is not None:
            raise SettingsError("--imputations requires --missing impute", hint="add --missing impute")
        return
    if options["bootstrap"] is not None:
        raise SettingsError(
            "--bootstrap cannot be combined with --missing impute",
            hint="use --missing em or drop, or remove the other option",
        )


def read_rows(path: Path, options: dict[str, Any], *, quiet: bool) -> tuple["pd.DataFrame", Any, dict[str, Any] | None]:
    """Return the table of a file, its row weights, and the arguments of the bootstrap, if there is to be one."""
    frame = read_frame(path, options, quiet=quiet)
    if not quiet:
        say(f"{path}: {len(frame):,} rows, {frame.shape[1]} columns")
    frame, weights = weights_of(frame, options["weights"])
    frame, resampling = resampling_of(frame, options)
    if not quiet:
        doubts(frame, options)
    return frame, weights, resampling


def weights_of(frame: "pd.DataFrame", column: str | None) -> tuple["pd.DataFrame", Any]:
    """Return the table without the column of weights, and the weights."""
    if column is None:
        return frame, None
    if column not in frame:
        raise SettingsError(f"--weights: there is no column '{column}'", hint=name_hint(column, frame))
    return frame.drop(columns=column), frame[column].to_numpy()


def resampling_of(frame: "pd.DataFrame", options: dict[str, Any]) -> tuple["pd.DataFrame", dict[str, Any] | None]:
    """Return the table without the column of clusters, and the arguments of the bootstrap, if there is to be one."""
    column, n = options["clusters"], options["bootstrap"]
    if column is not None and options["groups"] is not None:
        raise SettingsError("--clusters and --groups both name whole groups to resample", hint="omit --clusters")
    if column is None:
        wish = {"n": n, "kind": options["resampling"]}
        return frame, wish if n is not None else None
    if n is None:
        raise SettingsError("--clusters requires --bootstrap", hint="add --bootstrap 100")
    if column not in frame:
        raise SettingsError(f"--clusters: there is no column '{column}'", hint=name_hint(column, frame))
    clusters = frame[column].astype(str).to_numpy()
    wish = {"n": n, "kind": "cluster", "clusters": clusters}
    return frame.drop(columns=column), wish


def start_of(path: Path, columns: list[str]) -> Any:
    """Return the DAG of a file over the columns; of an equivalence class, one member."""
    from drbo.graph.dag import check_dag, cpdag_to_dag
    from drbo.result.files.export import read_graph

    graph, names = read_graph(path, names=columns)
    return cpdag_to_dag(graph) if (graph & graph.T).any() else check_dag(graph, names)


def run_settings(arguments: dict[str, Any]) -> Settings:
    """Return the settings of a search that the arguments of the estimator stand for."""
    settings: Settings = arguments.get("settings") or Settings.preset(arguments.get("preset", "default"))
    return settings.with_(**{name: arguments[name] for name in ("max_evals", "time_limit") if name in arguments})
